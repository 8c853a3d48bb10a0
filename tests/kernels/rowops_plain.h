/* rowops_plain.h - the instructions of row programs, one element at a time: what the tables are tested
 * against. Transcendental ones are f64 functions, rounded. */
#ifndef TERN_TESTS_KERNELS_ROWOPS_PLAIN_H
#define TERN_TESTS_KERNELS_ROWOPS_PLAIN_H

#include "kernels/row/rowops.h"

extern const tern__rowop_table rowops_plain;

#endif
