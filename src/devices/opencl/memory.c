/* memory.c - memory of a device that does not use the host's: buffers that plans keep. Of constants and states there is one copy for
 * all plans that use them. A constant stays where it is as long as a plan that reads it, so its address and size name it; what a
 * copy of a state holds is known by its version. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_memory_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include "base/alloc.h"
#include "base/status.h"

tern_status tern__ocl_room_for(const tern__device *d, size_t bytes)
{
    TERN__FAIL_IF(d->most_bytes && (d->used_bytes > d->most_bytes || bytes > d->most_bytes - d->used_bytes),
                  TERN_OUT_OF_MEMORY,
                  "opencl: %zu bytes of device memory more than the %zu of %zu that are in use", bytes,
                  d->used_bytes, d->most_bytes);
    return TERN_OK;
}

static tern_status create(tern__device *d, size_t bytes, const void *from, cl_mem *out)
{
    cl_int error = CL_SUCCESS;
    TERN_TRY(tern__ocl_room_for(d, bytes));
    *out = d->cl->CreateBuffer(d->context, from ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE,
                               bytes, (void *)(uintptr_t)from, &error);
    if (!*out)
        return tern__ocl_fail(d, "memory", error);
    d->used_bytes += bytes;
    d->copied_bytes += from ? bytes : 0;
    return TERN_OK;
}

tern_status tern__ocl_memory_get(tern__device *d, size_t bytes, const void *host, bool constant,
                                 tern__ocl_memory **out)
{
    for (size_t i = 0; host && i < d->n_memory; i++)
        if (d->memory[i]->host == host && d->memory[i]->bytes == bytes &&
            d->memory[i]->constant == constant) {
            d->memory[i]->uses++;
            *out = d->memory[i];
            return TERN_OK;
        }
    if (!tern__grow((void **)&d->memory, &d->cap_memory, d->n_memory + 1, sizeof(tern__ocl_memory *)))
        return tern__out_of_memory(sizeof(tern__ocl_memory *));
    tern__ocl_memory *memory = tern__alloc_zero(1, sizeof *memory);
    if (!memory)
        return tern__out_of_memory(sizeof *memory);
    const tern_status status = create(d, bytes, constant ? host : NULL, &memory->buffer);
    if (status != TERN_OK) {
        tern__free(memory);
        return status;
    }
    memory->bytes = bytes;
    memory->host = host;
    memory->constant = constant;
    memory->uses = 1;
    d->memory[d->n_memory++] = memory;
    *out = memory;
    return TERN_OK;
}

void tern__ocl_memory_put(tern__device *d, tern__ocl_memory *memory)
{
    if (--memory->uses > 0)
        return;
    for (size_t i = 0; i < d->n_memory; i++)
        if (d->memory[i] == memory) {
            d->memory[i] = d->memory[--d->n_memory];
            break;
        }
    d->cl->ReleaseMemObject(memory->buffer);
    d->used_bytes -= memory->bytes;
    tern__free(memory);
}

#endif
