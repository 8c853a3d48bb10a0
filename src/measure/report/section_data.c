/* section_data.c - the machine and its conditions, and the documents that everything comes from. */
#include <string.h>

#include "base/json_text.h"
#include "measure/json_members.h"
#include "measure/report/html.h"
#include "measure/report/report.h"
#include "measure/results/results.h"

/* ---- machine ---- */

static const char *machine_missing(const tern_report *r)
{
    return r->results && r->results->n_conditions > 0 ? NULL
                                                      : "no results with conditions are among the documents";
}

static void machine_html(const tern_report *r, tern__strbuf *to)
{
    tern__figure_open(to, "machine", "Under which conditions it was measured", NULL);
    tern__strbuf_add(to, "<table class=\"facts\">\n");
    for (int i = 0; i < r->results->n_conditions; i++) {
        const tern__condition *c = &r->results->conditions[i];
        tern__strbuf_addf(to, "<tr%s><th scope=\"row\">",
                          strncmp(c->value, "unavailable", 11) == 0 ? " class=\"missing\"" : "");
        tern__html_add(to, c->name);
        tern__strbuf_add(to, "</th><td>");
        tern__html_add(to, c->value);
        tern__strbuf_add(to, "</td></tr>\n");
    }
    tern__strbuf_add(to, "</table>\n");
    tern__figure_close(to, "sections.machine");
}

static void machine_text(const tern_report *r, tern__strbuf *to)
{
    for (int i = 0; i < r->results->n_conditions; i++) {
        tern__strbuf_addf(to, "  %-16s ", r->results->conditions[i].name);
        tern__add_plain(to, r->results->conditions[i].value);
        tern__strbuf_add(to, "\n");
    }
}

static void machine_json(const tern_report *r, tern__strbuf *to)
{
    tern__strbuf_add(to, "{");
    for (int i = 0; i < r->results->n_conditions; i++) {
        tern__strbuf_add(to, i ? ",\n  " : "\n  ");
        tern__json_add_text(to, r->results->conditions[i].name);
        tern__strbuf_add(to, ": ");
        tern__json_add_text(to, r->results->conditions[i].value);
    }
    tern__strbuf_add(to, "}");
}

const tern__section tern__section_machine = {
    "machine",
    "Machine and conditions",
    "where and under which conditions it was measured",
    machine_missing,
    machine_html,
    machine_text,
    machine_json,
};

/* ---- data ---- */

static const char *data_missing(const tern_report *r)
{
    return r->n_sources > 0 ? NULL : "no documents were given";
}

static void data_html(const tern_report *r, tern__strbuf *to)
{
    tern__strbuf_add(
        to, "<p>Every figure above is drawn from these documents, which this page carries whole, in its "
            "element <code>report-data</code>.</p>\n<ul class=\"sources\">\n");
    for (int i = 0; i < r->n_sources; i++) {
        const tern__report_source *s = &r->sources[i];
        char size[TERN__WORD];
        tern__strbuf_addf(to, "<li id=\"source-%d\"><span><strong>", i);
        tern__html_add(to, s->name);
        tern__strbuf_addf(to, "</strong> %s, %s <code>sections.data.sources[%d].data</code></span>", s->kind,
                          tern__say_bytes(size, (double)s->length), i);
        tern__strbuf_addf(to,
                          " <button type=\"button\" hidden data-path=\"sections.data.sources[%d].data\" "
                          "data-file=\"",
                          i);
        tern__html_add(to, s->name);
        tern__strbuf_add(to, "\">Download</button></li>\n");
    }
    tern__strbuf_add(to,
                     "<li><span><strong>report.json</strong> what all figures show, with the documents "
                     "behind</span> <button type=\"button\" hidden data-path=\"\" "
                     "data-file=\"report.json\">Download</button></li>\n</ul>\n"
                     "<noscript><p>Downloads need scripts; without them, the data is in the source of this "
                     "page.</p></noscript>\n");
}

static void data_text(const tern_report *r, tern__strbuf *to)
{
    char size[TERN__WORD];
    for (int i = 0; i < r->n_sources; i++) {
        tern__strbuf_addf(to, "  %-10s %-12s ", r->sources[i].kind,
                          tern__say_bytes(size, (double)r->sources[i].length));
        tern__add_plain(to, r->sources[i].name);
        tern__strbuf_add(to, "\n");
    }
}

static void data_json(const tern_report *r, tern__strbuf *to)
{
    tern__strbuf_add(to, "{\"sources\": [");
    for (int i = 0; i < r->n_sources; i++) {
        const tern__report_source *s = &r->sources[i];
        tern__member_text(to, i ? ",\n{" : "\n{", "name", s->name);
        tern__member_text(to, ", ", "kind", s->kind);
        tern__strbuf_add(to, ", \"data\": ");
        tern__strbuf_add_n(to, s->json, s->length);
        tern__strbuf_add(to, "}");
    }
    tern__strbuf_add(to, "]}");
}

const tern__section tern__section_data = {
    "data",    "Raw data", "the documents that it is made of, to be downloaded", data_missing, data_html,
    data_text, data_json,
};
