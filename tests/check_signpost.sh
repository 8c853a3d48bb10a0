#!/usr/bin/env bash
# The part that is compiled on Apple's systems only, with stand-ins for their headers: trace events reach os_signpost with op, kernel and
# duration. What Instruments makes of them is not seen here.
. "$(dirname "$0")/harness.sh"

if [ -n "${TERN_SANITIZE:-}${TERN_EMULATOR:-}" ]; then
    skip "os_signpost" "the plain build of this machine checks it"
    finish
fi
mkdir -p "$scratch/os"
cat >"$scratch/os/log.h" <<'H'
typedef const char *os_log_t;
static inline os_log_t os_log_create(const char *subsystem, const char *category)
{
    return strcmp(subsystem, "tern") == 0 && strcmp(category, "trace") == 0 ? "tern/trace" : "?";
}
H
# Apple's macro takes literals: the name and the format must be.
cat >"$scratch/os/signpost.h" <<'H'
#define OS_SIGNPOST_ID_EXCLUSIVE 1
#define os_signpost_event_emit(log, id, name, format, a, b, ns) \
    printf("%s " name " %s %s %llu\n", log, a, b, (ns) + 0 * (id) * sizeof "" format)
H
cat >"$scratch/main.c" <<'C'
#include "base/trace.h"
#include "base/clock.h"
static void nobody(void *user, const tern_trace_event *e)
{
    (void)user;
    (void)e;
}
int main(void)
{
    const uint64_t now = tern__now_ns();
    if (tern_trace_start(NULL) != TERN_OK)
        return 1;
    tern__trace_record_past(now, now + 1500, &(tern__trace_what){.name = "matmul", .kernel = "gemm", .category = "step"});
    tern__trace_record_past(now, now + 20, &(tern__trace_what){.name = "run", .category = "program"});
    return tern_trace_stop(nobody, NULL, NULL) == TERN_OK ? 0 : 1;
}
C

# With __APPLE__ for these two files only: the rest is this system's library.
compile()
{
    "$cc" -std=gnu17 -Wall -Wextra -Werror "$@" -I"$root/include" -I"$root/src"
}
apple=(-D__APPLE__=1 -I"$scratch" -include stdio.h -include string.h -c)
if compile "${apple[@]}" -o "$scratch/signpost.o" "$root/src/base/signpost.c" 2>"$scratch/log" &&
    compile "${apple[@]}" -o "$scratch/trace.o" "$root/src/base/trace.c" 2>>"$scratch/log" &&
    compile -o "$scratch/main" "$scratch/main.c" "$scratch/signpost.o" "$scratch/trace.o" "$build/libtern.a" -lm -ldl \
        -lpthread -Wl,--allow-multiple-definition 2>>"$scratch/log"; then
    pass
else
    fail "os_signpost compiles" "$(head -c 2000 "$scratch/log")"
fi
got=$("$scratch/main" 2>&1)
want=$'tern/trace tern matmul gemm 1500\ntern/trace tern run  20'
if [ "$got" = "$want" ]; then pass; else fail "events reach os_signpost" "got: $got"; fi
finish
