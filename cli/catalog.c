/* catalog.c - what can be listed, and how it is printed. */
#include "catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/catalog.h>
#include <tern/conditions.h>
#include <tern/context.h>
#include <tern/dtype.h>
#include <tern/metrics.h>

#include "table.h"
#include "term.h"

/* ---- the tables --------------------------------------------------------------------------------------------- */

/* clang-format off */
static const field op_fields[] = {
    {"name", "op", FIELD_TEXT, IN_TABLE},
    {"section", "section", FIELD_TEXT, IN_HEADING},
    {"description", "computes", FIELD_TEXT, IN_TABLE},
    {"signature", "signature", FIELD_TEXT, IN_DETAILS},
    {"min_inputs", "fewest operands", FIELD_INT, IN_JSON},
    {"max_inputs", "most operands", FIELD_ANY, IN_JSON},
    {"results", "results", FIELD_ANY, IN_JSON},
    {"shape_rule", "shape rule", FIELD_TEXT, IN_DETAILS},
    {"dtype_rule", "dtype rule", FIELD_TEXT, IN_DETAILS},
    {"cost_rule", "cost rule", FIELD_TEXT, IN_DETAILS},
    {"gradient", "gradient", FIELD_TEXT, IN_DETAILS},
    {"kernel", "reference kernel", FIELD_TEXT, IN_DETAILS},
    {"elementwise", "elementwise", FIELD_BOOL, IN_DETAILS},
    {"view", "view", FIELD_BOOL, IN_DETAILS},
    {"commutative", "commutative", FIELD_BOOL, IN_DETAILS},
    {0},
};

static const field kernel_fields[] = {
    {"name", "kernel", FIELD_TEXT, IN_TABLE},
    {"op", "op", FIELD_TEXT, IN_TABLE},
    {"isa", "isa", FIELD_TEXT, IN_TABLE},
    {"device", "device", FIELD_TEXT, IN_JSON},
    {"when", "for", FIELD_TEXT, IN_DETAILS},
    {"usable", "runs here", FIELD_BOOL, IN_TABLE},
    {"chosen", "is used", FIELD_BOOL, IN_TABLE},
    {"why", "because", FIELD_TEXT, IN_DETAILS},
    {0},
};

static const field pass_fields[] = {
    {"name", "pass", FIELD_TEXT, IN_TABLE},
    {"level", "from level", FIELD_TEXT, IN_TABLE},
    {"optional", "--disable", FIELD_BOOL, IN_TABLE},
    {"description", "what it does", FIELD_TEXT, IN_TABLE},
    {0},
};

static const field dtype_fields[] = {
    {"name", "dtype", FIELD_TEXT, IN_TABLE},
    {"kind", "kind", FIELD_TEXT, IN_TABLE},
    {"bits", "bits", FIELD_REAL, IN_TABLE},
    {"unit_bytes", "bytes of a unit", FIELD_INT, IN_DETAILS},
    {"unit_elements", "elements in it", FIELD_INT, IN_DETAILS},
    {"description", "description", FIELD_TEXT, IN_TABLE},
    {0},
};

static const field device_fields[] = {
    {"name", "device", FIELD_TEXT, IN_TABLE},
    {"backend", "backend", FIELD_TEXT, IN_TABLE},
    {"cores_usable", "cores", FIELD_COUNT, IN_TABLE},
    {"cores_online", "cores online", FIELD_COUNT, IN_DETAILS},
    {"cores_reason", "cores set by", FIELD_TEXT, IN_DETAILS},
    {"isa", "isa", FIELD_TEXT, IN_TABLE},
    {"isa_limit", "limited by", FIELD_TEXT, IN_NOTE},
    {"isa_available", "isa levels", FIELD_TEXT, IN_DETAILS},
    {"features", "features", FIELD_TEXT, IN_DETAILS},
    {"kernels", "kernels", FIELD_TEXT, IN_DETAILS},
    {"libraries", "libraries", FIELD_TEXT, IN_DETAILS},
    {"model", "model", FIELD_TEXT, IN_TABLE},
    {"memory_bytes", "memory", FIELD_BYTES, IN_DETAILS},
    {"l1d_bytes", "L1 data cache", FIELD_BYTES, IN_DETAILS},
    {"l2_bytes", "L2 cache", FIELD_BYTES, IN_DETAILS},
    {"l3_bytes", "L3 cache", FIELD_BYTES, IN_DETAILS},
    {"driver", "driver", FIELD_TEXT, IN_DETAILS},
    {"precision", "computes in", FIELD_TEXT, IN_DETAILS},
    {"limits", "limits", FIELD_TEXT, IN_DETAILS},
    {"memory_use", "memory is", FIELD_TEXT, IN_DETAILS},
    {"unavailable", "unavailable", FIELD_TEXT, IN_DETAILS},
    {0},
};
/* clang-format on */

