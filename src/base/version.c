/* version.c - the version of the library that is linked, from the numbers in <tern/export.h>, and its commit. */
#include <tern/export.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

extern const char tern__build_commit[]; /* made by cmake/commit.cmake */

const char *tern_version(void)
{
    return TEXT(TERN_VERSION_MAJOR) "." TEXT(TERN_VERSION_MINOR) "." TEXT(TERN_VERSION_PATCH);
}

const char *tern_build_commit(void)
{
    return tern__build_commit;
}
