#!/usr/bin/env python3
"""What `tern profile` writes, read back: JSON by its sums, speedscope's format by its rules, by its own schema and by its own importer, Chrome's trace
events track by track, collapsed stacks line by line, the flame graph as XML.

The schema and the importer are those of the npm package `speedscope` (scripts/install-npm.sh speedscope); TERN_SPEEDSCOPE names its
folder, else it is in build/npm or where `npm root -g` says. The package has its importer in a page alone, so that a headless
Chromium has to load it.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser

ROOT = os.environ.get("TERN_SOURCE_DIR") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TERN = os.environ.get("TERN_BIN") or os.path.join(os.environ.get("TERN_BUILD_DIR", "build"), "tern")
PREFIX = (os.environ.get("TERN_EMULATOR") or "").split()
GRAPH = """graph parts {
  %x = input "x" f32[64,256] from "input & <more>"
  %w = input "w" f32[256,256]
  %a = matmul(%x, %w) from "layer 0/attention"
  %b = softmax(%a) {axis=-1} from "layer 0/feed-forward"
  %c = matmul(%b, %w) from "layer 1/attention"
  %d = relu(%c) from "layer 1/feed-forward \\"quoted\\""
  return %d
}
"""
counts = {"passed": 0, "failed": 0, "skipped": 0}
folder = tempfile.TemporaryDirectory()


def check(name, condition, why=""):
    counts["passed" if condition else "failed"] += 1
    if not condition:
        print("FAIL %s: %s" % (name, why))


def skip(name, why):
    counts["skipped"] += 1
    print("SKIP %s: %s" % (name, why))


def profile(*options):
    path = os.path.join(folder.name, "parts.tern")
    with open(path, "w") as file:
        file.write(GRAPH)
    command = PREFIX + [TERN, "profile", *options, "--", "graph", "run", path, "--made-up", "--threads", "2"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit("FAIL %s\n%s\n0 passed, 1 failed, 0 skipped" % (command, result.stderr))
    return result.stdout


# ---- JSON -----------------------------------------------------------------------------------------------------

def check_json():
    p = json.loads(profile("--json", "--no-limits", "--counters"))
    check("json: sums of ops", sum(r["self_ns"] for r in p["ops"]) == p["work_ns"])
    waits = sum(r["wait_ns"] for r in p["steps"])
    check("json: waits belong to steps", waits == p["wait_ns"], "%d of %d" % (waits, p["wait_ns"]))
    for kind in ("ops", "steps", "parts"):
        check("json: %s by self time" % kind,
              all(a["self_ns"] >= b["self_ns"] for a, b in zip(p[kind], p[kind][1:])))
        check("json: percentiles of %s" % kind,
              all(r["min_ns"] <= r["p50_ns"] <= r["p90_ns"] <= r["p99_ns"] <= r["max_ns"] for r in p[kind]))
    children = [0] * len(p["frames"])
    for frame in p["frames"]:
        if frame["parent"] >= 0:
            children[frame["parent"]] += frame["total_ns"]
    check("json: parents are at least their children",
          all(f["total_ns"] >= c for f, c in zip(p["frames"], children)))
    check("json: parts", {"layer 0/attention", "layer 1"} <= {r["name"] for r in p["parts"]},
          [r["name"] for r in p["parts"]])
    check("json: counters are numbers, or say why not",
          p["counters"] and all(c["value"] is not None or len(c["unavailable"]) > 10 for c in p["counters"]))
    check("json: nothing lost", p["lost"] == 0 and p["events"] > 0)


# ---- speedscope -----------------------------------------------------------------------------------------------

def check_speedscope(p):
    check("speedscope: names its schema", p["$schema"] == "https://www.speedscope.app/file-format-schema.json")
    frames = p["shared"]["frames"]
    for t in p["profiles"]:
        name = "speedscope: " + t["name"]
        stack, at, ok, inside = [], t["startValue"], True, False
        for e in t["events"]:
            ok &= at <= e["at"] <= t["endValue"] and 0 <= e["frame"] < len(frames)
            at = e["at"]
            if e["type"] == "O":
                stack.append(e["frame"])
                inside |= [frames[f]["name"] for f in stack][-4:] == ["run", "layer 0", "attention", "matmul"]
            else:
                ok &= bool(stack) and stack.pop() == e["frame"]
        check(name + ": steps are inside parts of the model, and those inside runs", inside)
        check(name, ok and not stack and t["type"] == "evented" and t["unit"] == "nanoseconds", stack)


def obeys(schema, value, top):
    """JSON Schema, as much of it as speedscope's needs."""
    if "$ref" in schema:
        return obeys(top["definitions"][schema["$ref"].split("/")[-1]], value, top)
    if "anyOf" in schema:
        return any(obeys(s, value, top) for s in schema["anyOf"])
    if "allOf" in schema and not all(obeys(s, value, top) for s in schema["allOf"]):
        return False
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        return False
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return False
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        return all(k in value for k in schema.get("required", [])) and all(
            obeys(properties[k], v, top) if k in properties else schema.get("additionalProperties", True) is not False
            for k, v in value.items())
    return not isinstance(value, list) or all(obeys(schema.get("items", {}), v, top) for v in value)


