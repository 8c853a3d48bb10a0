/* driver_sums.c - what PoCL keeps of Tern's kernels, noted with hashes. Damage inside a file ends the process when PoCL reads the file, or
 * is computed with: PoCL looks at nothing. So when a device goes, the files of entries that were used meanwhile are noted in a file
 * beside them, and when one is made they are compared. An entry that nobody noted is Tern's if its one kernel is called as Tern's are; if it
 * is older than the system's start, its files may have been lost with the power, and it goes as well. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* CLOCK_BOOTTIME */
#endif
#include "devices/opencl/opencl.h"

typedef int tern__opencl_driver_sums_is_compiled; /* no file is empty */

#if TERN_HAVE_OPENCL

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"

#ifdef __APPLE__
#define CHANGED(s) ((s).st_ctimespec)
#define MODIFIED(s) ((s).st_mtimespec)
#else
#define CHANGED(s) ((s).st_ctim)
#define MODIFIED(s) ((s).st_mtim)
#endif

static const char notes_name[] = "tern.sums", kernel_name[] = "k", used_name[] = "last_accessed";
enum { MOST_NOTES = 1 << 20, MOST_FILE = 256 << 20, DEPTH = 4, DIGITS = 16 };

/* ---- time ---- */

time_t tern__ocl_system_start(void)
{
#ifdef __linux__
    struct timespec now, up;
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && clock_gettime(CLOCK_BOOTTIME, &up) == 0)
        return now.tv_sec - up.tv_sec;
#endif
    return 0;
}

/* ---- notes: a line "HASH BYTES PATH" for each file, and the hash of all lines ---- */

/* The text without its last line, for the caller to free; NULL: there is none. *damaged: it is not what was written. */
static char *read_notes(const char *entry, bool *damaged)
{
    char path[4096], own[DIGITS + 2], *text = NULL;
    size_t length = 0;
    *damaged = false;
    snprintf(path, sizeof path, "%s/%s", entry, notes_name);
    const tern_status status = tern__file_read_all(path, MOST_NOTES, &text, &length);
    if (status != TERN_OK) {
        *damaged = status != TERN_NOT_FOUND;
        return NULL;
    }
    const size_t lines = length > DIGITS ? length - (DIGITS + 1) : 0;
    snprintf(own, sizeof own, "%016" PRIx64 "\n", tern__hash(text, lines, 0));
    if (length <= DIGITS || memcmp(text + lines, own, DIGITS + 1) != 0) {
        *damaged = true;
        tern__free(text);
        return NULL;
    }
    text[lines] = '\0';
    return text;
}

/* The line of a file; its length without the end. NULL: it is not noted. */
static const char *note_of(const char *notes, const char *name, size_t *length)
{
    for (const char *line = notes; line && *line;) {
        const char *end = strchr(line, '\n'), *space = strchr(line, ' ');
        const size_t bytes = strlen(name);
        space = space ? strchr(space + 1, ' ') : NULL;
        if (!end || !space || space > end)
            return NULL;
        if ((size_t)(end - space - 1) == bytes && memcmp(space + 1, name, bytes) == 0) {
            *length = (size_t)(end - line);
            return line;
        }
        line = end + 1;
    }
    return NULL;
}

/* The line of a file as it is now. */
static bool make_note(const char *path, const char *name, tern__strbuf *out)
{
    char *data = NULL;
    size_t length = 0;
    if (tern__file_read_all(path, MOST_FILE, &data, &length) != TERN_OK)
        return false;
    tern__strbuf_addf(out, "%016" PRIx64 " %zu %s\n", tern__hash(data, length, 0), length, name);
    tern__free(data);
    return !out->failed;
}

/* ---- the files of an entry ---- */

typedef struct walk {
    const char *notes;          /* or NULL */
    const tern__ocl_look *look; /* NULL: files are noted, not compared */
    size_t prefix;              /* of a path: the entry's own */
    bool ours;                  /* all kernels are called as Tern's are */
    bool sound, unnoted;
    tern__strbuf made; /* notes */
} walk;

static bool is_looked_at(const char *name)
{
    const size_t length = strlen(name);
    return length > 3 && (strcmp(name + length - 3, ".bc") == 0 || strcmp(name + length - 3, ".so") == 0);
}

