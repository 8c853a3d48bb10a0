/* bench_decoder.h - a decoder with four layers of the width of BitNet 2B-4T, or one from a file, for what recorders and devices cost
 * on one of its steps. */
#ifndef TERN_BENCH_DECODER_H
#define TERN_BENCH_DECODER_H

#include <stdlib.h>
#include <unistd.h>

#include <tern/model_convert.h>
#include <tern/tern.h>

#include "bench_json.h"
#include "measure/timing.h"

enum { DECODER_LAYERS = 4, DECODER_VOCABULARY = 8192, DECODER_CONTEXT = 512 };

typedef struct decoder {
    tern_ctx *ctx;
    tern_model *model;
    tern_session *session;
    float *logits;
    int64_t position;
} decoder;

/* The model in a file; `device` NULL: the CPU. */
static inline tern_status load_decoder(decoder *d, const char *device, const char *path)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.device = device;
    TERN_TRY(tern_ctx_create(&options, &d->ctx));
    TERN_TRY(tern_model_load(d->ctx, path, NULL, &d->model));
    TERN_TRY(tern_session_create(d->model, NULL, &d->session));
    d->logits = malloc((size_t)tern_session_vocabulary(d->session) * sizeof *d->logits);
    return d->logits ? TERN_OK : TERN_OUT_OF_MEMORY;
}

static inline tern_status open_decoder(decoder *d, const char *device)
{
    tern_model_shape shape;
    char path[] = "/tmp/tern-bench-XXXXXX";
    const int file = mkstemp(path);
    if (file < 0)
        return TERN_IO;
    close(file);
    TERN_TRY(tern_model_shape_find("bitnet-2b-4t", &shape));
    shape.layers = DECODER_LAYERS;
    shape.vocabulary = DECODER_VOCABULARY;
    shape.context = DECODER_CONTEXT;
    tern_status status = tern_model_synth(path, &shape, NULL);
    if (status == TERN_OK)
        status = load_decoder(d, device, path);
    unlink(path);
    return status;
}

static inline void close_decoder(decoder *d)
{
    tern_session_free(d->session);
    tern_model_free(d->model);
    tern_ctx_destroy(d->ctx);
    free(d->logits);
}

/* One token; at the end of the context it begins anew. */
static inline tern_status decode_token(void *user)
{
    decoder *d = user;
    const tern_session_row row = {.token = 7, .position = d->position++ % tern_session_context(d->session)};
    return tern_session_feed(d->session, 1, &row, 1, &(int){0}, d->logits);
}

/* Nanoseconds of a token, of `steps` one after the other. */
static inline tern_status decode(decoder *d, int steps, double *ns)
{
    double seconds;
    TERN_TRY(tern__thing_time(&(tern__thing){decode_token, d, steps}, &seconds));
    *ns = seconds * 1e9;
    return TERN_OK;
}

/* The whole of a benchmark of one decoder; `name` starts messages. */
static inline int decoder_main(const char *name, int argc, char **argv,
                               tern_status (*measure)(decoder *, bench_output *))
{
    bench_output out;
    decoder d = {0};
    if (!bench_open(&out, &argc, argv))
        return 2;
    if (argc > 1) { /* a word that is not known begins nothing */
        fprintf(stderr, "usage: %s [--rows FILE | --json FILE]\n", name);
        return 2;
    }
    tern_status status = open_decoder(&d, NULL);
    if (status == TERN_OK)
        status = measure(&d, &out);
    if (status != TERN_OK)
        fprintf(stderr, "%s: %s\n", name, tern_last_error());
    close_decoder(&d);
    return bench_close(&out) && status == TERN_OK ? 0 : 1;
}

#endif
