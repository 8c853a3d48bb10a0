"""Runs programs for a process that is large. What the kernel calls a program's peak memory begins with that of the process that it was forked
from, and Python with NumPy is larger than most of what is to be seen; this one has no NumPy.

Each line of standard input is a JSON list: seconds of the processor that are allowed, a file for stderr, the program, its arguments. The
answer is a line as well: exit status, seconds of the processor in the program itself, peak memory in bytes."""
import json
import os
import resource
import sys


def run(seconds, errors, *command):
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(0, 1)
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime, usage.ru_maxrss * 1024


for line in sys.stdin:
    print(json.dumps(run(*json.loads(line))), flush=True)
