/* progress.h - a bar on stderr for work that takes long, if that is a terminal; Ctrl-C ends the work, not the program, so that
 * nothing half-done stays behind. One inside another takes its place until it ends. */
#ifndef TERN_CLI_PROGRESS_H
#define TERN_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

void progress_begin(const char *what); /* which must stay valid: "writing model.gguf"; counts bytes */
void progress_begin_of(const char *what, const char *unit); /* counts "tokens" */
/* For work whose own words are what is seen: Ctrl-C is asked for, and nothing is drawn into them. */
void progress_begin_unseen(void);
/* false once the user wants to stop. Fits tern_model_progress; `user` is not used. */
bool progress_update(void *user, uint64_t done, uint64_t total);
/* The same, and the bar is drawn at once: for work in few parts that take long. */
bool progress_show(uint64_t done, uint64_t total);
/* The same for what is counted in parts that take seconds; where no bar can be drawn, a line now and then: logs that stand still look
 * like programs that do. */
bool progress_count(uint64_t done, uint64_t total);
/* true once the user wants to stop. Fits tern_stop_asked; any thread may ask. */
bool progress_asked(void *unused);
/* A line of the caller's own instead of a bar, drawn as often as one; "" takes it away, for other words to be printed. */
void progress_line(const char *line);
/* Work of so many parts, each of which may begin progress of its own, whose lines then begin with "session 2 of 5: ". `alike`: one takes
 * as long as another, so that the time that is left is told of all of them. Ends with progress_end. */
void progress_begin_parts(const char *noun, int of, bool alike);
/* Part `number` begins, from 1; the words stay valid until the next one. Also a line where no bar can be drawn, since stderr is no
 * terminal: a log that stands still looks like a program that does. false: somebody wants to stop. */
bool progress_part(int number, const char *doing, const char *what);
/* What is said at once, as a line, when somebody asks to stop work that goes on for a while then; NULL: nothing. Until progress_end. */
void progress_when_stopped(const char *words);
/* The signal that asked to stop this work, or the last such one; 0: none did. */
int progress_stopped_by(void);
void progress_end(void); /* the bar, if there is one, goes; Ctrl-C does what it did before */

#endif
