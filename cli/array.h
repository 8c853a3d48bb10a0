/* array.h - arrays in files, and what is in them: statistics, the first values, a hash. */
#ifndef TERN_CLI_ARRAY_H
#define TERN_CLI_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <tern/tensor.h>

#include "json.h"

/* Of the finite elements; integers (bool and ternary included) are exact. */
typedef struct array_stats {
    bool integer;
    int64_t finite, nan, inf; /* how many */
    int64_t least_int, most_int;
    double least, most;
    double mean;
} array_stats;

/* Evaluates `t` if need be and reads all of it, in pieces. */
tern_status array_measure(tern_tensor *t, array_stats *out);

/* FNV-1a, 64 bits, of the contiguous bytes. */
tern_status array_hash(tern_tensor *t, uint64_t *out);

/* "min -1.2  max 3.4  mean 0.1  2 NaN"; nothing for an empty array. */
void array_add_stats(text *out, const array_stats *s);
/* Members min, max, mean, nan and inf; null where there is no finite element. */
void array_json_stats(json *j, const array_stats *s);

/* Prints the first values of the first rows, `indent` columns from the left. */
tern_status array_preview(tern_tensor *t, int indent);

/* Appends the first element; there must be one. */
tern_status array_add_first(text *out, tern_tensor *t);

/* What the left side of a table calls it: f32[2,3]. */
void array_add_type(text *out, const tern_tensor *t);

/* The array at `place`: FILE.npy, FILE.npz:KEY, or FILE.npz if it holds one array, or one called `name`. By content,
 * not by the file's name. false: that was said. Large files are mapped, not read. */
bool array_load(tern_ctx *ctx, const char *place, const char *name, tern_tensor **out);

#endif
