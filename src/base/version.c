/* version.c - the version of the library that is linked, from the numbers in <tern/export.h>. */
#include <tern/export.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *tern_version(void)
{
    return TEXT(TERN_VERSION_MAJOR) "." TEXT(TERN_VERSION_MINOR) "." TEXT(TERN_VERSION_PATCH);
}
