/* files.h - temporary files for tests, and the data that others made. */
#ifndef TERN_TESTS_TENSOR_FILES_H
#define TERN_TESTS_TENSOR_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The path of `name` in a directory of this process that is removed at exit; valid until the eighth next
 * call. */
const char *files_path(const char *name);

bool files_write(const char *path, const void *data, size_t bytes);

/* The whole file, to be freed with free(); NULL if it cannot be read. */
void *files_read(const char *path, size_t *bytes);

bool files_exists(const char *path);
int files_count(void); /* entries in the directory */

/* The path of a file of foreign test data, or NULL where that is absent: looked for in $TERN_SHARED_DATA,
 * else in shared/data beside the repository. Valid until the next call. */
const char *files_shared(const char *name);
const char *files_shared_absent(void); /* a reason to skip: which file was looked for last, and where */

#endif
