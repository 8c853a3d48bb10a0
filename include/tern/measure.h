/* measure.h - how fast things are, and how fast they could be on this machine.
 *
 * A limit is what the hardware gives at most: bytes read or moved, multiply-adds in f32, products of int8. Limits are measured,
 * not looked up: each is the best of several probes, run in turns with what it is the limit of, so that a share of the limit
 * means something on a machine that others use as well. */
#ifndef TERN_MEASURE_H
#define TERN_MEASURE_H

#include <tern/export.h>
#include <tern/status.h>

/* X(enumerator, number, name, what counts). */
#define TERN_LIMIT_LIST(X)                                        \
    X(READ_BW, 0, "read_bw", "bytes read from memory")            \
    X(COPY_BW, 1, "copy_bw", "bytes read and written")            \
    X(FMA, 2, "fma", "f32 operations, two for each multiply-add") \
    X(INT8_DOT, 3, "int8_dot", "int8 operations, two for each product that is added up")

typedef enum tern_limit_kind {
#define TERN_LIMIT_ENUM(id, number, name, counts) TERN_LIMIT_##id = number,
    TERN_LIMIT_LIST(TERN_LIMIT_ENUM)
#undef TERN_LIMIT_ENUM
} tern_limit_kind;

#ifdef __cplusplus
extern "C" {
#endif

/* "read_bw"; "unknown" for numbers that are no kinds. Static. */
TERN_API const char *tern_limit_name(tern_limit_kind kind);

#ifdef __cplusplus
}
#endif
#endif
