/* images.h - the layout of images: the part of pass `layout` that decides between NCHW and NHWC. */
#ifndef TERN_PASSES_IMAGES_H
#define TERN_PASSES_IMAGES_H

#include "passes/pass.h"

/* Turns groups of convolutions, poolings and the elementwise ops between them into the other layout, with
 * conversions at their borders, where the target's costs say that the whole gets cheaper. */
tern_status tern__layout_images(tern__compilation *c);

#endif
