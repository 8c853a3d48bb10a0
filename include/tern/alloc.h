/* alloc.h - the one door through which libtern obtains memory, and a hook that stands in it. */
#ifndef TERN_ALLOC_H
#define TERN_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tern/export.h>

/* Asked before every allocation (heap or pages) of `bytes`; false makes that allocation fail.
 * Called from any thread; must not call into tern. */
typedef bool (*tern_alloc_gate)(void *user, size_t bytes);

typedef struct tern_alloc_stats {
    uint64_t allocations; /* successful ones since the process started */
    uint64_t frees;       /* of blocks, NULL not counted               */
    uint64_t refused;     /* by the gate or by the system              */
    uint64_t live_bytes;  /* allocated and not freed                   */
} tern_alloc_stats;

#ifdef __cplusplus
extern "C" {
#endif

/* Installs the gate (NULL: none). Used by tests to fail the Nth allocation and by programs that meter memory.
 * Not to be called while other threads are inside tern. */
TERN_API void tern_alloc_set_gate(tern_alloc_gate gate, void *user);

/* Counters over everything libtern has allocated. `allocations - frees` blocks are live. Any thread. */
TERN_API void tern_alloc_get_stats(tern_alloc_stats *out);

#ifdef __cplusplus
}
#endif
#endif
