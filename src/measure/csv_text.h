/* csv_text.h - text in cells of CSV. */
#ifndef TERN_MEASURE_CSV_TEXT_H
#define TERN_MEASURE_CSV_TEXT_H

#include "base/strbuf.h"

/* A quoted cell. */
void tern__add_csv_text(tern__strbuf *to, const char *text);

#endif
