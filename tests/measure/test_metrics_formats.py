#!/usr/bin/env python3
"""What metrics are written as, read back: JSON by its sums, CSV line by line, Prometheus' text by a parser of its own (below) and by
that of the package prometheus_client (Debian: python3-prometheus-client), where it is installed; by promtool, where there is one."""
import csv
import ctypes
import io
import json
import os
import re
import shutil
import subprocess
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
KINDS = {"counter": "counter", "gauge": "gauge", "peak": "gauge", "histogram": "histogram", "series": "gauge"}
HOSTILE = 'a"b\\c\nd{e="f"} \xe4\u20ac, x'


def check(name, condition, why=""):
    counts["passed" if condition else "failed"] += 1
    if not condition:
        print("FAIL %s: %s" % (name, why))


def skip(name, why):
    counts["skipped"] += 1
    print("SKIP %s: %s" % (name, why))


# ---- a collector, through the shared library -------------------------------------------------------------------

class Operation(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("batch", ctypes.c_int64), ("sequence", ctypes.c_int64),
                ("parameters", ctypes.c_uint64), ("precision", ctypes.c_int), ("level", ctypes.c_int),
                ("threads", ctypes.c_int), ("ctx", ctypes.c_void_p), ("cache", ctypes.c_void_p)]


PROMPT_TOKENS, FIRST_TOKEN_TIME, TOKEN_TIME = 4, 6, 7


class Collector:
    def __init__(self, library):
        self.library = library
        self.metrics = ctypes.c_void_p()
        library.tern_metrics_record.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_double]
        self.good(library.tern_metrics_create(None, ctypes.byref(self.metrics)))
        self.ctx = ctypes.c_void_p()
        self.good(library.tern_ctx_create(None, ctypes.byref(self.ctx)))

    def good(self, status):
        if status != 0:
            raise SystemExit("FAIL status %d\n0 passed, 1 failed, 0 skipped" % status)

    def run(self, name, times, watch=False):
        span = ctypes.c_void_p()
        what = Operation(name, 1, 4096, 2400000000, 0, 1, 2, self.ctx if watch else None, None)
        self.good(self.library.tern_metrics_start(self.metrics, ctypes.byref(what), ctypes.byref(span)))
        self.good(self.library.tern_metrics_record(span, PROMPT_TOKENS, 12))
        for seconds in times:
            self.good(self.library.tern_metrics_record(span, TOKEN_TIME, seconds))
        self.good(self.library.tern_metrics_stop(span, 0))

    def write(self, number):
        text = ctypes.c_char_p()
        self.good(self.library.tern_metrics_write(self.metrics, number, ctypes.byref(text)))
        answer = text.value.decode("utf-8")
        self.library.tern_string_free(text)
        return answer


# ---- a parser of the text format ---------------------------------------------------------------------------------

def parse_labels(text):
    """'{a="b",...} 1' -> labels, the rest."""
    labels, at = {}, 1
    while text[at] != "}":
        name = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="').match(text, at)
        at = name.end()
        value = ""
        while text[at] != '"':
            if text[at] == "\\":
                at += 1
                value += {"n": "\n", "\\": "\\", '"': '"'}[text[at]]
            else:
                value += text[at]
            at += 1
        labels[name.group(1)] = value
        at += 1
        if text[at] == ",":
            at += 1
    return labels, text[at + 1:].strip()


def parse(text):
    """{family: (type, help, [(name, labels, value)])}"""
    families, current = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            families[name] = [None, words, []]
        elif line.startswith("# TYPE "):
            current, kind = line[7:].split(" ")
            families[current][0] = kind
        else:
            name = re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", line).group(0)
            labels, value = parse_labels(line[len(name):])
            families[current][2].append((name, labels, float(value)))
    return families


def check_prometheus(text, table):
    check("prometheus: ends in a line end", text.endswith("\n") and not text.endswith("\n\n"))
    families = parse(text)
    kinds = {row["name"]: row for row in table}
    for name, (kind, words, samples) in families.items():
        check("prometheus: type of " + name, KINDS[kinds[name]["kind"]] == kind, kind)
        check("prometheus: help of " + name, words == kinds[name]["help"], words)
        check("prometheus: name of " + name, (kind == "counter") == name.endswith("_total"))
        if kind == "histogram":
            check_buckets(name, samples)
        else:
            check("prometheus: samples of " + name, {s[0] for s in samples} == {name})
    names = {s[1]["operation"] for s in families["tern_operations_total"][2]}
    check("prometheus: names come back", HOSTILE in names, repr(names))
    return families


