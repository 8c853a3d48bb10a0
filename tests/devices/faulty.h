/* faulty.h - a device that fails when it is told to. It wraps the CPU, and is a device like any other: it compiles, refuses ops, and
 * has memory of its own, to which operands are copied before a partition and from which results are copied behind it. It also wraps
 * other devices, whose memory and code are their own. */
#ifndef TERN_TESTS_DEVICES_FAULTY_H
#define TERN_TESTS_DEVICES_FAULTY_H

#include "devices/device.h"

/* Its calls, any of which may fail. */
typedef enum faulty_call {
    FAULTY_CREATE,
    FAULTY_COMPILE,
    FAULTY_ALLOCATE, /* memory of the device's own */
    FAULTY_COPY_IN,
    FAULTY_RUN, /* a step */
    FAULTY_COPY_OUT,
    FAULTY_CALLS
} faulty_call;

typedef struct faulty_state {
    /* What fails: behind `after` calls (that count, see `only`) the next `times`, with `status`. TERN_UNAVAILABLE: it is lost, and
     * every call from then on fails. TERN_OK: nothing fails. */
    tern_status status;
    int after, times;
    faulty_call only;    /* these calls count alone; FAULTY_CALLS: all do */
    bool lost;           /* it has been */
    const char *inner;   /* what it wraps, from when it is made on; NULL: the CPU */
    tern__opcode refuse; /* an op that it cannot run; TERN__OP_COUNT: none */
    const char *reason;  /* why, in its words; NULL: it was told to */
    tern__opcode wrong;  /* an op whose first number it gets wrong, by `by`; TERN__OP_COUNT: none */
    float by;
    int compiles, runs, codes; /* counts: made, partitions run to their end, and code that is held */
    bool stages;               /* it wants to hear of inputs of later runs */
    int staged;                /* how often it did */
    int trims[3];              /* how often it was asked to give memory back, by level */
    int failed;                /* calls that did */
    faulty_call last;          /* that did */
} faulty_state;

extern faulty_state faulty;

/* Adds it to the devices of this process as "faulty", once; and forgets what it was told. */
void faulty_reset(void);

/* From now on: behind `after` calls of a kind (FAULTY_CALLS: of any), `times` of them fail. */
void faulty_fail(faulty_call only, int after, int times, tern_status status);

#endif
