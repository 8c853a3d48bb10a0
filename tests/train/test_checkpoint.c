/* test_checkpoint.c - what is saved goes on with the same bits; a killed, failing or full writer leaves the last good file; whatever is
 * no checkpoint of the model is refused, with its tensor's name, before a state has changed. TERN_TEST_KILLS says how often
 * writers are killed (50; `make check-kills`: 200). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tern/alloc.h>
#include <tern/train.h>

#include "base/file.h"
#include "base/random.h"
#include "gate.h"
#include "harness.h"

enum { VOCABULARY = 11, CONTEXT = 12, BATCH = 4, SEQUENCE = CONTEXT + 1 };

#if TERN_HAVE_JANSSON
#define NEED_JANSSON() ((void)0)
#else
#define NEED_JANSSON() SKIP("this build has no libjansson, which reads safetensors")
#endif

static char path[1024];

static tern_train_options tiny(void)
{
    tern_train_options o = tern_train_options_default();
    o.shape = (tern_train_shape){.vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .layers = 1,
                                 .width = 32,
                                 .feed_forward = 48,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .rope_theta = 10000,
                                 .norm_eps = 1e-5};
    o.batch = BATCH;
    return o;
}

static void open_trainer(tern_train_options o, tern_ctx **ctx, tern_trainer **t)
{
    tern_ctx_options c = tern_ctx_options_default();
    c.tuning = "off";
    c.threads = 1; /* children of fork have no other */
    CHECK_OK(tern_ctx_create(&c, ctx));
    CHECK_OK(tern_trainer_create(*ctx, &o, t));
    CHECK(harness_path(path, sizeof path, "checkpoint.safetensors"));
}

static void close_trainer(tern_ctx *ctx, tern_trainer *t)
{
    tern_trainer_free(t);
    tern_ctx_destroy(ctx);
    remove(path);
}

static void train(tern_trainer *t, int passes, int from, int to)
{
    int32_t tokens[2 * BATCH * SEQUENCE];
    for (int step = from; step < to; step++) {
        for (int i = 0; i < passes * BATCH; i++)
            for (int k = 0; k < SEQUENCE; k++)
                tokens[i * SEQUENCE + k] = (step * 5 + i * 3 + k) % VOCABULARY;
        CHECK_OK(tern_trainer_step(t, tokens, 0.01, NULL));
    }
}

static bool same_states(const tern_trainer *a, const tern_trainer *b)
{
    bool same = tern_trainer_states(a) == tern_trainer_states(b);
    for (int i = 0; same && i < tern_trainer_states(a); i++) {
        tern_tensor *x = tern_trainer_state(a, i, NULL), *y = tern_trainer_state(b, i, NULL);
        same = memcmp(tern_data(x), tern_data(y), tern_nbytes(x)) == 0;
    }
    return same;
}

static float steps_of(const tern_trainer *t)
{
    return tern_data_f32(tern_trainer_state(t, tern_trainer_states(t) - 1, NULL))[0];
}

static void check_goes_on(tern_optimiser_kind kind, double momentum, int passes)
{
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    tern_train_options o = tiny();
    char *note = NULL;
    o.optimiser.kind = kind, o.optimiser.momentum = momentum, o.accumulate = passes;
    open_trainer(o, &ctx[0], &t[0]);
    o.seed = 99; /* other weights, which the checkpoint's replace */
    open_trainer(o, &ctx[1], &t[1]);
    train(t[0], passes, 0, 4);
    CHECK_OK(tern_trainer_save(t[0], path, "{\"step\": 4, \"name\": \"\xc3\xa4\\\"\n\"}"));
    train(t[1], passes, 7, 9);
    CHECK_OK(tern_trainer_load(t[1], path, &note));
    CHECK_STR(note, "{\"step\": 4, \"name\": \"\xc3\xa4\\\"\n\"}");
    tern_string_free(note);
    CHECK(same_states(t[0], t[1]));
    train(t[0], passes, 4, 8);
    train(t[1], passes, 4, 8);
    CHECK(same_states(t[0], t[1]));
    CHECK(steps_of(t[1]) == 8);
    for (int k = 0; k < 2; k++)
        close_trainer(ctx[k], t[k]);
}

