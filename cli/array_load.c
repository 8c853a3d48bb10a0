/* array_load.c - finds and loads the array that a command line names: FILE.npy, FILE.npz or FILE.npz:KEY. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tern/io.h>

#include "array.h"
#include "source.h"
#include "term.h"

static bool load_npy(tern_ctx *ctx, const char *path, tern_tensor **out)
{
    tern_status status = tern_npy_map(ctx, path, out);
    if (status == TERN_UNSUPPORTED) /* big-endian: has to be read */
        status = tern_npy_load(ctx, path, out);
    if (status != TERN_OK)
        fail_status(NULL);
    return status == TERN_OK;
}

/* "; it has a, b and 3 more" */
static void say_no_key(const char *path, const tern_npz *npz, const char *key)
{
    enum { SHOWN = 8 };
    text names = {0};
    int n = tern_npz_count(npz);
    for (int i = 0; i < n && i < SHOWN; i++)
        text_addf(&names, "%s%s", i ? ", " : "", tern_npz_name(npz, i));
    if (n > SHOWN)
        text_addf(&names, " and %d more", n - SHOWN);
    if (n == 0)
        fail("%s holds no arrays", path);
    else
        fail("%s holds no array called '%s'; it has %s", path, key, text_string(&names));
    text_free(&names);
}

static tern_status load_entry(tern_ctx *ctx, const tern_npz *npz, int i, tern_tensor **out)
{
    tern_status status = tern_npz_map(ctx, npz, i, out);
    return status == TERN_UNSUPPORTED ? tern_npz_load(ctx, npz, i, out) : status;
}

static bool load_npz(tern_ctx *ctx, const char *path, const char *key, const char *name, tern_tensor **out)
{
    tern_npz *npz;
    if (tern_npz_open(path, &npz) != TERN_OK) {
        fail_status(NULL);
        return false;
    }
    int i = -1;
    if (tern_npz_find(npz, key ? key : name, &i) != TERN_OK && !key && tern_npz_count(npz) == 1)
        i = 0;
    bool ok = false;
    if (i < 0)
        say_no_key(path, npz, key ? key : name);
    else if (!(ok = load_entry(ctx, npz, i, out) == TERN_OK))
        fail_status(NULL);
    tern_npz_close(npz);
    return ok;
}

bool array_load(tern_ctx *ctx, const char *place, const char *name, tern_tensor **out)
{
    /* A colon belongs to the file's name if there is a file of that name. */
    const char *colon = strrchr(place, ':');
    size_t length = colon && access(place, F_OK) != 0 ? (size_t)(colon - place) : strlen(place);
    char *path = grab_string(place, length);
    const char *key = place[length] ? colon + 1 : NULL;
    file_kind kind;
    bool ok = file_kind_of(path, &kind);
    if (ok && kind == FILE_NPZ) {
        ok = load_npz(ctx, path, key, name, out);
    } else if (ok && kind == FILE_NPY && !key) {
        ok = load_npy(ctx, path, out);
    } else if (ok) {
        ok = false;
        if (key)
            fail("%s is not a .npz archive, so it has no '%s'", path, key);
        else
            fail("%s is neither a .npy nor a .npz file", path);
    }
    free(path);
    return ok;
}
