/* child.c - see child.h. Signals write a byte into a pipe, which every wait looks at, so that none comes between a look and a wait. */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "clock.h"
#include "progress.h"

extern char **environ;

enum { LOOK_MS = 100, PATIENCE_MS = 5000 };

static int wake[2] = {-1, -1}; /* nothing is caught before stop_catch */
static volatile sig_atomic_t stopping;

/* ---- being stopped ---- */

static void on_signal(int number)
{
    const int before = errno;
    (void)number;
    stopping = 1;
    if (write(wake[1], "", 1) < 0)
        stopping = 1; /* the pipe is full: somebody will be woken */
    errno = before;
}

void stop_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (pipe(wake) != 0)
        return; /* signals end the program then, as they usually do */
    for (int i = 0; i < 2; i++) {
        fcntl(wake[i], F_SETFD, FD_CLOEXEC);
        fcntl(wake[i], F_SETFL, O_NONBLOCK);
    }
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Work that shows its progress has the signals, and tells of them. */
bool stop_wanted(void)
{
    return stopping != 0 || progress_stopped_by() != 0;
}

bool stop_wait(uint64_t when)
{
    struct pollfd at = {.fd = wake[0], .events = POLLIN};
    for (uint64_t now = clock_ns(); now < when && !stopping; now = clock_ns()) {
        const uint64_t ms = (when - now + 999999) / 1000000;
        poll(&at, 1, ms < INT_MAX ? (int)ms : INT_MAX);
    }
    return !stopping;
}

/* ---- running ---- */

static bool is_program(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || access(path, X_OK) != 0)
        return false;
    errno = S_ISREG(about.st_mode) ? 0 : EISDIR;
    return S_ISREG(about.st_mode);
}

bool child_can_run(const char *name)
{
    const char *at = getenv("PATH");
    bool found = false;
    if (strchr(name, '/'))
        return is_program(name);
    while (at && *at && !found) {
        const size_t n = strcspn(at, ":");
        text path = {0};
        text_add_n(&path, at, n);
        text_addf(&path, "%s%s", n ? "/" : "./", name);
        found = is_program(text_string(&path));
        text_free(&path);
        at += n + (at[n] == ':');
    }
    if (!found)
        errno = ENOENT;
    return found;
}

static int status_of(int ended)
{
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

/* In a group of its own: a signal from the terminal is for this program, which ends all of it. `to` and `errors` < 0: prints where this
 * does. */
static int start(const char *line, int to, int errors, pid_t *out)
{
    char *const words[] = {(char *)"sh", (char *)"-c", (char *)line, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&how) != 0)
        return ENOMEM;
    int bad = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!bad && to >= 0)
        bad = posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO);
    if (!bad && errors >= 0)
        bad = posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    if (!bad)
        bad = posix_spawnattr_setpgroup(&how, 0);
    sigset_t ours; /* what this program ignores is no business of the other one's */
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    if (!bad)
        bad = posix_spawnattr_setsigdefault(&how, &ours);
    if (!bad)
        bad = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    if (!bad)
        bad = posix_spawn(out, "/bin/sh", &files, &how, words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return bad;
}

/* Leaves the last `most` bytes. */
static void keep_tail(text *t, size_t most)
{
    if (t->length <= most)
        return;
    memmove(t->data, t->data + (t->length - most), most + 1); /* with the NUL */
    t->length = most;
}

/* How many bytes came; 0: nothing more does, below 0: nothing did now. */
static ssize_t take(int from, text *out, size_t most)
{
    char buffer[1 << 14];
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got > 0)
        text_add_n(out, buffer, (size_t)got);
    if (out->length / 2 > most)
        keep_tail(out, most); /* not at every byte more */
    return got < 0 && errno != EAGAIN && errno != EINTR ? 0 : got;
}