TEST(goes_on_with_the_same_bits)
{
    NEED_JANSSON();
    check_goes_on(TERN_OPTIMISER_ADAMW, 0, 1);
    check_goes_on(TERN_OPTIMISER_ADAMW, 0, 2);
    check_goes_on(TERN_OPTIMISER_SGD, 0.9, 1);
    check_goes_on(TERN_OPTIMISER_SGD, 0, 1);
}

TEST(notes)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    char *note = NULL;
    open_trainer(tiny(), &ctx, &t);
    CHECK_OK(tern_trainer_save(t, path, NULL));
    CHECK_OK(tern_checkpoint_note(path, &note));
    CHECK_STR(note, "");
    tern_string_free(note);
    CHECK_OK(tern_trainer_load(t, path, NULL));
    close_trainer(ctx, t);
    CHECK_STATUS(tern_checkpoint_note(path, &note), TERN_NOT_FOUND);
}

/* ---- what is refused ----------------------------------------------------------------------------------------------- */

/* Loading fails with these words, and no state has changed. */
static void check_refused(tern_trainer *t, const char *words)
{
    static float before[1 << 16];
    char *note = NULL;
    size_t at = 0;
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *s = tern_trainer_state(t, i, NULL);
        memcpy(before + at, tern_data(s), tern_nbytes(s));
        at += tern_nbytes(s) / sizeof(float);
    }
    CHECK(tern_trainer_load(t, path, &note) != TERN_OK);
    if (!strstr(tern_last_error(), words) || !strstr(tern_last_error(), "checkpoint.safetensors"))
        harness_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, tern_last_error());
    CHECK(!note);
    at = 0;
    for (int i = 0; i < tern_trainer_states(t); i++) {
        tern_tensor *s = tern_trainer_state(t, i, NULL);
        CHECK(memcmp(before + at, tern_data(s), tern_nbytes(s)) == 0);
        at += tern_nbytes(s) / sizeof(float);
    }
}

#define REFUSED_OF(change, words)                  \
    do {                                           \
        tern_train_options o = tiny();             \
        tern_ctx *other;                           \
        tern_trainer *u;                           \
        change;                                    \
        open_trainer(o, &other, &u);               \
        CHECK_OK(tern_trainer_save(u, path, "x")); \
        check_refused(t, words);                   \
        close_trainer(other, u);                   \
    } while (0)

TEST(other_models)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    open_trainer(tiny(), &ctx, &t);
    REFUSED_OF(o.shape.feed_forward = 64,
               "'blk.0.ffn_gate.weight' is f32[64,32], but in this model it is f32[48,32]");
    REFUSED_OF(o.shape.vocabulary = 12,
               "'token_embd.weight' is f32[12,32], but in this model it is f32[11,32]");
    REFUSED_OF(o.shape.layers = 2, "it has 'blk.1.");
    REFUSED_OF(o.optimiser.kind = TERN_OPTIMISER_SGD, "it has no 'token_embd.weight.m'");
    close_trainer(ctx, t);
}

