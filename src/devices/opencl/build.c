/* build.c - from source to program: built once per process, and kept on disk between processes. An entry is good for one device,
 * driver and source; what is damaged or of another kind is built and written again. */
#include "devices/opencl/opencl.h"

typedef int tern__opencl_build_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/status.h"

/* "ROUNDED" tells the prelude that quotients and roots need no help. */
static const char *options_of(const tern__device *d)
{
    return d->rounding == TERN__OCL_ROUNDS_DRIVER
               ? "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt -DROUNDED"
               : "-cl-std=CL1.2 -w";
}

/* What stands before a program in its file. */
typedef struct header {
    char magic[8];
    uint64_t key;      /* of device, driver, options and source */
    uint64_t bytes;    /* of the program */
    uint64_t checksum; /* of it */
} header;

static const char magic[8] = "ternocl";
enum { MOST_BYTES = 256 << 20 };

static uint64_t key_of(const tern__device *d, const char *source)
{
    const char *options = options_of(d);
    return tern__hash(source, strlen(source), tern__hash(options, strlen(options), d->identity));
}

/* ---- on disk ---- */

/* NULL: there is none, or it is of no use. */
static cl_program read_program(tern__device *d, uint64_t key)
{
    char path[4096], *data = NULL;
    size_t length = 0;
    header h;
    cl_program program = NULL;
    tern__ocl_kept_path(d->cache, key, path, sizeof path);
    if (tern__file_read_all(path, MOST_BYTES, &data, &length) != TERN_OK)
        return NULL;
    const unsigned char *binary = (const unsigned char *)data + sizeof h;
    if (length >= sizeof h)
        memcpy(&h, data, sizeof h);
    if (length >= sizeof h && memcmp(h.magic, magic, sizeof magic) == 0 && h.key == key &&
        h.bytes == length - sizeof h && h.checksum == tern__hash(binary, (size_t)h.bytes, 0)) {
        const size_t bytes = (size_t)h.bytes;
        cl_int status = CL_SUCCESS, error = CL_SUCCESS;
        program =
            d->cl->CreateProgramWithBinary(d->context, 1, &d->cl->device, &bytes, &binary, &status, &error);
        if (program &&
            (status != CL_SUCCESS || error != CL_SUCCESS ||
             d->cl->BuildProgram(program, 1, &d->cl->device, options_of(d), NULL, NULL) != CL_SUCCESS)) {
            d->cl->ReleaseProgram(program);
            program = NULL;
        }
    }
    if (!program)
        tern__log(TERN_LOG_INFO, "opencl: %s is damaged or of another driver: it is built again", path);
    tern__free(data);
    return program;
}

static tern_status write_file(const char *path, const void *head, size_t head_bytes, const void *data,
                              size_t bytes)
{
    tern__writer writer;
    tern__file_make_folders(path);
    TERN_TRY(tern__writer_open(path, &writer));
    tern_status status = tern__writer_write(&writer, head, head_bytes);
    if (status == TERN_OK)
        status = tern__writer_write(&writer, data, bytes);
    if (status == TERN_OK)
        return tern__writer_commit(&writer);
    tern__writer_abort(&writer);
    return status;
}

/* A cache that cannot be written costs time, and is no failure. */
static void write_program(tern__device *d, uint64_t key, cl_program program)
{
    size_t bytes = 0;
    char path[4096];
    if (d->cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        bytes == 0 || bytes > MOST_BYTES)
        return;
    unsigned char *binary = tern__alloc(bytes);
    header h = {.key = key, .bytes = bytes};
    if (binary &&
        d->cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
        memcpy(h.magic, magic, sizeof magic);
        h.checksum = tern__hash(binary, bytes, 0);
        tern__ocl_kept_path(d->cache, key, path, sizeof path);
        if (write_file(path, &h, sizeof h, binary, bytes) == TERN_OK)
            tern__ocl_kept_limit(d->cache, key, d->most_kept);
        else if (!d->not_kept) {
            tern__log(TERN_LOG_WARN, "opencl: kernels are not kept, and built in every process: %s",
                      tern_last_error());
            d->not_kept = true;
        }
    }
    tern__free(binary);
}

/* ---- building ---- */

/* What the compiler says, from its first error on: what stands before (notes, warnings) would take the message's place. */
static tern_status fail_build(tern__device *d, const char *name, cl_program program, cl_int error)
{
    size_t bytes = 0;
    char *log = NULL;
    if (d->cl->GetProgramBuildInfo(program, d->cl->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) ==
        CL_SUCCESS)
        log = tern__alloc_zero(bytes + 1, 1);
    if (log && d->cl->GetProgramBuildInfo(program, d->cl->device, CL_PROGRAM_BUILD_LOG, bytes, log, NULL) !=
                   CL_SUCCESS)
        log[0] = '\0';
    const char *first = log ? strstr(log, "error") : NULL;
    while (first && first > log && first[-1] != '\n')
        first--;
    for (size_t n = log ? strlen(log) : 0; n > 0 && isspace((unsigned char)log[n - 1]); n--)
        log[n - 1] = '\0';
    const tern_status status =
        tern__fail(TERN_INTERNAL, "opencl: kernel %s does not compile (error %d): %s", name, error,
                   first           ? first
                   : log && log[0] ? log
                                   : "the driver says no more");
    tern__free(log);
    return status;
}

static tern_status compile(tern__device *d, const char *name, const char *source, cl_program *out)
{
    cl_int error = CL_SUCCESS;
    cl_program program = d->cl->CreateProgramWithSource(d->context, 1, &source, NULL, &error);
    if (!program)
        return tern__ocl_fail(d, name, error);
    error = d->cl->BuildProgram(program, 1, &d->cl->device, options_of(d), NULL, NULL);
    if (error != CL_SUCCESS) {
        const tern_status status = fail_build(d, name, program, error);
        d->cl->ReleaseProgram(program);
        return status;
    }
    *out = program;
    return TERN_OK;
}

static tern_status dump_source(const tern__device *d, const char *name, uint64_t key, const char *source)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-%016" PRIx64 ".cl", d->dump, name, key);
    return write_file(path, "", 0, source, strlen(source));
}

tern_status tern__ocl_build(tern__device *d, const char *name, const char *source, cl_program *out)
{
    const uint64_t key = key_of(d, source);
    for (size_t i = 0; i < d->n_built; i++)
        if (d->built[i].hash == key) {
            *out = d->built[i].program;
            return TERN_OK;
        }
    if (!tern__grow((void **)&d->built, &d->cap_built, d->n_built + 1, sizeof *d->built))
        return tern__out_of_memory(sizeof *d->built);
    if (d->dump)
        TERN_TRY(dump_source(d, name, key, source));
    TERN_TRY(tern__ocl_check_room(d)); /* of what comes from the disk the driver writes its own files, too */
    cl_program program = d->cache ? read_program(d, key) : NULL;
    d->loaded += program != NULL;
    if (!program) {
        if (d->building && d->building->told)
            d->building->told(d->building->user, "opencl", (int)d->step, (int)d->steps,
                              d->cache && !d->not_kept);
        TERN_TRY(compile(d, name, source, &program));
        d->compiled++;
        if (d->cache)
            write_program(d, key, program);
    }
    d->built[d->n_built++] = (tern__ocl_built){key, program};
    *out = program;
    return TERN_OK;
}

#endif
