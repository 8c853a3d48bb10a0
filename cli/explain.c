/* explain.c - the compiler's report for people: every pass and what it decided, fusions, memory, steps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/catalog.h>

#include "compile.h"
#include "partitions.h"
#include "table.h"
#include "term.h"

enum { MOST_NOTES = 12 }; /* of one pass */

/* ---- passes ---- */

static bool find_pass(const char *name, tern_pass_info *out)
{
    for (int i = 0; tern_catalog_pass(i, out) == TERN_OK; i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

void pass_add_reason(text *t, tern_level level, const char *name)
{
    tern_pass_info info;
    if (find_pass(name, &info) && info.level > level)
        text_addf(t, "runs from level %s on", tern_level_name(info.level));
    else
        text_add(t, "switched off");
}

static void add_outcome(text *t, const graph_run *r, const tern_pass_report *pass)
{
    tern_pass_info info;
    if (!pass->ran) {
        text_add(t, "off: ");
        pass_add_reason(t, r->level, pass->name);
    } else if (pass->changes > 0)
        text_add_plural(t, pass->changes, "change");
    else if (pass->failures == 0)
        text_add(t, find_pass(pass->name, &info) && !info.optional ? "done" : "nothing to do");
    if (pass->failures > 0) {
        text_addf(t, "%s", pass->changes > 0 ? ", " : "");
        text_add_plural(t, pass->failures, "failure");
    }
}

static void print_notes(int n, const char *const *notes)
{
    static const table_column columns[] = {{"", false, false, STYLE_DIM}, {"", false, false, STYLE_NONE}};
    table t = table_make(columns, 2);
    for (int i = 0; i < n && i < MOST_NOTES; i++) {
        text safe = {0};
        text_add_safe(&safe, notes[i]);
        table_add(&t, glyph_of(GLYPH_DOT));
        table_add(&t, text_string(&safe));
        text_free(&safe);
    }
    table_print(&t, 6, false);
    if (n > MOST_NOTES)
        printf("      %s%s %d more (--json lists all)%s\n", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS),
               n - MOST_NOTES, off(STYLE_DIM));
}

static void print_passes(const graph_run *r)
{
    tern_pass_report pass;
    int width = 0;
    for (int i = 0; tern_program_pass(r->program, i, &pass) == TERN_OK; i++)
        width = (int)strlen(pass.name) > width ? (int)strlen(pass.name) : width;
    for (int i = 0; tern_program_pass(r->program, i, &pass) == TERN_OK; i++) {
        char time[NUMBER_TEXT];
        text outcome = {0}, nodes = {0};
        add_outcome(&outcome, r, &pass);
        if (pass.ran && pass.nodes_before != pass.nodes_after)
            text_addf(&nodes, "%d %s %d nodes", pass.nodes_before, glyph_of(GLYPH_ARROW), pass.nodes_after);
        else if (pass.ran)
            text_addf(&nodes, "%d nodes", pass.nodes_after);
        printf("  %s%-*s%s  %s", on(pass.ran ? STYLE_NAME : STYLE_DIM), width, pass.name,
               off(pass.ran ? STYLE_NAME : STYLE_DIM), text_string(&outcome));
        if (pass.ran)
            printf("  %s%s, %s%s", on(STYLE_DIM), text_string(&nodes), format_time(time, pass.ns),
                   off(STYLE_DIM));
        putchar('\n');
        print_notes(pass.n_notes, pass.notes);
        text_free(&outcome);
        text_free(&nodes);
    }
    putchar('\n');
}

/* ---- fusions ---- */

static int print_fusions(const tern_program *p)
{
    static const table_column columns[] = {{"kind", false, false, STYLE_NAME},
                                           {"bytes apart", true, false, STYLE_NONE},
                                           {"together", true, false, STYLE_NONE},
                                           {"estimated speed-up", true, false, STYLE_NUMBER},
                                           {"nodes", false, false, STYLE_NONE}};
    tern_fusion_info fusion;
    char before[NUMBER_TEXT], after[NUMBER_TEXT];
    table t = table_make(columns, 5);
    int n = 0;
    for (; tern_program_fusion(p, n, &fusion) == TERN_OK; n++) {
        text nodes = {0};
        for (int i = 0; i < fusion.n_nodes; i++) {
            text_add(&nodes, i ? ", " : "");
            text_add_safe(&nodes, fusion.nodes[i]);
            text_addf(&nodes, " %s", fusion.ops[i]);
        }
        table_add(&t, fusion.kind);
        table_add(&t, format_bytes(before, fusion.bytes_before));
        table_add(&t, format_bytes(after, fusion.bytes_after));
        table_addf(&t, "%.2fx", fusion.estimated_speedup);
        table_add(&t, text_string(&nodes));
        text_free(&nodes);
    }
    table_print(&t, 2, n > 0);
    return n;
}

static int count_fusions(const tern_program *p)
{
    tern_fusion_info fusion;
    int n = 0;
    while (tern_program_fusion(p, n, &fusion) == TERN_OK)
        n++;
    return n;
}

static void print_all_fusions(const graph_run *r, const tern_program *higher)
{
    text summary = {0};
    int n = count_fusions(r->program), possible = higher ? count_fusions(higher) : n;
    text_add_plural(&summary, n, "fusion");
    heading_print("fusions", text_string(&summary));
    text_free(&summary);
    if (print_fusions(r->program) > 0)
        printf("  %sspeed-up: bytes moved apart / together, as if traffic were all that counts%s\n",
               on(STYLE_DIM), off(STYLE_DIM));
    else
        puts("  nothing was fused");
    if (possible > n) {
        printf("\n  opportunities: with every pass at level high, %d:\n\n", possible);
        print_fusions(higher);
    }
    putchar('\n');
}

/* ---- memory ---- */

static void print_memory(const graph_run *r)
{
    char planned[NUMBER_TEXT], live[NUMBER_TEXT], naive[NUMBER_TEXT];
    tern_buffer_info buffer;
    int buffers = 0, groups = 0;
    for (; tern_program_buffer(r->program, buffers, &buffer) == TERN_OK; buffers++)
        groups = buffer.group >= groups ? buffer.group + 1 : groups;
    text summary = {0};
    text_add_plural(&summary, buffers, "buffer");
    text_add(&summary, " in ");
    text_add_plural(&summary, groups, "group");
    heading_print("memory", text_string(&summary));
    text_free(&summary);
    printf("  %s planned; no plan of this order needs less than %s; apart the intermediates take %s\n",
           format_bytes(planned, r->info.arena_bytes), format_bytes(live, r->info.live_bytes),
           format_bytes(naive, r->info.naive_bytes));
    if (r->info.scratch_bytes > 0)
        printf("  scratch for kernels is in each of these, at most %s in a step\n",
               format_bytes(planned, r->info.scratch_bytes));
    picture_print(r, false);
    putchar('\n');
}

/* ---- a range of batches ---- */

static void print_batch(const graph_run *r)
{
    static const table_column columns[] = {{"batch", true, false, STYLE_NAME},
                                           {"steps", true, false, STYLE_NONE},
                                           {"intermediates", true, false, STYLE_NUMBER},
                                           {"flops", true, false, STYLE_NONE}};
    const int64_t sizes[] = {r->info.batch_least, r->info.batch, r->info.batch_most};
    char number[NUMBER_TEXT];
    text summary = {0};
    table t = table_make(columns, 4);
    text_addf(&summary, "%" PRId64 " to %" PRId64 ", recorded with %" PRId64, r->info.batch_least,
              r->info.batch_most, r->info.batch);
    heading_print("batch", text_string(&summary));
    puts(
        "  a plan for every size that runs, made when it first does; one arena for all, that of the largest");
    putchar('\n');
    for (int i = 0; i < 3; i++) {
        tern_program *fitting;
        tern_program_info info;
        if ((i > 0 && sizes[i] == sizes[i - 1]) ||
            tern_program_for_batch(r->ctx, r->program, sizes[i], &fitting) != TERN_OK)
            continue;
        tern_program_get_info(fitting, &info);
        table_addf(&t, "%" PRId64, sizes[i]);
        table_addf(&t, "%d", info.steps);
        table_add(&t, format_bytes(number, info.arena_bytes));
        table_add(&t, format_count(number, info.flops));
        tern_program_free(fitting);
    }
    table_print(&t, 2, true);
    text_free(&summary);
    putchar('\n');
}

/* ---- steps ---- */

static void print_steps(const graph_run *r, const machine_rates *rates)
{
    double *estimated = grab((size_t)r->info.steps, sizeof *estimated);
    double total = 0;
    char number[NUMBER_TEXT];
    for (int i = 0; i < r->info.steps; i++) {
        tern_step_info step;
        if (tern_program_step(r->program, i, &step) == TERN_OK)
            estimated[i] = tern_machine_estimate_ns(&rates->machine, step.flops, step.bytes);
        total += estimated[i];
    }
    text summary = {0};
    text_add_plural(&summary, r->info.steps, "step");
    text_addf(&summary, ", %s flops", format_count(number, r->info.flops));
    text_addf(&summary, ", %s moved", format_bytes(number, r->info.bytes));
    text_addf(&summary, ", estimated %s", format_time(number, (uint64_t)(total + 0.5)));
    if (r->runs > 0)
        text_addf(&summary, ", measured %s", format_time(number, r->shown_ns));
    heading_print("steps", text_string(&summary));
    if (r->runs > 1) {
        text_clear(&summary);
        run_add_times(&summary, r);
        printf("  %s\n\n", text_string(&summary));
    }
    text_free(&summary);
    plan_print(r, (step_times){.measured = r->step_ns, .estimated = estimated});
    rates_print(rates, tern_ctx_threads(r->ctx));
    free(estimated);
}

void explain_print(const graph_run *r, const machine_rates *rates, const tern_program *higher)
{
    char number[NUMBER_TEXT];
    text summary = {0};
    text_addf(&summary, "level %s: %d %s %d nodes, ", tern_level_name(r->level), r->info.nodes_before,
              glyph_of(GLYPH_ARROW), r->info.nodes_after);
    text_add_plural(&summary, r->info.steps, "step");
    text_addf(&summary, ", %s", format_time(number, r->info.compile_ns));
    heading_print("passes", text_string(&summary));
    text_free(&summary);
    print_passes(r);
    print_all_fusions(r, higher);
    print_memory(r);
    if (r->info.batch > 0)
        print_batch(r);
    partitions_print(r->program, r->exec);
    print_steps(r, rates);
}
