"""Runs cases and counts them. A case is (group, number, function); the function takes the case's generator and returns
None, or a sentence (or several, as a list) that says what is wrong. `N passed, M failed, K skipped` closes the output.

Cases run in a child process: one that kills it is reported like any other failure, and the run goes on behind it.

    --seed N    draw other cases (also TERN_TEST_SEED)
    --only G    only this group (an op, for test_ops.py)
    --case K    only case number K of each group
    --every N   only each Nth case of each group, the first among them (also TERN_TEST_EVERY)
"""
import argparse
import mmap
import os
import shlex
import signal
import struct
import sys
import time
import traceback
import zlib

import numpy as np

from operands import Gen

# A sanitizer's library that was loaded for this process; programs that cases start have their own.
os.environ.pop("LD_PRELOAD", None)

DEFAULT_SEED = 1
SHOWN_PER_GROUP = 3


class Skip(Exception):
    """The case cannot run here, and why."""


class Progress:
    """What child and parent both know: counts and the case that is running."""

    FORMAT = "qqqq"

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    def set(self, passed, failed, skipped, current):
        self.memory[:32] = struct.pack(self.FORMAT, passed, failed, skipped, current)

    def get(self):
        return list(struct.unpack(self.FORMAT, self.memory[:32]))


def options():
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TERN_TEST_SEED") or DEFAULT_SEED))
    parser.add_argument("--only", help="run only this group")
    parser.add_argument("--case", type=int, help="run only this case of each group")
    parser.add_argument("--every", type=int, default=int(os.environ.get("TERN_TEST_EVERY") or 1),
                        help="run only each Nth case of each group")
    return parser.parse_args()


def rerun_text(seed, group, number):
    """A command that runs as it stands: with this interpreter, which has NumPy, on this library."""
    return "rerun: TERN_LIB=%s %s %s --seed %d --only %s --case %d" % (
        shlex.quote(os.environ.get("TERN_LIB", "")), shlex.quote(sys.executable), shlex.quote(os.path.relpath(sys.argv[0])),
        seed, group, number)


def run_one(case, seed):
    """The problems of one case."""
    group, number, function = case
    g = Gen(seed & (2 ** 63 - 1), zlib.crc32(group.encode()), number)
    try:
        with np.errstate(all="ignore"):
            problems = function(g)
    except Skip:
        raise
    except Exception:
        problems = traceback.format_exc().strip()
    return [] if not problems else [problems] if isinstance(problems, str) else list(problems)


def work(cases, first, seed, progress, setup):
    """In the child: all cases from number `first` on."""
    setup()
    passed, failed, skipped, _ = progress.get()
    shown, reasons = {}, {}
    for i in range(first, len(cases)):
        group, number, _ = cases[i]
        progress.set(passed, failed, skipped, i)
        try:
            problems = run_one(cases[i], seed)
        except Skip as reason:
            skipped += 1
            if str(reason) not in reasons:
                print("skipped %s %d: %s" % (group, number, reason), flush=True)
                reasons[str(reason)] = True
            continue
        if not problems:
            passed += 1
            continue
        failed += 1
        shown[group] = shown.get(group, 0) + 1
        if shown[group] <= SHOWN_PER_GROUP:
            print("FAILED %s, case %d" % (group, number))
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
            print("    " + rerun_text(seed, group, number), flush=True)
    for group, count in shown.items():
        if count > SHOWN_PER_GROUP:
            print("FAILED %s: %d cases, %d not shown" % (group, count, count - SHOWN_PER_GROUP))
    progress.set(passed, failed, skipped, len(cases))
    sys.stdout.flush()


def main(cases, setup=lambda: None):
    """Runs the cases that the command line asks for and exits. `setup` runs in the process that runs the cases."""
    chosen = options()
    started = time.time()
    if chosen.only is not None:
        cases = [c for c in cases if c[0] == chosen.only]
    if chosen.case is not None:
        cases = [c for c in cases if c[1] == chosen.case]
    elif chosen.every > 1:
        cases = [c for c in cases if c[1] % chosen.every == 0]
    print("seed %d, %d cases" % (chosen.seed, len(cases)), flush=True)
    progress = Progress()
    first = 0
    while first < len(cases):
        progress.set(*progress.get()[:3], first)
        child = os.fork()
        if child == 0:
            try:
                work(cases, first, chosen.seed, progress, setup)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        passed, failed, skipped, current = progress.get()
        if current >= len(cases) and status == 0:
            break
        group, number, _ = cases[min(current, len(cases) - 1)]
        how = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit status %d" % (status >> 8)
        print("FAILED %s, case %d: the process ended by %s" % (group, number, how))
        print("    " + rerun_text(chosen.seed, group, number), flush=True)
        progress.set(passed, failed + 1, skipped, current + 1)
        first = current + 1
    passed, failed, skipped, _ = progress.get()
    print("%.1f s" % (time.time() - started))
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed else 0)