def package():
    """What the npm package is made of; None: it is not there."""
    homes = [os.environ.get("TERN_SPEEDSCOPE"), os.path.join(ROOT, "build", "npm", "node_modules", "speedscope")]
    try:
        found = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True).stdout.strip()
        homes.append(os.path.join(found, "speedscope"))
    except OSError:
        pass
    paths = (os.path.join(home, "dist", "release") for home in homes if home)
    return next((path for path in paths if os.path.exists(os.path.join(path, "index.html"))), None)


def check_schema(p, home):
    schema = json.load(open(os.path.join(home, "file-format-schema.json")))
    check("speedscope's schema", obeys(schema, p, schema))
    check("speedscope's schema refuses another", not obeys(schema, {**p, "profiles": [{"type": "evented"}]}, schema))


def load(page, home, p):
    """The page's words when it has taken the profile, or given up."""
    path = os.path.join(folder.name, "profile.js")
    with open(path, "w") as file:  # as speedscope's own command writes it
        words = base64.b64encode(json.dumps(p).encode()).decode()
        file.write('speedscope.loadFileFromBase64("profile.json", "%s")' % words)
    page.open("about:blank")
    page.open("file://%s#localProfilePath=%s" % (os.path.join(os.path.abspath(home), "index.html"), path.lstrip("/")))
    until = time.monotonic() + 300  # for a machine that hangs; a slow one has all the time it needs
    while time.monotonic() < until:
        words = page.run("document.title + '\\n' + document.body.innerText")
        if "Something went wrong" in words or "Time Order" in words:
            return words
        time.sleep(0.02)
    return "nothing"


def check_importer(p, home):
    path = browser.find()
    if not path:
        skip("speedscope's importer", "no Chromium (scripts/install-deps.sh page), and the package has it in a page alone")
        return
    with browser.Browser(path) as page:
        if not page.run("!!document.createElement('canvas').getContext('webgl')"):
            skip("speedscope's importer", "this browser has no WebGL, without which speedscope's page does not start")
            return
        words = load(page, home, p)
        check("speedscope's importer takes it", "Something went wrong" not in words and p["name"] in words, words)
        check("speedscope's importer shows a thread", any(t["name"] in words for t in p["profiles"]), words)
        broken = json.loads(json.dumps(p))
        broken["profiles"][0]["events"].reverse()
        check("speedscope's importer refuses another", "Something went wrong" in load(page, home, broken))


# ---- the others -----------------------------------------------------------------------------------------------

def check_chrome():
    p = json.loads(profile("--format", "chrome"))
    events = p["traceEvents"]
    named = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "B"]
    check("chrome: tracks have names", spans and {e["tid"] for e in spans} == set(named), named)
    check("chrome: steps tell where", any(e.get("args", {}).get("where") == "layer 0/attention" for e in spans))
    for track in named:
        stack, at, ok = [], 0, True
        for e in (e for e in events if e["tid"] == track and e["ph"] in "BE"):
            ok &= e["ts"] >= at and e["pid"] == 1
            at = e["ts"]
            if e["ph"] == "B":
                stack.append(e["name"])
            else:
                ok &= bool(stack) and stack.pop() == e["name"]
        check("chrome: nesting on %s" % named[track], ok and not stack, stack)


def check_collapsed():
    lines = profile("--format", "collapsed").splitlines()
    check("collapsed: lines", lines and all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in lines), lines[:3])


def check_svg():
    path = os.path.join(folder.name, "flame.svg")
    profile("--format", "svg", "-o", path)
    content = open(path).read()
    svg = ET.fromstring(content)
    space = "{http://www.w3.org/2000/svg}"
    bars = [g for g in svg.iter(space + "g") if "f" in g.get("class", "").split()]
    names = {g.get("data-n") for g in bars}
    check("svg: bars", {"layer 0", "attention", "matmul"} <= names, names)
    check("svg: bars lie in the picture",
          all(0 <= float(g.get("data-x")) and float(g.get("data-x")) + float(g.get("data-w")) <= 1.000001 for g in bars))
    check("svg: nothing comes from elsewhere", not re.search(r"(href|src|url\(|@import|fetch|http)", re.sub(r'xmlns="[^"]*"', "", content)))
    check("svg: light and dark", "prefers-color-scheme" in content)
    check("svg: a field to search", svg.find(".//{http://www.w3.org/1999/xhtml}input") is not None)


check_json()
scope = json.loads(profile("--format", "speedscope"))
check_speedscope(scope)
home = package()
if home:
    check_schema(scope, home)
    check_importer(scope, home)
else:
    skip("speedscope's schema and importer", "no npm package speedscope (scripts/install-npm.sh speedscope)")
check_chrome()
check_collapsed()
check_svg()
print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
sys.exit(1 if counts["failed"] else 0)
