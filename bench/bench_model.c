/* bench_model.c - a whole model of the shape of BitNet 2B-4T: random ternary weights in 2 bits, a head in 6.
 *
 * decode_roofline_share          tokens/s x 790 MB / read bandwidth, at a context of 128, all threads. 790 MB are ternary weights in
 *                                2 bits and a head in 6, whatever format runs: with a smaller one it may exceed 1
 * prefill_int8_peak_share        2 x ternary weights x tokens / time / the machine's peak of int8 products, a prompt of 512: that of
 *                                tiles (AMX) where there are any, since the products run on them, else of dot products of vectors
 * prefill_vector_peak_share      where there are tiles, the same of the peak of dot products of vectors: it may exceed 1
 * prefill_tokens_per_s           of the same prompt
 * model_ready_s                  from opening the file, in the page cache, to the first token
 * peak_memory_over_file_and_kv   most memory of the process / (file + keys and values)
 *
 *     bench_model [--model FILE] [--repetitions N]
 *
 * Without --model the file is `bench-2b-4t.gguf` beside this program's folder (the build folder), written first if it is not
 * there. Limits are measured in turns with the model (<tern/bench_model.h>). */
#include <stdlib.h>
#include <unistd.h>

#include <tern/bench_model.h>
#include <tern/model_convert.h>

#include "bench_json.h"

static const double bytes_by_definition = 790e6;

typedef struct results {
    bench_output *out;
    bool failed;
} results;

static void visit(void *user, const tern_bench_model_row *row)
{
    results *r = user;
    if (row->error[0])
        fprintf(stderr, "bench_model: %s\n", row->error);
    r->failed |= row->rounds == 0;
    if (row->rounds == 0)
        return;
    const bool prompt = row->n_prompt > 0;
    printf("%s: %.1f tokens/s (+- %.1f), ready in %.2f s\n", row->test, row->average_rate,
           row->deviation_rate, row->ready_s);
    const bool tiles = prompt && strcmp(row->isa, "amx") == 0;
    /* Shares of the read bandwidth are by the bytes that run. */
    const double scale = prompt ? 1 : bytes_by_definition / (double)row->bytes_per_token;
    bench_row(r->out, prompt ? "prefill_int8_peak_share" : "decode_roofline_share", row->share * scale,
              "share", "higher",
              "%s, %d threads, %s, %.2f tokens/s, limit %.4g/s (%s), %d rounds, spread %.3f", row->model_type,
              row->threads, row->isa, row->average_rate, row->limit_rate, row->limit, row->rounds,
              row->share_mad * scale);
    if (tiles)
        bench_row(r->out, "prefill_vector_peak_share", row->dot_share, "share", "higher",
                  "%s, %d threads, %.2f tokens/s, peak of dot products of vectors %.4g/s, which tiles may "
                  "exceed, %d rounds",
                  row->model_type, row->threads, row->average_rate, row->dot_rate, row->rounds);
    if (!prompt)
        return;
    bench_row(r->out, "prefill_tokens_per_s", row->average_rate, "tokens/s", "higher",
              "prompt of %d, %d threads, %s", row->n_prompt, row->threads, row->isa);
    const double needed = (double)(row->model_bytes + row->cache_bytes);
    bench_row(r->out, "model_ready_s", row->ready_s, "s", "lower",
              "from opening the file to the first token");
    if (row->peak_memory)
        bench_row(r->out, "peak_memory_over_file_and_kv", (double)row->peak_memory / needed, "ratio", "lower",
                  "%.0f MB of %.0f MB file and %.0f MB keys and values", (double)row->peak_memory * 1e-6,
                  (double)row->model_bytes * 1e-6, (double)row->cache_bytes * 1e-6);
    else
        puts("peak_memory_over_file_and_kv: unavailable: this system does not tell");
}

static bool make_model(const char *path)
{
    tern_model_shape shape;
    tern_synth_options options = tern_synth_options_default();
    options.type = TERN_STORED_I2_S;
    options.embedding = TERN_STORED_Q6_K;
    if (access(path, R_OK) == 0)
        return true;
    printf("writing %s\n", path);
    if (tern_model_shape_find("bitnet-2b-4t", &shape) == TERN_OK &&
        tern_model_synth(path, &shape, &options) == TERN_OK)
        return true;
    fprintf(stderr, "bench_model: %s\n", tern_last_error());
    return false;
}

/* The file in the page cache: what is measured is not the disk. */
static void warm(const char *path)
{
    static char chunk[1 << 20];
    FILE *file = fopen(path, "rb");
    while (file && fread(chunk, 1, sizeof chunk, file) == sizeof chunk)
        ;
    if (file)
        fclose(file);
}

static void path_beside(const char *program, char *out, size_t room)
{
    const char *slash = strrchr(program, '/');
    snprintf(out, room, "%.*s../bench-2b-4t.gguf", slash ? (int)(slash - program) + 1 : 0, program);
}

int main(int argc, char **argv)
{
    bench_output out;
    char path[4096];
    tern_bench_model_options o = tern_bench_model_options_default();
    if (!bench_open(&out, &argc, argv))
        return 2;
    path_beside(argv[0], path, sizeof path);
    o.path = path;
    o.repetitions = 3;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && strcmp(argv[i], "--model") == 0) {
            o.path = argv[i + 1];
        } else if (i + 1 < argc && strcmp(argv[i], "--repetitions") == 0) {
            o.repetitions = atoi(argv[i + 1]);
        } else {
            fprintf(stderr, "usage: %s [--model FILE] [--repetitions N] [--rows FILE]\n", argv[0]);
            return 2;
        }
    }
    if (o.path == path && !make_model(path))
        return 1;
    warm(o.path);
    results r = {.out = &out};
    o.n_gen = 0;
    tern_status status = tern_bench_model(&o, visit, &r);
    o.n_prompt = 0;
    o.n_gen = 64;
    o.n_depth = 128;
    if (status == TERN_OK)
        status = tern_bench_model(&o, visit, &r);
    if (status != TERN_OK)
        fprintf(stderr, "bench_model: %s\n", tern_last_error());
    return bench_close(&out) && status == TERN_OK && !r.failed ? 0 : 1;
}
