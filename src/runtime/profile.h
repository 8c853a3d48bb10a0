/* profile.h - times of steps in ordinary runs, for the next compilation to choose by. */
#ifndef TERN_RUNTIME_PROFILE_H
#define TERN_RUNTIME_PROFILE_H

#include "base/arena.h"
#include "runtime/program.h"

/* Where the times of a program's steps go. */
typedef struct tern__profile tern__profile;

/* In `arena`. NULL: no memory. */
tern__profile *tern__profile_make(tern_ctx *ctx, const tern_program *program, tern__arena *arena);

/* Adds one run: ns[i] of step i, 0 = not measured. */
void tern__profile_add(tern__profile *profile, const uint64_t *ns);

#endif
