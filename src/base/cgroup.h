/* cgroup.h - the control groups that this process is in, of version 1 and 2, and the limits that they set. All of it reads into buffers
 * on the stack, so it works when memory has run out.
 *
 * `mount` is where the file systems of groups are ("/sys/fs/cgroup"), `self` the text of /proc/self/cgroup. */
#ifndef TERN_BASE_CGROUP_H
#define TERN_BASE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TERN__CGROUP_TEXT = 8192 }; /* room for /proc/self/cgroup */

#define TERN__CGROUP_MOUNT "/sys/fs/cgroup"
#define TERN__CGROUP_SELF "/proc/self/cgroup"

typedef struct tern__cgroup {
    bool v2;
    char folder[PATH_MAX];
    size_t top; /* length of the path of the topmost group that can be seen */
} tern__cgroup;

/* Place i where the group of a controller ("cpu", "memory") may be; false past the last. It need not exist: in a container the path may
 * be the host's, and then only the topmost group, the container's own, can be seen. */
bool tern__cgroup_at(const char *mount, const char *self, const char *controller, int i, tern__cgroup *out);
/* To the group that it is part of; false at the top. */
bool tern__cgroup_up(tern__cgroup *group);
/* The path of one of its files; "" if it is too long. */
const char *tern__cgroup_file(const tern__cgroup *group, const char *name, char path[PATH_MAX]);

/* The tightest limit on the way from the process's own group to the top: CPU time in cores, memory in bytes; 0: none. `seen` (may be
 * NULL): could any limit, or the word for none, be read? */
double tern__cgroup_quota(const char *mount, const char *self, bool *seen);
uint64_t tern__cgroup_memory(const char *mount, const char *self, bool *seen);
/* The same of this process. */
double tern__cgroup_own_quota(bool *seen);
uint64_t tern__cgroup_own_memory(bool *seen);

/* "150000 100000" -> 1.5; "max 100000" and anything malformed -> 0. */
double tern__cgroup_parse_quota(const char *cpu_max_text);

#endif
