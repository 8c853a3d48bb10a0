/* json_text.c - texts and numbers as JSON has them. */
#include "base/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/point.h"
#include "base/utf8.h"

void tern__json_add_text_n(tern__strbuf *to, const char *text, size_t length)
{
    tern__strbuf_add(to, "\"");
    while (length > 0) {
        const unsigned char c = (unsigned char)*text;
        const size_t n = tern__utf8_length(text, length), used = n ? n : 1;
        if (c == '"' || c == '\\')
            tern__strbuf_addf(to, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            tern__strbuf_addf(to, "\\u%04x", c);
        else if (n == 0)
            tern__strbuf_add(to, "\\ufffd");
        else
            tern__strbuf_add_n(to, text, n);
        text += used;
        length -= used;
    }
    tern__strbuf_add(to, "\"");
}

void tern__json_add_text(tern__strbuf *to, const char *text)
{
    tern__json_add_text_n(to, text, strlen(text));
}

void tern__json_add_real(tern__strbuf *to, double value)
{
    char number[40];
    if (!isfinite(value)) {
        tern__strbuf_add(to, "null");
        return;
    }
    const tern__point point = tern__point_begin();
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    tern__point_end(point);
    tern__strbuf_add(to, number);
}
