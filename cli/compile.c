/* compile.c - options of verbs that compile, and compiling. */
#include "compile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/catalog.h>

#include "bindings.h"
#include "source.h"
#include "term.h"

/* ---- options ---- */

static int check_pass(const char *name)
{
    char buffer[128];
    tern_pass_info pass;
    suggestion s = suggestion_for(name);
    for (int i = 0; tern_catalog_pass(i, &pass) == TERN_OK; i++) {
        suggestion_offer(&s, pass.name);
        if (strcmp(pass.name, name) != 0)
            continue;
        return pass.optional ? EXIT_DONE
                             : fail_usage("--disable: pass '%s' makes the plan and cannot be left out", name);
    }
    return fail_usage("--disable: there is no pass '%s'%s", name,
                      suggestion_text(&s, "", buffer, sizeof buffer));
}

/* --disable fold,fuse --disable cse: names are cut apart in a copy of each value. */
static int read_disabled(const args *a, graph_run *r, tern_compile_options *out)
{
    const char *value, **names = NULL;
    text all = {0};
    int code = EXIT_DONE, n = 1;
    for (int i = 0; (value = args_nth(a, "disable", i)); i++)
        text_addf(&all, "%s%s", i ? "," : "", value);
    if (all.length == 0)
        return EXIT_DONE;
    r->disabled = grab_string(text_string(&all), all.length);
    for (const char *at = r->disabled; (at = strchr(at, ',')); at++)
        n++;
    names = grab((size_t)n, sizeof *names);
    for (char *name = r->disabled, *comma; name && code == EXIT_DONE; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = '\0';
        names[out->n_disabled++] = name;
        code = check_pass(name);
    }
    out->disabled = names;
    text_free(&all);
    return code;
}

/* "1..64", or "x,y=1..64": names are cut apart in a copy, which r->batch_names keeps. */
static int read_batch(const args *a, graph_run *r, tern_batch_range *out)
{
    const char *value = args_value(a, "batch");
    if (!value)
        return EXIT_DONE;
    const char *equals = strrchr(value, '=');
    char *end;
    errno = 0;
    out->least = strtoll(equals ? equals + 1 : value, &end, 10);
    bool fits = strncmp(end, "..", 2) == 0 && end[2] >= '0' && end[2] <= '9';
    if (fits)
        out->most = strtoll(end + 2, &end, 10);
    if (!fits || *end != '\0' || errno || out->least < 1 || out->most < out->least || equals == value)
        return fail_usage("--batch is a range such as 1..64 or x,y=1..64, not '%s'", value);
    if (!equals)
        return EXIT_DONE;
    r->batch_names = grab_string(value, (size_t)(equals - value));
    const char **names = grab(strlen(r->batch_names), sizeof *names);
    for (char *name = r->batch_names, *comma; name; name = comma) {
        comma = strchr(name, ',');
        if (comma)
            *comma++ = '\0';
        names[out->n_inputs++] = name;
    }
    out->inputs = names;
    return EXIT_DONE;
}

/* GB/s, GFLOP/s. */
static bool read_rate(const args *a, const char *name, double *out, bool *given)
{
    double number = 0;
    *given = args_value(a, name) != NULL;
    if (!args_positive(a, name, &number))
        return false;
    *out = *given ? number * 1e9 : *out;
    return true;
}

/* The table of options has checked the choices. */
static int read_options(const args *a, graph_run *r, tern_compile_options *out)
{
    const char *level = args_value(a, "level"), *goal = args_value(a, "goal");
    const char *precision = args_value(a, "precision");
    if ((level && tern_level_parse(level, &out->level) != TERN_OK) ||
        (goal && tern_goal_parse(goal, &out->goal) != TERN_OK) ||
        (precision && tern_precision_parse(precision, &out->precision) != TERN_OK))
        return fail_usage("%s", tern_last_error());
    out->device = args_value(a, "device");
    out->library = args_value(a, "library");
    double rate;
    bool given;
    if (!read_rate(a, "bandwidth", &rate, &given) || !read_rate(a, "peak", &rate, &given))
        return EXIT_USAGE;
    return args_bytes(a, "memory-limit", &out->memory_limit) ? read_disabled(a, r, out) : EXIT_USAGE;
}

/* ---- compiling ---- */

int compile_open_context(const args *a, graph_run *r)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.tuning = args_has(a, "no-tune") ? "off" : NULL;
    return device_open(a, &options, &r->ctx);
}

static int compile(graph_run *r, const tern_compile_options *options)
{
    tern_status status = tern_graph_compile(r->ctx, r->graph, options, &r->program);
    if (status == TERN_NOT_FOUND && options->batch.n_inputs > 0)
        return fail_usage("%s", tern_last_error());
    if (status == TERN_NOT_FOUND) /* a device that is not there: nothing is wrong with the file */
        return fail_usage("%s; `tern devices` lists them", tern_last_error());
    if (status != TERN_OK)
        return fail_status(source_name(r->path));
    tern_program_get_info(r->program, &r->info);
    r->n_inputs = r->info.n_inputs;
    r->n_outputs = r->info.n_outputs;
    return EXIT_DONE;
}

