/* deadline.c - see deadline.h. */
#include "measure/deadline.h"

#include "base/clock.h"
#include "base/status.h"

static const double never_s = 1e9; /* decades; beyond them nanoseconds would not fit */

tern__deadline tern__deadline_begin(double allowed_s)
{
    const uint64_t now = tern__now_ns();
    return (tern__deadline){.start = now,
                            .end = allowed_s < never_s ? now + (uint64_t)(allowed_s * 1e9) : 0,
                            .allowed_s = allowed_s};
}

static bool has_passed(const tern__deadline *d)
{
    return d->end > 0 && tern__now_ns() > d->end;
}

bool tern__deadline_passed(void *deadline)
{
    return has_passed(deadline);
}

tern_status tern__deadline_check(const tern__deadline *deadline)
{
    TERN__FAIL_IF(has_passed(deadline), TERN_CANCELLED,
                  "unavailable: given up after %.3g s, at most %g were allowed",
                  (double)(tern__now_ns() - deadline->start) * 1e-9, deadline->allowed_s);
    return TERN_OK;
}
