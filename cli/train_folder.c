/* train_folder.c - the folder of a training run: one run at a time has it, and none writes over what another one left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term.h"
#include "train.h"

/* What a run writes into its folder and leaves there. */
static const char *const written[] = {"checkpoint.safetensors", "best.safetensors", "log.jsonl", "loss.svg",
                                      "model.gguf"};
enum { N_WRITTEN = sizeof written / sizeof *written };

text train_path(const train_run *r, const char *name)
{
    text path = {0};
    text_addf(&path, "%s/%s", r->dir, name);
    return path;
}

/* An empty file has nothing to lose: such a log is left by a run that was killed before its first step. */
static bool has(const train_run *r, const char *name)
{
    struct stat info;
    text path = train_path(r, name);
    const bool there = stat(text_string(&path), &info) == 0;
    text_free(&path);
    return there && !(S_ISREG(info.st_mode) && info.st_size == 0);
}

static void take_away(const train_run *r, const char *name)
{
    text path = train_path(r, name);
    unlink(text_string(&path));
    text_free(&path);
}

/* What a writer of a checkpoint, of the curve (output.h) or of a sample leaves when it is killed. */
static bool is_left(const char *name)
{
    return (strncmp(name, ".tern-", 6) == 0 && text_ends_in(name, ".tmp")) ||
           strncmp(name, "loss.svg.part-", 14) == 0 || strcmp(name, TRAIN_SAMPLE_FILE) == 0;
}

void train_folder_sweep(const train_run *r)
{
    DIR *folder = opendir(r->dir);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_left(entry->d_name))
            take_away(r, entry->d_name);
    if (folder)
        closedir(folder);
}

/* The folder itself is locked, so that there is no file which only the lock needs, and no moment between the lock and what is read.
 * Whoever made it may have taken it away again meanwhile: then what was locked is not what the name stands for now. */
static int lock(train_run *r, bool *again)
{
    struct stat named, locked;
    r->folder = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->folder < 0)
        return fail("cannot open the folder '%s': %s", r->dir, strerror(errno));
    if (flock(r->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        r->made_folder = false; /* it is the other one's now */
        return fail("another `tern train` is writing into %s", r->dir);
    }
    *again = stat(r->dir, &named) != 0 || fstat(r->folder, &locked) != 0 || named.st_ino != locked.st_ino ||
             named.st_dev != locked.st_dev;
    if (*again) {
        close(r->folder);
        r->folder = -1;
    }
    return EXIT_DONE;
}

/* Made now, so that what cannot be is said before the data are read; train_folder_close takes it away if nothing comes of it. */
static int make_and_lock(train_run *r)
{
    const bool resume = args_has(r->a, "resume");
    int code = EXIT_DONE;
    for (bool again = true; code == EXIT_DONE && again;) {
        r->made_folder = !resume && mkdir(r->dir, 0777) == 0;
        if (!resume && !r->made_folder && errno != EEXIST)
            return fail("cannot make the folder '%s': %s", r->dir, strerror(errno));
        if (resume && !has(r, written[0]))
            break; /* which is said below */
        code = lock(r, &again);
    }
    return code;
}

/* A new run would write over the rests of another one, or over files of the same names, of which it knows nothing. */
static int refuse_rests(const train_run *r)
{
    text names = {0};
    int n = 0;
    if (has(r, written[0]))
        return fail("%s has a checkpoint of another run: go on with --resume, or choose another -o", r->dir);
    for (int i = 0; i < N_WRITTEN; i++)
        if (has(r, written[i]))
            text_addf(&names, "%s%s", n++ ? ", " : "", written[i]);
    const int code = n == 0 ? EXIT_DONE
                            : fail("%s has no checkpoint to go on from, but %s, which a new run would write "
                                   "over: choose another -o, or move %s away",
                                   r->dir, text_string(&names), n == 1 ? "it" : "them");
    text_free(&names);
    return code;
}

int train_folder_open(train_run *r)
{
    const bool resume = args_has(r->a, "resume");
    /* what only looks writes nothing, and may look while another run writes */
    int code = args_has(r->a, "explain") ? EXIT_DONE : make_and_lock(r);
    if (code == EXIT_DONE && resume)
        return has(r, written[0]) ? EXIT_DONE
                                  : fail("%s has no checkpoint.safetensors to resume from", r->dir);
    if (code == EXIT_DONE)
        code = refuse_rests(r);
    r->unbegun = code == EXIT_DONE && !args_has(r->a, "explain");
    return code;
}

void train_folder_close(train_run *r)
{
    for (int i = 0; r->unbegun && i < N_WRITTEN; i++)
        take_away(r, written[i]);
    if (r->made_folder)
        rmdir(r->dir); /* which fails, as it should, if something is in it */
    if (r->folder >= 0)
        close(r->folder);
}
