/* memory_report.h - where memory went, for people. */
#ifndef TERN_CLI_MEMORY_REPORT_H
#define TERN_CLI_MEMORY_REPORT_H

#include <tern/memory.h>

typedef struct memory_report {
    const tern_memory *memory;
    tern_memory_by by;
    const char *by_name;
    int top; /* rows that are shown */
} memory_report;

void memory_print(const memory_report *r);

#endif