static bool op_row(int i, field_value *out)
{
    tern_op_info op;
    if (tern_catalog_op(i, &op) != TERN_OK)
        return false;
    const field_value row[] = {
        {.text = op.name},       {.text = op.section},      {.text = op.description},
        {.text = op.signature},  {.number = op.min_inputs}, {.number = op.max_inputs},
        {.number = op.results},  {.text = op.shape_rule},   {.text = op.dtype_rule},
        {.text = op.cost_rule},  {.text = op.gradient},     {.text = op.kernel},
        {.yes = op.elementwise}, {.yes = op.view},          {.yes = op.commutative},
    };
    memcpy(out, row, sizeof row);
    return true;
}

static bool kernel_row(int i, field_value *out)
{
    tern_kernel_info kernel;
    if (tern_catalog_kernel(i, &kernel) != TERN_OK)
        return false;
    const field_value row[] = {{.text = kernel.name},   {.text = kernel.op},   {.text = kernel.isa},
                               {.text = kernel.device}, {.text = kernel.when}, {.yes = kernel.usable},
                               {.yes = kernel.chosen},  {.text = kernel.why}};
    memcpy(out, row, sizeof row);
    return true;
}

static bool pass_row(int i, field_value *out)
{
    tern_pass_info pass;
    if (tern_catalog_pass(i, &pass) != TERN_OK)
        return false;
    const field_value row[] = {{.text = pass.name},
                               {.text = tern_level_name(pass.level)},
                               {.yes = pass.optional},
                               {.text = pass.description}};
    memcpy(out, row, sizeof row);
    return true;
}

static bool dtype_row(int i, field_value *out)
{
    static const char *const kinds[] = {
        [TERN_KIND_BOOL] = "bool",   [TERN_KIND_UINT] = "unsigned",   [TERN_KIND_INT] = "signed",
        [TERN_KIND_FLOAT] = "float", [TERN_KIND_TERNARY] = "ternary", [TERN_KIND_BLOCK] = "block",
    };
    const tern_dtype_info *dtype = i < TERN_DTYPE_COUNT ? tern_dtype_get((tern_dtype)i) : NULL;
    if (!dtype)
        return false;
    const field_value row[] = {{.text = dtype->name},
                               {.text = kinds[dtype->kind]},
                               {.real = 8.0 * dtype->unit_bytes / dtype->unit_elements},
                               {.number = dtype->unit_bytes},
                               {.number = dtype->unit_elements},
                               {.text = dtype->description}};
    memcpy(out, row, sizeof row);
    return true;
}

/* Kernels of other libraries, and why they cannot be used if so. */
static const char *libraries(void)
{
    static char list[1024];
    tern_kernel_info kernel;
    list[0] = '\0';
    for (int i = 0; tern_catalog_kernel(i, &kernel) == TERN_OK; i++) {
        const size_t used = strlen(list);
        if (strcmp(kernel.isa, "library") == 0)
            snprintf(list + used, sizeof list - used, "%s%s%s%s", used ? "; " : "", kernel.name,
                     kernel.usable ? "" : " unavailable: ", kernel.usable ? "" : kernel.why);
    }
    return list;
}

static bool device_row(int i, field_value *out)
{
    tern_device_info device;
    if (tern_catalog_device(i, &device) != TERN_OK)
        return false;
    const field_value row[] = {
        {.text = device.name},
        {.text = device.backend},
        {.number = device.cores_usable},
        {.number = device.cores_online},
        {.text = device.cores_reason},
        {.text = device.isa},
        {.text = device.isa_limit},
        {.text = device.isa_available},
        {.text = device.features},
        {.text = device.kernels},
        {.text = i == 0 ? libraries() : NULL},
        {.text = device.model},
        {.number = device.memory_bytes},
        {.number = device.l1d_bytes},
        {.number = device.l2_bytes},
        {.number = device.l3_bytes},
        {.text = device.driver},
        {.text = device.precision},
        {.text = device.limits},
        {.text = device.memory_use},
        {.text = device.unavailable},
    };
    memcpy(out, row, sizeof row);
    return true;
}

/* The kernels of a device; *n: how many. */
static tern_kernel_info *kernels_of(const char *device, int *n)
{
    tern_kernel_info *all = NULL, kernel;
    int capacity = 0;
    *n = 0;
    for (int i = 0; tern_catalog_kernel(i, &kernel) == TERN_OK; i++) {
        if (strcmp(kernel.device, device) != 0)
            continue;
        if (*n == capacity)
            all = grab_more(all, (size_t)(capacity = 2 * capacity + 64), sizeof *all);
        all[(*n)++] = kernel;
    }
    return all;
}

