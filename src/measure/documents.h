/* documents.h - what the JSON documents that tern writes and reads call themselves: "format". Whoever reads one goes by it, and by
 * "version"; a member more is no new version, another meaning is. */
#ifndef TERN_MEASURE_DOCUMENTS_H
#define TERN_MEASURE_DOCUMENTS_H

#define TERN__RESULTS_DOCUMENT "tern-results"
#define TERN__PROFILE_DOCUMENT "tern-profile"
#define TERN__MEMORY_DOCUMENT "tern-memory"
#define TERN__DEVICES_DOCUMENT "tern-devices"
#define TERN__METRICS_DOCUMENT "tern-metrics"
#define TERN__REGRESS_DOCUMENT "tern-regressions"
#define TERN__REPORT_DOCUMENT "tern-report"

#endif
