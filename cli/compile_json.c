/* compile_json.c - what the compiler did and planned, as data. */
#include "compile.h"
#include "json.h"
#include "partitions.h"

static void add_strings(json *j, const char *key, int n, const char *const *strings)
{
    json_array(j, key);
    for (int i = 0; i < n; i++)
        json_string(j, NULL, strings[i]);
    json_end(j);
}

static void add_passes(json *j, const tern_program *p, tern_level level)
{
    tern_pass_report pass;
    json_array(j, "passes");
    for (int i = 0; tern_program_pass(p, i, &pass) == TERN_OK; i++) {
        json_object(j, NULL);
        json_string(j, "name", pass.name);
        json_bool(j, "ran", pass.ran);
        if (!pass.ran) {
            text why = {0};
            pass_add_reason(&why, level, pass.name);
            json_string(j, "off", text_string(&why));
            text_free(&why);
        }
        json_int(j, "changes", pass.changes);
        json_int(j, "failures", pass.failures);
        json_int(j, "nodes_before", pass.nodes_before);
        json_int(j, "nodes_after", pass.nodes_after);
        json_double(j, "us", (double)pass.ns / 1e3);
        add_strings(j, "notes", pass.n_notes, pass.notes);
        json_end(j);
    }
    json_end(j);
}

/* Names as everywhere in JSON: without '%'. */
static void add_names(json *j, const char *key, int n, const char *const *names)
{
    json_array(j, key);
    for (int i = 0; i < n; i++)
        json_string(j, NULL, names[i] + (names[i][0] == '%'));
    json_end(j);
}

void fusions_json_add(json *j, const char *key, const tern_program *p)
{
    tern_fusion_info fusion;
    json_array(j, key);
    for (int i = 0; tern_program_fusion(p, i, &fusion) == TERN_OK; i++) {
        json_object(j, NULL);
        json_string(j, "kind", fusion.kind);
        add_names(j, "nodes", fusion.n_nodes, fusion.nodes);
        add_strings(j, "ops", fusion.n_nodes, fusion.ops);
        json_uint(j, "bytes_before", fusion.bytes_before);
        json_uint(j, "bytes_after", fusion.bytes_after);
        json_double(j, "estimated_speedup", fusion.estimated_speedup);
        json_end(j);
    }
    json_end(j);
}

/* The first result of every step, as they run. */
static void add_order(json *j, const tern_program *p)
{
    tern_step_info step;
    json_array(j, "order");
    for (int i = 0; tern_program_step(p, i, &step) == TERN_OK; i++) {
        tern_operand_info result;
        if (tern_program_operand(p, i, step.n_operands, &result) == TERN_OK)
            json_string(j, NULL, result.name);
    }
    json_end(j);
}

void compile_json_add(json *j, const tern_program *p, tern_level level)
{
    add_passes(j, p, level);
    fusions_json_add(j, "fusions", p);
    add_order(j, p);
}

static void add_operands(json *j, const char *key, const tern_program *p, int step, int from, int to)
{
    json_array(j, key);
    for (int i = from; i < to; i++) {
        tern_operand_info operand;
        if (tern_program_operand(p, step, i, &operand) != TERN_OK)
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

static void add_buffers(json *j, const tern_program *p)
{
    tern_buffer_info buffer;
    json_array(j, "buffers");
    for (int i = 0; tern_program_buffer(p, i, &buffer) == TERN_OK; i++) {
        json_object(j, NULL);
        json_string(j, "name", buffer.name);
        json_uint(j, "offset", buffer.offset);
        json_uint(j, "bytes", buffer.bytes);
        json_int(j, "first_step", buffer.first);
        json_int(j, "last_step", buffer.last);
        json_int(j, "group", buffer.group);
        json_end(j);
    }
    json_end(j);
}

void plan_json_add(json *j, const tern_program *p, const uint64_t *step_ns, const machine_rates *rates)
{
    tern_step_info step;
    json_array(j, "plan");
    for (int i = 0; tern_program_step(p, i, &step) == TERN_OK; i++) {
        json_object(j, NULL);
        json_int(j, "step", i);
        json_string(j, "op", step.op);
        add_strings(j, "ops", step.n_ops, step.ops);
        json_string(j, "kernel", step.kernel);
        json_string(j, "isa", step.isa);
        json_int(j, "threads", step.threads);
        json_uint(j, "flops", step.flops);
        json_uint(j, "bytes", step.bytes);
        if (rates)
            json_double(j, "estimated_us",
                        tern_machine_estimate_ns(&rates->machine, step.flops, step.bytes) / 1e3);
        if (step_ns)
            json_double(j, "us", (double)step_ns[i] / 1e3);
        else
            json_null(j, "us");
        add_operands(j, "operands", p, i, 0, step.n_operands);
        add_operands(j, "results", p, i, step.n_operands, step.n_operands + step.n_results);
        json_end(j);
    }
    json_end(j);
    add_buffers(j, p);
}

void info_json_add(json *j, const tern_program_info *info)
{
    json_uint(j, "peak_bytes", info->arena_bytes);
    json_uint(j, "scratch_bytes", info->scratch_bytes);
    json_uint(j, "naive_bytes", info->naive_bytes);
    json_uint(j, "live_bytes_lower_bound", info->live_bytes);
    json_uint(j, "flops", info->flops);
    json_uint(j, "bytes", info->bytes);
    json_double(j, "compile_us", (double)info->compile_ns / 1e3);
}

void compile_json_add_run(json *j, const graph_run *r, const machine_rates *rates, const tern_program *higher)
{
    json_object(j, NULL);
    json_string(j, "graph", r->path);
    json_string(j, "level", tern_level_name(r->level));
    json_int(j, "nodes_before", r->info.nodes_before);
    json_int(j, "nodes_after", r->info.nodes_after);
    json_int(j, "steps", r->info.steps);
    json_int(j, "threads", tern_ctx_threads(r->ctx));
    info_json_add(j, &r->info);
    if (r->info.batch > 0) {
        json_object(j, "batch");
        json_int(j, "recorded", r->info.batch);
        json_int(j, "least", r->info.batch_least);
        json_int(j, "most", r->info.batch_most);
        json_end(j);
    }
    compile_json_add(j, r->program, r->level);
    if (higher)
        fusions_json_add(j, "opportunities", higher);
    plan_json_add(j, r->program, NULL, rates);
    partitions_json_add(j, r->program, NULL);
    json_end(j);
}

void compile_json_print(const graph_run *r, const machine_rates *rates, const tern_program *higher)
{
    json j = {0};
    compile_json_add_run(&j, r, rates, higher);
    json_print(&j);
}
