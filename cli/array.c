/* array.c - what is in an array. Values are read through the library's own casts, so every dtype works. */
#include "array.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tern/ops.h>

#include "term.h"

enum { PIECE = 1 << 16 }; /* elements read at a time */

static bool is_integer(tern_dtype dtype)
{
    const tern_dtype_info *info = tern_dtype_get(dtype);
    return info && info->kind != TERN_KIND_FLOAT && info->kind != TERN_KIND_BLOCK;
}

/* `t` as one axis. Packed types have no elements of their own to cut at and are unpacked first. */
static tern_tensor *flatten(tern_tensor *t)
{
    const tern_dtype_info *info = tern_dtype_get(tern_dtype_of(t));
    if (info && info->kind == TERN_KIND_TERNARY)
        t = tern_cast(t, TERN_I8);
    if (info && info->kind == TERN_KIND_BLOCK)
        t = tern_cast(t, TERN_F32);
    return tern_reshape(t, 1, (int64_t[]){tern_numel(t)});
}

/* What is printed is read by the CPU, whatever device computed it: one need not have the casts. */
typedef struct reading {
    tern_ctx *home; /* NULL: the tensor is the CPU's own */
    tern_tensor *t;
} reading;

static tern_status reading_open(tern_tensor *t, reading *r)
{
    const tern_ctx_options options = {.threads = 1, .tuning = "off"};
    *r = (reading){.t = t};
    if (strcmp(tern_device_of(t), "cpu") == 0)
        return TERN_OK;
    const void *data = tern_data(t);
    if (!data && tern_nbytes(t) > 0)
        return TERN_OUT_OF_MEMORY; /* tern_data has said why */
    TERN_TRY(tern_ctx_create(&options, &r->home));
    r->t = tern_borrow(r->home, tern_dtype_of(t), tern_rank(t), tern_shape(t), NULL, (void *)(uintptr_t)data,
                       NULL, NULL); /* nobody writes it */
    return tern_status_of(r->t);
}

static void reading_close(reading *r)
{
    tern_ctx_destroy(r->home);
}

/* ---- statistics --------------------------------------------------------------------------------------------- */

/* Sums that cannot overflow on the way: the second has room for any number of the largest values. */
typedef struct sums {
    double plain, scaled;
    __int128 whole; /* of integers: exact */
} sums;

static void take_ints(const int64_t *values, int64_t n, array_stats *s, sums *sum)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t v = values[i];
        s->least_int = s->finite == 0 || v < s->least_int ? v : s->least_int;
        s->most_int = s->finite == 0 || v > s->most_int ? v : s->most_int;
        s->finite++;
        sum->whole += v;
    }
}

static void take_floats(const double *values, int64_t n, array_stats *s, sums *sum)
{
    for (int64_t i = 0; i < n; i++) {
        double v = values[i];
        if (!isfinite(v)) {
            s->nan += isnan(v);
            s->inf += !isnan(v);
            continue;
        }
        s->least = s->finite == 0 || v < s->least ? v : s->least;
        s->most = s->finite == 0 || v > s->most ? v : s->most;
        s->finite++;
        sum->plain += v;
        sum->scaled += v * 0x1p-64;
    }
}

/* Elements [start, start + n) of a flat tensor as i64 or f64; valid until the scope ends. */
static const void *read_piece(tern_tensor *flat, int64_t start, int64_t n, bool integer)
{
    tern_tensor *piece = tern_cast(tern_narrow(flat, 0, start, start + n), integer ? TERN_I64 : TERN_F64);
    return tern_data(piece);
}

static tern_status take_piece(tern_tensor *flat, int64_t start, int64_t n, array_stats *s, sums *sum)
{
    TERN_SCOPE(tern_ctx_of(flat)) {
        const void *values = read_piece(flat, start, n, s->integer);
        if (!values)
            return TERN_OUT_OF_MEMORY; /* tern_data has said why */
        if (s->integer)
            take_ints(values, n, s, sum);
        else
            take_floats(values, n, s, sum);
    }
    return TERN_OK;
}

static tern_status measure(tern_tensor *t, array_stats *out)
{
    array_stats s = {.integer = is_integer(tern_dtype_of(t)), .mean = NAN};
    sums sum = {0};
    TERN_SCOPE(tern_ctx_of(t)) {
        tern_tensor *flat = flatten(t);
        TERN_TRY(tern_eval(flat));
        int64_t n = tern_numel(flat);
        for (int64_t start = 0; start < n; start += PIECE)
            TERN_TRY(take_piece(flat, start, n - start < PIECE ? n - start : PIECE, &s, &sum));
    }
    if (s.finite > 0 && s.integer)
        s.mean = (double)sum.whole / (double)s.finite;
    else if (s.finite > 0)
        s.mean = isfinite(sum.plain) ? sum.plain / (double)s.finite : sum.scaled / (double)s.finite * 0x1p64;
    *out = s;
    return TERN_OK;
}

tern_status array_measure(tern_tensor *t, array_stats *out)
{
    reading r;
    tern_status status = reading_open(t, &r);
    if (status == TERN_OK)
        status = measure(r.t, out);
    reading_close(&r);
    return status;
}

tern_status array_hash(tern_tensor *t, uint64_t *out)
{
    const unsigned char *bytes = tern_data(t);
    size_t n = tern_nbytes(t);
    if (!bytes && n > 0)
        return TERN_OUT_OF_MEMORY;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    *out = hash;
    return TERN_OK;
}