/* Asks it to end when that is wanted, and makes it after a while. */
static void end_if_wanted(pid_t group, uint64_t *asked)
{
    if (!stop_wanted())
        return;
    if (*asked == 0) {
        *asked = clock_ns();
        kill(-group, SIGTERM);
    } else if (clock_ns() - *asked > (uint64_t)PATIENCE_MS * 1000000) {
        kill(-group, SIGKILL);
    }
}

/* What comes from a pipe. `heard`: lines go there instead of being kept. */
typedef struct stream {
    int from; /* < 0: there is none, or no more of it */
    text *kept;
    size_t most;
    child_hears heard;
} stream;

static void pass_on(stream *s, bool all)
{
    text *t = s->kept;
    size_t start = 0;
    for (size_t i = 0; s->heard && i < t->length; i++)
        if (t->data[i] == '\n') {
            t->data[i] = '\0';
            s->heard(t->data + start);
            start = i + 1;
        }
    if (s->heard && all && start < t->length) {
        s->heard(t->data + start);
        start = t->length;
    }
    if (start > 0)
        keep_tail(t, t->length - start);
}

/* How many bytes came, as take says. */
static ssize_t listen_to(stream *s)
{
    const ssize_t got = take(s->from, s->kept, s->most);
    pass_on(s, false);
    return got;
}

enum { STREAMS = 2 };

static int follow(pid_t child, stream streams[STREAMS])
{
    int ended = 0;
    uint64_t asked = 0;
    bool over = false;
    while (!over) {
        /* A caught signal stays in the pipe: once it is there, only the child's own end is waited for. */
        struct pollfd at[STREAMS + 1];
        bool open = false;
        for (int i = 0; i < STREAMS; i++) {
            at[i] = (struct pollfd){.fd = streams[i].from, .events = POLLIN};
            open = open || streams[i].from >= 0;
        }
        at[STREAMS] = (struct pollfd){.fd = stop_wanted() ? -1 : wake[0], .events = POLLIN};
        poll(at, STREAMS + 1, open && !stop_wanted() ? LOOK_MS : LOOK_MS / 10);
        over = waitpid(child, &ended, WNOHANG) == child;
        for (int i = 0; i < STREAMS; i++)
            if (streams[i].from >= 0 && at[i].revents && listen_to(&streams[i]) == 0)
                streams[i].from = -1;
        end_if_wanted(child, &asked);
    }
    for (int i = 0; i < STREAMS; i++) {
        while (streams[i].from >= 0 && listen_to(&streams[i]) > 0)
            ;
        if (streams[i].kept && streams[i].heard)
            pass_on(&streams[i], true);
        else if (streams[i].kept)
            keep_tail(streams[i].kept, streams[i].most);
    }
    return asked ? CHILD_STOPPED : status_of(ended);
}

/* A pipe that no other child inherits; false: there is none. */
static bool open_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return true;
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static int run(const char *line, text *out, size_t most, bool errors, child_hears heard)
{
    int ends[2] = {-1, -1}, said[2] = {-1, -1}, status = CHILD_NOT_RUN;
    pid_t child;
    text words = {0};
    if ((!out || open_pipe(ends)) && (!heard || open_pipe(said))) {
        const int bad = start(line, ends[1], heard ? said[1] : errors ? ends[1] : -1, &child);
        close_end(&ends[1]);
        close_end(&said[1]);
        if (bad)
            errno = bad;
        else
            status = follow(
                child, (stream[STREAMS]){{ends[0], out, most, NULL}, {said[0], &words, SIZE_MAX, heard}});
    }
    const int why = errno;
    for (int i = 0; i < 2; i++) {
        close_end(&ends[i]);
        close_end(&said[i]);
    }
    text_free(&words);
    errno = why;
    return status;
}

int child_run(const char *line, text *out, size_t most, bool errors)
{
    return run(line, out, most, errors, NULL);
}

int child_run_heard(const char *line, text *out, child_hears heard)
{
    return run(line, out, SIZE_MAX, false, heard);
}
