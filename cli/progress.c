/* progress.c - a bar for work that takes long. */
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "term.h"
#include "text.h"

enum { BAR = 30, LEAST_BAR = 4, DEPTH = 4 };

static volatile sig_atomic_t stopped; /* the signal, or 0 */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction old[N_SIGNALS];
static bool terminal;

typedef struct bar {
    const char *label, *unit; /* unit NULL: bytes */
    bool drawn;
    bool unseen;   /* nothing may be drawn */
    uint64_t last; /* when it was drawn, or begun: what is done at once needs no bar; of clock_ns */
    uint64_t begun;
    bool counted;  /* `from` is known */
    uint64_t from; /* what was done when it began */
    /* Of parts with bars of their own: `label` is what one is called. */
    int part, of; /* of 0: it has no parts */
    bool alike;   /* each takes as long as the others */
    const char *doing, *what;
} bar;

static const uint64_t redraw_ns = 100000000, log_ns = UINT64_C(10000000000);
static const double forecast_s = 3; /* after which the time that is left is told */
static bar bars[DEPTH];             /* those of work inside other work; the last one counts */
static int depth;

/* Written by the handler: kept ready, since little else is allowed there. */
static text farewell;
static volatile sig_atomic_t has_farewell;

static void stop(int signal)
{
    const int before = errno;
    if (!stopped && has_farewell && write(STDERR_FILENO, farewell.data, farewell.length) < 0)
        has_farewell = 0; /* nobody reads it */
    stopped = signal;
    errno = before;
}

void progress_when_stopped(const char *words)
{
    has_farewell = 0;
    text_clear(&farewell);
    if (!words)
        return;
    text_addf(&farewell, "%stern: %s\n", terminal ? "\r\x1b[K" : "", words);
    has_farewell = 1;
}

void progress_begin(const char *what)
{
    progress_begin_of(what, NULL);
}

void progress_begin_of(const char *what, const char *counted)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stop;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_SIGNALS && depth == 0; i++) {
        sigaction(signals[i], &action, &old[i]);
        if (old[i].sa_handler == SIG_IGN) /* nohup */
            sigaction(signals[i], &old[i], NULL);
    }
    if (depth == 0)
        stopped = 0;
    terminal = isatty(STDERR_FILENO) == 1;
    depth += depth < DEPTH;
    bars[depth - 1] = (bar){.label = what, .unit = counted, .last = clock_ns(), .begun = clock_ns()};
}

void progress_begin_unseen(void)
{
    progress_begin("");
    bars[depth - 1].unseen = true;
}

void progress_begin_parts(const char *noun, int of, bool alike)
{
    progress_begin_of(noun, "");
    bars[depth - 1].of = of;
    bars[depth - 1].alike = alike;
}

/* "session 2 of 5: ", of all work that this is inside of. */
static void add_parts(text *to, int levels)
{
    for (int i = 0; i < levels; i++)
        if (bars[i].of > 0 && bars[i].part > 0)
            text_addf(to, "%s %d of %d: ", bars[i].label, bars[i].part, bars[i].of);
}

/* How much of the work is done, from 0 to 1, and since when: that of all parts if they are alike, else that of the bar. */
static double share_done(const bar *b, uint64_t done, uint64_t total, const char **of, double *passed_s)
{
    double share = total > b->from ? (double)(done - b->from) / (double)(total - b->from) : 0;
    const bar *all = b;
    *of = "";
    for (int i = depth - 2; i >= 0 && bars[i].of > 0 && bars[i].part > 0; i--) {
        if (!bars[i].alike) {
            *of = *of[0] ? *of : " of this part";
            break;
        }
        share = ((double)(bars[i].part - 1) + share) / (double)bars[i].of;
        *of = " in all";
        all = &bars[i];
    }
    *passed_s = (double)(clock_ns() - all->begun) * 1e-9;
    return share;
}

/* "25 of 72 rows, about 2 min 5 s left": what is left taken to be like what was done; nothing of the first seconds. */
static void add_count(text *to, const bar *b, uint64_t done, uint64_t total)
{
    const char *of;
    double passed_s;
    const double share = share_done(b, done, total, &of, &passed_s);
    text_addf(to, "%llu of %llu %s", (unsigned long long)done, (unsigned long long)total, b->unit);
    if (share > 0 && share < 1 && passed_s > forecast_s) {
        text_add(to, ", about ");
        text_add_duration(to, passed_s / share * (1 - share));
        text_addf(to, " left%s", of);
    }
}

