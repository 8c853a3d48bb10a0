/* compare_devices.h - the inside of a comparison of devices. */
#ifndef TERN_MEASURE_COMPARE_DEVICES_H
#define TERN_MEASURE_COMPARE_DEVICES_H

#include <tern/compare_devices.h>

#include "base/strbuf.h"
#include "measure/bootstrap.h"

struct tern_device_comparison {
    tern_device_time *rows;
    size_t n, capacity;
    tern_device_text *texts;
    size_t n_texts, cap_texts;
};

/* Of two rows of one op and size: the ratio of b's time to a's; NaN: one has none. *clear: their intervals do not meet. */
double tern__device_ratio(const tern_device_time *a, const tern_device_time *b, bool *clear);

/* The row of the first device that the row is compared with; NULL: there is none. */
const tern_device_time *tern__device_base(const tern_device_comparison *c, const tern_device_time *row);

/* Fills in what a run takes beside its steps, or why that is not known: from the interval of runs that were timed step by step, and that
 * of what such a run takes beside its steps, with its median, all in us. The row has its times already. */
void tern__device_around(tern_device_time *row, tern__interval timed, tern__interval beside, double median);

/* ---- compare_text.c ---- */

typedef struct tern__text_question {
    const char *model, *prompt;
    const char *first; /* the device that others are compared with */
    int threads, tokens;
    bool guard; /* of the file */
} tern__text_question;

/* What fails is said in out->error. */
tern_status tern__compare_text(const tern__text_question *question, const char *device,
                               tern_device_text *out);
/* How much of the difference of two devices' logits is rounding's. Neither number follows from the difference that it judges.
 *
 * A logit may move by TERN__TEXT_CEILING of the logits' spread (their standard deviation on the first device), at every token, whether the texts
 * part there or not. And where they part, behind at least TERN__TEXT_KNOWN tokens, each of the two logits may have moved by TERN__TEXT_GROWTH
 * times what the tokens before differed by at most, or TERN__TEXT_FLOOR of the spread where that is more: the lead is at most twice that. */
#define TERN__TEXT_CEILING 0.25
#define TERN__TEXT_FLOOR 0.01
enum { TERN__TEXT_KNOWN = 8, TERN__TEXT_GROWTH = 8 };

/* Takes the logits of one token on both devices: either both would choose it, or there they part. Judges them, too. */
void tern__text_look(int64_t n, const float *first, const float *other, tern_device_text *out);

void tern__device_comparison_add_json(const tern_device_comparison *c, tern__strbuf *to);

#endif
