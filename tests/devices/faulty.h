/* faulty.h - a device that fails when it is told to. It wraps the CPU, and is a device like any other: it compiles, runs
 * partitions, and refuses ops. */
#ifndef TERN_TESTS_DEVICES_FAULTY_H
#define TERN_TESTS_DEVICES_FAULTY_H

#include "devices/device.h"

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_CREATE,  /* making the device */
    FAULT_COMPILE, /* making ready for a plan: out of memory */
    FAULT_RUN,     /* a run fails before its first step */
    FAULT_LATE,    /* a run fails behind its first step */
    FAULT_LOST,    /* every run from now on */
} fault_kind;

typedef struct faulty_state {
    fault_kind next;           /* what fails next; once, but for LOST */
    tern__opcode refuse;       /* an op that it cannot run; TERN__OP_COUNT: none */
    int compiles, runs, codes; /* counts: made, run, and code that is held */
} faulty_state;

extern faulty_state faulty;

/* Adds it to the devices of this process as "faulty", once; and forgets what it was told. */
void faulty_reset(void);

#endif
