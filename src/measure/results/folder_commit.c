/* folder_commit.c - see folder_commit.h. */
#include "measure/results/folder_commit.h"

#include <stdio.h>
#include <string.h>

enum { PATH = 4096, LINE = 512 };

static bool join(char to[PATH], const char *folder, const char *name)
{
    const int n = name[0] == '/' ? snprintf(to, PATH, "%s", name) : snprintf(to, PATH, "%s/%s", folder, name);
    return n > 0 && n < PATH;
}

/* The first line of a file, if there is one. */
static bool read_line(const char *folder, const char *name, char *to, size_t room)
{
    char path[PATH];
    FILE *file = join(path, folder, name) ? fopen(path, "r") : NULL;
    const bool read = file && fgets(to, (int)room, file) != NULL;
    if (file)
        fclose(file);
    if (read)
        to[strcspn(to, "\r\n")] = '\0';
    return read && to[0];
}

/* What a branch points to, among those that git keeps in one file. */
static bool find_packed(const char *git, const char *branch, char *to, size_t room)
{
    char path[PATH], line[LINE];
    FILE *file = join(path, git, "packed-refs") ? fopen(path, "r") : NULL;
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        const char *blank = strchr(line, ' ');
        found = blank && strcmp(blank + 1, branch) == 0;
        if (found)
            snprintf(to, room, "%.*s", (int)(blank - line), line);
    }
    if (file)
        fclose(file);
    return found;
}

/* HEAD's commit. A linked work tree has a HEAD of its own, and its branches where the file `commondir` says. */
static bool read_head(const char *git, char *to, size_t room)
{
    char head[LINE], shared[LINE], common[PATH];
    if (!read_line(git, "HEAD", head, sizeof head))
        return false;
    if (strncmp(head, "ref: ", 5) != 0) { /* not on a branch */
        snprintf(to, room, "%s", head);
        return true;
    }
    const char *branch = head + 5;
    if (!read_line(git, "commondir", shared, sizeof shared) || !join(common, git, shared))
        snprintf(common, sizeof common, "%s", git);
    return read_line(git, branch, to, room) || read_line(common, branch, to, room) ||
           find_packed(common, branch, to, room);
}

/* Of a folder that has a .git, a folder or a file "gitdir: PATH". */
static bool read_tree(const char *folder, char *to, size_t room)
{
    static const char key[] = "gitdir: ";
    char git[PATH], line[PATH];
    if (read_line(folder, ".git", line, sizeof line) && strncmp(line, key, sizeof key - 1) == 0)
        return join(git, folder, line + sizeof key - 1) && read_head(git, to, room);
    return join(git, folder, ".git") && read_head(git, to, room);
}

bool tern__folder_commit(const char *folder, char *to, size_t room)
{
    char at[PATH];
    if (snprintf(at, sizeof at, "%s", folder) >= (int)sizeof at)
        return false;
    for (;;) {
        if (read_tree(at, to, room))
            return true;
        char *slash = strrchr(at, '/');
        if (!slash || slash == at)
            return false;
        *slash = '\0';
    }
}
