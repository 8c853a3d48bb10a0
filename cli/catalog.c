/* catalog.c - what can be listed: the fields of each catalog, and where its entries come from. */
#include "catalog.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/conditions.h>
#include <tern/context.h>

#include "term.h"

/* ---- fields ------------------------------------------------------------------------------------------------- */

/* What a field of a kind is read as. FIELD() compiles only for members of that type. */
#define TYPE_TEXT const char *
#define TYPE_INT int
#define TYPE_ANY int
#define TYPE_COUNT int
#define TYPE_BYTES int64_t
#define TYPE_BOOL bool
#define TYPE_REAL double

/* clang-format off */
#define FIELD(key, title, kind, use, member) \
    {key, title, FIELD_##kind, use, _Generic(((entry *)0)->member, TYPE_##kind: offsetof(entry, member))}

static const field op_fields[] = {
    FIELD("name", "op", TEXT, IN_TABLE, op.name),
    FIELD("section", "section", TEXT, IN_HEADING, op.section),
    FIELD("description", "computes", TEXT, IN_TABLE, op.description),
    FIELD("signature", "signature", TEXT, IN_DETAILS, op.signature),
    FIELD("min_inputs", "fewest operands", INT, IN_JSON, op.min_inputs),
    FIELD("max_inputs", "most operands", ANY, IN_JSON, op.max_inputs),
    FIELD("results", "results", ANY, IN_JSON, op.results),
    FIELD("shape_rule", "shape rule", TEXT, IN_DETAILS, op.shape_rule),
    FIELD("dtype_rule", "dtype rule", TEXT, IN_DETAILS, op.dtype_rule),
    FIELD("cost_rule", "cost rule", TEXT, IN_DETAILS, op.cost_rule),
    FIELD("gradient", "gradient", TEXT, IN_DETAILS, op.gradient),
    FIELD("kernel", "reference kernel", TEXT, IN_DETAILS, op.kernel),
    FIELD("elementwise", "elementwise", BOOL, IN_DETAILS, op.elementwise),
    FIELD("view", "view", BOOL, IN_DETAILS, op.view),
    FIELD("commutative", "commutative", BOOL, IN_DETAILS, op.commutative),
    {0},
};

static const field kernel_fields[] = {
    FIELD("name", "kernel", TEXT, IN_TABLE, kernel.name),
    FIELD("op", "op", TEXT, IN_TABLE, kernel.op),
    FIELD("isa", "isa", TEXT, IN_TABLE, kernel.isa),
    FIELD("device", "device", TEXT, IN_JSON, kernel.device),
    FIELD("when", "for", TEXT, IN_DETAILS, kernel.when),
    FIELD("usable", "runs here", BOOL, IN_TABLE, kernel.usable),
    FIELD("chosen", "is used", BOOL, IN_TABLE, kernel.chosen),
    FIELD("why", "because", TEXT, IN_DETAILS, kernel.why),
    {0},
};

static const field pass_fields[] = {
    FIELD("name", "pass", TEXT, IN_TABLE, pass.info.name),
    FIELD("level", "from level", TEXT, IN_TABLE, pass.level),
    FIELD("optional", "--disable", BOOL, IN_TABLE, pass.info.optional),
    FIELD("description", "what it does", TEXT, IN_TABLE, pass.info.description),
    {0},
};

static const field dtype_fields[] = {
    FIELD("name", "dtype", TEXT, IN_TABLE, dtype.info.name),
    FIELD("kind", "kind", TEXT, IN_TABLE, dtype.kind),
    FIELD("bits", "bits", REAL, IN_TABLE, dtype.bits),
    FIELD("unit_bytes", "bytes of a unit", INT, IN_DETAILS, dtype.info.unit_bytes),
    FIELD("unit_elements", "elements in it", INT, IN_DETAILS, dtype.info.unit_elements),
    FIELD("description", "description", TEXT, IN_TABLE, dtype.info.description),
    {0},
};

static const field device_fields[] = {
    FIELD("name", "device", TEXT, IN_TABLE, device.info.name),
    FIELD("backend", "backend", TEXT, IN_TABLE, device.info.backend),
    FIELD("cores_usable", "cores", COUNT, IN_TABLE, device.info.cores_usable),
    FIELD("cores_reason", "", TEXT, IN_NOTE, device.info.cores_reason),
    FIELD("cores_online", "cores online", COUNT, IN_DETAILS, device.info.cores_online),
    FIELD("isa", "isa", TEXT, IN_TABLE, device.info.isa),
    FIELD("isa_limit", "limited by", TEXT, IN_NOTE, device.info.isa_limit),
    FIELD("isa_available", "isa levels", TEXT, IN_DETAILS, device.info.isa_available),
    FIELD("features", "features", TEXT, IN_DETAILS, device.info.features),
    FIELD("kernels", "kernels", TEXT, IN_DETAILS, device.info.kernels),
    FIELD("libraries", "libraries", TEXT, IN_DETAILS, device.libraries),
    FIELD("model", "model", TEXT, IN_TABLE, device.info.model),
    FIELD("memory_bytes", "memory", BYTES, IN_DETAILS, device.info.memory_bytes),
    FIELD("l1d_bytes", "L1 data cache", BYTES, IN_DETAILS, device.info.l1d_bytes),
    FIELD("l2_bytes", "L2 cache", BYTES, IN_DETAILS, device.info.l2_bytes),
    FIELD("l3_bytes", "L3 cache", BYTES, IN_DETAILS, device.info.l3_bytes),
    FIELD("driver", "driver", TEXT, IN_DETAILS, device.info.driver),
    FIELD("precision", "computes in", TEXT, IN_DETAILS, device.info.precision),
    FIELD("limits", "limits", TEXT, IN_DETAILS, device.info.limits),
    FIELD("memory_use", "memory is", TEXT, IN_DETAILS, device.info.memory_use),
    FIELD("unavailable", "unavailable", TEXT, IN_DETAILS, device.info.unavailable),
    {0},
};

static const field metric_fields[] = {
    FIELD("name", "name", TEXT, IN_TABLE, metric.info.name),
    FIELD("kind", "kind", TEXT, IN_TABLE, metric.kind),
    FIELD("unit", "unit", TEXT, IN_TABLE, metric.info.unit),
    FIELD("help", "tells", TEXT, IN_TABLE, metric.info.help),
    {0},
};
/* clang-format on */

static const void *place(const field *f, const entry *e)
{
    return (const char *)e + f->offset;
}

const char *field_text(const field *f, const entry *e)
{
    return *(const char *const *)place(f, e);
}

int64_t field_number(const field *f, const entry *e)
{
    return f->kind == FIELD_BYTES ? *(const int64_t *)place(f, e) : *(const int *)place(f, e);
}

double field_real(const field *f, const entry *e)
{
    return *(const double *)place(f, e);
}

bool field_yes(const field *f, const entry *e)
{
    return *(const bool *)place(f, e);
}

/* ---- entries ------------------------------------------------------------------------------------------------ */

static bool read_op(int i, entry *out)
{
    return tern_catalog_op(i, &out->op) == TERN_OK;
}

static bool read_kernel(int i, entry *out)
{
    return tern_catalog_kernel(i, &out->kernel) == TERN_OK;
}

static bool read_pass(int i, entry *out)
{
    if (tern_catalog_pass(i, &out->pass.info) != TERN_OK)
        return false;
    out->pass.level = tern_level_name(out->pass.info.level);
    return true;
}

static bool read_dtype(int i, entry *out)
{
    static const char *const kinds[] = {
        [TERN_KIND_BOOL] = "bool",   [TERN_KIND_UINT] = "unsigned",   [TERN_KIND_INT] = "signed",
        [TERN_KIND_FLOAT] = "float", [TERN_KIND_TERNARY] = "ternary", [TERN_KIND_BLOCK] = "block",
    };
    const tern_dtype_info *dtype = i < TERN_DTYPE_COUNT ? tern_dtype_get((tern_dtype)i) : NULL;
    if (!dtype)
        return false;
    out->dtype.info = *dtype;
    out->dtype.kind = kinds[dtype->kind];
    out->dtype.bits = 8.0 * dtype->unit_bytes / dtype->unit_elements;
    return true;
}

static bool read_metric(int i, entry *out)
{
    if (tern_metric_at(i, &out->metric.info) != TERN_OK)
        return false;
    out->metric.kind = tern_metric_kind_name(out->metric.info.kind);
    return true;
}

/* Is it of a library that no system but another one has? */
static bool is_foreign(const tern_kernel_info *kernel)
{
#ifdef __APPLE__
    (void)kernel;
    return false;
#else
    return strcmp(kernel->name, "matmul__accelerate") == 0;
#endif
}

/* Kernels of other libraries, and why they cannot be used if so. */
static const char *libraries(void)
{
    static char list[1024];
    tern_kernel_info kernel;
    list[0] = '\0';
    for (int i = 0; tern_catalog_kernel(i, &kernel) == TERN_OK; i++) {
        const size_t used = strlen(list);
        if (strcmp(kernel.isa, "library") == 0 && !is_foreign(&kernel))
            snprintf(list + used, sizeof list - used, "%s%s%s%s", used ? "; " : "", kernel.name,
                     kernel.usable ? "" : " unavailable: ", kernel.usable ? "" : kernel.why);
    }
    return list;
}

static bool read_device(int i, entry *out)
{
    if (tern_catalog_device(i, &out->device.info) != TERN_OK)
        return false;
    out->device.libraries = i == 0 ? libraries() : NULL;
    return true;
}

/* ---- what only devices tell ---------------------------------------------------------------------------------- */

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
static void device_more(json *j, const entry *e)
{
    tern_conditions c;
    kernel_choices(j, e->device.info.name);
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

/* ---- the catalogs -------------------------------------------------------------------------------------------- */

static const catalog ops = {"ops",   "op", "operations that graphs are made of", op_fields, NULL,
                            read_op, NULL};
static const catalog kernels = {"kernels",   "kernel", "functions that compute them", kernel_fields, "op",
                                read_kernel, NULL};
static const catalog passes = {"passes",  "pass", "stages of the compiler, in order", pass_fields, NULL,
                               read_pass, NULL};
static const catalog dtypes = {"dtypes", "dtype", "element types", dtype_fields, NULL, read_dtype, NULL};
static const catalog devices = {"devices",   "device",   "machines that programs run on", device_fields, NULL,
                                read_device, device_more};
static const catalog metrics = {"metrics",   "metric", "what --metrics writes", metric_fields, NULL,
                                read_metric, NULL};

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

const char *catalog_name(const catalog *c, int i)
{
    entry e;
    return c->read(i, &e) ? field_text(&c->fields[0], &e) : NULL;
}

int catalog_count(const catalog *c)
{
    int n = 0;
    while (catalog_name(c, n))
        n++;
    return n;
}

bool catalog_matches(const catalog *c, const entry *e, const char *name)
{
    if (!name || strcmp(field_text(&c->fields[0], e), name) == 0)
        return true;
    for (const field *f = c->fields; c->group && f->key; f++)
        if (strcmp(f->key, c->group) == 0)
            return strcmp(field_text(f, e), name) == 0;
    return false;
}

bool catalog_has(const catalog *c, const char *name)
{
    entry e;
    for (int i = 0; c->read(i, &e); i++)
        if (catalog_matches(c, &e, name))
            return true;
    return false;
}
