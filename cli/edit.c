/* edit.c - a line editor: one line, scrolled sideways if it is longer than the terminal is wide. */
#include "edit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "term.h"

enum {
    CTRL_A = 1,
    CTRL_B = 2,
    CTRL_C = 3,
    CTRL_D = 4,
    CTRL_E = 5,
    CTRL_F = 6,
    BACKSPACE = 8,
    TAB = 9,
    ENTER_LF = 10,
    CTRL_K = 11,
    CTRL_L = 12,
    ENTER_CR = 13,
    CTRL_N = 14,
    CTRL_P = 16,
    CTRL_U = 21,
    CTRL_W = 23,
    CTRL_Z = 26,
    ESCAPE = 27,
    RUBOUT = 127,
    DELETE = 256, /* what escape sequences mean that no byte does */
    PASTE_BEGIN,
    PASTE_END,
    NOTHING,
};

typedef struct editor {
    const char *prompt;
    int columns; /* of the prompt */
    text line;
    size_t at;      /* of the cursor: bytes */
    size_t visible; /* first byte shown */
    const edit_history *h;
    size_t line_of_history; /* h->n: the new line */
    text unfinished;        /* the new line, while another is looked at */
    bool pasting;           /* between the marks that the terminal puts around what is pasted */
    int missing;            /* bytes of the character before the cursor that have not come yet */
    struct termios usual, raw;
} editor;

/* ---- the line ---- */

static int columns_between(const editor *e, size_t from, size_t to)
{
    return text_columns(text_string(&e->line) + from, to - from);
}

