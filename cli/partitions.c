/* partitions.c - which device runs which steps of a plan, what was predicted for them and what they took. */
#include "partitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "table.h"
#include "term.h"

/* A plan of the CPU's alone, for which nobody predicted anything, has nothing to tell. */
static bool is_news(const tern_program *p)
{
    tern_partition_info part;
    for (int i = 0; tern_program_partition(p, i, &part) == TERN_OK; i++)
        if (part.predicted_ns >= 0 || strcmp(part.device, "cpu") != 0)
            return true;
    return false;
}

tern_status partitions_measure(tern_program *program, tern_exec *exec, int n_in, tern_tensor *const *inputs,
                               int n_out)
{
    enum { RUNS = 3 };
    if (!is_news(program))
        return TERN_OK;
    tern_tensor **outputs = grab((size_t)n_out, sizeof *outputs);
    tern_status status = tern_exec_time_steps(exec, false);
    if (status == TERN_OK)
        status = tern_exec_time_partitions(exec, true);
    for (int r = 0; r < RUNS && status == TERN_OK; r++) {
        status = tern_exec_run(exec, n_in, inputs, n_out, outputs);
        for (int i = 0; i < n_out && status == TERN_OK; i++)
            tern_release(outputs[i]);
    }
    free(outputs);
    return status;
}

/* < 0: nothing was measured. */
static double measured_ns(const tern_exec *exec, int i)
{
    tern_step_time time;
    return exec && tern_exec_partition_time(exec, i, &time) == TERN_OK && time.runs > 0 ? (double)time.min_ns
                                                                                        : -1;
}

static void add_time(table *t, double ns)
{
    char number[NUMBER_TEXT];
    table_add(t, ns >= 0 ? format_time(number, (uint64_t)(ns + 0.5)) : "");
}

void partitions_print(const tern_program *program, const tern_exec *exec)
{
    static const table_column columns[] = {{"steps", false, false, STYLE_NONE},
                                           {"device", false, false, STYLE_NAME},
                                           {"predicted", true, false, STYLE_NUMBER},
                                           {"measured", true, false, STYLE_NUMBER}};
    if (!is_news(program))
        return;
    tern_partition_info part;
    table t = table_make(columns, 4);
    int n = 0;
    for (; tern_program_partition(program, n, &part) == TERN_OK; n++) {
        if (part.steps == 1)
            table_addf(&t, "%d", part.first_step);
        else
            table_addf(&t, "%d to %d", part.first_step, part.first_step + part.steps - 1);
        table_add(&t, part.device);
        add_time(&t, part.predicted_ns);
        add_time(&t, measured_ns(exec, n));
    }
    text summary = {0};
    text_add_plural(&summary, n, "partition");
    heading_print("placement", text_string(&summary));
    text_free(&summary);
    table_print(&t, 2, true);
    putchar('\n');
}

void placement_add(text *t, const tern_ctx *ctx)
{
    char number[NUMBER_TEXT];
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    if (stats.predicted_ns == 0)
        return;
    text_addf(t, "placement: %llu of %llu steps on other devices than the CPU; predicted %s",
              (unsigned long long)stats.device_steps, (unsigned long long)stats.steps,
              format_time(number, stats.predicted_ns));
    text_addf(t, ", measured %s", format_time(number, stats.measured_ns));
}

void checked_add(text *t, const tern_ctx *ctx)
{
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    if (stats.device_steps == 0)
        text_addf(t, "checked: nothing, since no step ran on another device than the CPU");
    else
        text_addf(t, "checked: %llu of %llu steps of the device, %llu wrong",
                  (unsigned long long)stats.checked_steps, (unsigned long long)stats.device_steps,
                  (unsigned long long)stats.check_failures);
}

void checked_json_add(json *j, const tern_ctx *ctx)
{
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    json_object(j, "checked");
    json_uint(j, "device_steps", stats.device_steps);
    json_uint(j, "checked_steps", stats.checked_steps);
    json_uint(j, "check_failures", stats.check_failures);
    json_end(j);
}

static void add_us(json *j, const char *key, double ns)
{
    if (ns >= 0)
        json_double(j, key, ns / 1e3);
    else
        json_null(j, key);
}

void partitions_json_add(json *j, const tern_program *program, const tern_exec *exec)
{
    tern_partition_info part;
    if (!is_news(program))
        return;
    json_array(j, "partitions");
    for (int i = 0; tern_program_partition(program, i, &part) == TERN_OK; i++) {
        json_object(j, NULL);
        json_string(j, "device", part.device);
        json_int(j, "first_step", part.first_step);
        json_int(j, "steps", part.steps);
        add_us(j, "predicted_us", part.predicted_ns);
        add_us(j, "measured_us", measured_ns(exec, i));
        json_end(j);
    }
    json_end(j);
}

void placement_json_add(json *j, const tern_ctx *ctx)
{
    tern_ctx_stats stats;
    tern_ctx_get_stats(ctx, &stats);
    if (stats.predicted_ns == 0)
        return;
    json_object(j, "placement");
    json_uint(j, "steps", stats.steps);
    json_uint(j, "device_steps", stats.device_steps);
    add_us(j, "predicted_us", (double)stats.predicted_ns);
    add_us(j, "measured_us", (double)stats.measured_ns);
    json_end(j);
}
