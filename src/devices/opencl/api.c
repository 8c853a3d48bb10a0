/* api.c - loads OpenCL and finds a device. */
#include "devices/opencl/api.h"

typedef int tern__opencl_api_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/places.h"
#include "base/status.h"

/* Drivers are full of threads and memory that sanitizers do not know. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static tern__cl api;
static char missing[256];

static bool find_functions(void *library)
{
#define FIND(name)                                                                                        \
    *(void **)&api.name = dlsym(library, "cl" #name);                                                     \
    if (!api.name) {                                                                                      \
        snprintf(missing, sizeof missing,                                                                 \
                 "the OpenCL library has no function cl%s: one of OpenCL 1.2 or newer is needed", #name); \
        return false;                                                                                     \
    }
    TERN__CL_LIST(FIND)
#undef FIND
    return true;
}

/* The first of a kind on any platform. */
static bool find_device(cl_device_type type)
{
    cl_platform_id platforms[16];
    cl_uint n = 0;
    if (api.GetPlatformIDs((cl_uint)TERN__COUNT(platforms), platforms, &n) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n && i < TERN__COUNT(platforms); i++)
        if (api.GetDeviceIDs(platforms[i], type, 1, &api.device, NULL) == CL_SUCCESS) {
            api.platform = platforms[i];
            return true;
        }
    return false;
}

/* A driver on the processor has a thread for each core from now on. Where they may move the system puts two of them on one core in
 * every other process, for as long as it runs (docs/devices.md). */
static void place_threads(const tern__thread_list *before)
{
    cl_device_type type = 0;
    cl_uint units = 0;
    if (api.GetDeviceInfo(api.device, CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
        (type & CL_DEVICE_TYPE_CPU) &&
        api.GetDeviceInfo(api.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) == CL_SUCCESS)
        tern__places_give_new(before, (int)units);
}

static void load(void)
{
    static const char *const names[] = {
#ifdef __APPLE__
        "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#else
        "libOpenCL.so.1",
        "libOpenCL.so",
#endif
    };
    void *library = NULL;
    tern__thread_list before;
    if (SANITIZED) {
        snprintf(missing, sizeof missing, "drivers are not loaded in builds with sanitizers");
        return;
    }
    for (size_t i = 0; i < TERN__COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    tern__threads_list(&before);
    if (!library)
        snprintf(
            missing, sizeof missing,
            "no OpenCL library is installed (%s): scripts/install-deps.sh opencl installs one, and PoCL, its "
            "driver for processors",
            names[0]);
    else if (find_functions(library) && !find_device(CL_DEVICE_TYPE_GPU) && !find_device(CL_DEVICE_TYPE_ALL))
        snprintf(
            missing, sizeof missing,
            "OpenCL has no device: no driver is installed (scripts/install-deps.sh opencl installs PoCL, for "
            "processors), or none could start (PoCL must be able to write to ~/.cache/pocl, or to "
            "$POCL_CACHE_DIR)");
    else if (!missing[0])
        place_threads(&before);
}

const tern__cl *tern__cl_load(const char **why)
{
    pthread_once(&once, load);
    *why = missing[0] ? missing : NULL;
    return missing[0] ? NULL : &api;
}

const char *tern__cl_error(cl_int error)
{
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return "out of memory";
    case CL_DEVICE_NOT_AVAILABLE:
        return "the device is not available";
    case CL_INVALID_CONTEXT:
    case CL_INVALID_COMMAND_QUEUE:
        return "the device is lost";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        return "what it had to wait for failed";
    case CL_BUILD_PROGRAM_FAILURE:
        return "the kernel does not compile";
    case CL_INVALID_BUFFER_SIZE:
        return "a buffer is larger than the device allows";
    case CL_INVALID_PROGRAM:
    case CL_INVALID_PROGRAM_EXECUTABLE:
    case CL_INVALID_KERNEL_NAME:
    case CL_INVALID_KERNEL_DEFINITION:
    case CL_INVALID_KERNEL:
        return "what the driver built is of no use; its own cache may be damaged";
    case CL_INVALID_WORK_GROUP_SIZE:
        return "the work group is too large";
    default:
        return "a call failed";
    }
}

#endif
