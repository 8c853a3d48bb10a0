/* report_measure.h - what `tern report` measures when it is given no files. */
#ifndef TERN_CLI_REPORT_MEASURE_H
#define TERN_CLI_REPORT_MEASURE_H

#include <tern/report.h>

#include "args.h"

/* Measures a small set, with a bar on a terminal, and adds what it found: f32 products, output heads, elementwise operations and
 * graphs (`benchmarks`); a tiny model that writes 200 tokens, profiled, and its memory. */
int report_measure(tern_report *report, bool benchmarks);

#endif
