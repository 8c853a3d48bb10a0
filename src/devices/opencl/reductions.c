/* reductions.c - sums, extremes and their kin over any axes, and running sums, as OpenCL C. What is reduced along rows, the usual case, is
 * a row program (rows.c); these have one work item for each result, so few results of many elements are slow.
 *
 * Floats are added up in f64 where the device has it, like the CPU's reference, integers in i64. */
#include <stdio.h>

#include "base/status.h"
#include "devices/opencl/reductions.h"

typedef const tern__ocl_operand operand;

/* Statements of OpenCL C: `a` is what there is so far, x the next element, `count` how many there are. With `again` all elements are seen a
 * second time, and g is what the first time came to. */
typedef struct reduction {
    tern__opcode op;
    const char *start[2]; /* of floats, of integers; NULL: it has none of these */
    const char *add[2];
    const char *again;
    const char *finish;
} reduction;

static const reduction reductions[] = {
    {TERN__OP_sum, {"0", "0"}, {"a += x;", "a += x;"}, NULL, ""},
    {TERN__OP_prod, {"1", "1"}, {"a *= x;", "a *= x;"}, NULL, ""},
    {TERN__OP_mean, {"0", NULL}, {"a += x;", NULL}, NULL, "a /= count;"},
    {TERN__OP_max, {"-INFINITY", "LONG_MIN"}, {"a = largest(a, x);", "a = x > a ? x : a;"}, NULL, ""},
    {TERN__OP_min, {"INFINITY", "LONG_MAX"}, {"a = smallest(a, x);", "a = x < a ? x : a;"}, NULL, ""},
    {TERN__OP_any, {NULL, "0"}, {NULL, "a |= x;"}, NULL, ""},
    {TERN__OP_all, {NULL, "1"}, {NULL, "a &= x;"}, NULL, ""},
    {TERN__OP_var,
     {"0", NULL},
     {"a += x;", NULL},
     "a += (x - g / count) * (x - g / count);",
     "a /= freedom;"},
    {TERN__OP_logsumexp,
     {"-INFINITY", NULL},
     {"a = largest(a, x);", NULL},
     "a += exp(x - g);",
     "a = isfinite(g) ? g + log(a) : g;"},
};

static const reduction *reduction_of(tern__opcode op)
{
    for (size_t i = 0; i < TERN__COUNT(reductions); i++)
        if (reductions[i].op == op)
            return &reductions[i];
    return NULL;
}

static const char *refuse_type(tern_dtype t)
{
    return tern__dtype_is_packed(t) ? "it reads no packed types" : t == TERN_F64 ? "it reduces no f64" : NULL;
}

const char *tern__ocl_refuse_reduction(const tern__call *call)
{
    const tern_dtype t = call->in[0]->dtype;
    const reduction *r = reduction_of(tern__op_code(call->op));
    const char *why = refuse_type(t);
    return why ? why : r->start[!tern__dtype_is_float(t)] ? NULL : "it reduces no such type in this way";
}

/* Axes of x by what becomes of them: those of the results, and those that are reduced. */
typedef struct axes {
    int n[2];
    int64_t shape[2][TERN__MAX_RANK], strides[2][TERN__MAX_RANK];
    int64_t to[TERN__MAX_RANK]; /* strides of the result along the first kind */
    int64_t count;              /* elements of each result */
} axes;

static axes split(const tern__step *step, operand *o)
{
    const tern__attr *list = &step->attrs[TERN__ATTR_sum_axes];
    const bool keepdims = step->attrs[TERN__ATTR_sum_keepdims].i != 0;
    const int rank = o[0].type->rank;
    unsigned reduced = list->count == 0 ? (1u << rank) - 1 : 0;
    axes out = {.count = 1};
    int axis;
    for (uint32_t k = 0; k < list->count; k++)
        if (tern__axis_normalise(list->ints[k], rank, &axis))
            reduced |= 1u << axis;
    for (int a = 0; a < rank; a++) {
        const int kind = reduced >> a & 1, at = out.n[kind]++;
        out.shape[kind][at] = o[0].type->shape[a];
        out.strides[kind][at] = o[0].strides[a];
        if (kind)
            out.count *= o[0].type->shape[a];
        else
            out.to[at] = o[1].strides[keepdims ? a : at];
    }
    return out;
}

