/* compare_devices.h - the inside of a comparison of devices. */
#ifndef TERN_MEASURE_COMPARE_DEVICES_H
#define TERN_MEASURE_COMPARE_DEVICES_H

#include <tern/compare_devices.h>

#include "base/strbuf.h"

struct tern_device_comparison {
    tern_device_time *rows;
    size_t n, capacity;
};

/* Of two rows of one op and size: the ratio of b's time to a's; NaN: one has none. *clear: their intervals do not meet. */
double tern__device_ratio(const tern_device_time *a, const tern_device_time *b, bool *clear);

/* The row of the first device that the row is compared with; NULL: there is none. */
const tern_device_time *tern__device_base(const tern_device_comparison *c, const tern_device_time *row);

void tern__device_comparison_add_json(const tern_device_comparison *c, tern__strbuf *to);

#endif
