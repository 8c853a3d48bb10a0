/* page.h - the page around the sections. */
#ifndef TERN_MEASURE_REPORT_PAGE_H
#define TERN_MEASURE_REPORT_PAGE_H

#include "measure/report/report.h"

/* page.css and page.js, which the build turns into C (cmake/embed.cmake). Terminated. */
extern const char tern__page_css[], tern__page_js[];

void tern__report_add_page(const tern_report *report, const tern__section *const *sections, tern__strbuf *to);
/* report.c: the data of a page, as JSON. */
void tern__report_add_json(const tern_report *report, const tern__section *const *sections, tern__strbuf *to);

#endif
