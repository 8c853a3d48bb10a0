/* folder_commit.h - which commit is checked out in a folder: what data and scripts beside a measurement were. */
#ifndef TERN_MEASURE_FOLDER_COMMIT_H
#define TERN_MEASURE_FOLDER_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

/* The commit of the git work tree that `folder` lies in; false: in none. Reads git's files, and runs no program. Linked work trees
 * (`git worktree add`) and submodules have a file .git that tells where theirs are. */
bool tern__folder_commit(const char *folder, char *to, size_t room);

#endif
