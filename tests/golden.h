/* golden.h - files under tests/golden, which tests compare with. */
#ifndef TERN_TESTS_GOLDEN_H
#define TERN_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file tests/golden/`name`, terminated; NULL if it cannot be read. Free with free. */
static inline char *golden_read(const char *name, size_t *length)
{
    const char *root = getenv("TERN_SOURCE_DIR");
    char path[1024];
    if (root)
        snprintf(path, sizeof path, "%s/tests/golden/%s", root, name);
    else /* run by hand: beside this header */
        snprintf(path, sizeof path, "%.*s/golden/%s", (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__,
                 name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    enum { MOST = 1 << 20 };
    char *text = malloc(MOST);
    *length = text ? fread(text, 1, MOST - 1, file) : 0;
    if (text)
        text[*length] = '\0';
    fclose(file);
    return text;
}

#endif
