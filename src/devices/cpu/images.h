/* images.h - convolutions and pools on the CPU. */
#ifndef TERN_DEVICES_CPU_IMAGES_H
#define TERN_DEVICES_CPU_IMAGES_H

#include "graph/target.h"

/* The kernel for a call of an op on images. *found stays false where the reference kernel has to do. */
tern_status tern__cpu_image(const tern__target *target, const tern__call *call, tern__arena *arena,
                            tern__choice *out, bool *found);

#endif
