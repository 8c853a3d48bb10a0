/* page.c - the page around the sections: head, navigation, the data that every figure comes from. */
#include "measure/report/page.h"

#include <string.h>

#include "measure/report/html.h"

/* JSON inside an element: "</script>" must not end it. A '<' can only stand in a string there. */
static void add_data(const tern_report *r, const tern__section *const *sections, tern__strbuf *to)
{
    tern__strbuf json = TERN__STRBUF_EMPTY;
    tern__report_add_json(r, sections, &json);
    tern__strbuf_add(to, "<script type=\"application/json\" id=\"report-data\">\n");
    const char *text = json.text ? json.text : "";
    for (const char *mark; (mark = strchr(text, '<')) != NULL; text = mark + 1) {
        tern__strbuf_add_n(to, text, (size_t)(mark - text));
        tern__strbuf_add(to, "\\u003c");
    }
    tern__strbuf_add(to, text);
    tern__strbuf_add(to, "</script>\n");
    to->failed |= json.failed;
    tern__strbuf_free(&json);
}

static void add_head(const tern_report *r, tern__strbuf *to)
{
    tern__strbuf_add(to, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    tern__html_add(to, r->title);
    tern__strbuf_add(to, "</title>\n<style>\n");
    tern__strbuf_add(to, tern__page_css);
    tern__strbuf_add(to, "</style>\n</head>\n<body>\n");
}

static void add_condition(const tern_report *r, const char *name, const char *before, tern__strbuf *to)
{
    const char *value = tern_results_condition(r->results, name);
    if (!value || strncmp(value, "unavailable", 11) == 0)
        return;
    tern__html_addf(to, "%s%s", before, value);
}

static void add_header(const tern_report *r, const tern__section *const *sections, tern__strbuf *to)
{
    tern__strbuf_addf(to, "<a class=\"skip\" href=\"#%s\">Skip to the report</a>\n<header>\n<h1>",
                      sections[0] ? sections[0]->name : "");
    tern__html_add(to, r->title);
    tern__strbuf_add(to, "</h1>\n<p>");
    add_condition(r, "cpu_model", "", to);
    add_condition(r, "time", " \xc2\xb7 measured ", to);
    add_condition(r, "version", " \xc2\xb7 tern ", to);
    tern__strbuf_add(to, "</p>\n<nav aria-label=\"Sections\"><ul>\n");
    for (int i = 0; sections[i]; i++)
        tern__strbuf_addf(to, "<li><a href=\"#%s\"%s>%s</a></li>\n", sections[i]->name,
                          sections[i]->missing(r) ? " class=\"missing\"" : "", sections[i]->title);
    tern__strbuf_add(to, "</ul></nav>\n</header>\n");
}

static void add_section(const tern_report *r, const tern__section *section, tern__strbuf *to)
{
    const char *missing = section->missing(r);
    tern__strbuf_addf(to, "<section id=\"%s\" aria-labelledby=\"title-%s\">\n<h2 id=\"title-%s\">%s</h2>\n",
                      section->name, section->name, section->name, section->title);
    if (missing) {
        tern__strbuf_add(to, "<p class=\"missing\">unavailable: ");
        tern__html_add(to, missing);
        tern__strbuf_add(to, "</p>\n");
    } else {
        section->html(r, to);
    }
    tern__strbuf_add(to, "</section>\n");
}

void tern__report_add_page(const tern_report *report, const tern__section *const *sections, tern__strbuf *to)
{
    add_head(report, to);
    add_header(report, sections, to);
    tern__strbuf_add(to, "<main>\n");
    for (int i = 0; sections[i]; i++)
        add_section(report, sections[i], to);
    tern__strbuf_addf(
        to, "</main>\n<footer><p>Written by tern %s. This page loads nothing from elsewhere.</p></footer>\n",
        tern_version());
    add_data(report, sections, to);
    tern__strbuf_add(to, "<script>\n");
    tern__strbuf_add(to, tern__page_js);
    tern__strbuf_add(to, "</script>\n</body>\n</html>\n");
}
