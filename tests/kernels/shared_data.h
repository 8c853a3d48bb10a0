/* shared_data.h - arrays that other people's encoders made (.npy files that are not part of the
 * repository). */
#ifndef TERN_TESTS_KERNELS_SHARED_DATA_H
#define TERN_TESTS_KERNELS_SHARED_DATA_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARED_DATA_ABSENT \
    "no foreign vectors: ternary-formats/ is neither in $TERN_SHARED_DATA nor in ../shared/data"

/* Opens ternary-formats/`name` in $TERN_SHARED_DATA, else in shared/data beside the repository. NULL if
 * absent. */
static inline FILE *shared_open(const char *name)
{
    char path[4096];
    const char *root = getenv("TERN_SHARED_DATA"), *source = getenv("TERN_SOURCE_DIR");
    if (root != NULL)
        snprintf(path, sizeof path, "%s/ternary-formats/%s", root, name);
    else
        snprintf(path, sizeof path, "%s/../shared/data/ternary-formats/%s", source != NULL ? source : ".",
                 name);
    return fopen(path, "rb");
}

static inline bool shared_exists(const char *name)
{
    FILE *file = shared_open(name);
    if (file != NULL)
        fclose(file);
    return file != NULL;
}

/* Reads the data of a .npy file of version 1 whose element type is `descr` ("<f4") into exactly `bytes`
 * bytes. */
static inline bool shared_read(const char *name, const char *descr, void *data, size_t bytes)
{
    unsigned char start[10];
    char header[1024] = "";
    FILE *file = shared_open(name);
    if (file == NULL)
        return false;
    bool ok = fread(start, 1, sizeof start, file) == sizeof start && memcmp(start, "\x93NUMPY\x01", 7) == 0;
    size_t length = ok ? (size_t)start[8] + 256u * start[9] : 0;
    ok = ok && length < sizeof header && fread(header, 1, length, file) == length;
    ok = ok && strstr(header, descr) != NULL && strstr(header, "'fortran_order': False") != NULL;
    ok = ok && fread(data, 1, bytes, file) == bytes && fgetc(file) == EOF;
    fclose(file);
    return ok;
}

#endif
