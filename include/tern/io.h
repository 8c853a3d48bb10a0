/* io.h - tensors in files: .npy and .npz, read, mapped, written, converted. Writes are atomic: a failure
 * leaves the old file as it was. Writing to a link replaces the file that it leads to. */
#ifndef TERN_IO_H
#define TERN_IO_H

#include <stdbool.h>
#include <stddef.h>

#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/export.h>
#include <tern/status.h>
#include <tern/tensor.h>

typedef struct tern_npz tern_npz;

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a .npy file. Big-endian and Fortran-order files are understood; object arrays are refused. */
TERN_API tern_status tern_npy_load(tern_ctx *ctx, const char *path, tern_tensor **out);

/* The same without reading: pages are fetched when touched, so a slice of a large file costs its pages only.
 * The tensor is read-only. TERN_UNSUPPORTED for big-endian files. Who changes the file meanwhile changes the
 * tensor, and who cuts it short makes the operating system end the process with SIGBUS at the next touch of
 * what is gone: load what others may write to. Files that tern writes replace the old one, which stays as it
 * is for those who have it mapped. */
TERN_API tern_status tern_npy_map(tern_ctx *ctx, const char *path, tern_tensor **out);

TERN_API tern_status tern_npy_save(tern_tensor *t, const char *path);

/* Copies a file to another element type in chunks of about `chunk_bytes` (0 = 4 MiB), however large it is. */
TERN_API tern_status tern_npy_convert(const char *in_path, const char *out_path, tern_dtype to,
                                      size_t chunk_bytes);

/* A .npz archive (stored or deflated entries). */
TERN_API tern_status tern_npz_open(const char *path, tern_npz **out);
TERN_API void tern_npz_close(tern_npz *npz); /* NULL is fine */
TERN_API int tern_npz_count(const tern_npz *npz);
TERN_API const char *tern_npz_name(const tern_npz *npz, int i); /* without ".npy"; NULL if out of range */
TERN_API tern_status tern_npz_find(const tern_npz *npz, const char *name, int *out); /* TERN_NOT_FOUND */
TERN_API tern_status tern_npz_load(tern_ctx *ctx, const tern_npz *npz, int i, tern_tensor **out);
/* As tern_npy_map; checksums are not looked at. TERN_UNSUPPORTED for entries that are deflated, big-endian or
 * not aligned. What tern wrote can always be mapped. The tensor may outlive the archive. */
TERN_API tern_status tern_npz_map(tern_ctx *ctx, const tern_npz *npz, int i, tern_tensor **out);
TERN_API tern_status tern_npz_save(const char *path, int n, const char *const *names,
                                   tern_tensor *const *tensors);

#ifdef __cplusplus
}
#endif
#endif
