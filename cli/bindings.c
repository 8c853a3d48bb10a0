/* bindings.c - arrays for inputs, files for outputs. */
#include "bindings.h"

#include <stdlib.h>
#include <string.h>

#include <tern/io.h>
#include <tern/ops.h>

#include "array.h"
#include "compile.h"
#include "source.h"
#include "term.h"

/* ---- the command line --------------------------------------------------------------------------------------- */

static bool ends_with(const char *string, const char *end)
{
    size_t n = strlen(string), m = strlen(end);
    return n >= m && strcmp(string + n - m, end) == 0;
}

static binding *find(const bindings *b, const char *name)
{
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->items[i].name, name) == 0)
            return &b->items[i];
    return NULL;
}

static void add(bindings *b, const char *name, size_t length, const char *file, bool spread)
{
    b->items = grab_more(b->items, (size_t)b->n + 1, sizeof *b->items);
    b->items[b->n++] = (binding){
        .name = grab_string(name, length), .file = grab_string(file, strlen(file)), .spread = spread};
}

/* All arrays of an archive by their names, unless one is given besides. */
static bool spread(bindings *b, const char *path)
{
    tern_npz *npz;
    if (tern_npz_open(path, &npz) != TERN_OK)
        return fail_status(NULL), false;
    for (int i = 0; i < tern_npz_count(npz); i++) {
        const char *name = tern_npz_name(npz, i);
        text place = {0};
        text_addf(&place, "%s:%s", path, name);
        if (!find(b, name))
            add(b, name, strlen(name), text_string(&place), true);
        text_free(&place);
    }
    tern_npz_close(npz);
    return true;
}

static bool is_archive(const char *kind, const char *value)
{
    return strcmp(kind, "input") == 0 && !strchr(value, '=') && ends_with(value, ".npz");
}

bool bindings_parse(const args *a, const char *kind, bindings *out)
{
    const char *value;
    for (int i = 0; (value = args_nth(a, kind, i)); i++) {
        const char *equals = strchr(value, '=');
        if (is_archive(kind, value))
            continue;
        if (!equals || equals == value || equals[1] == '\0') {
            fail_usage("--%s is NAME=FILE%s, not '%s'", kind,
                       strcmp(kind, "input") == 0 ? " or FILE.npz" : "", value);
            return false;
        }
        add(out, value, (size_t)(equals - value), equals + 1, false);
        const char *name = out->items[out->n - 1].name;
        if (find(out, name) != &out->items[out->n - 1]) {
            fail_usage("--%s %s is given twice", kind, name);
            return false;
        }
    }
    for (int i = 0; (value = args_nth(a, kind, i)); i++)
        if (is_archive(kind, value) && !spread(out, value))
            return false;
    return true;
}

void bindings_free(bindings *b)
{
    for (int i = 0; i < b->n; i++) {
        free(b->items[i].name);
        free(b->items[i].file);
    }
    free(b->items);
    *b = (bindings){0};
}

/* ---- inputs ------------------------------------------------------------------------------------------------- */

bool bindings_check_type(const tern_port *want, const binding *b, const tern_tensor *t)
{
    bool fits = tern_dtype_of(t) == want->dtype && tern_rank(t) == want->rank;
    for (int i = 0; fits && i < want->rank; i++)
        fits = tern_shape(t)[i] == want->shape[i];
    if (fits)
        return true;
    text wanted = {0}, given = {0};
    text_add_type(&wanted, tern_dtype_name(want->dtype), want->rank, want->shape);
    array_add_type(&given, t);
    fail("input '%s' takes %s, but %s holds %s", want->name, text_string(&wanted), b->file,
         text_string(&given));
    text_free(&wanted);
    text_free(&given);
    return false;
}

/* The leaf of that name that has no data. */
static bool find_leaf(const tern_graph *graph, const char *name, tern_node_info *out, tern_port *port)
{
    for (tern_node n = 0; tern_graph_node(graph, n, out) == TERN_OK; n++) {
        tern_value_info value;
        if (!out->is_leaf || out->has_data || !out->name || strcmp(out->name, name) != 0 ||
            tern_graph_value(graph, out->result, &value) != TERN_OK)
            continue;
        *port = (tern_port){name, value.dtype, value.rank, value.shape};
        return true;
    }
    return false;
}

/* "x, w1": what can be given. */
static void add_leaves(text *t, const tern_graph *graph)
{
    tern_node_info leaf;
    for (tern_node n = 0; tern_graph_node(graph, n, &leaf) == TERN_OK; n++)
        if (leaf.is_leaf && !leaf.has_data && leaf.name && strcmp(leaf.op, "state") != 0)
            text_addf(t, "%s%s", t->length ? ", " : "", leaf.name);
}

static tern_tensor *make_numbers(tern_ctx *ctx, const tern_port *port, int number)
{
    bool real = tern_dtype_get(port->dtype) && tern_dtype_get(port->dtype)->kind == TERN_KIND_FLOAT;
    return real ? tern_randn(ctx, port->dtype, port->rank, port->shape, 1000 + number)
                : tern_zeros(ctx, port->dtype, port->rank, port->shape);
}

