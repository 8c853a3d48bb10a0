/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "term.h"

static int fail_to_write(out_file *f)
{
    const char *path = f->path;
    const int why = errno;
    out_discard(f);
    return fail("cannot write '%s': %s", path, strerror(why));
}

/* A file of that name can be made: it is, for a moment. */
static bool try_beside(const out_file *f)
{
    FILE *file = fopen(text_string(&f->beside), "w");
    return file && fclose(file) == 0 && unlink(text_string(&f->beside)) == 0;
}

int out_open(const char *path, out_file *f)
{
    struct stat about;
    char real[PATH_MAX];
    *f = (out_file){.path = path};
    if (!path)
        return EXIT_DONE;
    if (lstat(path, &about) != 0 || S_ISREG(about.st_mode))
        text_add(&f->target, path);
    else if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && realpath(path, real))
        text_add(&f->target, real); /* the link stays */
    if (f->target.length > 0)
        text_addf(&f->beside, "%s.part-%ld", text_string(&f->target), (long)getpid());
    else if (S_ISDIR(about.st_mode))
        errno = EISDIR;
    const bool good = f->target.length > 0
                          ? try_beside(f)
                          : !S_ISDIR(about.st_mode) && (S_ISLNK(about.st_mode) || access(path, W_OK) == 0);
    return good ? EXIT_DONE : fail_to_write(f);
}

int out_finish(out_file *f, const char *words)
{
    if (!f->path) {
        fputs(words, stdout);
        return EXIT_DONE;
    }
    const char *first = f->beside.length > 0 ? text_string(&f->beside) : f->path;
    FILE *to = fopen(first, "w");
    bool good = to && fputs(words, to) >= 0;
    good = to && fclose(to) == 0 && good;
    if (good && f->beside.length > 0)
        good = rename(first, text_string(&f->target)) == 0;
    if (!good && f->beside.length > 0) {
        const int why = errno;
        unlink(first);
        errno = why;
    }
    if (!good)
        return fail_to_write(f);
    out_discard(f);
    return EXIT_DONE;
}

void out_discard(out_file *f)
{
    text_free(&f->target);
    text_free(&f->beside);
    *f = (out_file){0};
}
