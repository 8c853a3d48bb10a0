/* ports.c - inputs and outputs of a graph as JSON, as a line and as a table. */
#include "ports.h"

#include "table.h"
#include "term.h"

bool open_reader(tern_ctx **out)
{
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    if (tern_ctx_create(&options, out) == TERN_OK)
        return true;
    fail_status(NULL);
    return false;
}

typedef tern_status (*port_getter)(const tern_graph *graph, int i, tern_port *out);

static void add_ports(json *j, const char *key, const tern_graph *graph, int n, port_getter get)
{
    json_array(j, key);
    for (int i = 0; i < n; i++) {
        tern_port port;
        if (get(graph, i, &port) != TERN_OK)
            continue;
        json_object(j, NULL);
        json_string(j, "name", port.name);
        json_string(j, "dtype", tern_dtype_name(port.dtype));
        json_ints(j, "shape", port.rank, port.shape);
        json_end(j);
    }
    json_end(j);
}

void ports_json(json *j, const tern_graph *graph)
{
    tern_graph_info info;
    tern_graph_get_info(graph, &info);
    json_int(j, "nodes", info.nodes);
    json_int(j, "constants", info.constants);
    json_int(j, "states", info.states);
    add_ports(j, "inputs", graph, info.inputs, tern_graph_input);
    add_ports(j, "outputs", graph, info.outputs, tern_graph_output);
}

void ports_add_counts(text *t, const tern_graph_info *info)
{
    const struct {
        int count;
        const char *noun;
    } kinds[] = {{info->inputs, "input"},
                 {info->constants, "constant"},
                 {info->states, "state"},
                 {info->outputs, "output"}};
    text_add_plural(t, info->nodes, "node");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].count == 0)
            continue;
        text_add(t, ", ");
        text_add_plural(t, kinds[i].count, kinds[i].noun);
    }
}

static void add_rows(table *t, const char *what, const tern_graph *graph, int n, port_getter get)
{
    for (int i = 0; i < n; i++) {
        tern_port port;
        if (get(graph, i, &port) != TERN_OK)
            continue;
        text name = {0}, type = {0};
        text_add_safe(&name, port.name ? port.name : "");
        text_add_type(&type, tern_dtype_name(port.dtype), port.rank, port.shape);
        table_add(t, what);
        table_add(t, text_string(&name));
        table_add(t, text_string(&type));
        text_free(&name);
        text_free(&type);
    }
}

void ports_print(const tern_graph *graph)
{
    static const table_column columns[] = {
        {"", false, false, STYLE_DIM}, {"", false, true, STYLE_NAME}, {"", false, false, STYLE_NUMBER}};
    tern_graph_info info;
    tern_graph_get_info(graph, &info);
    table t = table_make(columns, 3);
    add_rows(&t, "input", graph, info.inputs, tern_graph_input);
    add_rows(&t, "output", graph, info.outputs, tern_graph_output);
    table_print(&t, 2, false);
}
