/* point.h - numbers in files have a decimal point, whatever the locale of the process has. A program that uses the library may have set
 * one with a comma, for its users. */
#ifndef TERN_BASE_POINT_H
#define TERN_BASE_POINT_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <tern/status.h>

/* Between begin and end printf, strtod and their kin read and write a point, on this thread. Should the C library have no room for that,
 * the thread's locale stays. */
typedef struct tern__point {
    locale_t c, before; /* c 0: nothing was changed, since there is a point already */
} tern__point;
tern__point tern__point_begin(void);
void tern__point_end(tern__point point);

/* strtod, vsnprintf and snprintf with a point. */
double tern__point_strtod(const char *text, char **end);
int tern__point_vsnprintf(char *to, size_t room, const char *format, va_list args);
int tern__point_snprintf(char *to, size_t room, const char *format, ...) TERN_PRINTF(3, 4);

#endif