static int bind_constants(const args *a, graph_run *r)
{
    bindings constants = {0};
    int code = EXIT_USAGE;
    if (bindings_parse(a, "constant", &constants))
        code = bindings_bind(&constants, true, r->ctx, r->graph) &&
                       (!r->given || bindings_bind(r->given, false, r->ctx, r->graph)) &&
                       (!r->makes_up || bindings_make_up(r->ctx, r->graph))
                   ? EXIT_DONE
                   : EXIT_FAILED;
    bindings_free(&constants);
    return code;
}

static int read_and_compile(const args *a, graph_run *r, const tern_compile_options *options)
{
    int code = compile_open_context(a, r);
    if (code != EXIT_DONE)
        return code;
    if (!read_graph(r->ctx, r->path, &r->graph, &r->remarks))
        return EXIT_FAILED;
    code = bind_constants(a, r);
    if (code != EXIT_DONE)
        return code;
    tern_graph_get_info(r->graph, &r->graph_info);
    r->level = options->level;
    r->precision = options->precision;
    return compile(r, options);
}

int compile_open(const args *a, graph_run *r, tern_pass_observer observe, void *user)
{
    tern_compile_options options = tern_compile_options_default();
    options.observe = observe;
    options.observe_user = user;
    int code = read_options(a, r, &options);
    if (code == EXIT_DONE)
        code = read_batch(a, r, &options.batch);
    if (code == EXIT_DONE)
        code = read_and_compile(a, r, &options);
    free((void *)options.disabled);
    free((void *)options.batch.inputs);
    return code;
}

int compile_for_batch(graph_run *r, int64_t batch)
{
    tern_program *fitting = NULL;
    if (tern_program_for_batch(r->ctx, r->program, batch, &fitting) != TERN_OK)
        return fail_status(source_name(r->path));
    tern_program_free(r->program);
    r->program = fitting;
    tern_program_get_info(fitting, &r->info);
    return EXIT_DONE;
}

void compile_close(graph_run *r)
{
    free(r->batch_names);
    free(r->disabled);
    free(r->step_ns);
    free(r->run_times);
    free(r->inputs);
    free(r->outputs);
    free(r->saved);
    text_free(&r->remarks);
    tern_exec_free(r->exec);
    tern_program_free(r->program);
    tern_graph_free(r->graph);
    tern_ctx_destroy(r->ctx); /* and every tensor with it */
}

/* ---- rates ---- */

int rates_find(const args *a, tern_ctx *ctx, machine_rates *out)
{
    double bandwidth = 0, peak = 0;
    *out = (machine_rates){0};
    if (!read_rate(a, "bandwidth", &bandwidth, &out->bandwidth_given) ||
        !read_rate(a, "peak", &peak, &out->peak_given))
        return EXIT_USAGE;
    if ((!out->bandwidth_given || !out->peak_given) && tern_machine_measure(ctx, &out->machine) != TERN_OK)
        return fail_status("measuring the machine");
    if (out->bandwidth_given) { /* one rate for all bytes: no caches, and steps cost nothing by being there */
        out->machine.memory_bytes_per_s = bandwidth;
        out->machine.cache_bytes = 0;
        out->machine.cache_bytes_per_s = 0;
    }
    if (out->peak_given)
        out->machine.flops_per_s = peak;
    if (out->bandwidth_given && out->peak_given)
        out->machine.step_ns = 0;
    return EXIT_DONE;
}

void rates_print(const machine_rates *r, int threads)
{
    char number[NUMBER_TEXT];
    const tern_machine *m = &r->machine;
    printf("  %sestimates: the longer of bytes / bandwidth and flops / peak%s%s\n  ", on(STYLE_DIM),
           m->step_ns > 0 ? ", and what a step costs by itself" : "", off(STYLE_DIM));
    printf("%s%.1f GB/s %s", on(STYLE_DIM), m->memory_bytes_per_s / 1e9,
           r->bandwidth_given ? "(given)" : "to memory");
    if (m->cache_bytes > 0)
        printf(", %.1f GB/s within %s of cache", m->cache_bytes_per_s / 1e9,
               format_bytes(number, m->cache_bytes));
    printf(", %.1f GFLOP/s%s", m->flops_per_s / 1e9, r->peak_given ? " (given)" : "");
    if (m->step_ns > 0)
        printf(", %s a step", format_time(number, (uint64_t)(m->step_ns + 0.5)));
    if (!r->bandwidth_given || !r->peak_given)
        printf(": measured just now with the library's own add and matmul on %d thread%s", threads,
               threads == 1 ? "" : "s");
    printf("%s\n", off(STYLE_DIM));
    if (m->busy)
        printf("  %sthe machine was busy: rates differed from try to try and are probably too low, estimates "
               "too "
               "long%s\n",
               on(STYLE_BOLD), off(STYLE_BOLD));
}
