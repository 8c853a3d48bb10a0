/* watch.c - who listens. */
#include "base/watch.h"

_Atomic(const tern__watcher *) tern__watching;
