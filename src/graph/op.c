/* op.c - the table of operations, and what follows from a row: finding it, its defaults, inference, views. */
#include "graph/rules.h"

#include <stdio.h>
#include <string.h>

#include "graph/region.h"

#define TERN__RULE(kind, name) tern__rule_##kind##_##name
#include "graph/op_table.h"

/* clang-format off */
#define IN(least, most, names) \
    _Static_assert((most) <= TERN__MAX_INPUTS_FIXED, "raise TERN__MAX_INPUTS_FIXED");
#define OUT(count, names) \
    _Static_assert((count) <= TERN__MAX_RESULTS_FIXED, "raise TERN__MAX_RESULTS_FIXED");
#define TERN_OP(id, in, out, ...) in out \
    _Static_assert(sizeof SPECS_##id / sizeof SPECS_##id[0] - 1 <= TERN__MAX_ATTRS, "raise TERN__MAX_ATTRS");
#include "graph/ops.def"
#undef TERN_OP
#undef OUT
#undef IN
/* clang-format on */

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* As strcmp, for a name that is not terminated and may hold anything. */
static int compare_name(const char *known, const char *name, size_t length)
{
    size_t known_length = strlen(known);
    int order = memcmp(known, name, known_length < length ? known_length : length);
    return order ? order : (known_length > length) - (known_length < length);
}

const tern__op *tern__op_find(const char *name, size_t length)
{
    size_t low = 0, high = TERN__OP_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tern__op *op = &tern__ops[tern__op_order[middle]];
        int order = compare_name(op->name, name, length);
        if (order == 0)
            return op;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int tern__op_results(const tern__op *op, const tern__attr *attrs)
{
    if (TERN__LIKELY(op->n_out >= 0))
        return op->n_out;
    for (int i = 0; i < op->n_attrs; i++) {
        if (op->attrs[i].kind == TERN__ATTR_BODY)
            return attrs[i].region ? attrs[i].region->n_out : 0;
        if (strcmp(op->attrs[i].name, "sizes") == 0)
            return attrs[i].count <= INT32_MAX ? (int)attrs[i].count : 0;
    }
    return 0;
}

void tern__op_default_attrs(const tern__op *op, tern__attr *attrs)
{
    for (int i = 0; i < op->n_attrs; i++) {
        const tern__attr_spec *spec = &op->attrs[i];
        if (spec->kind == TERN__ATTR_FLOAT)
            attrs[i] = (tern__attr){.f = spec->fallback};
        else if (spec->kind == TERN__ATTR_INTS)
            attrs[i] = (tern__attr){.ints = NULL};
        else if (spec->kind == TERN__ATTR_TEXT)
            attrs[i] = (tern__attr){.text = ""};
        else if (spec->kind == TERN__ATTR_BODY)
            attrs[i] = (tern__attr){.region = NULL};
        else
            attrs[i] = (tern__attr){.i = (int64_t)spec->fallback};
    }
}

bool tern__attrs_equal(const tern__op *op, const tern__attr *a, const tern__attr *b)
{
    for (int i = 0; i < op->n_attrs; i++) {
        tern__attr_kind kind = op->attrs[i].kind;
        bool list = kind == TERN__ATTR_INTS, text = kind == TERN__ATTR_TEXT;
        if (memcmp(&a[i].i, &b[i].i, sizeof a[i].i) == 0 && (a[i].count == b[i].count || !(list || text)))
            continue; /* floats too: -0 and NaN as they are; or the same list in the same place */
        if (kind == TERN__ATTR_BODY && tern__region_equal(a[i].region, b[i].region))
            continue;
        size_t bytes = a[i].count * (list ? sizeof(int64_t) : 1);
        if (!(list || text) || a[i].count != b[i].count ||
            (bytes && memcmp(a[i].text, b[i].text, bytes) != 0))
            return false;
    }
    return true;
}

/* ---- for the rules ------------------------------------------------------------------------------------- */

const tern__attr *tern__attr_called(const tern__call *call, const char *name)
{
    int i = 0;
    while (i + 1 < call->op->n_attrs && strcmp(call->op->attrs[i].name, name) != 0)
        i++;
    return &call->attrs[i];
}

const tern__attr *tern__attr_of_kind(const tern__call *call, tern__attr_kind kind)
{
    int i = 0;
    while (i + 1 < call->op->n_attrs && call->op->attrs[i].kind != kind)
        i++;
    return &call->attrs[i];
}

char *tern__operand_text(const tern__op *op, int i, char buffer[TERN__OPERAND_TEXT])
{
    const char *name = op->inputs;
    if (op->max_in < 0) {
        snprintf(buffer, TERN__OPERAND_TEXT, "%s[%d]", name, i);
        return buffer;
    }
    for (; i > 0 && strchr(name, ' '); i--)
        name = strchr(name, ' ') + 1;
    snprintf(buffer, TERN__OPERAND_TEXT, "%.*s", (int)strcspn(name, " "), name);
    return buffer;
}

/* ---- inference ----------------------------------------------------------------------------------------- */

static tern_status refuse_counts(const tern__call *call)
{
    const tern__op *op = call->op;
    if (op->max_in == op->min_in)
        return TERN__RULE_FAIL(TERN_INVALID_ARGUMENT, "takes %d operand%s, got %d", op->min_in,
                               op->min_in == 1 ? "" : "s", call->n_in);
    if (op->max_in < 0)
        return TERN__RULE_FAIL(TERN_INVALID_ARGUMENT, "takes %d or more operands, got %d", op->min_in,
                               call->n_in);
    return TERN__RULE_FAIL(TERN_INVALID_ARGUMENT, "takes %d to %d operands, got %d", op->min_in, op->max_in,
                           call->n_in);
}

static tern_status check_list(const tern__call *call, int i)
{
    const tern__attr *attr = &call->attrs[i];
    const tern__attr_spec *spec = &call->op->attrs[i];
    TERN__RULE_FAIL_IF(attr->count > INT32_MAX, TERN_INVALID_ARGUMENT, "the count of %s is negative",
                       spec->name);
    TERN__RULE_FAIL_IF(attr->count && !attr->ints, TERN_INVALID_ARGUMENT, "%s is NULL", spec->name);
    TERN__RULE_FAIL_IF(spec->like_previous && attr->count != attr[-1].count, TERN_INVALID_ARGUMENT,
                       "%s has %u entries and %s has %u", spec->name, attr->count, spec[-1].name,
                       attr[-1].count);
    return TERN_OK;
}

/* What holds for an attribute of its kind, whatever the op. */
static tern_status check_attrs(const tern__call *call)
{
    for (int i = 0; i < call->op->n_attrs; i++) {
        const tern__attr_spec *spec = &call->op->attrs[i];
        int64_t value = call->attrs[i].i;
        if (spec->kind == TERN__ATTR_INTS)
            TERN_TRY(check_list(call, i));
        else if (spec->kind == TERN__ATTR_DTYPE)
            TERN__RULE_FAIL_IF(value < 0 || value >= TERN_DTYPE_COUNT, TERN_INVALID_ARGUMENT,
                               "%s %" PRId64 " is not a dtype", spec->name, value);
        else if (spec->kind == TERN__ATTR_BOOL)
            TERN__RULE_FAIL_IF(value != 0 && value != 1, TERN_INVALID_ARGUMENT,
                               "%s is %" PRId64 ", not 0 or 1", spec->name, value);
    }
    return TERN_OK;
}

/* The usual case of what tern__type_make checks, without its copies. No element takes more than 8 bytes. */
static bool surely_fits(const tern__type *type)
{
    int64_t elements = 1;
    for (int i = 0; i < type->rank; i++) {
        int64_t size = type->shape[i];
        if (size < 0 || !tern__i64_mul(elements, size > 0 ? size : 1, &elements))
            return false;
    }
    return elements <= INT64_MAX / 8;
}

tern_status tern__op_infer(const tern__call *call, tern_dtype *operands)
{
    const tern__op *op = call->op;
    if (TERN__UNLIKELY(call->n_in < op->min_in || (call->n_in > op->max_in && op->max_in >= 0)))
        return refuse_counts(call);
    if (op->n_attrs)
        TERN_TRY(check_attrs(call));
    int n_out = tern__op_results(op, call->attrs);
    TERN__RULE_FAIL_IF(call->n_out != n_out, TERN_INVALID_ARGUMENT, "has %d results, not %d", n_out,
                       call->n_out);
    for (int i = 0; i < call->n_in; i++)
        operands[i] = call->in[i]->dtype;
    TERN_TRY(op->dtype(call, operands));
    TERN_TRY(op->shape(call));
    for (int i = 0; i < n_out; i++) {
        tern__type *type = &call->out[i];
        if (TERN__UNLIKELY(!surely_fits(type)))
            TERN_TRY(tern__type_make(op->name, type->dtype, type->rank, type->shape, type));
    }
    return TERN_OK;
}

/* ---- views --------------------------------------------------------------------------------------------- */

void tern__slice_resolve(int64_t size, int64_t start, int64_t stop, int64_t step, int64_t *first,
                         int64_t *count)
{
    /* Walking up, positions run from 0 to size (the end); walking down, from size - 1 to -1 (the end). */
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    start = start < 0 ? start + size : start;
    stop = stop < 0 ? stop + size : stop;
    start = start < low ? low : start > high ? high : start;
    stop = stop < low ? low : stop > high ? high : stop;
    int64_t distance = step > 0 ? stop - start : start - stop;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    *count = distance > 0 ? (int64_t)(((uint64_t)distance - 1) / stride) + 1 : 0;
    *first = *count > 0 ? start : 0;
}

static void view_permute(const tern__attr *attrs, const tern__type *in, const tern__layout *in_layout,
                         tern__layout *out_layout)
{
    tern__type type;
    int64_t axes[TERN__MAX_RANK];
    for (int i = 0; i < in->rank; i++)
        axes[i] = attrs[0].ints[i] < 0 ? attrs[0].ints[i] + in->rank : attrs[0].ints[i];
    tern__view_permute(in, in_layout, axes, &type, out_layout);
}

static void view_slice(const tern__attr *attrs, const tern__type *in, const tern__layout *in_layout,
                       tern__layout *out_layout)
{
    tern__type type;
    int64_t first[TERN__MAX_RANK], count[TERN__MAX_RANK];
    for (int i = 0; i < in->rank; i++)
        tern__slice_resolve(in->shape[i], attrs[0].ints[i], attrs[1].ints[i], attrs[2].ints[i], &first[i],
                            &count[i]);
    tern__view_slice(in, in_layout, first, count, attrs[2].ints, &type, out_layout);
}

bool tern__op_view(const tern__op *op, const tern__attr *attrs, const tern__type *in,
                   const tern__layout *in_layout, const tern__type *out, tern__layout *out_layout)
{
    switch (tern__op_code(op)) {
    case TERN__OP_reshape:
        return tern__view_reshape(in, in_layout, out, out_layout);
    case TERN__OP_permute:
        view_permute(attrs, in, in_layout, out_layout);
        return true;
    case TERN__OP_slice:
        view_slice(attrs, in, in_layout, out_layout);
        return true;
    case TERN__OP_broadcast:
        tern__view_broadcast(in, in_layout, out, out_layout);
        return true;
    case TERN__OP_to_device: /* one device: nothing moves */
    case TERN__OP_again:
        *out_layout = *in_layout;
        return true;
    default:
        return false;
    }
}
