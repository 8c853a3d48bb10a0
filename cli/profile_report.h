/* profile_report.h - a profile for people, and as JSON. */
#ifndef TERN_CLI_PROFILE_REPORT_H
#define TERN_CLI_PROFILE_REPORT_H

#include <tern/profile.h>

#include "args.h"

typedef struct profile_report {
    const tern_profile *profile;
    const tern_profile_limits *limits; /* NULL: they were not measured */
    tern_profile_by by;
    const char *by_name;
    int top; /* rows that are shown to people */
    int n_words;
    const char *const *words; /* (n_words) of the command that ran */
} profile_report;

void profile_print(const profile_report *r);
void profile_print_json(const profile_report *r);

#endif
