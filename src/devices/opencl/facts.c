/* facts.c - what OpenCL says of a device: for people, cut to a line; and which device and driver it is, told apart by all that they
 * say, since kernels that were built for one are not for another. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_facts_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

static void ask(const tern__cl *cl, cl_device_info what, size_t size, void *out)
{
    if (cl->GetDeviceInfo(cl->device, what, size, out, NULL) != CL_SUCCESS)
        memset(out, 0, size);
}

typedef struct text {
    bool of_platform;
    cl_uint what;
    char *bytes; /* as long as it is; "" where nothing is said, or there is no memory; the caller's */
    size_t size; /* with its end */
} text;

static cl_int ask_part(const tern__cl *cl, const text *t, size_t size, void *out, size_t *needed)
{
    return t->of_platform ? cl->GetPlatformInfo(cl->platform, t->what, size, out, needed)
                          : cl->GetDeviceInfo(cl->device, t->what, size, out, needed);
}

static void ask_text(const tern__cl *cl, text *t)
{
    size_t size = 0;
    const bool known = ask_part(cl, t, 0, NULL, &size) == CL_SUCCESS;
    t->bytes = tern__alloc_zero(known ? size + 1 : 1, 1);
    t->size = known && t->bytes ? size : 0;
    if (t->size && ask_part(cl, t, size, t->bytes, NULL) != CL_SUCCESS)
        t->size = 0;
}

static const char *shown(const text *t)
{
    return t->size ? t->bytes : "";
}

void tern__ocl_learn(const tern__cl *cl, tern__ocl_facts *out)
{
    enum { NAME, VERSION, DRIVER, PLATFORM, PLATFORM_VERSION, IDENTIFY, EXTENSIONS = IDENTIFY, TEXTS };
    text texts[TEXTS] = {[NAME] = {.what = CL_DEVICE_NAME},
                         [VERSION] = {.what = CL_DEVICE_VERSION},
                         [DRIVER] = {.what = CL_DRIVER_VERSION},
                         [PLATFORM] = {.of_platform = true, .what = CL_PLATFORM_NAME},
                         [PLATFORM_VERSION] = {.of_platform = true, .what = CL_PLATFORM_VERSION},
                         [EXTENSIONS] = {.what = CL_DEVICE_EXTENSIONS}};
    cl_ulong most = 0;
    cl_device_fp_config single = 0;
    *out = (tern__ocl_facts){0};
    for (int i = 0; i < TEXTS; i++) {
        ask_text(cl, &texts[i]);
        if (i < IDENTIFY) /* lengths, too: where one ends and the next begins counts */
            out->identity =
                tern__hash_mix(tern__hash(shown(&texts[i]), texts[i].size, out->identity), texts[i].size);
    }
    ask(cl, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof out->memory_bytes, &out->memory_bytes);
    ask(cl, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof out->units, &out->units);
    ask(cl, CL_DEVICE_TYPE, sizeof out->type, &out->type);
    ask(cl, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof out->unified, &out->unified);
    ask(cl, CL_DEVICE_LOCAL_MEM_SIZE, sizeof out->local_bytes, &out->local_bytes);
    ask(cl, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most);
    ask(cl, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof out->group_items, &out->group_items);
    ask(cl, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single);
    const char *extensions = shown(&texts[EXTENSIONS]);
    out->rounding = single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? TERN__OCL_ROUNDS_DRIVER
                    : strstr(extensions, "cl_khr_fp64")          ? TERN__OCL_ROUNDS_F64
                                                                 : TERN__OCL_ROUNDS_NOBODY;
    snprintf(out->model, sizeof out->model, "%s", shown(&texts[NAME]));
    snprintf(out->driver, sizeof out->driver, "%.60s %.30s", shown(&texts[PLATFORM]), shown(&texts[DRIVER]));
    snprintf(out->features, sizeof out->features, "f32%s%s%s",
             strstr(extensions, "cl_khr_fp64") ? " f64" : "",
             strstr(extensions, "cl_khr_fp16") ? " (f16 is stored, computed as f32)"
                                               : " (f16 is stored, not computed)",
             out->rounding == TERN__OCL_ROUNDS_DRIVER ? ""
             : out->rounding == TERN__OCL_ROUNDS_F64  ? ", quotients and roots in f64"
                                                      : ", no exact quotients and roots");
    snprintf(out->limits, sizeof out->limits, "a buffer %llu MiB, a work group %zu, local memory %llu KiB",
             (unsigned long long)(most >> 20), out->group_items,
             (unsigned long long)(out->local_bytes >> 10));
    for (int i = 0; i < TEXTS; i++)
        tern__free(texts[i].bytes);
}

#endif
