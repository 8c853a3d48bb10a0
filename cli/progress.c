/* progress.c - a bar for work that takes long. */
#include "progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "term.h"
#include "text.h"

enum { BAR = 30 };

static volatile sig_atomic_t stopped;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction old[N_SIGNALS];
static const char *label, *unit; /* unit NULL: bytes */
static bool terminal;
static bool drawn;
static double last; /* when it was drawn, or begun: what is done at once needs no bar; seconds */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
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
    stopped = 0;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], &action, &old[i]);
        if (old[i].sa_handler == SIG_IGN) /* nohup */
            sigaction(signals[i], &old[i], NULL);
    }
    label = what;
    unit = counted;
    terminal = isatty(STDERR_FILENO) == 1;
    drawn = false;
    last = now();
}

static void draw(uint64_t done, uint64_t total)
{
    char bytes[NUMBER_TEXT], all[NUMBER_TEXT];
    int full = total ? (int)((double)done / (double)total * BAR) : 0;
    text line = {0};
    text_add(&line, "\r");
    text_add_safe(&line, label);
    text_add(&line, " ");
    text_repeat(&line, glyph_of(GLYPH_FULL), full < BAR ? full : BAR);
    text_repeat(&line, glyph_of(GLYPH_LIGHT), full < BAR ? BAR - full : 0);
    if (unit)
        text_addf(&line, " %llu of %llu %s\x1b[K", (unsigned long long)done, (unsigned long long)total, unit);
    else
        text_addf(&line, " %s of %s\x1b[K", format_bytes(bytes, done), format_bytes(all, total));
    fputs(text_string(&line), stderr);
    text_free(&line);
}

bool progress_update(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    double t = terminal ? now() : 0;
    if (terminal && t - last > 0.1) {
        last = t;
        drawn = true;
        draw(done, total);
    }
    return !stopped;
}

void progress_end(void)
{
    if (drawn)
        fputs("\r\x1b[K", stderr);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &old[i], NULL);
}
