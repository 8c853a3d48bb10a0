/* html_text.c - see html_text.h. */
#include "measure/html_text.h"

#include <string.h>

#include "base/utf8.h"

static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    }
    return NULL;
}

void tern__html_add(tern__strbuf *to, const char *text)
{
    char last = '\0';
    for (size_t left = strlen(text); left > 0;) {
        const size_t n = tern__utf8_length(text, left), used = n ? n : 1;
        const unsigned char c = (unsigned char)*text;
        const char *entity = entity_of(*text);
        if (entity)
            tern__strbuf_add(to, entity);
        else if (c == ' ' && last >= '0' && last <= '9' && text[1] == '%')
            tern__strbuf_add(to, "\xc2\xa0"); /* lines do not break between a number and its sign */
        else if (n == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            tern__strbuf_add(to, "\xef\xbf\xbd");
        else
            tern__strbuf_add_n(to, text, used);
        last = *text;
        text += used;
        left -= used;
    }
}

void tern__html_addf(tern__strbuf *to, const char *format, ...)
{
    tern__strbuf words = TERN__STRBUF_EMPTY;
    va_list args;
    va_start(args, format);
    tern__strbuf_add_v(&words, format, args);
    va_end(args);
    tern__html_add(to, words.text ? words.text : "");
    to->failed |= words.failed;
    tern__strbuf_free(&words);
}
