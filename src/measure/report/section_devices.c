/* section_devices.c - devices beside each other: every operation's time as a ratio to the first device's, crossovers, what to use for
 * what. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/compare/compare_devices.h"
#include "measure/report/html.h"
#include "measure/report/report.h"

static const char *missing(const tern_report *r)
{
    return r->devices && r->devices->n > 0 ? NULL : "no comparison of devices is among the documents";
}

/* ---- words ---- */

/* "faster from 5.2e+04 elements of operands and results on", "nowhere clearly faster", "faster at every size that was measured". */
static void add_where(tern__strbuf *to, const tern_device_crossover *x)
{
    if (x->always)
        tern__strbuf_add(to, "faster at every size that was measured");
    else if (x->any)
        tern__strbuf_addf(to, "faster from %.2g elements of operands and results on", x->size);
    else
        tern__strbuf_add(to, "nowhere clearly faster");
}

static void add_name(tern__strbuf *to, const tern_device_time *row)
{
    tern__strbuf_addf(to, "%s %s %s", row->op, row->dtype, row->shape);
}

/* ---- HTML ---- */

static const tern__scale ratios = {1. / 16, 16, true};

static void add_mark(tern__strbuf *to, const tern_device_time *base, const tern_device_time *row,
                     double ratio)
{
    char description[160];
    const double low = row->low_us / base->median_us, high = row->high_us / base->median_us;
    const tern__mark mark = {.at = tern__scale_at(&ratios, ratio),
                             .low = tern__scale_at(&ratios, isnan(low) ? ratio : low),
                             .high = tern__scale_at(&ratios, isnan(high) ? ratio : high),
                             .reference = 50,
                             .band_low = NAN,
                             .band_high = NAN,
                             .grid = "0 25 50 75 100"};
    snprintf(description, sizeof description, "%s takes %.2f of the time of %s", row->device, ratio,
             base->device);
    tern__strbuf_add(to, "<td class=\"plot\">");
    tern__mark_add(to, &mark, description);
    tern__strbuf_addf(to, "</td><td class=\"n\">%.2f</td>", ratio);
}

static void add_row(tern__strbuf *to, const tern_report *r, const tern_device_time *row)
{
    char time[TERN__WORD], around[TERN__WORD], transfer[TERN__WORD];
    const tern_device_time *base = tern__device_base(r->devices, row);
    bool clear;
    const double ratio = base ? tern__device_ratio(base, row, &clear) : NAN;
    tern__strbuf name = TERN__STRBUF_EMPTY;
    add_name(&name, row);
    tern__strbuf_add(to, "<tr><th scope=\"row\">");
    tern__html_add(to, name.text ? name.text : "");
    tern__strbuf_add(to, "<small>");
    tern__html_add(to, row->device);
    tern__strbuf_add(to, "</small></th>");
    if (row->samples == 0) {
        tern__strbuf_add(to, "<td class=\"missing\" colspan=\"5\">unavailable: ");
        tern__html_add(to, row->error);
        tern__strbuf_add(to, "</td></tr>\n");
    } else {
        if (isnan(ratio))
            tern__strbuf_add(to, "<td class=\"missing\" colspan=\"2\">nothing to compare with</td>");
        else
            add_mark(to, base, row, ratio);
        tern__strbuf_addf(to, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                          tern__say_us(time, row->median_us), tern__say_us(around, row->around_us),
                          tern__say_us(transfer, row->transfer_us));
    }
    to->failed |= name.failed;
    tern__strbuf_free(&name);
}

static void add_advice(tern__strbuf *to, const tern_device_comparison *c)
{
    tern_device_advice a;
    tern__strbuf_add(to, "<table><thead><tr><th scope=\"col\">for</th><th scope=\"col\">use</th><th "
                         "scope=\"col\">because</th></tr></thead><tbody>\n");
    for (int i = 0; tern_device_comparison_advice(c, i, &a) == TERN_OK; i++) {
        tern__strbuf_add(to, "<tr><th scope=\"row\">");
        tern__html_add(to, tern_device_use_name(a.use));
        tern__strbuf_add(to, "</th><td>");
        tern__html_add(to, a.device[0] ? a.device : "unavailable");
        tern__strbuf_add(to, "</td><td>");
        tern__html_add(to, a.words);
        tern__strbuf_add(to, "</td></tr>\n");
    }
    tern__strbuf_add(to, "</tbody></table>\n");
}

static void add_crossovers(tern__strbuf *to, const tern_device_comparison *c)
{
    tern_device_crossover x;
    tern__strbuf_add(to, "<ul>\n");
    for (int i = 0; tern_device_comparison_crossover(c, i, &x) == TERN_OK; i++) {
        tern__strbuf_add(to, "<li>");
        tern__html_addf(to, "%s, %s %s: ", x.device, x.op, x.dtype);
        add_where(to, &x);
        tern__strbuf_add(to, "</li>\n");
    }
    tern__strbuf_add(to, "</ul>\n");
}

