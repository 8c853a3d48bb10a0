/* fuzz_model.h - what the fuzz targets of model files share: bytes as a file, and a reader that uses all of it. */
#ifndef TERN_TESTS_FUZZ_MODEL_H
#define TERN_TESTS_FUZZ_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/alloc.h>
#include <tern/model.h>
#include <tern/model_file.h>

static inline void fuzz_require(int condition)
{
    if (!condition)
        abort();
}

/* A folder of this process's own. */
static inline const char *fuzz_folder(void)
{
    static char folder[256];
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/tern-fuzz-XXXXXX", base ? base : P_tmpdir);
        fuzz_require(mkdtemp(folder) != NULL);
    }
    return folder;
}

/* `name` in that folder ("" is the folder itself), until the next call. */
static inline const char *fuzz_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return path;
}

static inline void fuzz_store(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(fuzz_path(name), "wb");
    fuzz_require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* What stands before the first zero byte of an input, as a string that the caller frees; the input goes on behind that byte. */
static inline char *fuzz_next(const uint8_t **data, size_t *size)
{
    const uint8_t *zero = *size ? memchr(*data, 0, *size) : NULL;
    const size_t length = zero ? (size_t)(zero - *data) : *size;
    char *text = malloc(length + 1);
    fuzz_require(text != NULL);
    if (length)
        memcpy(text, *data, length);
    text[length] = '\0';
    *data += length + (zero != NULL);
    *size -= length + (zero != NULL);
    return text;
}

/* The same as the file `name`, which is not there if it would be empty. */
static inline void fuzz_store_next(const char *name, const uint8_t **data, size_t *size)
{
    char *text = fuzz_next(data, size);
    if (*text)
        fuzz_store(name, text, strlen(text));
    else
        unlink(fuzz_path(name));
    free(text);
}

static inline void fuzz_use_metadata(const tern_model_file *file)
{
    for (int i = 0; i < tern_model_file_meta_count(file); i++) {
        tern_meta_info info;
        int found;
        fuzz_require(tern_model_file_meta(file, i, &info) == TERN_OK);
        fuzz_require(tern_model_file_meta_find(file, info.key, &found) == TERN_OK && found == i);
        for (int64_t j = 0; j < info.count; j++) {
            int64_t whole;
            double real;
            bool flag;
            const char *text;
            size_t length;
            volatile char sum = 0;
            if (tern_model_file_meta_string(file, i, j, &text, &length) == TERN_OK) {
                for (size_t k = 0; k < length + !info.is_array; k++)
                    sum = (char)(sum + text[k]);
            } else {
                fuzz_require(tern_model_file_meta_int(file, i, j, &whole) == TERN_OK ||
                             tern_model_file_meta_float(file, i, j, &real) == TERN_OK ||
                             tern_model_file_meta_bool(file, i, j, &flag) == TERN_OK);
            }
        }
    }
}

static inline void fuzz_use_tensors(tern_ctx *ctx, const tern_model_file *file)
{
    for (int i = 0; i < tern_model_file_count(file); i++) {
        tern_file_tensor t;
        int found;
        fuzz_require(tern_model_file_tensor(file, i, &t) == TERN_OK);
        fuzz_require(tern_model_file_find(file, t.name, &found) == TERN_OK);
        TERN_SCOPE(ctx) {
            tern_tensor *x, *codes, *scales;
            const bool grouped =
                tern_stored_get(t.stored)->kind == TERN_STORED_GROUPED; /* more than it has */
            if (tern_model_file_load(ctx, file, i, &x) == TERN_OK)
                fuzz_require((grouped || tern_nbytes(x) == t.bytes) && tern_data(x));
            (void)tern_model_file_load_f32(ctx, file, i, &x);
            (void)tern_model_file_load_ternary(ctx, file, i, TERN_T5, TERN_TERNARY_DECLARED, &codes, &scales);
        }
    }
}

/* A token, where that takes little memory. */
static inline void fuzz_feed_model(tern_model *model)
{
    enum { VOCABULARY_MOST = 1 << 16, CONTEXT_MOST = 8 };
    static float logits[VOCABULARY_MOST];
    tern_model_info info;
    tern_session *session;
    tern_session_options options = tern_session_options_default();
    tern_model_get_info(model, &info);
    options.context = info.context < CONTEXT_MOST ? info.context : CONTEXT_MOST;
    options.batch = 1;
    if (info.vocabulary > VOCABULARY_MOST || tern_session_create(model, &options, &session) != TERN_OK)
        return;
    (void)tern_session_feed(session, 1, &(tern_session_row){.token = 0}, 1, (int[]){0}, logits);
    tern_session_free(session);
}

static inline tern_ctx *fuzz_context(void)
{
    tern_ctx *ctx;
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    options.threads = 1;
    fuzz_require(tern_ctx_create(&options, &ctx) == TERN_OK);
    return ctx;
}

/* Loads `name` as a model that takes a token, or it is refused with one line. */
static inline void fuzz_feed(tern_ctx *ctx, const char *name)
{
    tern_model *model;
    if (tern_model_load(ctx, fuzz_path(name), NULL, &model) == TERN_OK) {
        fuzz_feed_model(model);
        tern_model_free(model);
    } else {
        fuzz_require(tern_last_error()[0] != '\0' && !strchr(tern_last_error(), '\n'));
    }
}

/* Opens `name` in the folder ("" is the folder itself); either way nothing stays allocated. */
static inline void fuzz_open(const char *name)
{
    static tern_ctx *ctx;
    tern_alloc_stats before, after;
    tern_model_file *file;
    if (!ctx)
        ctx = fuzz_context();
    tern_alloc_get_stats(&before);
    if (tern_model_file_open(fuzz_path(name), NULL, &file) != TERN_OK) {
        fuzz_require(tern_last_error()[0] != '\0' && !strchr(tern_last_error(), '\n'));
        tern_alloc_get_stats(&after);
        fuzz_require(before.live_bytes == after.live_bytes);
        return;
    }
    fuzz_use_metadata(file);
    fuzz_use_tensors(ctx, file);
    tern_model_file_close(file);
}

#endif