def check_buckets(name, samples):
    by_operation = {}
    for sample, labels, value in samples:
        rest = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        by_operation.setdefault(rest, {}).setdefault(sample[len(name):], []).append((labels.get("le"), value))
    for parts in by_operation.values():
        bounds = [float(le) for le, _ in parts["_bucket"]]
        values = [value for _, value in parts["_bucket"]]
        check("histogram: bounds ascend", bounds == sorted(set(bounds)) and parts["_bucket"][-1][0] == "+Inf")
        check("histogram: buckets are cumulative", values == sorted(values))
        check("histogram: the last is the count", values[-1] == parts["_count"][0][1])
        check("histogram: one sum", len(parts["_sum"]) == 1 and len(parts["_count"]) == 1)


def check_by_its_own_parser(text, families):
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        skip("prometheus_client", "it is not installed; Debian has it as python3-prometheus-client")
        return
    theirs = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            theirs[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    ours = {(name, tuple(sorted(labels.items()))): value
            for _, _, samples in families.values() for name, labels, value in samples}
    check("prometheus_client reads the same", theirs == ours, set(theirs.items()) ^ set(ours.items()))


def check_by_promtool(text):
    if not shutil.which("promtool"):
        skip("promtool", "there is none; it comes with Prometheus")
        return
    result = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    check("promtool", result.returncode == 0, result.stderr)


# ---- JSON and CSV ----------------------------------------------------------------------------------------------

def check_json(d):
    check("json: format", d["format"] == "tern-metrics" and d["version"] == 1)
    kinds = {row["name"]: row["kind"] for row in d["metrics"]}
    for operation in d["operations"]:
        for member, allowed in (("counters", ["counter"]), ("gauges", ["gauge", "peak"]),
                                ("histograms", ["histogram"]), ("series", ["series"])):
            check("json: kinds of " + member, all(kinds[name] in allowed for name in operation[member]))
        for name, h in operation["histograms"].items():
            check("json: counts of " + name, sum(h["counts"]) == h["count"])
            check("json: as many as bounds, and one", len(h["counts"]) == len(d["histogram_bounds"]) + 1)
            check("json: sum of " + name, h["min"] * h["count"] <= h["sum"] * (1 + 1e-9) and h["sum"] <= h["max"] * h["count"] * (1 + 1e-9))
        for name, s in operation["series"].items():
            part, whole = sum(p[2] for p in s["points"]), sum(p[3] for p in s["points"])
            check("json: points of " + name, abs(part / whole - s["ratio"]) < 1e-9, "%s %s" % (part / whole, s["ratio"]))


def flat(d):
    """JSON as {(metric, operation, what, at): value}, as CSV has it."""
    numbers = {}
    for o in d["operations"]:
        for member in ("counters", "gauges"):
            for name, value in o[member].items():
                numbers[name, o["operation"], "value", ""] = value
        for name, h in o["histograms"].items():
            for what in ("count", "sum", "min", "max"):
                numbers[name, o["operation"], what, ""] = h[what]
            for bound, n in zip(d["histogram_bounds"], h["counts"]):
                numbers[name, o["operation"], "bucket", bound] = n
            numbers[name, o["operation"], "beyond", ""] = h["counts"][-1]
        for name, s in o["series"].items():
            numbers[name, o["operation"], "value", ""] = s["ratio"]
            for p in s["points"]:
                numbers[name, o["operation"], "point", p[0]] = p[1]
    return numbers


def check_csv(text, d):
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    ours = {(r["metric"], r["operation"], r["what"], float(r["at"]) if r["at"] else ""): float(r["value"]) for r in rows}
    check("csv: the same numbers as JSON", ours == flat(d), set(ours.items()) ^ set(flat(d).items()))
    check("csv: what tells operations apart", all(r["threads"] == "2" and r["level"] == "high" and
                                                  r["sequence"] == "4096" and r["precision"] == "exact" for r in rows))


# ---- all of it -------------------------------------------------------------------------------------------------

def main():
    if not os.environ.get("TERN_LIB") or os.environ.get("TERN_EMULATOR") or os.environ.get("TERN_SANITIZE"):
        skip("formats", "the shared library cannot be loaded into this Python (another machine, or a sanitizer)")
        return
    c = Collector(ctypes.CDLL(os.environ["TERN_LIB"]))
    c.run(b"run", [0.004, 0.02, 3e-7, 100, 0.02], watch=True)
    c.run(HOSTILE.encode("utf-8"), [1e-3] * 7)
    c.run(b"not utf-8: \xff\xfe", [])
    d = json.loads(c.write(0))
    check_json(d)
    check_csv(c.write(1), d)
    text = c.write(2)
    families = check_prometheus(text, d["metrics"])
    check_by_its_own_parser(text, families)
    check_by_promtool(text)
    buckets = {labels["le"]: value for name, labels, value in families["tern_token_seconds"][2]
               if name.endswith("_bucket") and labels["operation"] == "run"}
    check("planted times are in their buckets",
          [buckets[b] for b in ("1e-06", "0.002", "0.005", "0.02", "50", "+Inf")] == [1, 1, 2, 4, 4, 5], buckets)


main()
print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
sys.exit(1 if counts["failed"] else 0)
