/* flame.h - the call tree as a picture. */
#ifndef TERN_MEASURE_FLAME_H
#define TERN_MEASURE_FLAME_H

#include <tern/profile.h>

#include "base/strbuf.h"

/* An SVG document: nothing is loaded from elsewhere; a click zooms, the field searches; light or dark as the reader prefers. */
void tern__flame_add(tern__strbuf *to, const tern_profile *profile);

#endif
