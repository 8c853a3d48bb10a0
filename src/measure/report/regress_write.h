/* regress_write.h - what reports of regressions are written of: counts, and sentences. */
#ifndef TERN_MEASURE_REGRESS_WRITE_H
#define TERN_MEASURE_REGRESS_WRITE_H

#include "base/strbuf.h"
#include "measure/compare/regress.h"

enum { TERN__STATES = TERN_REGRESS_CRITICAL + 1 };
void tern__regress_count(const tern_regress_report *p, int counts[TERN__STATES]);

/* "1 critical, 3 same of 4 benchmarks; threshold 10 %, critical from 30 %" */
void tern__regress_add_summary(tern__strbuf *to, const tern_regress_report *p);
/* "12.3 %", or "above 1000 %". */
void tern__regress_add_floor(tern__strbuf *to, double floor);
/* "+12.3 % (10.1 to 14.9)"; nothing if there was no comparison. */
void tern__regress_add_change(tern__strbuf *to, const tern_comparison *c);
/* Steps and trends that the history shows; nothing if there are none. */
void tern__regress_add_history(tern__strbuf *to, const tern_history *h);
void tern__regress_add_text(tern__strbuf *to, const tern_regress_report *p);
void tern__regress_add_json(tern__strbuf *to, const tern_regress_report *p);

#endif
