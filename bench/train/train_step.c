/* train_step.c - a training step of a decoder with 10.7 million weights, in turns with the f32 peak of the machine, and then in turns
 * with the same model in PyTorch: `make bench-train`.
 *
 * fma_peak_share   flops of a step (6 x parameters x tokens, and attention) / time / measured f32 multiply-add peak. Ternary layers go
 *                  forward in int8, whose peak is higher; all is counted as if it were f32. PyTorch is not there yet: its threads look for
 *                  work for a while after a step, and a peak that is measured meanwhile is too low.
 * vs_pytorch       time of PyTorch's eager step / time of Tern's, of the same BitNet with rounding in both: the median over the rounds
 * tokens_per_s     of Tern's step
 *
 * recompute_*, bf16_*, f16_*  a step that keeps less of what it computes: its time and the memory of its intermediates, in parts of those of
 *                  the step that keeps everything in f32; all of them in turns
 *
 * With float weights both are timed as well, for whoever asks what is left without rounding. PyTorch runs in a process of its own that
 * makes a step when it is told to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tern/tern.h>

#include "base/threads.h"
#include "bench_json.h"
#include "measure/measure.h"

enum { ROUNDS = 9, CHOICE_ROUNDS = 5 };
#define PEAK_S \
    0.05 /* seconds of a sample of the peak: longer than threads take to wake up and to fall asleep */

/* ---- PyTorch ------------------------------------------------------------------------------------------------------- */

typedef struct torch {
    pid_t pid; /* 0: it does not run */
    FILE *to, *from;
    char what[256]; /* which PyTorch it is, or why there is none */
} torch;

/* OpenBLAS does not know every processor and then takes kernels for old ones: it is told. */
static const char *core_type(void)
{
    const tern__cpu_info *cpu = tern__cpu();
    if (cpu->best >= TERN__ISA_AVX512)
        return "SKYLAKEX"; /* faster on Zen 4 than "ZEN", which has no AVX-512 */
    return cpu->best < TERN__ISA_AVX2 ? NULL : strstr(cpu->model, "AMD") ? "ZEN" : "HASWELL";
}

/* In the child: becomes PyTorch, with the ends of the pipes that are its own. */
static void torch_exec(const tern_train_options *o, int threads, const int *in, const int *out)
{
    char numbers[9][24];
    const tern_train_shape *s = &o->shape;
    const int64_t values[] = {threads,  o->batch,        s->vocabulary, s->context, s->layers,
                              s->width, s->feed_forward, s->heads,      s->kv_heads};
    for (int i = 0; i < 9; i++)
        snprintf(numbers[i], sizeof numbers[i], "%lld", (long long)values[i]);
    const char *python = getenv("TERN_PYTHON");
    if (core_type() && !getenv("OPENBLAS_CORETYPE"))
        setenv("OPENBLAS_CORETYPE", core_type(), 1);
    dup2(in[0], 0);
    dup2(out[1], 1);
    /* It ends when its input does, which it does not while it holds the other end of it itself. */
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
    }
    execlp(python ? python : "python3", "python3", "bench/train/pytorch_step.py", numbers[0], numbers[1],
           s->weights == TERN_TRAIN_WEIGHTS_TERNARY ? "ternary" : "float", numbers[2], numbers[3], numbers[4],
           numbers[5], numbers[6], numbers[7], numbers[8], (char *)NULL);
    _exit(127);
}

static void torch_start(torch *t, const tern_train_options *o, int threads)
{
    int in[2], out[2];
    *t = (torch){0};
    snprintf(t->what, sizeof t->what, "unavailable: no process for it");
    if (pipe(in) != 0 || pipe(out) != 0 || (t->pid = fork()) < 0) {
        t->pid = 0;
        return;
    }
    if (t->pid == 0)
        torch_exec(o, threads, in, out);
    close(in[0]);
    close(out[1]);
    t->to = fdopen(in[1], "w");
    t->from = fdopen(out[0], "r");
    if (!fgets(t->what, sizeof t->what, t->from)) {
        snprintf(t->what, sizeof t->what, "unavailable: no PyTorch: scripts/install-deps.sh torch");
        fclose(t->to);
        fclose(t->from);
        waitpid(t->pid, NULL, 0);
        t->pid = 0;
    }
    t->what[strcspn(t->what, "\n")] = '\0';
}

static void torch_end(torch *t)
{
    if (!t->pid)
        return;
    fclose(t->to);
    fclose(t->from);
    waitpid(t->pid, NULL, 0);
}

static tern_status torch_step(void *user)
{
    torch *t = user;
    char line[64];
    if (fputs("step\n", t->to) < 0 || fflush(t->to) != 0 || !fgets(line, sizeof line, t->from))
        return TERN_IO;
    return TERN_OK;
}

