/* progress.c - a bar for work that takes long. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "term.h"
#include "text.h"

enum { BAR = 30, DEPTH = 4 };

static volatile sig_atomic_t stopped; /* the signal, or 0 */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction old[N_SIGNALS];
static bool terminal;

typedef struct bar {
    const char *label, *unit; /* unit NULL: bytes */
    bool drawn;
    uint64_t last; /* when it was drawn, or begun: what is done at once needs no bar; of clock_ns */
    uint64_t begun;
} bar;

static const uint64_t redraw_ns = 100000000, log_ns = UINT64_C(10000000000);
static const double forecast_s = 3; /* after which the time that is left is told */
static bar bars[DEPTH];             /* those of work inside other work; the last one counts */
static int depth;

static void stop(int signal)
{
    stopped = signal;
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
    bars[depth - 1] = (bar){what, counted, false, clock_ns(), clock_ns()};
}

/* "25 of 72 rows, about 2 min 5 s left": the parts that are left taken to be like those that were; nothing of the first seconds. */
static void add_count(text *to, const bar *b, uint64_t done, uint64_t total)
{
    const double passed_s = (double)(clock_ns() - b->begun) * 1e-9;
    text_addf(to, "%llu of %llu %s", (unsigned long long)done, (unsigned long long)total, b->unit);
    if (done > 0 && done < total && passed_s > forecast_s) {
        text_add(to, ", about ");
        text_add_duration(to, passed_s / (double)done * (double)(total - done));
        text_add(to, " left");
    }
}

static void draw(bar *b, uint64_t done, uint64_t total)
{
    char bytes[NUMBER_TEXT], all[NUMBER_TEXT];
    int full = total ? (int)((double)done / (double)total * BAR) : 0;
    text line = {0};
    text_add(&line, "\r");
    text_add_safe(&line, b->label);
    text_add(&line, " ");
    text_repeat(&line, glyph_of(GLYPH_FULL), full < BAR ? full : BAR);
    text_repeat(&line, glyph_of(GLYPH_LIGHT), full < BAR ? BAR - full : 0);
    if (b->unit) {
        text_add(&line, " ");
        add_count(&line, b, done, total);
        text_add(&line, "\x1b[K");
    } else
        text_addf(&line, " %s of %s\x1b[K", format_bytes(bytes, done), format_bytes(all, total));
    fputs(text_string(&line), stderr);
    text_free(&line);
    b->last = clock_ns();
    b->drawn = true;
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
    if (b && !terminal && b->unit && done > 0 && done < total && clock_ns() - b->last > log_ns) {
        text count = {0};
        add_count(&count, b, done, total);
        warn("%s: %s", b->label, text_string(&count));
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

void progress_stage(const char *doing, const char *what, int number, int of)
{
    if (isatty(STDERR_FILENO) != 1)
        warn("%s %s (%d of %d)", doing, what, number, of);
}

int progress_stopped_by(void)
{
    return stopped;
}

void progress_line(const char *line)
{
    bar *b = depth > 0 && terminal ? &bars[depth - 1] : NULL;
    if (b && !*line && b->drawn) {
        fputs("\r\x1b[K", stderr);
        b->drawn = false;
    } else if (b && *line && clock_ns() - b->last > redraw_ns) {
        const size_t bytes = text_cut(line, term_columns() - 1);
        fprintf(stderr, "\r%.*s\x1b[K", (int)bytes, line);
        b->last = clock_ns();
        b->drawn = true;
    }
}

void progress_end(void)
{
    if (depth == 0)
        return;
    if (bars[depth - 1].drawn)
        fputs("\r\x1b[K", stderr);
    depth--;
    for (size_t i = 0; i < N_SIGNALS && depth == 0; i++)
        sigaction(signals[i], &old[i], NULL);
}
