/* dtype.c - facts about element types, all read from the table in <tern/dtype.h>. */
#include <string.h>

#include <tern/dtype.h>

#include "base/status.h"
#include "tensor/type.h"

/* clang-format off */
static const tern_dtype_info INFO[] = {
#define ROW(id, number, label, type_kind, elements, bytes, text)    \
    [number] = {.name = label,                                      \
                .description = text,                                \
                .kind = TERN_KIND_##type_kind,                      \
                .unit_elements = elements,                          \
                .unit_bytes = bytes},
    TERN_DTYPE_LIST(ROW)
#undef ROW
};
/* clang-format on */

_Static_assert(TERN__COUNT(INFO) == TERN_DTYPE_COUNT, "type numbers are dense and in order");

/* The inline predicates of type.h compare numbers; the kinds of the table must agree with them. */
/* clang-format off */
#define CHECK_ROW(id, number, label, type_kind, elements, bytes, text)                                       \
    _Static_assert((TERN_KIND_##type_kind == TERN_KIND_FLOAT) == (number >= TERN_F16 && number <= TERN_F64), \
                   "floats are f16..f64");                                                                   \
    _Static_assert((TERN_KIND_##type_kind == TERN_KIND_INT || TERN_KIND_##type_kind == TERN_KIND_UINT) ==    \
                       (number >= TERN_U8 && number <= TERN_I64), "integers are u8..i64");                   \
    _Static_assert((TERN_KIND_##type_kind == TERN_KIND_TERNARY || TERN_KIND_##type_kind == TERN_KIND_BLOCK) == \
                       (number >= TERN_T2), "the packed types are the last");                                \
    _Static_assert((elements > 1) == (number >= TERN_T2), "only packed types share units");                  \
    _Static_assert((TERN_KIND_##type_kind == TERN_KIND_BLOCK) == (number >= TERN_Q8_0), "blocks end the list");
TERN_DTYPE_LIST(CHECK_ROW)
#undef CHECK_ROW
/* clang-format on */

static bool is_dtype(tern_dtype dtype)
{
    return (unsigned)dtype < TERN_DTYPE_COUNT;
}

const tern_dtype_info *tern_dtype_get(tern_dtype dtype)
{
    return is_dtype(dtype) ? &INFO[dtype] : NULL;
}

const char *tern_dtype_name(tern_dtype dtype)
{
    return is_dtype(dtype) ? INFO[dtype].name : "invalid";
}

tern_status tern_dtype_parse(const char *name, tern_dtype *out)
{
    TERN__FAIL_IF(!name || !out, TERN_INVALID_ARGUMENT, "dtype_parse: a NULL argument");
    for (size_t i = 0; i < TERN__COUNT(INFO); i++) {
        if (strcmp(name, INFO[i].name) == 0) {
            *out = (tern_dtype)i;
            return TERN_OK;
        }
    }
#define NAME(id, number, label, type_kind, elements, bytes, text) " " label
    return tern__fail(TERN_NOT_FOUND, "no dtype is called '%.32s'; known:" TERN_DTYPE_LIST(NAME), name);
#undef NAME
}

/* The wider of two floats; f16 and bf16 have no common 16-bit form. */
static tern_dtype promote_floats(tern_dtype a, tern_dtype b)
{
    if (INFO[a].unit_bytes != INFO[b].unit_bytes)
        return INFO[a].unit_bytes > INFO[b].unit_bytes ? a : b;
    return TERN_F32;
}

static tern_dtype promote_ints(tern_dtype a, tern_dtype b)
{
    if (INFO[a].unit_bytes != INFO[b].unit_bytes)
        return INFO[a].unit_bytes > INFO[b].unit_bytes ? a : b;
    return TERN_I32; /* u8 with i8 */
}

tern_status tern_dtype_promote(tern_dtype a, tern_dtype b, tern_dtype *out)
{
    TERN__FAIL_IF(!is_dtype(a) || !is_dtype(b), TERN_INVALID_ARGUMENT, "promote: %d is not a dtype",
                  is_dtype(a) ? (int)b : (int)a);
    TERN__FAIL_IF(!out, TERN_INVALID_ARGUMENT, "promote: out is NULL");
    TERN__FAIL_IF(tern__dtype_is_packed(a) || tern__dtype_is_packed(b), TERN_DTYPE,
                  "promote: %s and %s: packed types do not promote; cast them first", INFO[a].name,
                  INFO[b].name);
    if (a == b || b == TERN_BOOL)
        *out = a;
    else if (a == TERN_BOOL)
        *out = b;
    else if (tern__dtype_is_float(a) && tern__dtype_is_float(b))
        *out = promote_floats(a, b);
    else if (tern__dtype_is_float(a) || tern__dtype_is_float(b))
        *out = tern__dtype_is_float(a) ? a : b;
    else
        *out = promote_ints(a, b);
    return TERN_OK;
}
