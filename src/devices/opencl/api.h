/* api.h - OpenCL's functions, found when they are first asked for: nothing links the library, and where neither it nor (when Tern
 * was built) its headers are there, the device says so. Private to devices/opencl. */
#ifndef TERN_DEVICES_OPENCL_API_H
#define TERN_DEVICES_OPENCL_API_H

#if TERN_HAVE_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

/* Everything that is called. */
/* clang-format off */
#define TERN__CL_LIST(X)                                                                                \
    X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo) X(CreateContext)              \
    X(ReleaseContext) X(CreateCommandQueue) X(ReleaseCommandQueue) X(CreateBuffer) X(ReleaseMemObject)  \
    X(CreateProgramWithSource) X(CreateProgramWithBinary) X(BuildProgram) X(GetProgramInfo)             \
    X(GetProgramBuildInfo) X(ReleaseProgram) X(CreateKernel) X(ReleaseKernel) X(SetKernelArg)           \
    X(EnqueueNDRangeKernel) X(EnqueueReadBuffer) X(EnqueueWriteBuffer) X(EnqueueCopyBuffer)             \
    X(EnqueueMapBuffer) X(EnqueueUnmapMemObject) X(EnqueueMarkerWithWaitList)                           \
    X(EnqueueBarrierWithWaitList) X(Finish) X(Flush) X(WaitForEvents) X(ReleaseEvent)                 \
    X(GetEventProfilingInfo) X(GetEventInfo)
/* clang-format on */

typedef struct tern__cl {
#define TERN__CL_FIELD(name) __typeof__(&cl##name) name;
    TERN__CL_LIST(TERN__CL_FIELD)
#undef TERN__CL_FIELD
    cl_platform_id platform;
    cl_device_id device; /* the first GPU, else the first of any kind */
} tern__cl;

/* The library and its device, or NULL with *why. Any thread. */
const tern__cl *tern__cl_load(const char **why);

/* "out of resources"; static. */
const char *tern__cl_error(cl_int error);

#endif
#endif
