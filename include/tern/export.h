/* export.h - symbol visibility, compiler attributes and the version of the API.
 *
 * Only functions marked TERN_API leave the library; every one of them starts with `tern_`. */
#ifndef TERN_EXPORT_H
#define TERN_EXPORT_H

#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0

#if defined(__GNUC__) || defined(__clang__)
#define TERN_API __attribute__((visibility("default")))
#define TERN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TERN_API
#define TERN_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked, such as "0.1.0". Static string. Any thread. */
TERN_API const char *tern_version(void);
/* The git commit that it was built from, "... with changes" if files differed from it; "unavailable: built outside git". Static string.
 * Any thread. */
TERN_API const char *tern_build_commit(void);

#ifdef __cplusplus
}
#endif
#endif