static bool has_others(const tern_kernel_info *all, int n, int than)
{
    for (int i = 0; i < n; i++)
        if (i != than && strcmp(all[i].op, all[than].op) == 0)
            return true;
    return false;
}

/* What runs on a device, of several that could, and why. Devices that choose nothing have none. */
static void kernel_choices(json *j, const char *device)
{
    int n;
    tern_kernel_info *all = kernels_of(device, &n);
    json_array(j, "choices");
    for (int i = 0; i < n; i++) {
        if (!all[i].chosen || !has_others(all, n, i))
            continue;
        json_object(j, NULL);
        json_string(j, "op", all[i].op);
        json_string(j, "kernel", all[i].name);
        json_string(j, "isa", all[i].isa);
        json_string(j, "when", all[i].when);
        json_string(j, "why", all[i].why);
        json_end(j);
    }
    json_end(j);
    free(all);
}

/* Whether the machine is hot, held back or on battery. */
static void device_more(json *j, const field_value *row)
{
    tern_conditions c;
    kernel_choices(j, row[0].text);
    json_object(j, "conditions");
    if (tern_conditions_read(NULL, NULL, &c) == TERN_OK)
        for (int i = 0; i < TERN_SENSORS; i++) {
            json_object(j, tern_sensor_name((tern_sensor)i));
            if (c.sensors[i].available)
                json_string(j, "strain", tern_strain_name(c.sensors[i].strain));
            else
                json_null(j, "strain");
            json_string(j, c.sensors[i].available ? "reading" : "unavailable", c.sensors[i].text);
            json_end(j);
        }
    json_end(j);
}

static const field metric_fields[] = {{"name", "name", FIELD_TEXT, IN_TABLE},
                                      {"kind", "kind", FIELD_TEXT, IN_TABLE},
                                      {"unit", "unit", FIELD_TEXT, IN_TABLE},
                                      {"help", "tells", FIELD_TEXT, IN_TABLE},
                                      {0}};

static bool metric_row(int i, field_value *out)
{
    tern_metric_info info;
    if (tern_metric_at(i, &info) != TERN_OK)
        return false;
    *out++ = (field_value){.text = info.name};
    *out++ = (field_value){.text = tern_metric_kind_name(info.kind)};
    *out++ = (field_value){.text = info.unit};
    *out++ = (field_value){.text = info.help};
    return true;
}

static const catalog ops = {"ops", "op", "operations that graphs are made of", op_fields, NULL, op_row, NULL};
static const catalog kernels = {"kernels",  "kernel", "functions that compute them", kernel_fields, "op",
                                kernel_row, NULL};
static const catalog passes = {"passes", "pass", "stages of the compiler, in order", pass_fields, NULL,
                               pass_row, NULL};
static const catalog dtypes = {"dtypes", "dtype", "element types", dtype_fields, NULL, dtype_row, NULL};
static const catalog devices = {"devices",  "device",   "machines that programs run on", device_fields, NULL,
                                device_row, device_more};

static const catalog metrics = {"metrics",  "metric", "what --metrics writes", metric_fields, NULL,
                                metric_row, NULL};

const catalog *const catalogs[] = {&ops, &kernels, &passes, &dtypes, &devices, &metrics, NULL};

const catalog *catalog_find(const char *name)
{
    for (int i = 0; catalogs[i]; i++)
        if (strcmp(catalogs[i]->name, name) == 0)
            return catalogs[i];
    return NULL;
}

int catalog_check(const catalog *c)
{
    if (c != &devices)
        return EXIT_DONE;
    tern_ctx_options options = tern_ctx_options_default();
    options.threads = 1;
    tern_ctx *ctx; /* refuses what $TERN_CPU cannot be */
    if (tern_ctx_create(&options, &ctx) != TERN_OK)
        return fail_status(NULL);
    tern_ctx_destroy(ctx);
    return EXIT_DONE;
}