static size_t size_of_file(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* Turns a bit of a byte around, another one in each of eight neighbours. */
static void change_byte(size_t at)
{
    FILE *file = fopen(path, "r+b");
    CHECK(file);
    fseek(file, (long)at, SEEK_SET);
    const int c = fgetc(file);
    fseek(file, (long)at, SEEK_SET);
    fputc(c ^ 1 << at % 8, file);
    fclose(file);
}

/* Where the data of a file begin: behind the length of its header, and that. */
static size_t data_begin(void)
{
    uint64_t length = 0;
    FILE *file = fopen(path, "rb");
    if (!file || fread(&length, sizeof length, 1, file) != 1)
        harness_fail(__FILE__, __LINE__, "%s cannot be read", path);
    if (file)
        fclose(file);
    return sizeof length + (size_t)length;
}

/* Cut short anywhere, any byte of the data changed, and every byte of the header: names, shapes, places, the note. */
TEST(damage)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    open_trainer(tiny(), &ctx, &t);
    train(t, 1, 0, 2);
    CHECK_OK(tern_trainer_save(t, path, "note"));
    const size_t whole = size_of_file();
    for (int i = 0; i < 8; i++) {
        CHECK_OK(tern_trainer_save(t, path, "note"));
        CHECK(truncate(path, (off_t)(whole * (size_t)i / 8)) == 0);
        check_refused(t, "");
    }
    CHECK_OK(tern_trainer_save(t, path, "note"));
    const size_t begin = data_begin();
    CHECK(begin > 1000 && begin < whole);
    for (size_t i = 1; i <= 8; i++) {
        const size_t at = whole - (whole - begin) * i / 8;
        change_byte(at);
        check_refused(t, "it was damaged");
        change_byte(at);
    }
    for (size_t at = 0; at < begin && !harness_failed(); at += (size_t)harness_every()) {
        change_byte(at);
        check_refused(t, "");
        if (harness_failed())
            printf("byte %zu of %zu\n", at, begin);
        change_byte(at);
    }
    CHECK_OK(tern_trainer_load(t, path, NULL));
    FILE *file = fopen(path, "wb");
    CHECK(file);
    fputs("something else", file);
    fclose(file);
    check_refused(t, "");
    remove(path);
    check_refused(t, "No such file");
    close_trainer(ctx, t);
}

/* ---- what happens to writers --------------------------------------------------------------------------------------- */

/* Saves again and again, with the number of steps as note, and tells it when the file is there. */
static int save_many(tern_trainer *t, int told)
{
    char note[16];
    for (int step = 1;; step++) {
        train(t, 1, step, step + 1);
        snprintf(note, sizeof note, "%d", step);
        if (tern_trainer_save(t, path, note) != TERN_OK || write(told, &step, sizeof step) != sizeof step)
            return 1;
    }
}

/* What is there is whole, and not older than what was told. */
static void check_last(tern_trainer *t, int told)
{
    char *note = NULL;
    CHECK_OK(tern_trainer_load(t, path, &note));
    if (note) {
        CHECK(atoi(note) >= told && atoi(note) <= told + 1);
        CHECK(steps_of(t) == (float)atoi(note));
    }
    tern_string_free(note);
}

static void kill_one(tern_trainer *t, uint64_t round, int *told)
{
    int ends[2], status, step;
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(save_many(t, ends[1]));
    }
    close(ends[1]);
    if (read(ends[0], &step, sizeof step) == sizeof step)
        *told = step;
    const long us = (long)(tern__random_uniform(harness_seed(), round) * 20000);
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child);
    while (read(ends[0], &step, sizeof step) == sizeof step)
        *told = step;
    close(ends[0]);
}

TEST(killed_writers_leave_the_last_good_file)
{
    NEED_JANSSON();
    const char *kills = getenv("TERN_TEST_KILLS");
    const int n = kills && atoi(kills) > 0 ? atoi(kills) : 50;
    tern_ctx *ctx[2];
    tern_trainer *t[2];
    open_trainer(tiny(), &ctx[0], &t[0]);
    open_trainer(tiny(), &ctx[1], &t[1]);
    for (int i = 0; i < n && !harness_failed(); i++) {
        int told = 0;
        kill_one(t[0], (uint64_t)i, &told);
        CHECK(told > 0);
        check_last(t[1], told);
    }
    for (int k = 0; k < 2; k++)
        close_trainer(ctx[k], t[k]);
}

/* Kills this process before the operation that the countdown comes to. */
static bool die_at(void *user, const char *operation)
{
    (void)operation;
    if (--*(int *)user == 0)
        kill(getpid(), SIGKILL);
    return true;
}