static void add_texts(tern__strbuf *to, const tern_device_comparison *c)
{
    char words[320];
    if (c->n_texts == 0)
        return;
    tern__strbuf_add(to, "<ul class=\"texts\">\n");
    for (size_t i = 0; i < c->n_texts; i++) {
        tern__strbuf_add(to, "<li>");
        tern__html_addf(to, "%s says %s", c->texts[i].device,
                        tern_device_text_words(&c->texts[i], c->rows[0].device, words, sizeof words));
        tern__strbuf_add(to, "</li>\n");
    }
    tern__strbuf_add(to, "</ul>\n");
}

static void html(const tern_report *r, tern__strbuf *to)
{
    static const tern__tick ticks[] = {{0, "1/16"}, {25, "1/4"}, {50, "1.0"}, {75, "4"}, {100, "16"}};
    const tern_device_comparison *c = r->devices;
    tern__strbuf title = TERN__STRBUF_EMPTY;
    tern__strbuf_addf(&title, "Time as a ratio to that of %s", c->rows[0].device);
    tern__figure_open(to, "devices", title.text ? title.text : "",
                      "Left of 1.0 is faster, right of it slower. Whiskers are 95 % intervals of the "
                      "median. Around: what a run takes beside its steps. Transfer: copies to the device and "
                      "back, by its own clock.");
    add_advice(to, c);
    tern__strbuf_add(to, "<table class=\"chart ratios\"><thead><tr><th scope=\"col\">operation</th><th "
                         "scope=\"col\" class=\"plot\"><span class=\"away\">ratio</span>");
    tern__ticks_add(to, ticks, 5);
    tern__strbuf_add(to, "</th><th scope=\"col\" class=\"n\">ratio</th><th scope=\"col\" "
                         "class=\"n\">time</th><th scope=\"col\" "
                         "class=\"n\">around</th><th scope=\"col\" "
                         "class=\"n\">transfer</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < c->n; i++)
        add_row(to, r, &c->rows[i]);
    tern__strbuf_add(to, "</tbody></table>\n");
    add_crossovers(to, c);
    add_texts(to, c);
    tern__figure_close(to, "sections.devices.rows");
    to->failed |= title.failed;
    tern__strbuf_free(&title);
}

/* ---- text and JSON ---- */

static void text(const tern_report *r, tern__strbuf *to)
{
    const tern_device_comparison *c = r->devices;
    tern_device_advice a;
    tern_device_crossover x;
    char time[TERN__WORD], around[TERN__WORD], transfer[TERN__WORD], words[320];
    for (size_t i = 0; i < c->n; i++) {
        const tern_device_time *row = &c->rows[i];
        tern__strbuf line = TERN__STRBUF_EMPTY;
        add_name(&line, row);
        tern__strbuf_addf(&line, "  %s  ", row->device);
        if (row->samples == 0)
            tern__strbuf_addf(&line, "unavailable: %s", row->error);
        else
            tern__strbuf_addf(&line, "%s, around %s, transfer %s", tern__say_us(time, row->median_us),
                              tern__say_us(around, row->around_us), tern__say_us(transfer, row->transfer_us));
        tern__strbuf_add(to, "  ");
        tern__add_plain(to, line.text ? line.text : "");
        tern__strbuf_add(to, "\n");
        to->failed |= line.failed;
        tern__strbuf_free(&line);
    }
    for (int i = 0; tern_device_comparison_crossover(c, i, &x) == TERN_OK; i++) {
        tern__strbuf_add(to, "  ");
        tern__add_plain(to, x.device);
        tern__strbuf_add(to, ", ");
        tern__add_plain(to, x.op);
        tern__strbuf_add(to, " ");
        tern__add_plain(to, x.dtype);
        tern__strbuf_add(to, ": ");
        add_where(to, &x);
        tern__strbuf_add(to, "\n");
    }
    for (int i = 0; tern_device_comparison_advice(c, i, &a) == TERN_OK; i++) {
        tern__strbuf_addf(to, "  for %s: ", tern_device_use_name(a.use));
        tern__add_plain(to, a.words);
        tern__strbuf_add(to, "\n");
    }
    for (size_t i = 0; i < c->n_texts; i++) {
        tern__strbuf_add(to, "  ");
        tern__add_plain(to, c->texts[i].device);
        tern__strbuf_add(to, ": ");
        tern__add_plain(to, tern_device_text_words(&c->texts[i], c->rows[0].device, words, sizeof words));
        tern__strbuf_add(to, "\n");
    }
}

static void json(const tern_report *r, tern__strbuf *to)
{
    tern__device_comparison_add_json(r->devices, to);
}

const tern__section tern__section_devices = {
    "devices", "Devices", "operations on several devices, crossovers, and what to use for what",
    missing,   html,      text,
    json,
};