int catalog_count(const catalog *c)
{
    field_value row[MOST_FIELDS];
    int n = 0;
    while (c->row(n, row))
        n++;
    return n;
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

/* Does a row answer to `name`? Everything does to NULL. */
static bool matches(const catalog *c, const field_value *row, const char *name)
{
    if (!name || strcmp(row[0].text, name) == 0)
        return true;
    for (int f = 0; c->group && c->fields[f].key; f++)
        if (strcmp(c->fields[f].key, c->group) == 0)
            return strcmp(row[f].text, name) == 0;
    return false;
}

bool catalog_has(const catalog *c, const char *name)
{
    field_value row[MOST_FIELDS];
    for (int i = 0; c->row(i, row); i++)
        if (matches(c, row, name))
            return true;
    return false;
}

static void add_value(text *t, field_kind kind, field_value v)
{
    char number[NUMBER_TEXT];
    switch (kind) {
    case FIELD_TEXT:
        text_add_safe(t, v.text ? v.text : "");
        break;
    case FIELD_INT:
        text_addf(t, "%" PRId64, v.number);
        break;
    case FIELD_ANY:
        if (v.number < 0)
            text_add(t, "any number");
        else
            text_addf(t, "%" PRId64, v.number);
        break;
    case FIELD_COUNT:
        if (v.number > 0)
            text_addf(t, "%" PRId64, v.number);
        else
            text_add(t, "unknown");
        break;
    case FIELD_BYTES:
        text_add(t, v.number > 0 ? format_bytes(number, (uint64_t)v.number) : "unknown");
        break;
    case FIELD_REAL:
        text_add(t, format_double(number, v.real));
        break;
    case FIELD_BOOL:
        text_add(t, v.yes ? "yes" : "no");
        break;
    }
}

void catalog_print_table(const catalog *c)
{
    table_column columns[MOST_FIELDS];
    int n = 0;
    const char *heading = "";
    for (const field *f = c->fields; f->key; f++) {
        if (f->use != IN_TABLE)
            continue;
        columns[n] = (table_column){f->title, f->kind == FIELD_INT || f->kind == FIELD_REAL, false,
                                    n == 0 ? STYLE_NAME : STYLE_NONE};
        n++;
    }
    table t = table_make(columns, n);
    field_value row[MOST_FIELDS];
    text cell = {0};
    for (int i = 0; c->row(i, row); i++) {
        for (int f = 0; c->fields[f].key; f++) {
            if (c->fields[f].use == IN_HEADING && row[f].text && strcmp(row[f].text, heading) != 0)
                table_add_heading(&t, heading = row[f].text);
        }
        for (int f = 0; c->fields[f].key; f++) {
            if (c->fields[f].use != IN_TABLE)
                continue;
            text_clear(&cell);
            add_value(&cell, c->fields[f].kind, row[f]);
            table_add(&t, text_string(&cell));
        }
    }
    text_free(&cell);
    table_print(&t, 0, true);
}

/* -1: it has none of this key. */
static int field_of(const catalog *c, const char *key)
{
    for (int f = 0; c->fields[f].key; f++)
        if (strcmp(c->fields[f].key, key) == 0)
            return f;
    return -1;
}

void catalog_print_details(const catalog *c, const char *name)
{
    static const table_column columns[] = {{"", false, false, STYLE_DIM}, {"", false, false, STYLE_NONE}};
    field_value row[MOST_FIELDS];
    text cell = {0};
    bool first = true;
    for (int i = 0; c->row(i, row); i++) {
        if (!matches(c, row, name))
            continue;
        printf("%s%s%s%s\n", first ? "" : "\n", on(STYLE_NAME), row[0].text, off(STYLE_NAME));
        first = false;
        const int why = field_of(c, "unavailable");
        if (why >= 0 && row[why].text) { /* what is not there has nothing else to tell */
            text_clear(&cell);
            text_add_safe(&cell, row[why].text);
            printf("  unavailable: %s\n", text_string(&cell));
            continue;
        }
        table t = table_make(columns, 2);
        for (int f = 1; c->fields[f].key; f++) {
            text_clear(&cell);
            add_value(&cell, c->fields[f].kind, row[f]);
            if (cell.length == 0 || c->fields[f].use < IN_DETAILS)
                continue;
            const field *note = &c->fields[f + 1];
            if (note->key && note->use == IN_NOTE && row[f + 1].text)
                text_addf(&cell, " (%s %s)", note->title, row[f + 1].text);
            table_add(&t, c->fields[f].title);
            table_add(&t, text_string(&cell));
        }
        table_print(&t, 2, false);
    }
    text_free(&cell);
}

void catalog_print_json(const catalog *c, const char *name)
{
    json j = {0};
    field_value row[MOST_FIELDS];
    json_array(&j, NULL);
    for (int i = 0; c->row(i, row); i++) {
        if (!matches(c, row, name))
            continue;
        json_object(&j, NULL);
        for (int f = 0; c->fields[f].key; f++) {
            const char *key = c->fields[f].key;
            field_kind kind = c->fields[f].kind;
            bool unknown = ((kind == FIELD_BYTES || kind == FIELD_COUNT) && row[f].number <= 0) ||
                           (kind == FIELD_ANY && row[f].number < 0);
            if (unknown)
                json_null(&j, key);
            else if (kind == FIELD_TEXT)
                json_string(&j, key, row[f].text);
            else if (kind == FIELD_REAL)
                json_double(&j, key, row[f].real);
            else if (kind == FIELD_BOOL)
                json_bool(&j, key, row[f].yes);
            else
                json_int(&j, key, row[f].number);
        }
        if (c->more)
            c->more(&j, row);
        json_end(&j);
    }
    json_end(&j);
    json_print(&j);
}
