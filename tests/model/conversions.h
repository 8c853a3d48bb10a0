/* conversions.h - what tests of conversions share: a context, files of the test by name, and whether two hold the same. */
#ifndef TERN_TESTS_MODEL_CONVERSIONS_H
#define TERN_TESTS_MODEL_CONVERSIONS_H

#include <string.h>

#include <tern/model.h>
#include <tern/model_convert.h>

#include "harness.h"

static tern_ctx *ctx;

static inline void set_up(void)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = "off";
    CHECK_OK(tern_ctx_create(&options, &ctx));
}

static inline const char *path_of(const char *name)
{
    static char paths[4][4096];
    static int next;
    char *path = paths[next++ % 4];
    harness_path(path, sizeof paths[0], name);
    return path;
}

static inline tern_status convert(const char *from, const char *to, const char *type,
                                  tern_convert_options *options)
{
    tern_model_file *file;
    tern_convert_options o = options ? *options : tern_convert_options_default();
    if (type)
        TERN_TRY(tern_stored_parse(type, &o.type));
    TERN_TRY(tern_model_file_open(path_of(from), NULL, &file));
    tern_status status = tern_model_convert(ctx, file, path_of(to), &o);
    tern_model_file_close(file);
    return status;
}

/* Do both files have the same codes and scales, and the same other tensors? */
static inline void check_same(const char *left, const char *right, int *compared)
{
    tern_model_file *a, *c;
    tern_file_tensor t;
    CHECK_OK(tern_model_file_open(path_of(left), NULL, &a));
    CHECK_OK(tern_model_file_open(path_of(right), NULL, &c));
    for (int i = 0; i < tern_model_file_count(a); i++) {
        int k;
        tern_tensor *codes[2], *scales[2];
        CHECK_OK(tern_model_file_tensor(a, i, &t));
        if (strstr(t.name, ".scale"))
            continue;
        CHECK_OK(tern_model_file_find(c, t.name, &k));
        TERN_SCOPE(ctx) {
            if (t.rank == 2 && strncmp(t.name, "blk", 3) == 0) {
                CHECK_OK(tern_model_file_load_ternary(ctx, a, i, TERN_T2, TERN_TERNARY_EXACT, &codes[0],
                                                      &scales[0]));
                CHECK_OK(tern_model_file_load_ternary(ctx, c, k, TERN_T2, TERN_TERNARY_EXACT, &codes[1],
                                                      &scales[1]));
                CHECK(memcmp(tern_data_f32(scales[0]), tern_data_f32(scales[1]), tern_nbytes(scales[0])) ==
                      0);
                ++*compared;
            } else {
                CHECK_OK(tern_model_file_load(ctx, a, i, &codes[0]));
                CHECK_OK(tern_model_file_load(ctx, c, k, &codes[1]));
            }
            CHECK_EQ(tern_nbytes(codes[0]), tern_nbytes(codes[1]));
            CHECK(memcmp(tern_data(codes[0]), tern_data(codes[1]), tern_nbytes(codes[0])) == 0);
        }
    }
    tern_model_file_close(a);
    tern_model_file_close(c);
}

#endif