/* A line over the last one, no longer than the terminal is wide: longer ones could not be drawn over. */
static void put_line(bar *b, const char *line)
{
    fprintf(stderr, "\r%.*s\x1b[K", (int)text_cut(line, term_columns() - 1), line);
    b->last = clock_ns();
    b->drawn = true;
}

/* The bar gets what room the words leave. */
static void draw(bar *b, uint64_t done, uint64_t total)
{
    char bytes[NUMBER_TEXT], all[NUMBER_TEXT];
    text line = {0}, count = {0};
    add_parts(&line, depth - 1);
    text_add_safe(&line, b->label);
    text_add(&line, " ");
    if (b->unit)
        add_count(&count, b, done, total);
    else
        text_addf(&count, "%s of %s", format_bytes(bytes, done), format_bytes(all, total));
    const int room = term_columns() - 2 - text_width(text_string(&line)) - text_width(text_string(&count));
    const int length = room < LEAST_BAR ? 0 : room < BAR ? room : BAR;
    const int full = total ? (int)((double)done / (double)total * length) : 0;
    text_repeat(&line, glyph_of(GLYPH_FULL), full < length ? full : length);
    text_repeat(&line, glyph_of(GLYPH_LIGHT), full < length ? length - full : 0);
    if (length > 0)
        text_add(&line, " ");
    text_add(&line, text_string(&count));
    put_line(b, text_string(&line));
    text_free(&line);
    text_free(&count);
}

static void draw_part(bar *b)
{
    text line = {0};
    add_parts(&line, depth);
    text_addf(&line, "%s %s", b->doing, b->what);
    put_line(b, text_string(&line));
    text_free(&line);
}

bool progress_part(int number, const char *doing, const char *what)
{
    bar *b = depth > 0 ? &bars[depth - 1] : NULL;
    if (!b)
        return !stopped;
    b->part = number;
    b->doing = doing;
    b->what = what;
    if (terminal)
        draw_part(b);
    else if (!stopped)
        warn("%s %s (%d of %d)", doing, what, number, b->of);
    return !stopped;
}

bool progress_update(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    if (depth > 0 && terminal && clock_ns() - bars[depth - 1].last > redraw_ns)
        draw(&bars[depth - 1], done, total);
    return !stopped;
}

bool progress_show(uint64_t done, uint64_t total)
{
    if (depth > 0 && terminal)
        draw(&bars[depth - 1], done, total);
    return !stopped;
}

bool progress_count(uint64_t done, uint64_t total)
{
    bar *b = depth > 0 ? &bars[depth - 1] : NULL;
    if (b && !b->counted) {
        b->counted = true;
        b->from = done;
    }
    if (b && !terminal && b->unit && done > 0 && done < total && clock_ns() - b->last > log_ns) {
        text count = {0};
        add_parts(&count, depth - 1);
        text_addf(&count, "%s: ", b->label);
        add_count(&count, b, done, total);
        warn("%s", text_string(&count));
        text_free(&count);
        b->last = clock_ns();
    }
    return progress_show(done, total);
}

bool progress_asked(void *unused)
{
    (void)unused;
    return stopped != 0;
}

int progress_stopped_by(void)
{
    return stopped;
}

void progress_line(const char *line)
{
    bar *b = depth > 0 && terminal && !bars[depth - 1].unseen ? &bars[depth - 1] : NULL;
    if (b && !*line && b->drawn) {
        fputs("\r\x1b[K", stderr);
        b->drawn = false;
    } else if (b && *line && clock_ns() - b->last > redraw_ns) {
        put_line(b, line);
    }
}

void progress_end(void)
{
    if (depth == 0)
        return;
    const bool drawn = bars[depth - 1].drawn;
    if (drawn)
        fputs("\r\x1b[K", stderr);
    depth--;
    if (depth == 0) {
        has_farewell = 0;
        text_free(&farewell);
    }
    if (drawn && depth > 0 && bars[depth - 1].of > 0 && bars[depth - 1].drawn)
        draw_part(&bars[depth - 1]);
    for (size_t i = 0; i < N_SIGNALS && depth == 0; i++)
        sigaction(signals[i], &old[i], NULL);
}
