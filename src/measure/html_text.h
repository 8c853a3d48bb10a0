/* html_text.h - the one way of text into HTML, and into the XML of pictures (SVG). */
#ifndef TERN_MEASURE_HTML_TEXT_H
#define TERN_MEASURE_HTML_TEXT_H

#include <tern/export.h>

#include "base/strbuf.h"

/* Escaped for elements and for attributes in double quotes. What is no UTF-8, and control characters, become U+FFFD. */
void tern__html_add(tern__strbuf *to, const char *text);
void tern__html_addf(tern__strbuf *to, const char *format, ...) TERN_PRINTF(2, 3);

#endif
