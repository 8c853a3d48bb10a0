/* test_files.c - tensors in files through the public functions; the formats themselves are tested in tests/tensor. */
#include <string.h>

#include <tern/tern.h>

#include "harness.h"

TEST(arrays_of_an_archive_are_found_by_name_loaded_and_mapped)
{
    char path[512];
    CHECK(harness_path(path, sizeof path, "a.npz"));
    tern_ctx *ctx;
    CHECK_OK(tern_ctx_create(NULL, &ctx));
    tern_tensor *tensors[] = {tern_arange(ctx, TERN_I32, 0, 6, 1),
                              tern_randn(ctx, TERN_F32, 2, (int64_t[]){3, 4}, 1)};
    CHECK_OK(tern_npz_save(path, 2, (const char *[]){"count", "noise"}, tensors));

    tern_npz *npz;
    int count = -1, noise = -1;
    CHECK_OK(tern_npz_open(path, &npz));
    CHECK_OK(tern_npz_find(npz, "count", &count));
    CHECK_OK(tern_npz_find(npz, "noise", &noise));
    CHECK_STR(tern_npz_name(npz, count), "count");
    CHECK_STR(tern_npz_name(npz, noise), "noise");
    CHECK_STATUS(tern_npz_find(npz, "other", &count), TERN_NOT_FOUND);
    CHECK_STR(tern_npz_name(npz, count), "count");

    tern_tensor *loaded, *mapped, *none = NULL;
    CHECK_OK(tern_npz_load(ctx, npz, noise, &loaded));
    CHECK_OK(tern_npz_map(ctx, npz, noise, &mapped));
    CHECK_STATUS(tern_npz_map(ctx, npz, 2, &none), TERN_OUT_OF_RANGE);
    CHECK_STATUS(tern_npz_load(ctx, npz, -1, &none), TERN_OUT_OF_RANGE);
    CHECK(none == NULL);
    tern_npz_close(npz); /* both live on */
    const float *want = tern_data_f32(tensors[1]), *a = tern_data_f32(loaded), *b = tern_data_f32(mapped);
    CHECK(want && a && b);
    CHECK(memcmp(a, want, 12 * sizeof *want) == 0 && memcmp(b, want, 12 * sizeof *want) == 0);
    CHECK_OK(tern_fill_(loaded, 1));
    CHECK_STATUS(tern_fill_(mapped, 1), TERN_STATE);
    tern_ctx_destroy(ctx);
}
