/* run_json.c - a run as data. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "json.h"
#include "run.h"

static void add_operands(json *j, const char *key, const tern_program *program, int step, int from, int to)
{
    json_array(j, key);
    for (int i = from; i < to; i++) {
        tern_operand_info operand;
        if (tern_program_operand(program, step, i, &operand) != TERN_OK)
            continue;
        json_object(j, NULL);
        json_string(j, "name", operand.name);
        json_string(j, "dtype", tern_dtype_name(operand.port.dtype));
        json_ints(j, "shape", operand.port.rank, operand.port.shape);
        json_string(j, "place", operand.place);
        json_uint(j, "offset", operand.offset);
        json_uint(j, "bytes", operand.bytes);
        json_end(j);
    }
    json_end(j);
}

static void add_plan(json *j, const graph_run *r)
{
    json_array(j, "plan");
    for (int i = 0; i < r->info.steps; i++) {
        tern_step_info step;
        if (tern_program_step(r->program, i, &step) != TERN_OK)
            continue;
        json_object(j, NULL);
        json_int(j, "step", i);
        json_string(j, "op", step.op);
        json_string(j, "fused", step.detail[0] ? step.detail : NULL);
        json_string(j, "kernel", step.kernel);
        json_string(j, "isa", step.isa);
        json_int(j, "threads", step.threads);
        json_uint(j, "flops", step.flops);
        json_uint(j, "bytes", step.bytes);
        if (r->step_ns)
            json_double(j, "us", (double)r->step_ns[i] / 1e3);
        else
            json_null(j, "us");
        add_operands(j, "operands", r->program, i, 0, step.n_operands);
        add_operands(j, "results", r->program, i, step.n_operands, step.n_operands + step.n_results);
        json_end(j);
    }
    json_end(j);
}

static void add_buffers(json *j, const graph_run *r)
{
    int n;
    buffer *buffers = buffers_find(r->program, &n);
    json_array(j, "buffers");
    for (int i = 0; i < n; i++) {
        json_object(j, NULL);
        json_string(j, "name", buffers[i].name);
        json_uint(j, "offset", buffers[i].offset);
        json_uint(j, "bytes", buffers[i].bytes);
        json_int(j, "first_step", buffers[i].first);
        json_int(j, "last_step", buffers[i].last);
        json_end(j);
    }
    json_end(j);
    free(buffers);
}

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

static tern_status build(json *j, const graph_run *r)
{
    json_object(j, NULL);
    json_string(j, "graph", r->path);
    json_int(j, "nodes", r->graph_info.nodes);
    json_int(j, "inputs", r->graph_info.inputs);
    json_int(j, "constants", r->graph_info.constants);
    json_int(j, "states", r->graph_info.states);
    json_int(j, "steps", r->info.steps);
    json_int(j, "threads", tern_ctx_threads(r->ctx));
    json_uint(j, "arena_bytes", r->info.arena_bytes);
    json_uint(j, "naive_bytes", r->info.naive_bytes);
    json_uint(j, "flops", r->info.flops);
    json_uint(j, "bytes", r->info.bytes);
    json_double(j, "compile_us", (double)r->info.compile_ns / 1e3);
    json_double(j, "run_us", (double)r->run_ns / 1e3);
    json_array(j, "outputs");
    for (int i = 0; i < r->n_outputs; i++)
        TERN_TRY(add_output(j, r, i));
    json_end(j);
    add_plan(j, r);
    add_buffers(j, r);
    json_end(j);
    return TERN_OK;
}

tern_status run_json_print(const graph_run *r)
{
    json j = {0};
    tern_status status = build(&j, r);
    if (status == TERN_OK)
        json_print(&j);
    text_free(&j.out);
    return status;
}
