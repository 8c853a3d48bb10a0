/* files.c - temporary files for tests. */
#include "tensor/files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

const char *files_path(const char *name)
{
    static char paths[8][PATH_MAX + 256];
    static unsigned next;
    char *path = paths[next++ % 8];
    harness_path(path, sizeof paths[0], name);
    return path;
}

bool files_write(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool written = bytes == 0 || fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written;
}

void *files_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *data = NULL;
    size_t length = 0, capacity = 0, got = 1;
    while (got > 0) {
        if (length == capacity) {
            capacity = capacity * 2 + 4096;
            data = realloc(data, capacity);
            if (data == NULL)
                exit(2);
        }
        got = fread(data + length, 1, capacity - length, file);
        length += got;
    }
    fclose(file);
    *bytes = length;
    return data;
}

bool files_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int files_count(void)
{
    int count = 0;
    DIR *dir = opendir(harness_folder());
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir != NULL)
        closedir(dir);
    return count;
}

static char shared_path[PATH_MAX];

const char *files_shared(const char *name)
{
    const char *root = getenv("TERN_SHARED_DATA"), *source = getenv("TERN_SOURCE_DIR");
    if (root != NULL)
        snprintf(shared_path, sizeof shared_path, "%s/%s", root, name);
    else
        snprintf(shared_path, sizeof shared_path, "%s/../shared/data/%s", source != NULL ? source : ".",
                 name);
    return files_exists(shared_path) ? shared_path : NULL;
}

const char *files_shared_absent(void)
{
    static char text[PATH_MAX + 128];
    snprintf(text, sizeof text,
             "test data that others made are absent: %s; TERN_SHARED_DATA may say where they are",
             shared_path);
    return text;
}
