/* profile_report.h - a profile for people. */
#ifndef TERN_CLI_PROFILE_REPORT_H
#define TERN_CLI_PROFILE_REPORT_H

#include <tern/profile.h>

#include "args.h"

typedef struct profile_report {
    const tern_profile *profile;
    const tern_profile_limits *limits; /* NULL: they were not measured */
    tern_profile_by by;
    const char *by_name;
    int top; /* rows that are shown */
    const char *
        disturbed; /* what other programs had of the machine, "others computed on 1.9 of 2 cores"; "": nothing */
} profile_report;

void profile_print(const profile_report *r);

#endif
