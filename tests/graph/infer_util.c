/* infer_util.c - see infer_util.h. */
#include "infer_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "[1,-2]" into values; the text after it, or NULL. */
static const char *parse_ints(const char *text, int64_t *values, int max, int *count)
{
    *count = 0;
    if (*text++ != '[')
        return NULL;
    while (*text != ']') {
        char *end;
        if (*count == max)
            return NULL;
        values[(*count)++] = strtoll(text, &end, 10);
        if (end == text || (*end != ',' && *end != ']'))
            return NULL;
        text = end + (*end == ',');
    }
    return text + 1;
}

static const char *parse_type(const char *text, tern__type *out)
{
    char name[8] = "";
    int64_t shape[TERN__MAX_RANK];
    int rank;
    size_t length = strcspn(text, "[");
    if (length >= sizeof name)
        return NULL;
    memcpy(name, text, length);
    if (tern_dtype_parse(name, &out->dtype) != TERN_OK)
        return NULL;
    text = parse_ints(text + length, shape, TERN__MAX_RANK, &rank);
    return text && tern__type_make("test", out->dtype, rank, shape, out) == TERN_OK ? text : NULL;
}

static const char *parse_value(const char *text, parsed_call *c, int i)
{
    tern__attr *attr = &c->attrs[i];
    char *end = NULL, word[32] = "";
    size_t length = strcspn(text, " ");
    int count;
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    switch (c->call.op->attrs[i].kind) {
    case TERN__ATTR_INT:
        attr->i = strtoll(text, &end, 10);
        return end;
    case TERN__ATTR_FLOAT:
        attr->f = strtod(text, &end);
        return end;
    case TERN__ATTR_BOOL:
        attr->i = strcmp(word, "true") == 0;
        return text + length;
    case TERN__ATTR_DTYPE: {
        tern_dtype dtype;
        if (tern_dtype_parse(word, &dtype) != TERN_OK)
            return NULL;
        attr->i = dtype;
        return text + length;
    }
    case TERN__ATTR_TEXT:
        snprintf(c->texts[i], sizeof c->texts[i], "%s", word);
        *attr = (tern__attr){.text = c->texts[i], .count = (uint32_t)strlen(c->texts[i])};
        return text + length;
    case TERN__ATTR_BODY:
        return NULL;
    case TERN__ATTR_INTS:
        text = parse_ints(text, c->ints[i], 16, &count);
        *attr = (tern__attr){.ints = c->ints[i], .count = (uint32_t)count};
        return text;
    }
    return NULL;
}

static const char *parse_attr(const char *text, parsed_call *c)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < c->call.op->n_attrs; i++) {
        const char *name = c->call.op->attrs[i].name;
        if (strlen(name) == length && strncmp(name, text, length) == 0 && text[length] == '=')
            return parse_value(text + length + 1, c, i);
    }
    return NULL;
}

bool infer_parse(const char *op, const char *types, const char *attrs, parsed_call *out)
{
    memset(out, 0, sizeof *out);
    tern__call *call = &out->call;
    call->op = tern__op_find(op, strlen(op));
    if (!call->op)
        return false;
    tern__op_default_attrs(call->op, out->attrs);
    for (; *types; types += *types == ' ') {
        if (call->n_in == CALL_MAX || !(types = parse_type(types, &out->types[call->n_in])))
            return false;
        out->in[call->n_in] = &out->types[call->n_in];
        call->n_in++;
    }
    for (; *attrs; attrs += *attrs == ' ') {
        if (!(attrs = parse_attr(attrs, out)))
            return false;
    }
    call->in = out->in;
    call->attrs = out->attrs;
    call->out = out->out;
    call->n_out = tern__op_results(call->op, call->attrs);
    return call->n_out <= CALL_MAX;
}

char *infer_results_text(const parsed_call *c, char buffer[CALL_TEXT])
{
    size_t at = 0;
    buffer[0] = '\0';
    for (int i = 0; i < c->call.n_out; i++) {
        char text[TERN__TYPE_TEXT];
        at += (size_t)snprintf(buffer + at, CALL_TEXT - at, "%s%s", i ? " " : "",
                               tern__type_text(&c->out[i], text));
    }
    return buffer;
}

char *infer_operands_text(const parsed_call *c, char buffer[CALL_TEXT])
{
    size_t at = 0;
    buffer[0] = '\0';
    for (int i = 0; i < c->call.n_in; i++)
        at += (size_t)snprintf(buffer + at, CALL_TEXT - at, "%s%s", i ? " " : "",
                               tern_dtype_name(c->operands[i]));
    return buffer;
}
