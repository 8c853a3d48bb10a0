/* npy.h - NumPy's .npy format: one array after a short header. Lazy tensors are a layer above; here a tensor
 * is a type, a layout and a storage.
 *
 * Nothing in a file is trusted. What is read: versions 1.0, 2.0 and 3.0; bool, u8, i8, i32, i64, f16, f32,
 * f64 in either byte order; C and Fortran order. Refused with TERN_UNSUPPORTED: Python objects, structured
 * and other element types, more than TERN__MAX_RANK axes. Everything else is TERN_FORMAT. bf16, t2 and t5
 * have no form in .npy; writing them is refused, not done in another type: cast first. */
#ifndef TERN_TENSOR_NPY_H
#define TERN_TENSOR_NPY_H

#include "tensor/layout.h"
#include "tensor/storage.h"
#include "tensor/type.h"

/* Longest header accepted, in bytes from the start of the file: what version 1.0 can state at most. NumPy
 * itself stops at 10,000 characters; an ordinary header has 128 bytes. Checked before anything is read or
 * allocated. */
enum { TERN__NPY_HEADER_MAX = 10 + 65535 };

/* Longest header that is written. */
enum { TERN__NPY_HEADER_WRITTEN = 320 };

typedef struct tern__npy_header {
    tern__type type;
    bool fortran_order; /* the first axis varies fastest */
    bool swapped;       /* elements are in the other byte order than this machine's */
    size_t data_offset; /* bytes before the array */
    size_t data_bytes;  /* of the array */
} tern__npy_header;

/* Parses the header at the start of `data`, of which `bytes` are at hand; TERN_FORMAT if that is not all of
 * it. (Give the smaller of the file's size and TERN__NPY_HEADER_MAX.) Whether the array itself is there is
 * for the caller to compare. `who`, the file's name, starts every message. */
tern_status tern__npy_parse(const char *who, const void *data, size_t bytes, tern__npy_header *out);

/* The header of a C-order (or Fortran-order) array: its length, a multiple of 64, is returned in `*bytes`.
 * Byte for byte what NumPy writes. TERN_DTYPE for types that .npy has not. */
tern_status tern__npy_format(const tern__type *type, bool fortran_order,
                             char buffer[TERN__NPY_HEADER_WRITTEN], size_t *bytes);

/* The strides that the header's order means. */
void tern__npy_layout(const tern__npy_header *header, tern__layout *out);

/* Puts elements that were read as they are in the file into this machine's form: bytes swapped if need be,
 * bools made 0 or 1. */
void tern__npy_normalise(const tern__npy_header *header, void *data, size_t bytes);

/* ---- reading ------------------------------------------------------------------------------------------- */

/* A whole array in memory of the pool (NULL: the heap). Fortran order gives a strided layout, nothing is
 * moved. A file that ends before the array, or goes on behind it, is TERN_FORMAT. */
tern_status tern__npy_read(const char *path, tern_pool *pool, tern__type *type, tern__layout *layout,
                           tern__storage **storage);

/* The same from a block of memory, which is copied. */
tern_status tern__npy_read_memory(const char *who, const void *data, size_t bytes, tern_pool *pool,
                                  tern__type *type, tern__layout *layout, tern__storage **storage);

/* The array mapped in place: nothing is read until it is touched; read-only, or a private copy that can be
 * written. Bools are whatever bytes the file has (nonzero is true). TERN_UNSUPPORTED if the elements are in
 * the other byte order or not aligned to their size: read those. */
tern_status tern__npy_map(const char *path, bool writable_copy, tern__type *type, tern__layout *layout,
                          tern__storage **storage);

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Receives the elements of a tensor in row-major order, a piece at a time. */
typedef tern_status (*tern__npy_sink)(void *user, const void *data, size_t bytes);

/* Sends all elements of an unpacked tensor whose storage starts at `host`, gathering strided ones in a small
 * buffer. Allocates nothing. */
tern_status tern__npy_emit(const tern__type *type, const tern__layout *layout, const void *host,
                           tern__npy_sink sink, void *user);

/* Writes the file atomically: on failure the old one is as it was. */
tern_status tern__npy_write(const char *path, const tern__type *type, const tern__layout *layout,
                            const void *host);

/* Copies a file to another element type, with buffers of `chunk_bytes` together (0: 4 MiB), however large the
 * file is. Bit-equal to converting it at once. The order of axes is kept; the paths may be the same. */
tern_status tern__npy_convert(const char *in_path, const char *out_path, tern_dtype to, size_t chunk_bytes);

#endif
