/* units.h - sizes, times and counts as people read them: the way in which the library's own reports and the program say them. */
#ifndef TERN_UNITS_H
#define TERN_UNITS_H

#include <stddef.h>

#include <tern/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TERN_UNIT_TEXT = 40 }; /* room for any of these texts */

/* Each fills `buffer`, which has room for `room` bytes, and returns it. Three digits, in the largest unit of which there is one:
 * "512 B", "1.50 KiB" and so on to EiB; "45.1 ns", "812 ns", "12.3 us", "1.24 ms", "90.2 s". Counts:
 * "512", "1.50 k", "2.10 M" and so on. Bytes, counts, and nanoseconds that are whole, have no digits behind the point. What is no number is "unavailable". Without room: "". */
TERN_API const char *tern_bytes_text(double bytes, char *buffer, size_t room);
TERN_API const char *tern_time_text(double ns, char *buffer, size_t room);
TERN_API const char *tern_count_text(double count, char *buffer, size_t room);

#ifdef __cplusplus
}
#endif

#endif
