/* memory.c - memory of a device that does not use the host's: buffers that plans keep, and constants, of which there is one copy for
 * all plans that read them. A constant stays where it is as long as a plan that reads it, so its address and size name it. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_memory_is_compiled; /* no file is empty */

#ifdef TERN__HAVE_OPENCL

#include "base/alloc.h"
#include "base/status.h"

static tern_status create(tern__device *d, size_t bytes, const void *from, cl_mem *out)
{
    cl_int error = CL_SUCCESS;
    TERN__FAIL_IF(d->most_bytes && bytes > d->most_bytes - d->used_bytes, TERN_OUT_OF_MEMORY,
                  "opencl: %zu bytes of device memory more than the %zu of %zu that are in use", bytes,
                  d->used_bytes, d->most_bytes);
    *out = d->cl->CreateBuffer(d->context, from ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                               bytes, (void *)(uintptr_t)from, &error);
    if (!*out)
        return tern__ocl_fail(d, "memory", error);
    d->used_bytes += bytes;
    d->copied_bytes += from ? bytes : 0;
    return TERN_OK;
}

tern_status tern__ocl_memory_get(tern__device *d, size_t bytes, const void *constant, cl_mem *out)
{
    for (size_t i = 0; constant && i < d->n_memory; i++)
        if (d->memory[i].constant == constant && d->memory[i].bytes == bytes) {
            d->memory[i].uses++;
            *out = d->memory[i].buffer;
            return TERN_OK;
        }
    if (!tern__grow((void **)&d->memory, &d->cap_memory, d->n_memory + 1, sizeof *d->memory))
        return tern__out_of_memory(sizeof *d->memory);
    cl_mem buffer = NULL;
    TERN_TRY(create(d, bytes, constant, &buffer));
    d->memory[d->n_memory++] =
        (tern__ocl_memory){.buffer = buffer, .bytes = bytes, .constant = constant, .uses = 1};
    *out = buffer;
    return TERN_OK;
}

void tern__ocl_memory_put(tern__device *d, cl_mem buffer)
{
    for (size_t i = 0; i < d->n_memory; i++)
        if (d->memory[i].buffer == buffer && --d->memory[i].uses == 0) {
            d->cl->ReleaseMemObject(buffer);
            d->used_bytes -= d->memory[i].bytes;
            d->memory[i] = d->memory[--d->n_memory];
            return;
        }
}

#endif
