/* loaded.h - a plan with partitions on another device than the CPU, made ready to run: the device's code, what is saved before a
 * partition begins, and the same plan with the CPU's kernels, for when the device fails (recover.c) or is checked (check.c).
 *
 * Consistency. Tensors and states lie in host memory, and a device has finished a partition when its `run` returns: borders of
 * partitions are consistent states. What a partition writes of memory that was there before, a state above all, is copied before
 * it begins and put back when it fails. Then it begins again from the same bytes, on the device or on the CPU; or nobody runs it
 * again, and memory is as it was. Only the rows that are written are copied, not the state that they lie in: as many bytes
 * as the partition writes there, however large a cache of keys and values is.
 *
 * Belongs to its context; lives no longer than the plan and its graph. */
#ifndef TERN_RUNTIME_LOADED_H
#define TERN_RUNTIME_LOADED_H

#include "devices/device.h"

/* Bytes of a leaf, a block or the arena. */
typedef struct tern__span {
    tern__space space;
    uint32_t index;
    int64_t low, high; /* from its address */
    uint32_t step;     /* that reads or writes them */
} tern__span;

typedef struct tern__spans {
    tern__span *items;
    size_t n, capacity;
} tern__spans;

enum { TERN__WRITE_PLACES = 2 };

/* A step that writes an operand which lies in a leaf. */
typedef struct tern__write {
    uint32_t step, operand;
    tern__span to; /* of that operand */
    bool placed;   /* a part of it, at places that are known before the partition begins: */
    uint32_t places
        [TERN__WRITE_PLACES]; /* operands that have them, the step's own or what it is given a cast of */
    bool cast;                /* to i32, from one of these that is i64 */
} tern__write;

/* What a partition does to memory that it did not make itself. */
typedef struct tern__hazards {
    tern__spans fixed;   /* of the arena and of blocks: what is read as it was found and then written */
    tern__write *writes; /* (n_writes) into leaves, in order */
    size_t n_writes, writes_capacity;
    tern__spans places; /* that the placed ones are looked up in */
} tern__hazards;

typedef struct tern__loaded {
    const tern__plan *given; /* as it was compiled */
    const tern__plan *plan;  /* as it is run: the same, or `single` */
    const tern_graph *graph; /* that it points into */
    tern__plan single;       /* where runs are checked: a partition for each step, in their order */
    tern__code *code;        /* the device's; NULL: it needs none, or the CPU runs it */
    tern__hazards *hazards;  /* (n_partitions of plan) */
    tern__plan host;         /* `plan` with the CPU's kernels; steps NULL: nobody has needed it */
    bool moved;              /* the CPU runs it from now on */
    tern__arena arena;       /* holds arrays and kernels' programs */
} tern__loaded;

/* ---- saved.c ---- */

/* From the first byte of an operand to its last. */
tern__span tern__span_of(const tern__operand *operand, uint32_t step);

/* Fills loaded->hazards. */
tern_status tern__hazards_find(tern__loaded *loaded);
void tern__hazards_free(tern__loaded *loaded);

typedef struct tern__saved_bytes {
    char *at;
    size_t bytes;
} tern__saved_bytes;

enum { TERN__SAVED_FEW = 64, TERN__SAVED_SMALL = 16384 };

/* Copies of memory, in the order in which they were added. Zeroed at first, but for the last two; stays where it is. */
typedef struct tern__saved {
    tern__saved_bytes *items; /* `few`, as long as there are no more */
    size_t n, capacity;
    size_t bytes;                           /* of all */
    char *copy;                             /* `small`, if it is large enough; NULL: nothing is copied */
    tern__saved_bytes few[TERN__SAVED_FEW]; /* what a token writes needs no memory from the system */
    char small[TERN__SAVED_SMALL];
} tern__saved;

/* As it is at first. */
static inline void tern__saved_begin(tern__saved *saved)
{
    saved->items = NULL;
    saved->n = saved->capacity = saved->bytes = 0;
    saved->copy = NULL;
}

/* Notes what is to be saved, neighbours as one; tern__save_take copies all of it, as it is now. */
tern_status tern__save_add(tern__saved *saved, char *at, size_t bytes);
tern_status tern__save_hazards(tern__saved *saved, const tern__plan *plan, const tern__hazards *hazards,
                               const tern__bindings *bindings);
tern_status tern__save_take(tern__saved *saved);
/* Puts it back, as often as need be. */
void tern__save_put_back(const tern__saved *saved);
void tern__saved_free(tern__saved *saved);

/* ---- standby.c ---- */

/* Makes loaded->host, if it is not there. Fails where the CPU has no kernel for what the device fused or packed. */
tern_status tern__standby_make(const tern__target *cpu, tern__loaded *loaded);

#endif
