/* text_data.c - the elements of a leaf, from and to text. Every value comes back as it was (of a NaN, that it is
 * one). */
#include "graph/text_data.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "graph/text.h"
#include "tensor/convert.h"
#include "tensor/half.h"
#include "tensor/ternary.h"

/* The data of block types is written as the bytes of its blocks: numbers would not bring the same blocks back. */
static tern__type as_bytes(const tern__type *type)
{
    tern__type bytes = *type;
    const int64_t unit = (int64_t)tern__dtype_unit_bytes(type->dtype);
    bytes.dtype = TERN_U8;
    if (bytes.rank == 0)
        bytes.shape[bytes.rank++] = unit;
    else
        bytes.shape[bytes.rank - 1] = unit * tern__row_units(type->dtype, type->shape[type->rank - 1]);
    return bytes;
}

/* ---- reading ------------------------------------------------------------------------------------------------ */

static bool int_fits(tern_dtype dtype, int64_t value)
{
    switch (dtype) {
    case TERN_BOOL:
        return value == 0 || value == 1;
    case TERN_U8:
        return value >= 0 && value <= UINT8_MAX;
    case TERN_I8:
        return value >= INT8_MIN && value <= INT8_MAX;
    case TERN_I32:
        return value >= INT32_MIN && value <= INT32_MAX;
    case TERN_T2:
    case TERN_T5:
        return value >= -1 && value <= 1;
    default:
        return true;
    }
}

/* One element as an f64 (float types) or an i64 (the others). */
typedef union element {
    double f;
    int64_t i;
} element;

static tern_status read_element(tern__lexer *lex, tern_dtype dtype, element *out)
{
    const tern__token *t = &lex->token;
    const char *name = tern_dtype_name(dtype);
    bool fine = false, overflow = false;
    if (dtype == TERN_BOOL && t->kind == TERN__TOKEN_NAME) {
        out->i = tern__lex_is_name(lex, "true");
        fine = out->i || tern__lex_is_name(lex, "false");
    } else if (tern__dtype_is_float(dtype) &&
               (t->kind == TERN__TOKEN_NUMBER || t->kind == TERN__TOKEN_NAME)) {
        fine = tern__number_read_float(dtype, t->text, t->length, &out->f, &overflow);
    } else if (t->kind == TERN__TOKEN_NUMBER) {
        fine = tern__number_read_int(t->text, t->length, &out->i, &overflow);
        if (fine && !int_fits(dtype, out->i))
            overflow = !(fine = false);
    }
    if (fine)
        return tern__lex_next(lex);
    int shown = (int)(t->length < 40 ? t->length : 40);
    if (overflow)
        return tern__lex_fail(lex, t->start, TERN_OVERFLOW, "%.*s does not fit %s", shown, t->text, name);
    char what[32] = "an element of type ";
    memcpy(what + strlen(what), name, strlen(name) + 1);
    return tern__lex_unexpected(lex, what);
}

/* Counts the elements up to '}', refusing more than there is room for. Ends behind it. */
static tern_status count_elements(tern__lexer *lex, const tern__type *type)
{
    char text[TERN__TYPE_TEXT];
    int64_t want = tern__type_numel(type), n = 0;
    bool more = !tern__lex_is_mark(lex, '}');
    for (; more; n++) {
        element ignored;
        if (n == want)
            return tern__lex_fail(lex, lex->token.start, TERN_FORMAT,
                                  "%s has %" PRId64 " elements; here is one more",
                                  tern__type_text(type, text), want);
        TERN_TRY(read_element(lex, type->dtype, &ignored));
        TERN_TRY(tern__lex_accept(lex, ',', &more));
    }
    const char *end = lex->token.start;
    TERN_TRY(tern__lex_expect_mark(lex, '}'));
    if (n != want)
        return tern__lex_fail(lex, end, TERN_FORMAT, "%s has %" PRId64 " elements, but %" PRId64 " are given",
                              tern__type_text(type, text), want, n);
    return TERN_OK;
}

static void store(tern_dtype dtype, element value, void *at)
{
    if (tern__dtype_is_float(dtype))
        tern__convert(TERN_F64, &value.f, 1, dtype, at, 1, 1);
    else
        tern__convert(TERN_I64, &value.i, 1, dtype, at, 1, 1);
}