void array_add_stats(text *out, const array_stats *s)
{
    if (s->finite > 0 && s->integer)
        text_addf(out, "min %" PRId64 "  max %" PRId64 "  mean %.4g", s->least_int, s->most_int, s->mean);
    else if (s->finite > 0)
        text_addf(out, "min %.4g  max %.4g  mean %.4g", s->least, s->most, s->mean);
    if (s->nan > 0)
        text_addf(out, "%s%" PRId64 " NaN", s->finite > 0 ? "  " : "", s->nan);
    if (s->inf > 0)
        text_addf(out, "%s%" PRId64 " inf", s->finite > 0 || s->nan > 0 ? "  " : "", s->inf);
}

void array_json_stats(json *j, const array_stats *s)
{
    if (s->finite > 0 && s->integer) {
        json_int(j, "min", s->least_int);
        json_int(j, "max", s->most_int);
    } else {
        json_double(j, "min", s->finite > 0 ? s->least : NAN);
        json_double(j, "max", s->finite > 0 ? s->most : NAN);
    }
    json_double(j, "mean", s->mean);
    json_int(j, "nan", s->nan);
    json_int(j, "inf", s->inf);
}

void array_add_type(text *out, const tern_tensor *t)
{
    text_add_type(out, tern_dtype_name(tern_dtype_of(t)), tern_rank(t), tern_shape(t));
}

/* ---- the first values --------------------------------------------------------------------------------------- */

enum { PREVIEW_ROWS = 3, PREVIEW_COLUMNS = 12, PREVIEW_TEXT = 24 };

static void format_element(char *buffer, const void *values, int64_t i, tern_dtype dtype)
{
    if (dtype == TERN_BOOL)
        snprintf(buffer, PREVIEW_TEXT, "%s", ((const int64_t *)values)[i] ? "true" : "false");
    else if (is_integer(dtype))
        snprintf(buffer, PREVIEW_TEXT, "%" PRId64, ((const int64_t *)values)[i]);
    else
        snprintf(buffer, PREVIEW_TEXT, "%.4g", ((const double *)values)[i]);
}

typedef struct preview {
    char cells[PREVIEW_ROWS][PREVIEW_COLUMNS][PREVIEW_TEXT];
    int64_t rows, columns; /* of the array: columns is its last axis */
    int shown_rows, shown_columns;
    int width; /* of the widest cell */
} preview;

static tern_status fill_preview(tern_tensor *t, preview *p)
{
    int rank = tern_rank(t);
    tern_dtype dtype = tern_dtype_of(t);
    p->columns = rank > 0 ? tern_dim(t, -1) : 1;
    p->rows = tern_numel(t) / (p->columns ? p->columns : 1);
    p->shown_rows = (int)(p->rows < PREVIEW_ROWS ? p->rows : PREVIEW_ROWS);
    p->shown_columns = (int)(p->columns < PREVIEW_COLUMNS ? p->columns : PREVIEW_COLUMNS);
    TERN_SCOPE(tern_ctx_of(t)) {
        tern_tensor *flat = flatten(t);
        for (int r = 0; r < p->shown_rows; r++) {
            const void *values = read_piece(flat, r * p->columns, p->shown_columns, is_integer(dtype));
            if (!values)
                return TERN_OUT_OF_MEMORY;
            for (int c = 0; c < p->shown_columns; c++) {
                format_element(p->cells[r][c], values, c, dtype);
                int width = (int)strlen(p->cells[r][c]);
                p->width = width > p->width ? width : p->width;
            }
        }
    }
    return TERN_OK;
}

static tern_status add_first(text *out, tern_tensor *t)
{
    char element[PREVIEW_TEXT];
    TERN_SCOPE(tern_ctx_of(t)) {
        const void *values = read_piece(flatten(t), 0, 1, is_integer(tern_dtype_of(t)));
        if (!values)
            return TERN_OUT_OF_MEMORY;
        format_element(element, values, 0, tern_dtype_of(t));
    }
    text_add(out, element);
    return TERN_OK;
}

tern_status array_add_first(text *out, tern_tensor *t)
{
    reading r;
    tern_status status = reading_open(t, &r);
    if (status == TERN_OK)
        status = add_first(out, r.t);
    reading_close(&r);
    return status;
}

tern_status array_preview(tern_tensor *t, int indent)
{
    if (tern_numel(t) == 0) {
        printf("%*s%sno elements%s\n", indent, "", on(STYLE_DIM), off(STYLE_DIM));
        return TERN_OK;
    }
    preview *p = grab(1, sizeof *p);
    reading from;
    tern_status status = reading_open(t, &from);
    if (status == TERN_OK)
        status = fill_preview(from.t, p);
    reading_close(&from);
    int room = (term_width() - indent - 4) / (p->width + 2); /* room for the ellipsis */
    int columns = p->shown_columns < room ? p->shown_columns : room > 0 ? room : 1;
    for (int r = 0; status == TERN_OK && r < p->shown_rows; r++) {
        printf("%*s", indent, "");
        for (int c = 0; c < columns; c++)
            printf("%s%*s", c ? "  " : "", p->width, p->cells[r][c]);
        printf("%s%s\n", columns < p->columns ? "  " : "",
               columns < p->columns ? glyph_of(GLYPH_ELLIPSIS) : "");
    }
    if (status == TERN_OK && p->shown_rows < p->rows)
        printf("%*s%s%s %" PRId64 " more row%s%s\n", indent, "", on(STYLE_DIM), glyph_of(GLYPH_ELLIPSIS),
               p->rows - p->shown_rows, p->rows - p->shown_rows == 1 ? "" : "s", off(STYLE_DIM));
    free(p);
    return status;
}
