/* intern.h - names that stay for the life of the process, so that trace events can point at them whoever made them.
 *
 * Equal texts are one pointer. What is interned is never given back: names of ops and of parts of models, of which
 * there are few. Any thread may call. */
#ifndef TERN_BASE_INTERN_H
#define TERN_BASE_INTERN_H

/* The same text, for good. NULL for NULL. Once there are too many names (12,288, or 384 KiB of them) others are "...". */
const char *tern__intern(const char *text);

#endif