/* ---- Tern ---------------------------------------------------------------------------------------------------------- */

typedef struct ours {
    tern_ctx *ctx;
    tern_trainer *trainer;
    tern_trainer_info info;
    int32_t *tokens;
} ours;

static tern_status our_step(void *user)
{
    ours *u = user;
    return tern_trainer_step(u->trainer, u->tokens, 1e-3, NULL);
}

static tern_status ours_start(ours *u, const tern_train_options *o)
{
    const int64_t n = o->batch * (o->shape.context + 1);
    TERN_TRY(tern_ctx_create(NULL, &u->ctx));
    TERN_TRY(tern_trainer_create(u->ctx, o, &u->trainer));
    tern_trainer_get_info(u->trainer, &u->info);
    u->tokens = malloc((size_t)n * sizeof *u->tokens);
    if (!u->tokens)
        return TERN_OUT_OF_MEMORY;
    for (int64_t i = 0; i < n; i++)
        u->tokens[i] = (int32_t)((uint64_t)i * 2654435761u % (uint64_t)o->shape.vocabulary);
    return TERN_OK;
}

static void ours_end(ours *u)
{
    tern_trainer_free(u->trainer);
    tern_ctx_destroy(u->ctx);
    free(u->tokens);
}

/* ---- both ---------------------------------------------------------------------------------------------------------- */

typedef struct figures {
    double seconds, share, vs_torch; /* NaN: it could not be measured */
    tern_trainer_info info;
    char torch[256];
} figures;

/* A share that cannot be is none. */
static tern_status measure_share(ours *u, tern__threads *threads, figures *f)
{
    const int workers = tern__threads_count(threads);
    const tern__limit_work work = {.kind = TERN_LIMIT_FMA, .operations = u->info.flops};
    const tern__thing step = {.run = our_step, .user = u, .repeats = 1};
    const tern__turns turns = {.rounds = ROUNDS, .sample_s = PEAK_S};
    tern__measurement m;
    tern__limit *limit;
    TERN_TRY(tern__limit_create(threads, workers, &work, &limit));
    const tern_status status = tern__measure(&step, 1, limit, &turns, &m);
    tern__limit_destroy(limit);
    TERN_TRY(status);
    f->seconds = m.time.median;
    f->share = tern__is_believable(&m) ? m.share.median : (double)NAN;
    if (isnan(f->share))
        fprintf(stderr,
                "train_step: %.2f of the peak cannot be: the machine was disturbed, or its probe is wrong\n",
                m.share.median);
    return TERN_OK;
}

static tern_status measure_torch(ours *u, torch *t, figures *f)
{
    double samples[2 * ROUNDS];
    const tern__turns turns = {.rounds = ROUNDS, .samples = samples};
    const tern__thing things[] = {{.run = our_step, .user = u, .repeats = 1},
                                  {.run = torch_step, .user = t, .repeats = 1}};
    tern__measurement m[2];
    TERN_TRY(tern__measure(things, 2, NULL, &turns, m));
    f->vs_torch = tern__turns_ratio(samples, &turns, ROUNDS, 1, 0);
    return TERN_OK;
}

static tern_status measure(const tern_train_options *o, tern__threads *threads, figures *f)
{
    ours u = {0};
    torch t = {0};
    *f = (figures){.vs_torch = (double)NAN};
    tern_status status = ours_start(&u, o);
    if (status == TERN_OK)
        status = measure_share(&u, threads, f);
    if (status == TERN_OK) {
        f->info = u.info;
        torch_start(&t, o, tern__threads_count(threads));
        memcpy(f->torch, t.what, sizeof f->torch);
        if (t.pid)
            status = measure_torch(&u, &t, f);
    }
    ours_end(&u);
    torch_end(&t);
    return status;
}

/* ---- what is kept -------------------------------------------------------------------------------------------------- */

typedef struct choice {
    const char *name;
    tern_recompute recompute;
    tern_precision activations;
} choice;

/* The first is what the others are compared with. */
static const choice CHOICES[] = {
    {"all", TERN_RECOMPUTE_NONE, TERN_PRECISION_EXACT},
    {"recompute_attention", TERN_RECOMPUTE_ATTENTION, TERN_PRECISION_EXACT},
    {"recompute_layers", TERN_RECOMPUTE_LAYERS, TERN_PRECISION_EXACT},
    {"bf16", TERN_RECOMPUTE_NONE, TERN_PRECISION_BF16},
    {"f16", TERN_RECOMPUTE_NONE, TERN_PRECISION_F16},
    {"bf16_recompute_layers", TERN_RECOMPUTE_LAYERS, TERN_PRECISION_BF16},
};
enum { N_CHOICES = sizeof CHOICES / sizeof *CHOICES };

