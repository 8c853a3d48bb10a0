/* special.c - a sorted list of special tokens; a search narrows the range that still fits, byte by byte. */
#include "model/tokenizer/special.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"

/* ---- the list ------------------------------------------------------------------------------------------- */

typedef struct sorted {
    const char *text;
    size_t length;
    tern__special row;
} sorted;

static int by_text(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    size_t n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, n);
    if (order == 0)
        order = x->length < y->length ? -1 : x->length > y->length;
    if (order == 0)
        order = x->row.id < y->row.id ? -1 : 1; /* the lowest id of equal texts stays */
    return order;
}

static bool is_special(const tern__symbol *t)
{
    return t->length > 0 && (t->type == TERN_TOKEN_CONTROL || t->type == TERN_TOKEN_UNKNOWN ||
                             t->type == TERN_TOKEN_USER_DEFINED);
}

/* In a list that is still in order of ids; NULL: not in it. */
static tern__special *row_of(sorted *list, size_t n, int32_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)list[middle].row.id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && (int64_t)list[low].row.id == id ? &list[low].row : NULL;
}

static void fill(tern__specials *s, const tern__vocab *v, sorted *list, size_t n)
{
    qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && list[i].length == list[i - 1].length &&
            memcmp(list[i].text, list[i - 1].text, list[i].length) == 0)
            continue;
        s->rows[s->count++] = list[i].row;
        s->starts[(unsigned char)list[i].text[0]] = true;
        s->any_open |= v->symbols[list[i].row.id].type == TERN_TOKEN_USER_DEFINED;
    }
}

tern_status tern__specials_build(tern__specials *s, const tern__vocab *v, const tern_token_flags *flags,
                                 size_t n_flags)
{
    size_t n = 0;
    *s = (tern__specials){0};
    for (uint32_t t = 0; t < v->n_tokens; t++)
        n += is_special(&v->symbols[t]);
    sorted *list = tern__alloc_zero(n, sizeof *list);
    s->rows = tern__alloc_zero(n, sizeof *s->rows);
    if (!list || !s->rows) {
        tern__free(list);
        return tern__out_of_memory(n * sizeof *list);
    }
    n = 0;
    for (uint32_t t = 0; t < v->n_tokens; t++) {
        if (!is_special(&v->symbols[t]))
            continue;
        list[n].text = tern__vocab_text(v, t, &list[n].length);
        list[n++].row = (tern__special){.id = t, .guarded = v->symbols[t].type != TERN_TOKEN_USER_DEFINED};
    }
    for (size_t f = 0; f < n_flags; f++) {
        tern__special *row = row_of(list, n, flags[f].id);
        if (row) {
            row->lstrip = flags[f].lstrip;
            row->rstrip = flags[f].rstrip;
            row->single_word = flags[f].single_word;
        }
    }
    fill(s, v, list, n);
    tern__free(list);
    return TERN_OK;
}

void tern__specials_free(tern__specials *s)
{
    tern__free(s->rows);
    *s = (tern__specials){0};
}

/* ---- finding -------------------------------------------------------------------------------------------- */

/* Byte `depth` of row i, or -1 behind its end: shorter texts come first. */
static int byte_at(const tern__specials *s, const tern__vocab *v, size_t i, size_t depth)
{
    size_t length;
    const char *text = tern__vocab_text(v, s->rows[i].id, &length);
    return depth < length ? (unsigned char)text[depth] : -1;
}

/* The first row in [low, high) whose byte at `depth` is >= `byte`; all agree before it. */
static size_t lower_bound(const tern__specials *s, const tern__vocab *v, size_t low, size_t high,
                          size_t depth, int byte)
{
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (byte_at(s, v, middle, depth) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool shielded(const tern__protected *shields, size_t n_shields, size_t start, size_t end)
{
    for (size_t i = 0; i < n_shields && shields[i].from < end; i++)
        if (shields[i].to > start)
            return true;
    return false;
}

/* Letters and digits of other scripts count too: any byte above ASCII. */
static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool allowed(const tern__special *row, const char *text, size_t length, size_t start, size_t end,
                    const tern__protected *shields, size_t n_shields)
{
    if (row->guarded && shielded(shields, n_shields, start, end))
        return false;
    return !row->single_word ||
           ((start == 0 || !is_word(text[start - 1])) && (end == length || !is_word(text[end])));
}

/* The longest row that `text` has at `start` and that may be there; NULL: none. */
static const tern__special *longest_at(const tern__specials *s, const tern__vocab *v, const char *text,
                                       size_t length, size_t start, const tern__protected *shields,
                                       size_t n_shields, size_t *end)
{
    const tern__special *best = NULL;
    size_t low = 0, high = s->count;
    for (size_t depth = 0; low < high; depth++) {
        if (depth > 0 && byte_at(s, v, low, depth) < 0) { /* this one ends here */
            if (allowed(&s->rows[low], text, length, start, start + depth, shields, n_shields)) {
                best = &s->rows[low];
                *end = start + depth;
            }
            low++;
        }
        if (start + depth == length)
            break;
        int byte = (unsigned char)text[start + depth];
        low = lower_bound(s, v, low, high, depth, byte);
        high = lower_bound(s, v, low, high, depth, byte + 1);
    }
    return best;
}

const tern__special *tern__specials_find(const tern__specials *s, const tern__vocab *v, const char *text,
                                         size_t length)
{
    size_t end = 0;
    const tern__special *found = length > 0 ? longest_at(s, v, text, length, 0, NULL, 0, &end) : NULL;
    return found && end == length ? found : NULL;
}

const tern__special *tern__specials_next(const tern__specials *s, const tern__vocab *v, const char *text,
                                         size_t length, size_t from, const tern__protected *shields,
                                         size_t n_shields, size_t *start, size_t *end)
{
    /* Text that is protected as a whole, the usual case, has nothing to look for. */
    if (!s->any_open && n_shields == 1 && shields[0].from == 0 && shields[0].to == length)
        return NULL;
    for (size_t at = from; at < length; at++) {
        while (n_shields > 0 && shields[0].to <= at)
            shields++, n_shields--;
        if (!s->starts[(unsigned char)text[at]])
            continue;
        const tern__special *found = longest_at(s, v, text, length, at, shields, n_shields, end);
        if (found) {
            *start = at;
            return found;
        }
    }
    return NULL;
}