static size_t after_one(const editor *e, size_t at)
{
    const char *s = text_string(&e->line);
    if (at < e->line.length)
        at++;
    while (at < e->line.length && ((unsigned char)s[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* What combines with a character, and takes no column of its own, goes with it. */
static bool combines(const editor *e, size_t at)
{
    return at < e->line.length && columns_between(e, at, after_one(e, at)) == 0;
}

static size_t before(const editor *e, size_t at)
{
    const char *s = text_string(&e->line);
    do
        while (at > 0 && ((unsigned char)s[--at] & 0xC0) == 0x80)
            continue;
    while (at > 0 && combines(e, at));
    return at;
}

static size_t after(const editor *e, size_t at)
{
    at = after_one(e, at);
    while (combines(e, at))
        at = after_one(e, at);
    return at;
}

static void insert(editor *e, char c)
{
    unsigned char u = (unsigned char)c;
    e->missing = u >= 0xF0                     ? 3
                 : u >= 0xE0                   ? 2
                 : u >= 0xC0                   ? 1
                 : u >= 0x80 && e->missing > 0 ? e->missing - 1
                                               : 0;
    text_add_n(&e->line, &c, 1);
    memmove(e->line.data + e->at + 1, e->line.data + e->at, e->line.length - 1 - e->at);
    e->line.data[e->at++] = c;
}

/* Takes bytes [from, to) away; the cursor goes there. */
static void cut_out(editor *e, size_t from, size_t to)
{
    if (from >= to)
        return;
    memmove(e->line.data + from, e->line.data + to, e->line.length - to + 1);
    e->line.length -= to - from;
    e->at = from;
}

static size_t start_of_word(const editor *e)
{
    const char *s = text_string(&e->line);
    size_t at = e->at;
    while (at > 0 && s[at - 1] == ' ')
        at--;
    while (at > 0 && s[at - 1] != ' ')
        at--;
    return at;
}

static void replace(editor *e, const char *with)
{
    text_clear(&e->line);
    text_add(&e->line, with);
    e->at = e->line.length;
}

/* Goes to a line of the history, the new one behind it. */
static void recall(editor *e, size_t line)
{
    if (line > e->h->n || line == e->line_of_history)
        return;
    if (e->line_of_history == e->h->n) {
        text_clear(&e->unfinished);
        text_add(&e->unfinished, text_string(&e->line));
    }
    e->line_of_history = line;
    replace(e, line < e->h->n ? e->h->lines[line] : text_string(&e->unfinished));
}

/* ---- the terminal ---- */

static int width_of_terminal(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* More has come already: it is drawn with that. */
static bool more_comes(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) == 1;
}

static void add_shown(text *out, const char *s, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (s[i] == '\n')
            text_add(out, glyph_of(GLYPH_RETURN));
        else
            text_add_n(out, s[i] == '\t' ? " " : s + i, 1);
}

static void show(editor *e)
{
    int room = width_of_terminal() - e->columns - 1;
    room = room < 8 ? 8 : room;
    if (e->at < e->visible)
        e->visible = e->at;
    if (e->visible > e->line.length)
        e->visible = 0;
    while (columns_between(e, e->visible, e->at) > room)
        e->visible = after(e, e->visible);
    text out = {0};
    text_addf(&out, "\r%s", e->prompt);
    const char *s = text_string(&e->line) + e->visible;
    add_shown(&out, s, text_cut(s, room));
    text_addf(&out, "\x1b[K\r\x1b[%dC", e->columns + columns_between(e, e->visible, e->at));
    fwrite(text_string(&out), 1, out.length, stdout);
    fflush(stdout);
    text_free(&out);
}

static int read_byte(void)
{
    unsigned char c;
    ssize_t n;
    do
        n = read(STDIN_FILENO, &c, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? c : -1;
}

/* The key that an escape sequence means, as the control character that does the same. */
static int read_sequence(void)
{
    static const struct {
        char letter;
        int number; /* before '~' */
        int key;
    } keys[] = {{'A', 0, CTRL_P},     {'B', 0, CTRL_N}, {'C', 0, CTRL_F}, {'D', 0, CTRL_B},
                {'H', 0, CTRL_A},     {'F', 0, CTRL_E}, {'~', 1, CTRL_A}, {'~', 3, DELETE},
                {'~', 4, CTRL_E},     {'~', 7, CTRL_A}, {'~', 8, CTRL_E}, {'~', 200, PASTE_BEGIN},
                {'~', 201, PASTE_END}};
    int c = read_byte(), number = 0;
    if (c != '[' && c != 'O')
        return NOTHING;
    c = read_byte();
    while ((c >= '0' && c <= '9') || c == ';') {
        number = c == ';' ? number : (10 * number + c - '0') % 1000;
        c = read_byte();
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].letter == c && (c != '~' || keys[i].number == number))
            return keys[i].key;
    return NOTHING;
}

/* Signals that end the program while the terminal is taken give it back first: nobody could type into a raw one. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { N_SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction old[N_SIGNALS];
static struct termios usual; /* the taken terminal's, for the handler */

#define PASTE_MARKS "\x1b[?2004h"
#define NO_PASTE_MARKS "\x1b[?2004l"

/* A Ctrl-C that the terminal sends in spite of being taken was pressed before: it is for what was done then, not for the program. */
static void leave(int number, siginfo_t *info, void *place)
{
    (void)place;
    if (number == SIGINT && info->si_code != SI_USER)
        return;
    tcsetattr(STDIN_FILENO, TCSANOW, &usual);
    const ssize_t written = write(STDOUT_FILENO, NO_PASTE_MARKS "\n", sizeof NO_PASTE_MARKS);
    (void)written; /* after a SIGHUP there is nobody to see it */
    signal(number, SIG_DFL);
    raise(number);
}

/* The terminal marks what is pasted, so that its line ends do not send messages. */
static void take_terminal(const editor *e)
{
    struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask,
              SIGTTOU); /* blocked, it does not stop a program in the background that gives it back */
    usual = e->usual;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], &action, &old[i]);
        if (old[i].sa_handler == SIG_IGN) /* nohup */
            sigaction(signals[i], &old[i], NULL);
    }
    tcsetattr(STDIN_FILENO, TCSADRAIN, &e->raw);
    fputs(PASTE_MARKS, stdout);
}

static void give_terminal_back(const editor *e)
{
    fputs(NO_PASTE_MARKS, stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &e->usual);
    for (size_t i = 0; i < N_SIGNALS; i++)
        sigaction(signals[i], &old[i], NULL);
}

static void suspend(const editor *e)
{
    give_terminal_back(e);
    kill(0, SIGTSTP); /* the whole job, as the terminal would */
    take_terminal(e);
}

