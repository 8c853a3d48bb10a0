/* recover.h - partitions on another device than the CPU, run so that failures of the device are told, retried, and taken over by
 * the CPU where that is allowed. The one way in which they run. */
#ifndef TERN_RUNTIME_RECOVER_H
#define TERN_RUNTIME_RECOVER_H

#include "base/status.h"
#include "runtime/run.h"

enum { TERN__USUAL_RETRIES = 2 };

/* Has the device compile the plan of a run; *out belongs to the caller. */
tern_status tern__loaded_make(tern_ctx *ctx, const tern__plan *plan, const tern_graph *graph,
                              tern__loaded **out);
void tern__loaded_free(const tern__device_ops *ops, tern__device *device,
                       tern__loaded *loaded); /* NULL is fine */

/* Partition p of the plan that was given, which is on the device. Where the CPU takes over its scratch may need a larger arena: the room
 * and the bindings have that then. *n_done is exact after a failure: what a failed partition changed is put back. */
tern_status tern__recover_run(tern_ctx *ctx, tern__loaded *loaded, uint32_t p, tern__room *room,
                              tern__bindings *bindings, uint32_t *n_done);

/* ---- for check.c ---- */

/* What is known of a failure. */
typedef struct tern__failure {
    const char *device; /* the plan's: never "auto", which has several */
    const char *doing;  /* "compile", "run", "check" */
    const tern__step *step;
    uint32_t number; /* of the step */
    tern_status status;
    int tries;
    char cause[TERN__MESSAGE_MAX];
} tern__failure;

/* Notes it in the context, and says whether the CPU may take over; if not, that is the status of the run. */
tern_status tern__failure_note(tern_ctx *ctx, const tern__failure *failure, bool *taken_over);

/* Did the device answer what the CPU does? `part` is one step that it has run, `before` has what the step wrote over, and
 * loaded->host is there. With fallback a wrong answer is replaced by the CPU's; without, memory is as it was before. */
tern_status tern__check_step(tern_ctx *ctx, tern__loaded *loaded, const tern__partition *part,
                             const tern__saved *before, const tern__bindings *bindings);

#endif
