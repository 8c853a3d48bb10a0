/* suggest.c - the nearest of some words, for those who misspelt one. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <tern/model.h>
#include <tern/model_convert.h>
#include <tern/report.h>
#include <tern/tokenizer.h>

#include "args.h"

enum { LONGEST = 63 };

static int least_of(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
static int distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    int rows[3][LONGEST + 1]; /* row i % 3 belongs to the first i characters of a */
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least_of(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

suggestion suggestion_for(const char *word)
{
    /* More than a third of the letters wrong is another word. */
    size_t length = strlen(word);
    int most = length < 3 ? 1 : length < 6 ? 2 : 3;
    return (suggestion){.word = word, .distance = most + 1};
}

void suggestion_offer(suggestion *s, const char *candidate)
{
    size_t length = strlen(s->word);
    int d = distance(s->word, candidate);
    /* The beginning of a word means that word: "thr" for "threads". */
    if (length >= 3 && strncmp(s->word, candidate, length) == 0)
        d = 1;
    if (d < s->distance && d < (int)strlen(candidate)) {
        s->distance = d;
        s->best = candidate;
    }
}

const char *suggestion_text(const suggestion *s, const char *before, char *buffer, size_t room)
{
    buffer[0] = '\0';
    if (s->best)
        snprintf(buffer, room, "; did you mean '%s%s'?", before, s->best);
    return buffer;
}

static const char *shape_name(int i)
{
    tern_model_shape shape;
    return tern_model_shape_get(i, &shape) == TERN_OK ? shape.name : NULL;
}

static const char *report_section_name(int i)
{
    const char *name, *what;
    return tern_report_section(i, &name, &what) == TERN_OK ? name : NULL;
}

/* Type i of those that layers can be written as. */
static const char *stored_name(int i, bool in_gguf)
{
    static char name[16];
    for (int k = TERN_STORED_AS_IS + 1; k < TERN_STORED_COUNT; k++) {
        const tern_stored_info *info = tern_stored_get((tern_stored)k);
        if (!tern_stored_keeps_ternary((tern_stored)k) || (in_gguf && info->gguf_number < 0) || i-- > 0)
            continue;
        size_t n = 0;
        for (; info->name[n] && n + 1 < sizeof name; n++)
            name[n] = (char)tolower((unsigned char)info->name[n]);
        name[n] = '\0';
        return name;
    }
    return NULL;
}

static const char *any_stored_name(int i)
{
    return stored_name(i, false);
}

static const char *gguf_stored_name(int i)
{
    return stored_name(i, true);
}

static const struct {
    const char *list;
    const char *(*name)(int i);
} lists[] = {
    {LIST_ARCHITECTURES, tern_model_architecture_name},
    {LIST_SHAPES, shape_name},
    {LIST_PRETOKENIZERS, tern_pretokenizer_name},
    {LIST_CHAT_TEMPLATES, tern_chat_template_name},
    {LIST_REPORT_SECTIONS, report_section_name},
    {LIST_ENDINGS, tern_convert_ending},
    {LIST_STORED, any_stored_name},
    {LIST_IN_GGUF, gguf_stored_name},
};

bool list_is(const char *list, const char *word, const char *value)
{
    const bool any_case = strcmp(list, LIST_STORED) == 0 || strcmp(list, LIST_IN_GGUF) == 0;
    return (any_case ? strcasecmp(word, value) : strcmp(word, value)) == 0;
}

bool list_word(const char *list, int i, char *buffer, size_t room)
{
    for (size_t k = 0; *list == '=' && k < sizeof lists / sizeof lists[0]; k++)
        if (strcmp(lists[k].list, list) == 0) {
            const char *name = lists[k].name(i);
            snprintf(buffer, room, "%s", name ? name : "");
            return name != NULL;
        }
    while (i-- > 0) {
        list += strcspn(list, " ");
        list += strspn(list, " ");
    }
    size_t length = strcspn(list, " ");
    if (length == 0)
        return false;
    snprintf(buffer, room, "%.*s", (int)length, list);
    return true;
}

void list_add(text *t, const char *list)
{
    char word[64], next[64];
    for (int i = 0; list_word(list, i, word, sizeof word); i++) {
        bool last = !list_word(list, i + 1, next, sizeof next);
        text_addf(t, "%s%s", i == 0 ? "" : last ? " or " : ", ", word);
    }
}
