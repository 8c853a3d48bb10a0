/* source.c - reading files and telling what they are. */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term.h"

enum { MOST_BYTES = 1 << 30 }; /* of a graph's text: what is larger was not meant */

const char *source_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool say_unreadable(const char *path, const char *what)
{
    if (errno == EINTR) /* Ctrl-C, at a pipe that nobody writes to */
        fail("stopped while it was waiting for '%s'", source_name(path));
    else
        fail("cannot %s '%s': %s", what, source_name(path), strerror(errno));
    return false;
}

/* Appends up to `most` bytes; false after an error, which was said. */
static bool read_some(const char *path, FILE *file, size_t most, text *out)
{
    char block[16384];
    while (out->length < most) {
        size_t room = most - out->length < sizeof block ? most - out->length : sizeof block;
        size_t got = fread(block, 1, room, file);
        text_add_n(out, block, got);
        if (got < room)
            break;
    }
    return ferror(file) ? say_unreadable(path, "read") : true;
}

static bool read_file(const char *path, size_t most, text *out)
{
    if (strcmp(path, "-") == 0)
        return read_some(path, stdin, most, out);
    FILE *file = fopen(path, "rb");
    if (!file)
        return say_unreadable(path, "open");
    bool ok = read_some(path, file, most, out);
    fclose(file);
    return ok;
}

bool read_text(const char *path, text *out)
{
    size_t before = out->length;
    if (!read_file(path, before + MOST_BYTES + 1, out))
        return false;
    if (out->length - before > MOST_BYTES)
        fail("%s: larger than 1 GiB, which no text is", source_name(path));
    return out->length - before <= MOST_BYTES;
}

int read_prompt(const args *a, text *out)
{
    const char *given = args_value(a, "prompt"), *path = args_value(a, "file");
    if (given && path)
        return fail_usage("-p and -f both give a text: choose one");
    if (given) {
        add_argument(a, given, out);
        return EXIT_DONE;
    }
    path = path ? path : "-";
    if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO) == 1)
        warn("type the text, then Ctrl-D on a line of its own; -p TEXT and -f FILE give one, too");
    return read_text(path, out) ? EXIT_DONE : EXIT_FAILED;
}

int read_prompt_line(const args *a, text *out)
{
    int code = read_prompt(a, out);
    if (code == EXIT_DONE && !args_has(a, "prompt") && out->length > 0 && out->data[out->length - 1] == '\n')
        out->data[--out->length] = '\0';
    return code;
}

void add_argument(const args *a, const char *value, text *out)
{
    if (args_has(a, "no-escape"))
        text_add(out, value);
    else
        text_add_unescaped(out, value);
}

/* Past blanks and comments; NULL if the text ends before anything else comes. */
static const char *first_word(const char *at, const char *end)
{
    while (at < end && strchr(" \t\r\n#", *at) && *at) {
        if (*at++ != '#')
            continue;
        while (at < end && *at != '\n')
            at++;
    }
    return at < end ? at : NULL;
}

bool file_kind_of(const char *path, file_kind *out)
{
    static const char graph[] = "graph";
    text head = {0};
    if (!read_file(path, 1 << 20, &head)) {
        text_free(&head);
        return false;
    }
    const char *s = text_string(&head), *word = first_word(s, s + head.length);
    if (head.length >= 6 && memcmp(s, "\x93NUMPY", 6) == 0)
        *out = FILE_NPY;
    else if (head.length >= 4 && (memcmp(s, "PK\3\4", 4) == 0 || memcmp(s, "PK\5\6", 4) == 0))
        *out = FILE_NPZ;
    else if (word && strncmp(word, graph, strlen(graph)) == 0)
        *out = FILE_GRAPH;
    else if ((head.length >= 4 && memcmp(s, "GGUF", 4) == 0) || (head.length > 8 && s[8] == '{') ||
             s[0] == '{')
        *out = FILE_MODEL;
    else
        *out = FILE_OTHER;
    text_free(&head);
    return true;
}

/* The lines of comment at the end of `all`, without their marks. The line before them is not one, so a '#' in a string
 * is none either: strings end on their line. */
static void add_remarks(text *remarks, const text *all)
{
    const char *s = text_string(all), *end = s + all->length, *from = end;
    for (const char *line = s; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line)), *next = newline ? newline + 1 : end;
        const char *word = line + strspn(line, " \t\r");
        if (*word != '#' && word < next && *word != '\n')
            from = next;
        line = next;
    }
    while (from < end) {
        size_t length = strcspn(from, "\n");
        const char *mark = memchr(from, '#', length);
        if (mark) {
            const char *word = mark + 1 + (mark[1] == ' ');
            text_add_n(remarks, word, (size_t)(from + length - word));
            text_add(remarks, "\n");
        }
        from += length < (size_t)(end - from) ? length + 1 : length;
    }
}

bool read_graph(tern_ctx *ctx, const char *path, tern_graph **out, text *remarks)
{
    text all = {0};
    bool ok = read_file(path, (size_t)MOST_BYTES + 1, &all);
    if (ok && all.length > MOST_BYTES) {
        fail("%s: larger than 1 GiB, which no graph is", source_name(path));
        ok = false;
    }
    if (ok && tern_graph_parse(ctx, text_string(&all), all.length, out) != TERN_OK) {
        fail_status(source_name(path));
        ok = false;
    }
    if (ok && remarks)
        add_remarks(remarks, &all);
    text_free(&all);
    return ok;
}
