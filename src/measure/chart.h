/* chart.h - tern_chart_write (<tern/chart.h>) into a text that grows. */
#ifndef TERN_MEASURE_CHART_H
#define TERN_MEASURE_CHART_H

#include <tern/chart.h>

#include "base/strbuf.h"

/* The chart is right: nothing of it is looked at twice. */
void tern__chart_add(tern__strbuf *to, const tern_chart *chart);

#endif