/* Ternary types are filled row by row: their elements have no address. */
static tern_status fill_ternary(tern__lexer *lex, tern__arena *scratch, const tern__type *type, uint8_t *data)
{
    int64_t columns = type->rank > 0 ? type->shape[type->rank - 1] : 1;
    int64_t rows = columns > 0 ? tern__type_numel(type) / columns : 0;
    int8_t *row = tern__arena_alloc(scratch, (size_t)columns);
    if (!row)
        return tern__out_of_memory((size_t)columns);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++) {
            element value;
            bool comma;
            TERN_TRY(read_element(lex, type->dtype, &value));
            TERN_TRY(tern__lex_accept(lex, ',', &comma));
            row[c] = (int8_t)value.i;
        }
        tern__ternary_pack_row(type->dtype, row, columns, data + r * tern__row_units(type->dtype, columns));
    }
    return TERN_OK;
}

static tern_status fill(tern__lexer *lex, tern__arena *scratch, const tern__type *type, uint8_t *data)
{
    if (tern__dtype_is_ternary(type->dtype))
        return fill_ternary(lex, scratch, type, data);
    size_t bytes = tern__dtype_unit_bytes(type->dtype);
    int64_t n = tern__type_numel(type);
    for (int64_t i = 0; i < n; i++) {
        element value;
        bool comma;
        TERN_TRY(read_element(lex, type->dtype, &value));
        TERN_TRY(tern__lex_accept(lex, ',', &comma));
        store(type->dtype, value, data + (size_t)i * bytes);
    }
    return TERN_OK;
}

tern_status tern__lex_data(tern__lexer *lex, tern__arena *scratch, const tern__type *type, tern_pool *pool,
                           tern__storage **out)
{
    if (tern__dtype_is_block(type->dtype)) {
        const tern__type bytes = as_bytes(type);
        return tern__lex_data(lex, scratch, &bytes, pool, out);
    }
    TERN_TRY(tern__lex_expect_mark(lex, '{'));
    tern__lexer again = *lex;
    TERN_TRY(count_elements(lex, type));
    tern__storage *storage;
    TERN_TRY(tern__storage_create(pool, tern__type_bytes(type), 0, &storage));
    tern_status status = fill(&again, scratch, type, storage->host);
    if (status == TERN_OK)
        *out = storage;
    else
        tern__storage_release(storage);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------------ */

static void add_element(tern__strbuf *s, tern_dtype dtype, const void *at)
{
    char text[TERN__NUMBER_TEXT];
    double f = 0;
    int64_t i = 0;
    if (tern__dtype_is_float(dtype)) {
        tern__convert(dtype, at, 1, TERN_F64, &f, 1, 1);
        tern__strbuf_add(s, tern__number_text(dtype, f, text));
        return;
    }
    tern__convert(dtype, at, 1, TERN_I64, &i, 1, 1);
    if (dtype == TERN_BOOL)
        tern__strbuf_add(s, i ? "true" : "false");
    else
        tern__strbuf_addf(s, "%" PRId64, i);
}

void tern__data_add(tern__strbuf *s, const tern__type *type, const tern__layout *layout,
                    const tern__storage *storage)
{
    if (tern__dtype_is_block(type->dtype)) {
        const tern__type bytes = as_bytes(type);
        const int64_t unit = (int64_t)tern__dtype_unit_bytes(type->dtype);
        tern__layout in_bytes = {.offset = layout->offset * unit};
        for (int axis = 0; axis < bytes.rank; axis++)
            in_bytes.strides[axis] = axis == bytes.rank - 1 ? 1 : layout->strides[axis] * unit;
        tern__data_add(s, &bytes, &in_bytes, storage);
        return;
    }
    bool packed = tern__dtype_is_packed(type->dtype);
    const uint8_t *data = storage->host;
    int64_t n = tern__type_numel(type), index[TERN__MAX_RANK] = {0};
    tern__strbuf_add(s, "{");
    for (int64_t i = 0; i < n; i++) {
        int64_t at = layout->offset, column = 0;
        for (int axis = 0; axis < type->rank; axis++) {
            if (packed && axis == type->rank - 1)
                column = index[axis];
            else
                at += index[axis] * layout->strides[axis];
        }
        tern__strbuf_add(s, i ? ", " : "");
        if (packed)
            tern__strbuf_addf(s, "%d", tern__ternary_at(type->dtype, data + at, column));
        else
            add_element(s, type->dtype, data + at * (int64_t)tern__dtype_unit_bytes(type->dtype));
        for (int axis = type->rank - 1; axis >= 0 && ++index[axis] == type->shape[axis]; axis--)
            index[axis] = 0;
    }
    tern__strbuf_add(s, "}");
}
