/* units.c - sizes, times and counts as people read them. */
#include "base/units.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/point.h"
#include "base/status.h"

static const tern__unit byte_units[] = {{1, "B"},        {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"},
                                        {0x1p40, "TiB"}, {0x1p50, "PiB"}, {0x1p60, "EiB"}};
static const tern__unit time_units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};

static const tern__unit count_units[] = {{1, ""},     {1e3, "k"},  {1e6, "M"}, {1e9, "G"},
                                         {1e12, "T"}, {1e15, "P"}, {1e18, "E"}};

const tern__units tern__byte_units = {TERN__COUNT(byte_units), byte_units};
const tern__units tern__time_units = {TERN__COUNT(time_units), time_units};

/* Three digits that say something: 1.23, 12.3, 123. A number that would be rounded to 1000 (or 1024) of a unit is one of the next.
 * `whole`: there are no parts of the smallest unit. */
static const char *say(double value, tern__units units, bool whole, char *buffer, size_t room)
{
    if (!buffer || room == 0)
        return "";
    if (!isfinite(value)) {
        snprintf(buffer, room, "unavailable");
        return buffer;
    }
    const double size = fabs(value);
    size_t u = 0;
    while (u + 1 < units.n && size >= units.list[u + 1].size - 0.5 * units.list[u].size)
        u++;
    const double x = size / units.list[u].size;
    const int decimals = u == 0 && (whole || x == rint(x)) ? 0 : x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
    tern__point_snprintf(buffer, room, "%.*f%s%s", decimals, value / units.list[u].size,
                         units.list[u].name[0] ? " " : "", units.list[u].name);
    return buffer;
}

const char *tern_bytes_text(double bytes, char *buffer, size_t room)
{
    return say(bytes, tern__byte_units, true, buffer, room);
}

const char *tern_time_text(double ns, char *buffer, size_t room)
{
    return say(ns, tern__time_units, false, buffer, room);
}

const char *tern_count_text(double count, char *buffer, size_t room)
{
    return say(count, (tern__units){TERN__COUNT(count_units), count_units}, true, buffer, room);
}
