/* lanes.h - the vector types that the instructions of row programs are written in. A file for one instruction
 * set defines TERN__LANES, the f32 lanes of its registers, includes this, defines whatever it can do better
 * than plain C (see vector.h), and includes rowops_impl.h.
 *
 * The types are the compilers' vector types: + - * / & | ^ << >> work on them lane by lane, and they convert
 * to and from the types of intrinsics by a cast. */
#ifndef TERN_KERNELS_ROW_LANES_H
#define TERN_KERNELS_ROW_LANES_H

#include <stdint.h>

enum { LANES = TERN__LANES };

typedef float vf __attribute__((vector_size(LANES * 4)));
typedef int32_t vi __attribute__((vector_size(LANES * 4)));
typedef uint32_t vu __attribute__((vector_size(LANES * 4)));
typedef double vd __attribute__((vector_size(LANES * 4))); /* half as many lanes */

typedef struct vd2 {
    vd lo, hi; /* the f64 of as many lanes as vf has */
} vd2;

#endif
