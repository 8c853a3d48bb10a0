/* clock.h - the one clock of the program: for what it tells and when it draws, never for measurements (src/measure has those). */
#ifndef TERN_CLI_CLOCK_H
#define TERN_CLI_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment; never goes back. */
uint64_t clock_ns(void);

#endif
