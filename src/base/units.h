/* units.h - the units of <tern/units.h>, for whoever needs one for several numbers: the ticks of an axis. */
#ifndef TERN_BASE_UNITS_H
#define TERN_BASE_UNITS_H

#include <stddef.h>

#include <tern/units.h>

typedef struct tern__unit {
    double size;
    const char *name;
} tern__unit;

/* From the smallest to the largest. */
typedef struct tern__units {
    size_t n;
    const tern__unit *list;
} tern__units;

extern const tern__units tern__byte_units; /* sizes in bytes */
extern const tern__units tern__time_units; /* sizes in ns */

/* For an argument of a printf: tern__time_of(ns).text. */
typedef struct tern__unit_text {
    char text[TERN_UNIT_TEXT];
} tern__unit_text;

static inline tern__unit_text tern__time_of(double ns)
{
    tern__unit_text t;
    tern_time_text(ns, t.text, sizeof t.text);
    return t;
}

static inline tern__unit_text tern__bytes_of(double bytes)
{
    tern__unit_text t;
    tern_bytes_text(bytes, t.text, sizeof t.text);
    return t;
}

#endif
