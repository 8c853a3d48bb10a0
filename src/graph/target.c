/* target.c - what is decided alike for every target. */
#include "graph/target.h"

/* About ten times what it costs to meet at a barrier. */
static const double work_worth_sharing = 65536;

int tern__target_parts(const tern__target *target, int64_t items, double flops, double bytes)
{
    double most = (flops > bytes ? flops : bytes) / work_worth_sharing;
    int parts = target->workers;
    if (most < parts)
        parts = (int)most;
    if (items < parts)
        parts = (int)items;
    return parts < 1 ? 1 : parts;
}