static void compare_file(walk *w, const char *path, const char *note, size_t length, const struct stat *s)
{
    tern__strbuf now = TERN__STRBUF_EMPTY;
    if (CHANGED(*s).tv_sec < w->look->since)
        return;
    if (make_note(path, path + w->prefix, &now))
        w->sound = now.length == length + 1 && memcmp(now.text, note, length) == 0;
    tern__strbuf_free(&now);
}

static void visit_file(walk *w, const char *path, const struct stat *s)
{
    size_t length = 0;
    const char *note = note_of(w->notes, path + w->prefix, &length);
    w->unnoted = w->unnoted || !note;
    if (!w->look && note) { /* as it was, whatever the file is by now */
        tern__strbuf_add_n(&w->made, note, length);
        tern__strbuf_add(&w->made, "\n");
    } else if (!w->look)
        make_note(path, path + w->prefix, &w->made);
    else if (note)
        compare_file(w, path, note, length, s);
    else if (w->ours && MODIFIED(*s).tv_sec < w->look->start)
        w->sound = false;
}

static void visit_folder(walk *w, const char *folder, int depth)
{
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && w->sound && (e = readdir(dir));) {
        char path[4096];
        struct stat s;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path ||
            lstat(path, &s) != 0)
            continue;
        if (S_ISDIR(s.st_mode) && depth < DEPTH)
            visit_folder(w, path, depth + 1);
        else if (S_ISREG(s.st_mode) && is_looked_at(e->d_name))
            visit_file(w, path, &s);
    }
    if (dir)
        closedir(dir);
}

/* Folders of an entry are its kernels. Without one nothing of it is lost to whoever else it was of. */
static bool is_ours(const char *entry)
{
    DIR *dir = opendir(entry);
    bool ours = dir != NULL;
    for (struct dirent *e; dir && ours && (e = readdir(dir));) {
        char path[4096];
        struct stat s;
        if (e->d_name[0] == '.' || strcmp(e->d_name, kernel_name) == 0 ||
            snprintf(path, sizeof path, "%s/%s", entry, e->d_name) >= (int)sizeof path)
            continue;
        ours = lstat(path, &s) == 0 && !S_ISDIR(s.st_mode);
    }
    if (dir)
        closedir(dir);
    return ours;
}

bool tern__ocl_sums_hold(const char *entry, const tern__ocl_look *look)
{
    bool damaged;
    char *notes = read_notes(entry, &damaged);
    walk w = {.notes = notes,
              .look = look,
              .prefix = strlen(entry) + 1,
              .ours = notes || is_ours(entry),
              .sound = !damaged};
    visit_folder(&w, entry, 0);
    tern__free(notes);
    return w.sound;
}

static void write_notes(const char *entry, const tern__strbuf *lines)
{
    char path[4096], own[DIGITS + 2];
    tern__writer writer;
    snprintf(path, sizeof path, "%s/%s", entry, notes_name);
    snprintf(own, sizeof own, "%016" PRIx64 "\n", tern__hash(lines->text, lines->length, 0));
    if (tern__writer_open(path, &writer) != TERN_OK)
        return;
    if (tern__writer_write(&writer, lines->text, lines->length) == TERN_OK &&
        tern__writer_write(&writer, own, DIGITS + 1) == TERN_OK)
        tern__writer_commit(&writer);
    else
        tern__writer_abort(&writer);
}

void tern__ocl_note_sums(const char *entry, time_t since)
{
    char path[4096];
    struct stat used;
    bool damaged;
    snprintf(path, sizeof path, "%s/%s", entry, used_name);
    if (lstat(path, &used) != 0 || MODIFIED(used).tv_sec < since || !is_ours(entry))
        return;
    char *notes = read_notes(entry, &damaged);
    walk w = {.notes = notes, .prefix = strlen(entry) + 1, .sound = true};
    visit_folder(&w, entry, 0);
    if (w.unnoted && w.made.length > 0 && !w.made.failed)
        write_notes(entry, &w.made);
    tern__strbuf_free(&w.made);
    tern__free(notes);
}

#endif
