/* report_words.c - numbers and names as the sections of a report say them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_text.h"
#include "base/alloc.h"
#include "base/status.h"
#include "base/units.h"
#include "measure/report/report.h"
#include "measure/results/results.h"
#include "measure/stats.h"
#include "base/utf8.h"

const char *tern__say_us(char buffer[TERN__WORD], double us)
{
    return tern_time_text(us * 1e3, buffer, TERN__WORD);
}

const char *tern__say_bytes(char buffer[TERN__WORD], double bytes)
{
    return tern_bytes_text(bytes, buffer, TERN__WORD);
}

const char *tern__say_share(char buffer[TERN__WORD], double share)
{
    if (isfinite(share))
        snprintf(buffer, TERN__WORD, "%.*f %%", share < 0.0995 ? 1 : 0, share * 100);
    else
        snprintf(buffer, TERN__WORD, "unavailable");
    return buffer;
}

const char *tern__say_rate(char buffer[TERN__WORD], const tern_result *row)
{
    const bool flops = isfinite(row->gflops);
    const double rate = flops ? row->gflops : row->gbytes_s;
    buffer[0] = '\0';
    if (isfinite(rate))
        snprintf(buffer, TERN__WORD, "%.*f %s",
                 rate >= 100  ? 0
                 : rate >= 10 ? 1
                              : 2,
                 rate, tern__result_rate_unit(row));
    return buffer;
}

void tern__say_case(tern__strbuf *to, const tern_result *row)
{
    tern__strbuf_add(to, row->name);
    if (row->shape[0])
        tern__strbuf_addf(to, ", %s", row->shape);
    if (!tern__result_says_dtype(row))
        tern__strbuf_addf(to, ", %s", row->dtype);
    if (strcmp(row->device, "cpu") != 0)
        tern__strbuf_addf(to, ", %s", row->device);
    if (row->threads > 0)
        tern__strbuf_addf(to, ", %d thread%s", row->threads, row->threads == 1 ? "" : "s");
}

void tern__add_plain(tern__strbuf *to, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const size_t n = tern__utf8_length(text, left), used = n ? n : 1;
        const unsigned char c = (unsigned char)*text;
        if (n == 0 || c < 0x20 || c == 0x7f)
            tern__strbuf_add(to, "?");
        else
            tern__strbuf_add_n(to, text, used);
        text += used;
        left -= used;
    }
}

double tern__median_share(const tern_results *results, int *n, tern__strbuf *to)
{
    *n = 0;
    if (!results || results->n == 0)
        return NAN;
    double *shares = tern__alloc_zero((size_t)results->n, sizeof *shares), median = NAN;
    for (int i = 0; shares && i < results->n; i++)
        if (isfinite(results->rows[i].limit_share))
            shares[(*n)++] = results->rows[i].limit_share;
    to->failed |= !shares;
    if (*n > 0)
        median = tern__stats_of(shares, *n).median;
    tern__free(shares);
    return median;
}
