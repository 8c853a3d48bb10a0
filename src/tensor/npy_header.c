/* npy_header.c - the header of .npy: a Python dict literal, parsed by hand and written as NumPy writes it.
 *
 *     \x93NUMPY  major minor  length (u16, from version 2 on u32, little-endian)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }        spaces        \n
 *
 * The parser accepts that literal with its keys in any order, free spacing, either kind of quotes, trailing
 * commas and Python 2's long integers (3L). It knows no other syntax, so there is nothing to evaluate. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/status.h"
#include "tensor/npy.h"

/* What follows the byte order in `descr`, per type. */
/* clang-format off */
static const struct descr {
    tern_dtype dtype;
    char text[3];
} DESCRS[] = {
    {TERN_BOOL, "b1"}, {TERN_U8, "u1"},  {TERN_I8, "i1"},  {TERN_I32, "i4"},
    {TERN_I64, "i8"},  {TERN_F16, "f2"}, {TERN_F32, "f4"}, {TERN_F64, "f8"},
};
/* clang-format on */
#define SUPPORTED "bool, u8, i8, i32, i64, f16, f32, f64"

static const uint8_t MAGIC[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static const bool BIG_ENDIAN_HOST = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

/* ---- a cursor over the literal ------------------------------------------------------------------------- */

typedef struct cursor {
    const char *at, *end;
    const char *who; /* the file, for messages */
    const char *start;
} cursor;

enum { EXCERPT = 40 };

/* A piece of the file that can be shown: cut, and without control characters. */
static const char *excerpt(const char *text, const char *end, char buffer[EXCERPT])
{
    size_t n = 0;
    while (text + n < end && n < EXCERPT - 1) {
        bool plain = text[n] >= ' ' && text[n] < 127;
        buffer[n] = '?';
        if (plain)
            buffer[n] = text[n];
        n++;
    }
    buffer[n] = '\0';
    return buffer;
}

static tern_status unexpected(const cursor *c, const char *wanted)
{
    char found[EXCERPT];
    if (c->at == c->end)
        return tern__fail(TERN_FORMAT, "%s: the .npy header ends where %s should be", c->who, wanted);
    return tern__fail(TERN_FORMAT, "%s: the .npy header has '%s' where %s should be (character %td)", c->who,
                      excerpt(c->at, c->end, found), wanted, c->at - c->start);
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

/* Takes `symbol` if it is next, after spaces. */
static bool take(cursor *c, char symbol)
{
    skip_space(c);
    if (c->at == c->end || *c->at != symbol)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A quoted string without escapes; the text stays in the header. */
static tern_status take_string(cursor *c, const char *wanted, const char **text, const char **text_end)
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return unexpected(c, wanted);
    const char *from = c->at + 1, *to = from;
    while (to < c->end && *to != *c->at && *to != '\\' && *to != '\n')
        to++;
    if (to == c->end || *to != *c->at)
        return unexpected(c, wanted);
    *text = from;
    *text_end = to;
    c->at = to + 1;
    return TERN_OK;
}

static tern_status take_size(cursor *c, int64_t *out)
{
    int64_t value = 0;
    skip_space(c);
    if (c->at < c->end && *c->at == '-')
        return tern__fail(TERN_FORMAT, "%s: the .npy header has a negative size in its shape", c->who);
    if (c->at == c->end || *c->at < '0' || *c->at > '9')
        return unexpected(c, "a size");
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (!tern__i64_mul(value, 10, &value) || !tern__i64_add(value, *c->at - '0', &value))
            return tern__fail(TERN_OVERFLOW, "%s: a size in the .npy header is too large", c->who);
    }
    if (c->at < c->end && *c->at == 'L') /* Python 2's long */
        c->at++;
    *out = value;
    return TERN_OK;
}

/* ---- the three values ---------------------------------------------------------------------------------- */

typedef struct fields {
    bool has_descr, has_order, has_shape;
    tern_dtype dtype;
    bool swapped, fortran_order;
    int rank;
    int64_t shape[TERN__MAX_RANK];
} fields;

static tern_status refuse_descr(const char *who, const char *text, const char *end)
{
    char shown[EXCERPT];
    excerpt(text, end, shown);
    if (memchr(text, 'O', (size_t)(end - text)))
        return tern__fail(TERN_UNSUPPORTED,
                          "%s: an array of Python objects ('%s') is not read; supported: " SUPPORTED, who,
                          shown);
    if (end - text == 3 && memcmp(text + 1, "V2", 2) == 0)
        return tern__fail(TERN_UNSUPPORTED,
                          "%s: elements of raw bytes ('%s'), perhaps bfloat16; save it as float32", who,
                          shown);
    return tern__fail(TERN_UNSUPPORTED, "%s: elements of type '%s' are not supported; supported: " SUPPORTED,
                      who, shown);
}

static tern_status parse_descr(cursor *c, fields *out)
{
    const char *text = NULL, *end = NULL;
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return tern__fail(TERN_UNSUPPORTED,
                          "%s: structured arrays are not supported; save each field by itself", c->who);
    TERN_TRY(take_string(c, "the element type, such as '<f4'", &text, &end));
    bool has_order = text < end && (*text == '<' || *text == '>' || *text == '|' || *text == '=');
    const char *type = has_order ? text + 1 : text;
    for (size_t i = 0; i < TERN__COUNT(DESCRS); i++) {
        if (end - type != 2 || memcmp(type, DESCRS[i].text, 2) != 0)
            continue;
        out->dtype = DESCRS[i].dtype;
        out->swapped = DESCRS[i].text[1] != '1' && *text == (BIG_ENDIAN_HOST ? '<' : '>');
        return TERN_OK;
    }
    return refuse_descr(c->who, text, end);
}

static tern_status parse_shape(cursor *c, fields *out)
{
    bool comma = false;
    if (!take(c, '('))
        return unexpected(c, "the shape, such as (2, 3)");
    while (!take(c, ')')) {
        if (out->rank > 0 && !comma)
            return unexpected(c, "',' or ')'");
        if (out->rank == TERN__MAX_RANK)
            return tern__fail(TERN_UNSUPPORTED, "%s: an array of more than %d axes", c->who, TERN__MAX_RANK);
        TERN_TRY(take_size(c, &out->shape[out->rank++]));
        comma = take(c, ',');
    }
    if (out->rank == 1 && !comma)
        return tern__fail(TERN_FORMAT,
                          "%s: the shape in the .npy header is a number in parentheses, not a tuple", c->who);
    return TERN_OK;
}

static tern_status parse_order(cursor *c, fields *out)
{
    if (take_word(c, "True"))
        out->fortran_order = true;
    else if (!take_word(c, "False"))
        return unexpected(c, "True or False");
    return TERN_OK;
}

static tern_status parse_item(cursor *c, fields *out)
{
    static const struct {
        const char *name;
        size_t seen; /* offset of the flag */
        tern_status (*parse)(cursor *, fields *);
    } KEYS[] = {
        {"descr", offsetof(fields, has_descr), parse_descr},
        {"fortran_order", offsetof(fields, has_order), parse_order},
        {"shape", offsetof(fields, has_shape), parse_shape},
    };
    const char *text = NULL, *end = NULL;
    char shown[EXCERPT];
    TERN_TRY(take_string(c, "a key", &text, &end));
    for (size_t i = 0; i < TERN__COUNT(KEYS); i++) {
        if ((size_t)(end - text) != strlen(KEYS[i].name) ||
            memcmp(text, KEYS[i].name, (size_t)(end - text)) != 0)
            continue;
        bool *seen = (bool *)((char *)out + KEYS[i].seen);
        TERN__FAIL_IF(*seen, TERN_FORMAT, "%s: the .npy header has the key '%s' twice", c->who, KEYS[i].name);
        *seen = true;
        return take(c, ':') ? KEYS[i].parse(c, out) : unexpected(c, "':'");
    }
    return tern__fail(TERN_FORMAT, "%s: the .npy header has an unknown key '%s'", c->who,
                      excerpt(text, end, shown));
}

static tern_status parse_dict(cursor *c, fields *out)
{
    bool comma = true;
    if (!take(c, '{'))
        return unexpected(c, "'{'");
    while (!take(c, '}')) {
        if (!comma)
            return unexpected(c, "',' or '}'");
        TERN_TRY(parse_item(c, out));
        comma = take(c, ',');
    }
    skip_space(c);
    if (c->at != c->end)
        return unexpected(c, "only spaces");
    TERN__FAIL_IF(!out->has_descr || !out->has_order || !out->has_shape, TERN_FORMAT,
                  "%s: the .npy header has no '%s'", c->who,
                  !out->has_descr   ? "descr"
                  : !out->has_order ? "fortran_order"
                                    : "shape");
    return TERN_OK;
}

/* ---- the whole header ---------------------------------------------------------------------------------- */

/* Where the literal starts and ends, from the first bytes. */
static tern_status parse_preamble(const char *who, const uint8_t *data, size_t bytes, size_t *start,
                                  size_t *end)
{
    TERN__FAIL_IF(bytes < sizeof MAGIC || memcmp(data, MAGIC, sizeof MAGIC) != 0, TERN_FORMAT,
                  "%s: not a .npy file (it does not start with \\x93NUMPY)", who);
    TERN__FAIL_IF(bytes < 10, TERN_FORMAT, "%s: the .npy header is cut short", who);
    unsigned major = data[6], minor = data[7];
    TERN__FAIL_IF(major < 1 || major > 3 || minor != 0, TERN_UNSUPPORTED,
                  "%s: .npy version %u.%u is unknown; 1.0, 2.0 and 3.0 are read", who, major, minor);
    size_t length = data[8] | (size_t)data[9] << 8;
    *start = 10;
    if (major > 1) {
        TERN__FAIL_IF(bytes < 12, TERN_FORMAT, "%s: the .npy header is cut short", who);
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
        *start = 12;
    }
    TERN__FAIL_IF(length > TERN__NPY_HEADER_MAX - *start, TERN_FORMAT,
                  "%s: the .npy header claims %zu bytes, more than the %d that are accepted", who, length,
                  TERN__NPY_HEADER_MAX);
    *end = *start + length;
    TERN__FAIL_IF(*end > bytes, TERN_FORMAT, "%s: the .npy header is cut short", who);
    return TERN_OK;
}

tern_status tern__npy_parse(const char *who, const void *data, size_t bytes, tern__npy_header *out)
{
    size_t start = 0, end = 0;
    fields found = {0};
    tern__npy_header header = {0};
    TERN_TRY(parse_preamble(who, data, bytes, &start, &end));
    const char *text = data;
    cursor c = {.at = text + start, .end = text + end, .who = who, .start = text + start};
    TERN_TRY(parse_dict(&c, &found));
    TERN_TRY(tern__type_make(who, found.dtype, found.rank, found.shape, &header.type));
    header.fortran_order = found.fortran_order;
    header.swapped = found.swapped;
    header.data_offset = end;
    header.data_bytes = tern__type_bytes(&header.type);
    *out = header;
    return TERN_OK;
}

tern_status tern__npy_format(const tern__type *type, bool fortran_order,
                             char buffer[TERN__NPY_HEADER_WRITTEN], size_t *bytes)
{
    enum { GROWTH = 21 }; /* NumPy leaves room for the axis that grows to have that many digits */
    const char *descr = NULL;
    for (size_t i = 0; i < TERN__COUNT(DESCRS); i++) {
        if (DESCRS[i].dtype == type->dtype)
            descr = DESCRS[i].text;
    }
    TERN__FAIL_IF(!descr, TERN_DTYPE, "a .npy file cannot hold %s; cast to %s first",
                  tern_dtype_name(type->dtype), tern__dtype_is_ternary(type->dtype) ? "i8" : "f32");

    char text[TERN__NPY_HEADER_WRITTEN];
    const char *order = descr[1] == '1' ? "|" : BIG_ENDIAN_HOST ? ">" : "<";
    int at = snprintf(text, sizeof text, "{'descr': '%s%s', 'fortran_order': %s, 'shape': (", order, descr,
                      fortran_order ? "True" : "False");
    for (int i = 0; i < type->rank; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%" PRId64, i ? ", " : "", type->shape[i]);
    at += snprintf(text + at, sizeof text - (size_t)at, "%s), }", type->rank == 1 ? "," : "");
    int growth = 0;
    if (type->rank > 0)
        growth = GROWTH - snprintf(NULL, 0, "%" PRId64, type->shape[fortran_order ? type->rank - 1 : 0]);
    size_t used = (size_t)at, total = (10 + used + (size_t)growth + 1 + 63) / 64 * 64, length = total - 10;
    memset(buffer, ' ', total);
    memcpy(buffer, MAGIC, sizeof MAGIC);
    memcpy(buffer + 6, (uint8_t[4]){1, 0, (uint8_t)length, (uint8_t)(length >> 8)}, 4);
    memcpy(buffer + 10, text, used);
    buffer[total - 1] = '\n';
    *bytes = total;
    return TERN_OK;
}

void tern__npy_layout(const tern__npy_header *header, tern__layout *out)
{
    const tern__type *type = &header->type;
    tern__layout_contiguous(type, out);
    if (!header->fortran_order)
        return;
    int64_t stride = 1;
    for (int i = 0; i < type->rank; i++) {
        out->strides[i] = stride;
        stride *= type->shape[i] > 0 ? type->shape[i] : 1;
    }
}
