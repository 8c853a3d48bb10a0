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

/* A file of that name can be made: it is, for a moment. One that may not be written is not replaced either. */
static bool can_replace(const out_file *f)
{
    if (access(text_string(&f->target), W_OK) != 0 && errno != ENOENT)
        return false;
    FILE *file = fopen(text_string(&f->beside), "w");
    return file && fclose(file) == 0 && unlink(text_string(&f->beside)) == 0;
}

/* A device, a pipe, or a link to what is not there yet. */
static bool can_write(const char *path, mode_t mode)
{
    errno = EISDIR;
    return !S_ISDIR(mode) && (S_ISLNK(mode) || access(path, W_OK) == 0);
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
    else if (strncmp(path, "/dev/", 5) != 0 && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
             realpath(path, real))
        text_add(&f->target, real); /* the link stays; that of /dev/stdout is the shell's affair */
    if (f->target.length > 0)
        text_addf(&f->beside, "%s.part-%ld", text_string(&f->target), (long)getpid());
    return (f->target.length > 0 ? can_replace(f) : can_write(path, about.st_mode)) ? EXIT_DONE
                                                                                    : fail_to_write(f);
}

const char *out_place(const out_file *f)
{
    return f->beside.length > 0 ? text_string(&f->beside) : f->path;
}

int out_commit(out_file *f, bool good)
{
    if (good && f->beside.length > 0)
        good = rename(out_place(f), text_string(&f->target)) == 0;
    if (!good)
        return fail_to_write(f);
    out_discard(f);
    return EXIT_DONE;
}

int out_finish(out_file *f, const char *words)
{
    if (!f->path) /* what fails here is said when the program ends, but nothing may rest on it meanwhile */
        return term_put(words) && term_flush() ? EXIT_DONE : EXIT_FAILED;
    FILE *to = fopen(out_place(f), "w");
    const bool written = to && fputs(words, to) >= 0;
    return out_commit(f, to && fclose(to) == 0 && written);
}

void out_discard(out_file *f)
{
    if (f->beside.length > 0)
        unlink(text_string(&f->beside)); /* not there if it was put in its place, or never begun */
    text_free(&f->target);
    text_free(&f->beside);
    *f = (out_file){0};
}
