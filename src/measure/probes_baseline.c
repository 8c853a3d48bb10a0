/* probes_baseline.c - reading and copying with what every processor of the architecture has. */
#include "measure/probes_impl.h"

const tern__probes tern__probes__baseline = {.read = read_by, .copy = copy_by};
