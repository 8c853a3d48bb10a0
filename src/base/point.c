/* point.c - see point.h. Asking for the character costs nanoseconds; only where it is no point a locale is made. */
#include "base/point.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tern__point tern__point_begin(void)
{
    tern__point p = {0};
    if (strcmp(nl_langinfo(RADIXCHAR), ".") == 0)
        return p;
    p.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (p.c)
        p.before = uselocale(p.c);
    return p;
}

void tern__point_end(tern__point point)
{
    if (!point.c)
        return;
    uselocale(point.before);
    freelocale(point.c);
}

double tern__point_strtod(const char *text, char **end)
{
    const tern__point p = tern__point_begin();
    const double value = strtod(text, end);
    tern__point_end(p);
    return value;
}

int tern__point_vsnprintf(char *to, size_t room, const char *format, va_list args)
{
    const tern__point p = tern__point_begin();
    const int length = vsnprintf(to, room, format, args);
    tern__point_end(p);
    return length;
}

int tern__point_snprintf(char *to, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = tern__point_vsnprintf(to, room, format, args);
    va_end(args);
    return length;
}
