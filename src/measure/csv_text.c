/* csv_text.c - see csv_text.h. */
#include "measure/csv_text.h"

void tern__add_csv_text(tern__strbuf *to, const char *text)
{
    tern__strbuf_add(to, "\"");
    for (; *text; text++)
        tern__strbuf_addf(to, *text == '"' ? "\"%c" : "%c", *text);
    tern__strbuf_add(to, "\"");
}