/* Every element of a result, one after the other. */
static void add_pass(tern__ocl_draft *d, const axes *x, tern_dtype dtype, int n, const char *statement)
{
    tern__ocl_add(d, "for (long j = 0; j < n%d; j++) {\n", n);
    tern__ocl_offset(d, "at", "j", x->n[1], x->shape[1], x->strides[1]);
    tern__ocl_add(d, "%s x = ", tern__dtype_is_float(dtype) ? "real" : "long");
    tern__ocl_load(d, dtype, 0, "from + at");
    tern__ocl_add(d, ";\n%s\n}\n", statement);
}

static size_t at_once(int64_t count)
{
    enum { ENOUGH = 16384 };
    return count < ENOUGH ? (size_t)(ENOUGH / (count ? count : 1)) : 1;
}

static size_t product(int n, const int64_t *shape)
{
    size_t all = 1;
    for (int a = 0; a < n; a++)
        all *= (size_t)shape[a];
    return all;
}

/* The sum that integers and floats are added up in has the type of the result, but for 16-bit floats. */
static void store(tern__ocl_draft *d, tern_dtype dtype, const char *at)
{
    tern__ocl_store(d, dtype, 1, at,
                    dtype == TERN_F16             ? "a"
                    : tern__dtype_is_float(dtype) ? "(float)a"
                                                  : "a");
}

void tern__ocl_write_reduction(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const reduction *r = reduction_of(step->op);
    const tern_dtype dtype = o[0].type->dtype;
    const bool whole = !tern__dtype_is_float(dtype);
    const char *type = whole ? "long" : "real";
    const axes x = split(step, o);
    tern__ocl_loop(d, "i", product(x.n[0], x.shape[0]), at_once(x.count));
    const int n = tern__ocl_number(d, x.count);
    tern__ocl_offset(d, "from", "i", x.n[0], x.shape[0], x.strides[0]);
    tern__ocl_offset(d, "to", "i", x.n[0], x.shape[0], x.to);
    tern__ocl_add(d, "%s count = n%d, a = %s;\n", type, n, r->start[whole]);
    add_pass(d, &x, dtype, n, r->add[whole]);
    if (r->again) {
        tern__ocl_add(d, "real g = a;\na = 0;\n");
        add_pass(d, &x, dtype, n, r->again);
    }
    if (step->op == TERN__OP_var) {
        const int64_t freedom = x.count - step->attrs[TERN__ATTR_var_ddof].i;
        tern__ocl_add(d, "real freedom = n%d;\n", tern__ocl_number(d, freedom > 0 ? freedom : 0));
    }
    tern__ocl_add(d, "%s\n", r->finish);
    store(d, o[1].type->dtype, "to");
    tern__ocl_add(d, "}\n");
}

const char *tern__ocl_refuse_running(const tern__call *call)
{
    return refuse_type(call->in[0]->dtype);
}

void tern__ocl_write_running(tern__ocl_draft *d, const tern__step *step, operand *o)
{
    const tern__type *x = o[0].type;
    const char *type = tern__dtype_is_float(x->dtype) ? "real" : "long";
    int64_t shape[TERN__MAX_RANK], from[TERN__MAX_RANK], to[TERN__MAX_RANK];
    int axis = 0, n = 0;
    char at[64];
    tern__axis_normalise(step->attrs[TERN__ATTR_cumsum_axis].i, x->rank, &axis);
    for (int a = 0; a < x->rank; a++)
        if (a != axis) {
            shape[n] = x->shape[a];
            from[n] = o[0].strides[a];
            to[n++] = o[1].strides[a];
        }
    const bool any = x->rank > 0;
    const int64_t count = any ? x->shape[axis] : 1;
    tern__ocl_loop(d, "i", count > 0 ? product(n, shape) : 0, at_once(count));
    const int size = tern__ocl_number(d, count), x_step = tern__ocl_number(d, any ? o[0].strides[axis] : 0),
              y_step = tern__ocl_number(d, any ? o[1].strides[axis] : 0);
    tern__ocl_offset(d, "from", "i", n, shape, from);
    tern__ocl_offset(d, "to", "i", n, shape, to);
    tern__ocl_add(d, "%s a = 0;\nfor (long j = 0; j < n%d; j++) {\na += ", type, size);
    snprintf(at, sizeof at, "from + j * n%d", x_step);
    tern__ocl_load(d, x->dtype, 0, at);
    tern__ocl_add(d, ";\n");
    snprintf(at, sizeof at, "to + j * n%d", y_step);
    store(d, o[1].type->dtype, at);
    tern__ocl_add(d, "}\n}\n");
}