static size_t step_bytes(const ours *u)
{
    tern_program_info info;
    tern_program_get_info(tern_trainer_program(u->trainer, 0, NULL), &info);
    return info.arena_bytes;
}

static tern_status measure_choices(tern_train_options o, bench_output *out)
{
    ours u[N_CHOICES] = {0};
    tern__thing things[N_CHOICES];
    tern__measurement m[N_CHOICES];
    double samples[N_CHOICES * CHOICE_ROUNDS];
    const tern__turns turns = {.rounds = CHOICE_ROUNDS, .samples = samples};
    tern_status status = TERN_OK;
    for (int i = 0; i < N_CHOICES && status == TERN_OK; i++) {
        o.recompute = CHOICES[i].recompute;
        o.activations = CHOICES[i].activations;
        status = ours_start(&u[i], &o);
        things[i] = (tern__thing){.run = our_step, .user = &u[i], .repeats = 1};
    }
    if (status == TERN_OK)
        status = tern__measure(things, N_CHOICES, NULL, &turns, m);
    for (int i = 0; i < N_CHOICES && status == TERN_OK; i++) {
        const double time = tern__turns_ratio(samples, &turns, CHOICE_ROUNDS, i, 0),
                     memory = (double)step_bytes(&u[i]) / (double)step_bytes(&u[0]);
        char name[64];
        printf("%-20s %8.3f s a step, %7.1f MiB of intermediates: %.2f of the time, %.2f of the memory\n",
               CHOICES[i].name, m[i].time.median, (double)step_bytes(&u[i]) / 1048576, time, memory);
        if (i == 0)
            continue;
        snprintf(name, sizeof name, "%s_time", CHOICES[i].name);
        bench_row(out, name, time, "x", "lower", "of a step that keeps everything in f32");
        snprintf(name, sizeof name, "%s_memory", CHOICES[i].name);
        bench_row(out, name, memory, "x", "lower", "of its intermediates");
    }
    for (int i = 0; i < N_CHOICES; i++)
        ours_end(&u[i]);
    return status;
}

static void show(const char *name, const figures *f)
{
    printf("%-8s %8.3f s a step of %lld tokens, %7.0f tokens/s, %6.1f GFLOPS, share %.3f; ", name, f->seconds,
           (long long)f->info.tokens, (double)f->info.tokens / f->seconds, f->info.flops / f->seconds * 1e-9,
           f->share);
    if (isfinite(f->vs_torch))
        printf("PyTorch takes %.2f times as long (%s)\n", f->vs_torch, f->torch);
    else
        printf("PyTorch %s\n", f->torch);
}

int main(int argc, char **argv)
{
    bench_output out;
    if (!bench_open(&out, &argc, argv))
        return 2;
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0); /* it takes minutes: lines are seen as they come */
    tern_train_options o = tern_train_options_default();
    o.shape.vocabulary = 257;
    o.shape.width = 384;
    o.shape.feed_forward = 1024;
    o.shape.heads = o.shape.kv_heads = 6;
    o.batch = 8;
    tern__threads *threads = NULL;
    figures ternary, plain;
    tern_status status = tern__threads_create(tern__cpu()->cores_usable, &threads);
    if (status == TERN_OK)
        status = measure(&o, threads, &ternary);
    if (status == TERN_OK) {
        show("ternary", &ternary);
        bench_row(&out, "fma_peak_share", ternary.share, "of the f32 peak", "higher",
                  "%.1f million parameters, %lld tokens, %d threads", (double)ternary.info.parameters * 1e-6,
                  (long long)ternary.info.tokens, tern__threads_count(threads));
        bench_row(&out, "vs_pytorch", ternary.vs_torch, "x", "higher", "eager, %s", ternary.torch);
        bench_row(&out, "tokens_per_s", (double)ternary.info.tokens / ternary.seconds, "tokens/s", "higher",
                  "%.3f s a step", ternary.seconds);
        o.shape.weights = TERN_TRAIN_WEIGHTS_FLOAT;
        status = measure(&o, threads, &plain);
    }
    if (status == TERN_OK) {
        show("float", &plain);
        bench_row(&out, "float_fma_peak_share", plain.share, "of the f32 peak", "higher",
                  "nothing is rounded");
        bench_row(&out, "float_vs_pytorch", plain.vs_torch, "x", "higher", "eager, %s", plain.torch);
    }
    o.shape.weights = TERN_TRAIN_WEIGHTS_TERNARY;
    if (status == TERN_OK)
        status = measure_choices(o, &out);
    tern__threads_destroy(threads);
    if (status != TERN_OK)
        fprintf(stderr, "train_step: %s\n", tern_last_error());
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}
