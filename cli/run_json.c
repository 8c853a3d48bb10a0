/* run_json.c - a run as data. */
#include <inttypes.h>
#include <stdio.h>

#include "array.h"
#include "compile.h"
#include "json.h"
#include "partitions.h"
#include "run.h"

static tern_status add_output(json *j, const graph_run *r, int i)
{
    tern_port port;
    array_stats stats;
    uint64_t hash;
    char text_of_hash[24];
    TERN_TRY(tern_program_output(r->program, i, &port));
    TERN_TRY(array_measure(r->outputs[i], &stats));
    TERN_TRY(array_hash(r->outputs[i], &hash));
    snprintf(text_of_hash, sizeof text_of_hash, "%016" PRIx64, hash);
    json_object(j, NULL);
    json_string(j, "name", port.name);
    json_string(j, "dtype", tern_dtype_name(port.dtype));
    json_ints(j, "shape", port.rank, port.shape);
    json_uint(j, "bytes", tern_nbytes(r->outputs[i]));
    json_string(j, "hash", text_of_hash);
    array_json_stats(j, &stats);
    json_string(j, "file", r->saved[i]);
    json_end(j);
    return TERN_OK;
}

/* One number for all outputs: FNV-1a over their hashes. */
static tern_status add_output_hash(json *j, const graph_run *r)
{
    uint64_t all = 0xcbf29ce484222325u;
    char hex[24];
    for (int i = 0; i < r->n_outputs; i++) {
        uint64_t hash;
        TERN_TRY(array_hash(r->outputs[i], &hash));
        for (int byte = 0; byte < 8; byte++)
            all = (all ^ (hash >> (8 * byte) & 0xff)) * 0x100000001b3u;
    }
    snprintf(hex, sizeof hex, "%016" PRIx64, all);
    json_string(j, "output_hash", hex);
    return TERN_OK;
}

static tern_status build(json *j, const graph_run *r, const machine_rates *rates)
{
    json_object(j, NULL);
    json_string(j, "graph", r->path);
    json_int(j, "nodes", r->graph_info.nodes);
    json_int(j, "inputs", r->graph_info.inputs);
    json_int(j, "constants", r->graph_info.constants);
    json_int(j, "states", r->graph_info.states);
    json_int(j, "steps", r->info.steps);
    json_int(j, "threads", tern_ctx_threads(r->ctx));
    json_string(j, "level", tern_level_name(r->level));
    info_json_add(j, &r->info);
    json_double(j, "run_us", (double)r->run_ns / 1e3);
    json_int(j, "runs", r->runs);
    json_double(j, "median_us", (double)r->median_ns / 1e3);
    json_double(j, "min_us", (double)r->run_times[0] / 1e3);
    TERN_TRY(add_output_hash(j, r));
    json_array(j, "outputs");
    for (int i = 0; i < r->n_outputs; i++)
        TERN_TRY(add_output(j, r, i));
    json_end(j);
    plan_json_add(j, r->program, r->step_ns, rates);
    partitions_json_add(j, r->program, r->exec);
    json_end(j);
    return TERN_OK;
}

tern_status run_json_print(const graph_run *r, const machine_rates *rates)
{
    json j = {0};
    tern_status status = build(&j, r, rates);
    if (status == TERN_OK)
        json_print(&j);
    text_free(&j.out);
    return status;
}
