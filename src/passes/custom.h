/* custom.h - what custom passes and fusion patterns have in common: an edit of the compilation's graph, and the promise that
 * outputs share memory as they did. */
#ifndef TERN_PASSES_CUSTOM_H
#define TERN_PASSES_CUSTOM_H

#include "graph/edit.h"
#include "passes/pass.h"

/* With what each output shares memory, and whether that is still so; a failure names the output. */
tern_status tern__sharing_find(tern__compilation *c, uint64_t **out);
tern_status tern__sharing_check(const tern_graph *g, const uint64_t *before);

/* Makes the edited graph, in order and verified, the compilation's. On failure the edit may go on. */
tern_status tern__edit_take(tern__compilation *c, tern_edit *edit);

/* tern_edit.note: lines for the report of the pass that runs; `user` is the compilation. */
void tern__note_line(void *user, const char *line);

/* Before a callback: what it leaves as the last error is its own. */
void tern__forget_error(void);

#endif