/* When a writer is killed by the clock, no one knows at what; here it is each of its operations in turn. */
TEST(a_writer_killed_at_any_operation_leaves_the_old_file)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    int status, killed = 0;
    open_trainer(tiny(), &ctx, &t);
    CHECK_OK(tern_trainer_save(t, path, "old"));
    for (bool dies = true; dies && !harness_failed(); killed += dies) {
        char *note = NULL;
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            int countdown = killed + 1;
            tern__file_set_gate(die_at, &countdown);
            _exit(tern_trainer_save(t, path, "new") == TERN_OK ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child);
        dies = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        CHECK(dies || status == 0);
        CHECK_OK(tern_trainer_load(t, path, &note));
        CHECK_STR(note, dies ? "old" : "new");
        tern_string_free(note);
    }
    CHECK(killed >= 4); /* open, write, sync, rename */
    close_trainer(ctx, t);
}

/* Fails the operation called `refused`. */
static bool refuse(void *user, const char *operation)
{
    return strcmp(operation, user) != 0;
}

TEST(a_writer_that_fails_leaves_the_old_file)
{
    NEED_JANSSON();
    static char *const operations[] = {"open", "write", "sync", "rename"};
    tern_ctx *ctx;
    tern_trainer *t;
    open_trainer(tiny(), &ctx, &t);
    CHECK_OK(tern_trainer_save(t, path, "old"));
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char *note = NULL;
        tern__file_set_gate(refuse, operations[i]);
        CHECK_STATUS(tern_trainer_save(t, path, "new"), TERN_IO);
        tern__file_set_gate(NULL, NULL);
        CHECK(strstr(tern_last_error(), "checkpoint.safetensors"));
        CHECK_OK(tern_trainer_load(t, path, &note));
        CHECK_STR(note, "old");
        tern_string_free(note);
    }
    close_trainer(ctx, t);
}

/* Each allocation of a save, of a load and of a look at the note fails once. */
TEST(out_of_memory)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    open_trainer(tiny(), &ctx, &t);
    CHECK_OK(tern_trainer_save(t, path, "old"));
    CHECK_OK(tern_trainer_load(t, path, NULL)); /* what is made once is there */
    for (int what = 0; what < 3; what++) {
        bool fired = true;
        for (int n = 1; fired && !harness_failed(); n++) {
            gate g = {.countdown = n};
            char *note = NULL;
            tern_alloc_set_gate(gate_allow, &g);
            const tern_status status = what == 0   ? tern_trainer_save(t, path, "new")
                                       : what == 1 ? tern_trainer_load(t, path, &note)
                                                   : tern_checkpoint_note(path, &note);
            tern_alloc_set_gate(NULL, NULL);
            CHECK(status == TERN_OK || (status == TERN_OUT_OF_MEMORY && !note));
            CHECK(g.fired || status == TERN_OK);
            tern_string_free(note);
            CHECK_OK(tern_checkpoint_note(path, &note));
            CHECK_STR(note, what == 0 && status != TERN_OK ? "old" : "new");
            tern_string_free(note);
            fired = g.fired;
            if (what == 0 && fired)
                CHECK_OK(tern_trainer_save(t, path, "old"));
        }
    }
    close_trainer(ctx, t);
}

TEST(a_full_disk)
{
    NEED_JANSSON();
    tern_ctx *ctx;
    tern_trainer *t;
    char *note = NULL;
    int status;
    open_trainer(tiny(), &ctx, &t);
    CHECK_OK(tern_trainer_save(t, path, "old"));
    const rlim_t room = size_of_file() / 2;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) { /* no file of this process may grow beyond half a checkpoint */
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){room, room});
        _exit(tern_trainer_save(t, path, "new") == TERN_IO &&
                      strstr(tern_last_error(), "checkpoint.safetensors: writing failed")
                  ? 0
                  : 1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    CHECK_OK(tern_trainer_load(t, path, &note));
    CHECK_STR(note, "old");
    tern_string_free(note);
    close_trainer(ctx, t);
}

TEST(a_folder_that_is_not_there)
{
    tern_ctx *ctx;
    tern_trainer *t;
    open_trainer(tiny(), &ctx, &t);
    CHECK_STATUS(tern_trainer_save(t, "/nowhere/at/all.safetensors", NULL), TERN_IO);
    CHECK(strstr(tern_last_error(), "/nowhere/at/all.safetensors"));
    close_trainer(ctx, t);
}
