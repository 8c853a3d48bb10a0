/* json_text.h - texts and numbers as JSON has them, for whoever writes some. */
#ifndef TERN_BASE_JSON_TEXT_H
#define TERN_BASE_JSON_TEXT_H

#include "base/strbuf.h"

/* A text in quotes. What is no UTF-8 becomes U+FFFD: who must not lose it looks first. */
void tern__json_add_text(tern__strbuf *to, const char *text);
void tern__json_add_text_n(tern__strbuf *to, const char *text, size_t length);

/* The shortest number that reads as `value`; null if there is none. */
void tern__json_add_real(tern__strbuf *to, double value);

#endif