/* The same numbers, made by the CPU. */
static tern_status make_elsewhere(tern_ctx *ctx, const tern_port *port, int number, tern_tensor **out)
{
    tern_ctx *home = NULL;
    tern_status status = tern_ctx_create(NULL, &home);
    tern_tensor *made = status == TERN_OK ? make_numbers(home, port, number) : NULL;
    if (status == TERN_OK)
        status = tern_eval(made);
    if (status == TERN_OK) {
        *out = tern_from_data(ctx, port->dtype, port->rank, port->shape, tern_data(made));
        status = tern_status_of(*out);
    }
    tern_ctx_destroy(home);
    return status;
}

/* A device need not have the ops that make numbers up: what is asked of it is the graph. */
bool make_up(tern_ctx *ctx, const tern_port *port, int number, tern_tensor **out)
{
    *out = make_numbers(ctx, port, number);
    const tern_status status =
        strcmp(tern_device_of(*out), "cpu") == 0 ? tern_eval(*out) : make_elsewhere(ctx, port, number, out);
    return status == TERN_OK ? true : (fail_status(NULL), false);
}

bool bindings_make_up(tern_ctx *ctx, tern_graph *graph)
{
    tern_node_info leaf;
    for (tern_node n = 0; tern_graph_node(graph, n, &leaf) == TERN_OK; n++) {
        tern_value_info value;
        tern_tensor *t;
        if (!leaf.is_leaf || leaf.has_data || !leaf.name || strcmp(leaf.op, "constant") != 0 ||
            tern_graph_value(graph, leaf.result, &value) != TERN_OK)
            continue;
        const tern_port port = {leaf.name, value.dtype, value.rank, value.shape};
        if (!make_up(ctx, &port, (int)n, &t))
            return false;
        if (tern_freeze(t) != TERN_OK || tern_graph_bind(graph, leaf.name, t) != TERN_OK)
            return fail_status(NULL), false;
    }
    return true;
}

bool bindings_bind(bindings *b, bool all, tern_ctx *ctx, tern_graph *graph)
{
    for (int i = 0; i < b->n; i++) {
        binding *given = &b->items[i];
        tern_node_info leaf;
        tern_port port;
        tern_tensor *t;
        bool found = find_leaf(graph, given->name, &leaf, &port);
        if (!all && (!found || strcmp(leaf.op, "constant") != 0))
            continue;
        if (!found) {
            text names = {0};
            add_leaves(&names, graph);
            fail("no input or constant without data is called '%s'; the graph has %s", given->name,
                 names.length ? text_string(&names) : "none");
            text_free(&names);
            return false;
        }
        given->used = true;
        if (!array_load(ctx, given->file, given->name, &t) || !bindings_check_type(&port, given, t))
            return false;
        if (tern_freeze(t) != TERN_OK || tern_graph_bind(graph, given->name, t) != TERN_OK)
            return fail_status(NULL), false;
    }
    return true;
}

/* "; the graph has x, y" */
static void add_names(text *t, const graph_run *r, bool outputs)
{
    int n = outputs ? r->n_outputs : r->n_inputs;
    text_addf(t, "; the graph has %s", n == 0 ? "none" : "");
    for (int i = 0; i < n; i++) {
        tern_port port;
        tern_status status =
            outputs ? tern_program_output(r->program, i, &port) : tern_program_input(r->program, i, &port);
        if (status == TERN_OK && port.name)
            text_addf(t, "%s%s", i ? ", " : "", port.name);
    }
}

/* An input of the graph that the compiler found to be of no use may be given all the same. */
static bool is_unused_input(const graph_run *r, const char *name)
{
    tern_port port;
    for (int i = 0; i < r->graph_info.inputs; i++)
        if (tern_graph_input(r->graph, i, &port) == TERN_OK && port.name && strcmp(port.name, name) == 0)
            return true;
    return false;
}

/* Names on the command line that the graph does not have. */
static bool all_used(const bindings *b, const graph_run *r, bool outputs)
{
    for (int i = 0; i < b->n; i++) {
        if (b->items[i].used || b->items[i].spread || (!outputs && is_unused_input(r, b->items[i].name)))
            continue;
        text names = {0};
        add_names(&names, r, outputs);
        fail("no %s is called '%s'%s", outputs ? "output" : "input", b->items[i].name, text_string(&names));
        text_free(&names);
        return false;
    }
    return true;
}

/* A leaf that can neither be computed with nor given. */
static void say_nameless(const graph_run *r, const tern_port *port, int i)
{
    tern_node_info leaf;
    text type = {0};
    text_add_type(&type, tern_dtype_name(port->dtype), port->rank, port->shape);
    for (tern_node n = 0; tern_graph_node(r->graph, n, &leaf) == TERN_OK; n++)
        if (leaf.is_leaf && !leaf.has_data && !leaf.name && strcmp(leaf.op, "constant") == 0) {
            fail("the graph has a constant, %s, whose data are not in the text and which has no name to give "
                 "them by: "
                 "write constant \"w\" %s and add --input w=FILE",
                 text_string(&type), text_string(&type));
            text_free(&type);
            return;
        }
    fail("input %d of the graph, %s, has neither data nor a name, so nothing can be given for it", i,
         text_string(&type));
    text_free(&type);
}

