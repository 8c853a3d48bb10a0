/* schedule.c - the rate of each step. */
#include <math.h>

#include <tern/train.h>

#include "base/names.h"
#include "base/status.h"

const char *tern_schedule_name(tern_schedule_kind kind)
{
    static const char *const names[] = {
#define NAME(id, number, name, meaning) [number] = name,
        TERN_SCHEDULE_LIST(NAME)
#undef NAME
    };
    return tern__name_of(names, TERN__COUNT(names), (int)kind);
}

tern_schedule_options tern_schedule_options_default(void)
{
    return (tern_schedule_options){
        .kind = TERN_SCHEDULE_COSINE, .rate = 1e-3, .least = 1e-4, .warmup = 100, .steps = 5000};
}

double tern_schedule_rate(const tern_schedule_options *s, int64_t step)
{
    if (!s)
        return 0;
    if (step < 0)
        step = 0;
    if (step < s->warmup)
        return s->rate * (double)(step + 1) / (double)s->warmup;
    if (s->kind == TERN_SCHEDULE_CONSTANT)
        return s->rate;
    /* the last step, number steps - 1, has the least rate */
    const int64_t way = s->steps - 1 - s->warmup;
    const double done = step - s->warmup >= way ? 1 : (double)(step - s->warmup) / (double)way;
    const double left = s->kind == TERN_SCHEDULE_COSINE ? (1 + cos(acos(-1.0) * done)) / 2 : 1 - done;
    return s->least + (s->rate - s->least) * left;
}
