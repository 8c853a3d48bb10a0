/* derived.h - what was made of a constant's data and is worth keeping with it: packed weights. Whoever needs the same again,
 * in another program or for another batch size, finds it here; it goes when the constant goes, unless somebody holds it. */
#ifndef TERN_TENSOR_DERIVED_H
#define TERN_TENSOR_DERIVED_H

#include "tensor/storage.h"

/* What was made of `of` under this key, with a reference of the caller's; NULL if nothing was. Any thread. */
tern__storage *tern__derived_get(const tern__storage *of, const void *key, size_t key_bytes);

/* Keeps `made` with `of`, which must never be written again, and takes a reference. false: out of memory, or it is there
 * already; both are harmless. Any thread. */
bool tern__derived_put(tern__storage *of, const void *key, size_t key_bytes, tern__storage *made);

/* Lets go of everything made of `of`: called when its last reference goes. */
void tern__derived_drop(const tern__storage *of);

#endif