/* A key between the marks: text, whatever it would do outside. */
static void paste(editor *e, int key)
{
    if (key == PASTE_END) {
        e->pasting = false;
        if (e->at > 0 && e->line.data[e->at - 1] == '\n') /* Enter sends it */
            cut_out(e, e->at - 1, e->at);
    } else if (key == ENTER_CR || key == ENTER_LF) {
        insert(e, '\n');
    } else if (key == TAB || (key >= ' ' && key < DELETE && key != RUBOUT)) {
        insert(e, (char)key);
    }
}

/* Does what a key says. False: the line is done. */
static bool press(editor *e, int key)
{
    switch (key) {
    case ENTER_LF:
    case ENTER_CR:
        return false;
    case CTRL_A:
        e->at = 0;
        break;
    case CTRL_E:
        e->at = e->line.length;
        break;
    case CTRL_B:
        e->at = before(e, e->at);
        break;
    case CTRL_F:
        e->at = after(e, e->at);
        break;
    case CTRL_D:
    case DELETE:
        cut_out(e, e->at, after(e, e->at));
        break;
    case BACKSPACE:
    case RUBOUT:
        cut_out(e, before(e, e->at), e->at);
        break;
    case CTRL_K:
        cut_out(e, e->at, e->line.length);
        break;
    case CTRL_U:
        cut_out(e, 0, e->at);
        break;
    case CTRL_W:
        cut_out(e, start_of_word(e), e->at);
        break;
    case CTRL_P:
        recall(e, e->line_of_history > 0 ? e->line_of_history - 1 : 0);
        break;
    case CTRL_N:
        recall(e, e->line_of_history + 1);
        break;
    case CTRL_L:
        fputs("\x1b[H\x1b[2J", stdout);
        break;
    case CTRL_Z:
        suspend(e);
        break;
    case PASTE_BEGIN:
        e->pasting = true;
        break;
    default:
        if (key >= ' ' && key < DELETE)
            insert(e, (char)key);
    }
    return true;
}

static edit_end edit(editor *e)
{
    show(e);
    for (;;) {
        int key = read_byte();
        bool typed = !e->pasting;
        if (key < 0 || (typed && key == CTRL_D && e->line.length == 0))
            return EDIT_CLOSED;
        if (typed && key == CTRL_C)
            return EDIT_INTERRUPTED;
        if (key == ESCAPE)
            key = read_sequence();
        bool go_on = true;
        if (typed)
            go_on = press(e, key);
        else
            paste(e, key);
        if (!go_on || (e->missing == 0 && !more_comes()))
            show(e);
        if (!go_on)
            return EDIT_LINE;
    }
}

static void remember(edit_history *h, const text *line)
{
    if (line->length == 0 || (h->n > 0 && strcmp(h->lines[h->n - 1], text_string(line)) == 0))
        return;
    if (h->n == h->capacity) {
        h->capacity = h->capacity ? 2 * h->capacity : 32;
        h->lines = grab_more(h->lines, h->capacity, sizeof *h->lines);
    }
    h->lines[h->n++] = grab_string(text_string(line), line->length);
}

static edit_end read_plain(text *out)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, stdin);
    text_clear(out);
    if (length > 0)
        text_add_n(out, line, (size_t)length - (line[length - 1] == '\n'));
    free(line);
    return length > 0 ? EDIT_LINE : EDIT_CLOSED;
}

edit_end edit_read(edit_history *h, const char *prompt, int columns, text *out)
{
    editor e = {.prompt = prompt, .columns = columns, .h = h, .line_of_history = h->n};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &e.usual) != 0)
        return read_plain(out);
    e.raw = e.usual;
    e.raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON | ISTRIP | INLCR);
    e.raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
    e.raw.c_cc[VMIN] = 1;
    e.raw.c_cc[VTIME] = 0;
    take_terminal(&e);
    edit_end end = edit(&e);
    give_terminal_back(&e);
    putchar('\n');
    fflush(stdout);
    text_clear(out);
    if (end == EDIT_LINE) {
        text_add(out, text_string(&e.line));
        remember(h, out);
    }
    text_free(&e.line);
    text_free(&e.unfinished);
    return end;
}

void edit_history_free(edit_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->lines[i]);
    free(h->lines);
}
