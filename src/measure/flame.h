/* flame.h - the call tree as a picture. */
#ifndef TERN_MEASURE_FLAME_H
#define TERN_MEASURE_FLAME_H

#include <tern/profile.h>

#include "base/strbuf.h"

/* An SVG document, which may also stand in a page: nothing is loaded from elsewhere; as wide as there is room; a click zooms, the
 * field searches; light or dark as the reader prefers. `frames` (info->frames), parents before their children. */
void tern__flame_add_frames(tern__strbuf *to, const tern_profile_info *info,
                            const tern_profile_frame *frames);
void tern__flame_add(tern__strbuf *to, const tern_profile *profile);

#endif
