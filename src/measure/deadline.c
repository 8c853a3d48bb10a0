/* deadline.c - see deadline.h. */
#include "measure/deadline.h"

#include <math.h>
#include <string.h>

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

double tern__deadline_left_s(const tern__deadline *d)
{
    const uint64_t now = tern__now_ns();
    return d->end == 0 ? INFINITY : now < d->end ? (double)(d->end - now) * 1e-9 : 0;
}

static bool is_stopped(const tern__deadline *d)
{
    return d->asked && d->asked(d->user);
}

bool tern__deadline_passed(void *deadline)
{
    return is_stopped(deadline) || has_passed(deadline);
}

#define GIVEN_UP "unavailable: given up after "

bool tern__deadline_says(const char *error)
{
    return strncmp(error, GIVEN_UP, strlen(GIVEN_UP)) == 0;
}

tern_status tern__deadline_check(const tern__deadline *deadline)
{
    TERN__FAIL_IF(is_stopped(deadline), TERN_CANCELLED, "unavailable: stopped");
    TERN__FAIL_IF(has_passed(deadline), TERN_CANCELLED, GIVEN_UP "%.3g s, at most %g were allowed",
                  (double)(tern__now_ns() - deadline->start) * 1e-9, deadline->allowed_s);
    return TERN_OK;
}