/* The array for input `i`; NULL, and that was said, if none was given. */
static binding *given_for(const bindings *b, const graph_run *r, const tern_port *port, int i)
{
    binding *found = port->name ? find(b, port->name) : NULL;
    if (!found && (!port->name || !port->name[0])) {
        say_nameless(r, port, i);
    } else if (!found) {
        text type = {0};
        text_add_type(&type, tern_dtype_name(port->dtype), port->rank, port->shape);
        fail("input '%s' (%s) is not given: add --input %s=FILE.npy, or --made-up", port->name,
             text_string(&type), port->name);
        text_free(&type);
    }
    return found;
}

/* With a range of batches, what was given decides which of its programs runs. */
static bool fit_batch(graph_run *r)
{
    tern_port first, port;
    if (r->info.batch == 0 || tern_graph_input(r->graph, 0, &first) != TERN_OK)
        return true;
    const char *name = r->batch_names ? r->batch_names : first.name;
    for (int i = 0; i < r->n_inputs; i++)
        if (tern_program_input(r->program, i, &port) == TERN_OK && strcmp(port.name, name) == 0 &&
            tern_rank(r->inputs[i]) > 0)
            return compile_for_batch(r, tern_shape(r->inputs[i])[0]) == EXIT_DONE;
    return true;
}

bool bindings_load(bindings *b, graph_run *r)
{
    tern_port port;
    for (int i = 0; i < r->n_inputs; i++) {
        if (tern_program_input(r->program, i, &port) != TERN_OK)
            return fail_status(NULL), false;
        binding *found = port.name ? find(b, port.name) : NULL;
        if (found)
            found->used = true;
    }
    if (!all_used(b, r, false))
        return false;
    for (int i = 0; i < r->n_inputs; i++) {
        if (tern_program_input(r->program, i, &port) != TERN_OK)
            return fail_status(NULL), false;
        bool named = port.name && find(b, port.name);
        const binding *found = named || !r->makes_up ? given_for(b, r, &port, i) : NULL;
        if (!named && r->makes_up ? !make_up(r->ctx, &port, i, &r->inputs[i])
                                  : !found || !array_load(r->ctx, found->file, found->name, &r->inputs[i]))
            return false;
    }
    if (!fit_batch(r))
        return false;
    for (int i = 0; i < r->n_inputs; i++)
        if (tern_program_input(r->program, i, &port) != TERN_OK ||
            (find(b, port.name) && !bindings_check_type(&port, find(b, port.name), r->inputs[i])))
            return false;
    return true;
}

/* ---- outputs ------------------------------------------------------------------------------------------------ */

bool bindings_check_outputs(bindings *b, const graph_run *r)
{
    for (int i = 0; i < r->n_outputs; i++) {
        tern_port port;
        if (tern_program_output(r->program, i, &port) != TERN_OK)
            return fail_status(NULL), false;
        binding *found = find(b, port.name);
        if (found)
            found->used = true;
    }
    if (!all_used(b, r, true))
        return false;
    for (int i = 0; i < b->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(b->items[i].file, b->items[k].file) == 0 && !ends_with(b->items[i].file, ".npz")) {
                fail("outputs '%s' and '%s' are both to go to %s", b->items[k].name, b->items[i].name,
                     b->items[i].file);
                return false;
            }
    return true;
}

static int output_called(const graph_run *r, const char *name)
{
    tern_port port;
    for (int i = 0; i < r->n_outputs; i++)
        if (tern_program_output(r->program, i, &port) == TERN_OK && strcmp(port.name, name) == 0)
            return i;
    return -1;
}

/* All the outputs that go to one archive, written at once when the first of them comes up. */
static tern_status save_npz(const bindings *b, graph_run *r, const char *path)
{
    const char **names = grab((size_t)b->n, sizeof *names);
    tern_tensor **tensors = grab((size_t)b->n, sizeof *tensors);
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (strcmp(b->items[i].file, path) != 0)
            continue;
        int output = output_called(r, b->items[i].name);
        names[n] = b->items[i].name;
        tensors[n++] = r->outputs[output];
        r->saved[output] = path;
    }
    tern_status status = tern_npz_save(path, n, names, tensors);
    free(names);
    free(tensors);
    return status;
}

bool bindings_save(const bindings *b, graph_run *r)
{
    for (int i = 0; i < b->n; i++) {
        const char *path = b->items[i].file;
        int output = output_called(r, b->items[i].name);
        if (output < 0 || r->saved[output])
            continue;
        tern_status status =
            ends_with(path, ".npz") ? save_npz(b, r, path) : tern_npy_save(r->outputs[output], path);
        if (status != TERN_OK) {
            fail("output '%s': %s", b->items[i].name, tern_last_error());
            return false;
        }
        r->saved[output] = path;
    }
    return true;
}
