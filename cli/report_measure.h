/* report_measure.h - what `tern report` measures when it is given no files. */
#ifndef TERN_CLI_REPORT_MEASURE_H
#define TERN_CLI_REPORT_MEASURE_H

#include <tern/report.h>

#include "args.h"

/* Measures a small set (f32 products, output heads, elementwise operations, graphs; a tiny model that writes 200 tokens, profiled),
 * with a bar on a terminal, and adds what it found. */
int report_measure(tern_report *report);

#endif
