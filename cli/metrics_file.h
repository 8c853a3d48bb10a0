/* metrics_file.h - `--metrics FILE`: what a command did, as JSON, CSV or text for Prometheus. */
#ifndef TERN_CLI_METRICS_FILE_H
#define TERN_CLI_METRICS_FILE_H

#include <tern/metrics.h>

#include "engine.h"
#include "output.h"

/* Zeroed: no metrics are wanted, and the calls below do nothing. */
typedef struct metrics_file {
    out_file file;
    tern_metrics_format format;
    tern_metrics *metrics;
    tern_metrics_span *span; /* of what is being done, or NULL */
    const engine *engine;    /* whose plans it uses, or NULL */
    int programs;            /* of its session that were told already */
    bool traces;             /* events are recorded for it, and not for a profile */
    uint64_t looked_ns;      /* when they were taken last */
} metrics_file;

/* clang-format off */
#define METRICS_OPTION {"metrics", 0, "FILE", NULL, "write counters, times and rates to FILE.json, FILE.csv or FILE.prom (for Prometheus)"}
/* clang-format on */

/* Takes the option. Else what was wrong was said: EXIT_USAGE if the name tells no format. */
int metrics_open(const args *a, metrics_file *f);

/* An operation begins: of a model, in `batch` sequences at once, or any. */
void metrics_start_model(metrics_file *f, const char *name, const engine *e, int batch);
void metrics_start(metrics_file *f, const tern_operation *operation);
/* It has ended. */
void metrics_stop(metrics_file *f, bool good);

/* During it: a plan, a prompt of n tokens, and a token. `begun` is when its prompt was; *last when the token before it came, 0 for none,
 * and becomes now. */
void metrics_program(metrics_file *f, const tern_program *plan);
void metrics_prompt(metrics_file *f, int64_t n);
void metrics_token(metrics_file *f, uint64_t begun, uint64_t *last);
/* Reads counters and events now and then; calls are cheap. No tern call may be running. */
void metrics_look(metrics_file *f);

/* Writes the file if anything was begun, and frees what it has. Returns `code`; EXIT_FAILED if that was EXIT_DONE and the file could not be written, which
 * was said. */
int metrics_close(metrics_file *f, int code);

#endif
