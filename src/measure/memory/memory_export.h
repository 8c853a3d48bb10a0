/* memory_export.h - the writers behind tern_memory_export. */
#ifndef TERN_MEASURE_MEMORY_EXPORT_H
#define TERN_MEASURE_MEMORY_EXPORT_H

#include "measure/memory/memory.h"

void tern__memory_add_json(tern__strbuf *to, const tern_memory *memory);
void tern__memory_add_timeline(tern__strbuf *to, const tern_memory *memory); /* SVG */

#endif
