/* test_library.c - products of other libraries: never unless they are asked for by name; then within what sums of this length
 * may differ by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tern/tern.h>

#include "base/random.h"
#include "devices/cpu/library.h"
#include "harness.h"

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static const char *const names[] = {"onednn", "openblas", "accelerate"};
enum { NAMES = sizeof names / sizeof *names };

static tern_ctx *context(void)
{
    tern_ctx *ctx = NULL;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 2;
    options.tuning = "off";
    return tern_ctx_create(&options, &ctx) == TERN_OK ? ctx : NULL;
}

static const char *why_not(const char *name)
{
    const tern__library *library;
    for (int i = 0; (library = tern__library_at(i)) != NULL; i++)
        if (strcmp(library->name, name) == 0)
            return library->missing[0] ? library->missing : NULL;
    return "there is no row for it";
}

/* Does a step of the program run on a library? */
static bool uses(const tern_program *program, const char *name)
{
    tern_step_info step;
    bool any = false;
    for (int i = 0; tern_program_step(program, i, &step) == TERN_OK; i++)
        any = any || (strncmp(step.kernel, "matmul__", 8) == 0 && strcmp(step.kernel + 8, name) == 0);
    return any;
}

/* relu(a * b) with operands as they lie or transposed, b constant or not. */
typedef struct problem {
    int64_t m, n, k;
    bool a_turned, b_turned, constant;
} problem;

static tern_status compute(tern_ctx *ctx, const problem *p, const char *library, tern_level level,
                           bool *by_library, float *y)
{
    tern_compile_options options = tern_compile_options_default();
    tern_program *program = NULL;
    tern_exec *exec = NULL;
    options.library = library;
    options.level = level;
    TERN_SCOPE(ctx) {
        const int64_t a_shape[] = {p->a_turned ? p->k : p->m, p->a_turned ? p->m : p->k};
        const int64_t b_shape[] = {p->b_turned ? p->n : p->k, p->b_turned ? p->k : p->n};
        tern_tensor *a = tern_randn(ctx, TERN_F32, 2, a_shape, 3);
        tern_tensor *b = tern_randn(ctx, TERN_F32, 2, b_shape, 4),
                    *in = tern_input(ctx, "a", TERN_F32, 2, a_shape);
        tern_tensor *out = NULL;
        TERN_TRY(tern_eval(a));
        TERN_TRY(tern_eval(b));
        if (p->constant)
            TERN_TRY(tern_freeze(b));
        tern_tensor *r = tern_relu(tern_matmul(in, b, p->a_turned, p->b_turned));
        TERN_TRY(tern_compile(ctx, 1, &r, NULL, &options, &program));
        *by_library = false;
        for (int i = 0; i < NAMES; i++)
            *by_library = *by_library || uses(program, names[i]);
        TERN_TRY(tern_exec_create(ctx, program, &exec));
        TERN_TRY(tern_exec_run(exec, 1, &a, 1, &out));
        memcpy(y, tern_data_f32(out), (size_t)(p->m * p->n) * sizeof *y);
        tern_release(out);
        tern_exec_free(exec);
        tern_program_free(program);
    }
    return TERN_OK;
}

/* Two orders of a sum of k products of numbers below 6 differ by no more than k roundings of each partial sum. */
static double bound(int64_t k)
{
    return (double)k * (double)k * 36 * 0x1p-24;
}

TEST(libraries_are_within_bounds_and_only_used_if_asked_for)
{
    if (SANITIZED)
        SKIP("sanitizers fail on threads of libraries that were built without them");
    if (tern__library_core_type()) /* before it is loaded: OpenBLAS takes some processors for others */
        CHECK(setenv("OPENBLAS_CORETYPE", tern__library_core_type(), 0) == 0);
    static const problem problems[] = {{64, 64, 64, false, false, false}, {37, 53, 71, false, false, true},
                                       {37, 53, 71, true, false, false},  {37, 53, 71, false, true, true},
                                       {37, 53, 71, true, true, false},   {1, 70, 300, false, false, false},
                                       {300, 1, 70, false, false, false}, {5, 3, 1, true, false, false}};
    int ran = 0;
    tern_ctx *ctx = context();
    CHECK(ctx != NULL);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const problem *p = &problems[i];
        float *want = malloc((size_t)(p->m * p->n) * sizeof *want),
              *got = malloc((size_t)(p->m * p->n) * sizeof *got);
        CHECK(want && got);
        for (int level = TERN_LEVEL_NONE; level <= TERN_LEVEL_HIGH; level++) {
            bool by_library = true;
            CHECK_OK(compute(ctx, p, NULL, (tern_level)level, &by_library, want));
            CHECK(!by_library);
            for (int l = 0; l < NAMES; l++) {
                if (why_not(names[l]))
                    continue;
                ran++;
                CHECK_OK(compute(ctx, p, names[l], (tern_level)level, &by_library, got));
                CHECK(by_library);
                for (int64_t j = 0; j < p->m * p->n; j++)
                    CHECK(fabs((double)want[j] - (double)got[j]) <= bound(p->k));
            }
        }
        free(want);
        free(got);
    }
    tern_ctx_destroy(ctx);
    if (ran == 0)
        SKIP("none of oneDNN, OpenBLAS and Accelerate is here");
}

TEST(what_is_not_there_says_why)
{
    if (SANITIZED)
        SKIP("sanitizers fail on threads of libraries that were built without them");
    tern_ctx *ctx = context();
    const problem p = {8, 8, 8, false, false, false};
    float y[64];
    bool ignored;
    CHECK(ctx != NULL);
    CHECK_STATUS(compute(ctx, &p, "mkl", TERN_LEVEL_MEDIUM, &ignored, y), TERN_NOT_FOUND);
    CHECK(strstr(tern_last_error(), "onednn, openblas, accelerate") != NULL);
    CHECK_STATUS(compute(ctx, &p, "a name that is far too long", TERN_LEVEL_MEDIUM, &ignored, y),
                 TERN_NOT_FOUND);
    for (int i = 0; i < NAMES; i++)
        if (why_not(names[i])) {
            CHECK_STATUS(compute(ctx, &p, names[i], TERN_LEVEL_MEDIUM, &ignored, y), TERN_UNAVAILABLE);
            CHECK(strstr(tern_last_error(), why_not(names[i])) != NULL);
        }
    tern_ctx_destroy(ctx);
}
