/* library.c - loads other libraries and hands them whole products; operands that they cannot read as they lie go to Tern's own
 * kernel. OpenBLAS takes some processors for others and is then several times slower: it is refused then, with what to set (it
 * reads that from the environment, which is the program's and not ours to write). */
#include "devices/cpu/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "devices/cpu/cpu.h"
#include "kernels/gemm/product.h"
#include "kernels/select.h"

#define FILES(...)  \
    {               \
        __VA_ARGS__ \
    }
#define TERN_LIBRARY(id, list, call, getter, setter) \
    {.name = #id, .kernel = "matmul__" #id, .files = list, .product = call, .get = getter, .set = setter},
static tern__library libraries[] = {
#include "kernels/kernels.def"
};
#undef FILES
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- loading ---- */

/* The core types of OpenBLAS that have kernels for the best instructions of this processor; NULL: any is right. */
static const char *const *core_types(void)
{
    static const char *const avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    static const char *const avx2[] = {"Haswell", "Zen", "SkylakeX", NULL};
    const uint32_t mask = tern__cpu()->isa_mask;
    return mask >> TERN__ISA_AVX512 & 1 ? avx512 : mask >> TERN__ISA_AVX2 & 1 ? avx2 : NULL;
}

const char *tern__library_core_type(void)
{
    return core_types() ? core_types()[0] : NULL;
}

static void check_core(tern__library *l, void *handle)
{
    char *(*corename)(void) = NULL;
    const char *const *right = core_types();
    *(void **)&corename = dlsym(handle, "openblas_get_corename");
    if (!corename || !right)
        return;
    for (; *right; right++)
        if (strcmp(corename(), *right) == 0)
            return;
    snprintf(l->missing, sizeof l->missing,
             "%s takes this processor for '%.40s': set OPENBLAS_CORETYPE to %s", l->name, corename(),
             core_types()[0]);
}

static void *open_first(tern__library *l)
{
    void *handle = NULL;
    for (int i = 0; l->files[i] && !handle; i++)
        handle = dlopen(l->files[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        snprintf(l->missing, sizeof l->missing, "%s is not installed (%s)", l->name, l->files[0]);
    return handle;
}

/* It stays loaded: its threads may outlive any use. */
static void load(tern__library *l)
{
    void *handle = open_first(l), *product = handle ? dlsym(handle, l->product) : NULL;
    if (!handle)
        return;
    if (!product) {
        snprintf(l->missing, sizeof l->missing, "%s has no function %s", l->name, l->product);
        return;
    }
    if (strcmp(l->product, "cblas_sgemm") == 0)
        *(void **)&l->cblas = product;
    else
        *(void **)&l->dnnl = product;
    if (l->get)
        *(void **)&l->get_threads = dlsym(handle, l->get);
    if (l->set)
        *(void **)&l->set_threads = dlsym(handle, l->set);
    check_core(l, handle);
}

const tern__library *tern__library_at(int i)
{
    if (i < 0 || i >= (int)TERN__COUNT(libraries))
        return NULL;
    pthread_mutex_lock(&lock);
    if (!libraries[i].tried)
        load(&libraries[i]);
    libraries[i].tried = true;
    pthread_mutex_unlock(&lock);
    return &libraries[i];
}

void tern__library_use_threads(const tern__library *library, int threads)
{
    if (library->set_threads && (!library->get_threads || library->get_threads() != threads))
        library->set_threads(threads);
}

tern_status tern__library_find(const char *name, const tern__library **out)
{
    char names[128] = "";
    for (int i = 0; i < (int)TERN__COUNT(libraries); i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", libraries[i].name);
        if (strcmp(libraries[i].name, name) != 0)
            continue;
        const tern__library *found = tern__library_at(i);
        TERN__FAIL_IF(found->missing[0], TERN_UNAVAILABLE, "library: %s", found->missing);
        *out = found;
        return TERN_OK;
    }
    return tern__fail(TERN_NOT_FOUND, "there is no library '%s': %s", name, names);
}

/* ---- products ---- */

/* A matrix as libraries take it: elements of a row, or of a column, side by side; `lead` from one to the next. */
typedef struct operand {
    const float *data;
    bool transposed;
    int64_t lead;
} operand;

static bool lies(const tern__buffer *x, int64_t rows, int64_t columns, int64_t row, int64_t column,
                 operand *out)
{
    const bool as_it_is = (column == 1 || columns == 1) && (row >= columns || rows == 1);
    *out = (operand){.data = x->data,
                     .transposed = !as_it_is,
                     .lead = as_it_is ? (rows == 1 ? columns : row) : (columns == 1 ? rows : column)};
    return (as_it_is || ((row == 1 || rows == 1) && (column >= rows || columns == 1))) && rows <= INT_MAX &&
           columns <= INT_MAX && out->lead <= INT_MAX;
}

static bool multiply(const tern__library *library, const operand *a, const operand *b, const operand *y,
                     int64_t m, int64_t n, int64_t k)
{
    enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };
    float *out = (float *)(uintptr_t)y->data;
    if (library->dnnl)
        return library->dnnl(a->transposed ? 'T' : 'N', b->transposed ? 'T' : 'N', m, n, k, 1, a->data,
                             a->lead, b->data, b->lead, 0, out, y->lead) == 0;
    library->cblas(ROW_MAJOR, a->transposed ? TRANSPOSED : AS_IT_IS, b->transposed ? TRANSPOSED : AS_IT_IS,
                   (int)m, (int)n, (int)k, 1, a->data, (int)a->lead, b->data, (int)b->lead, 0, out,
                   (int)y->lead);
    return true;
}

typedef struct library_program {
    const tern__library *library;
    int threads;
    tern__gemm_program own;
} library_program;

static tern_status run(tern__kernel_args *args, int64_t begin, int64_t end)
{
    const library_program *p = args->program;
    const tern__buffer *a = &args->in[0], *b = &args->in[1], *y = &args->out[0];
    const int64_t m = p->own.turned ? p->own.n : p->own.m, n = p->own.turned ? p->own.m : p->own.n;
    const int64_t k = p->own.k;
    const int a_row = args->attrs[0].i != 0, b_row = args->attrs[1].i != 0;
    operand x[3];
    (void)begin, (void)end; /* all of it is one item */
    tern__library_use_threads(p->library, p->threads);
    if (lies(a, m, k, a->strides[a_row], a->strides[!a_row], &x[0]) &&
        lies(b, k, n, b->strides[b_row], b->strides[!b_row], &x[1]) &&
        lies(y, m, n, y->strides[0], y->strides[1], &x[2]) && !x[2].transposed &&
        multiply(p->library, &x[0], &x[1], &x[2], m, n, k))
        return TERN_OK;
    tern__kernel_args own = *args;
    own.program = &p->own;
    return tern_matmul__gemm(&own, 0, p->own.work);
}

static const tern__kernel kernel = {.run = run};

tern_status tern__cpu_library(const tern__target *target, const tern__call *call, tern__arena *arena,
                              tern__choice *out, bool *found)
{
    const tern__kernel_row *row = tern__kernel_select(TERN__FAMILY_gemm_f32, target->isa_mask);
    const tern__type *a = call->in[0], *b = call->in[1], *y = &call->out[0];
    library_program p = {.library = target->library, .threads = target->workers};
    if (!target->library || !row || a->rank != 2 || b->rank != 2 || a->dtype != TERN_F32 ||
        b->dtype != TERN_F32 || y->dtype != TERN_F32 ||
        !tern__gemm_plan(row->kernel, a, b, y, call->attrs, 1, &p.own) || p.own.m == 0 || p.own.n == 0 ||
        p.own.k == 0)
        return TERN_OK;
    *out = (tern__choice){.kernel = &kernel,
                          .name = p.library->kernel,
                          .isa = "library",
                          .scratch_bytes = p.own.scratch_bytes,
                          .work = 1};
    *found = true;
    return tern__cpu_keep(arena, &p, sizeof p, &out->program);
}
