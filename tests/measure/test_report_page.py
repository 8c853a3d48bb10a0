#!/usr/bin/env python3
"""The page that `tern report` writes, in headless Chromium: charts are there, nothing complains, nothing is asked for elsewhere, every
figure finds its data, nothing is wider than a phone or a desktop, dark mode is dark, and without scripts it says the same.

$TERN_CHROMIUM names the browser, else it is looked for; $TERN_PICTURES names a folder for screenshots.
"""
import html
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import browser

HERE = os.path.dirname(os.path.abspath(__file__))
TERN = os.environ.get("TERN_BIN") or os.path.join(os.environ.get("TERN_BUILD_DIR", "build"), "tern")
PREFIX = (os.environ.get("TERN_EMULATOR") or "").split()
FIGURES = ("performance", "roofline", "hot-spots", "flame", "memory", "holders", "memory-advice", "comparison", "regressions",
           "history", "machine")
counts = {"passed": 0, "failed": 0, "skipped": 0}
folder = tempfile.TemporaryDirectory()


def check(name, condition, why=""):
    counts["passed" if condition else "failed"] += 1
    if not condition:
        print("FAIL %s: %s" % (name, why))


def finish():
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % counts)
    sys.exit(1 if counts["failed"] else 0)


def skip_all(why):
    counts["skipped"] += 1
    print("SKIP the page in a browser: %s" % why)
    finish()


def write(name, *arguments):
    path = os.path.join(folder.name, name)
    result = subprocess.run(PREFIX + [TERN, "report", *arguments, "-o", path], capture_output=True, text=True)
    if "without jansson" in result.stderr:
        skip_all("this build has no jansson")
    if result.returncode != 0:
        raise SystemExit("FAIL tern report: %s\n0 passed, 1 failed, 0 skipped" % result.stderr)
    return path


def given(*names):
    return [os.path.join(HERE, "report", name + ".json") for name in names]


# ---- what does not need a browser ----------------------------------------------------------------------------

def at(data, path):
    for key in re.findall(r"[^.\[\]]+", path):
        data = data[int(key) if isinstance(data, list) else key]
    return data


def paths(value):
    """Every text in the data that points into it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "data":
                yield from paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner)
    elif isinstance(value, str) and value.startswith("sections."):
        yield value


def check_source(page):
    content = open(page, encoding="utf-8").read()
    check("source: nothing comes from elsewhere",
          not re.search(r"(src=|url\(|@import|fetch\(|https?:)", re.sub(r'xmlns="[^"]*"', "", content.split('id="report-data"')[0])))
    data = json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', content, re.S).group(1))
    shown = re.findall(r'data-path="([^"]*)"', content)
    check("source: every figure says where its data is", len(shown) >= len(FIGURES), shown)
    for path in shown + list(paths(data)):
        try:
            at(data, path)
            found = True
        except (KeyError, IndexError, TypeError, ValueError):
            found = False
        check("source: %s is there" % path, found)
    for source, name in zip(data["sections"]["data"]["sources"], ("results", "profile", "memory")):
        check("source: %s is carried whole" % name, source["data"] == json.load(open(given(name)[0])))
    ids = re.findall(r'\bid="([^"]*)"', content)
    check("source: names are unique", len(ids) == len(set(ids)), [i for i in ids if ids.count(i) > 1])
    links = set(re.findall(r'href="#([^"]*)"', content))
    check("source: links lead somewhere", links <= set(ids), links - set(ids))
    return data


# ---- in the browser --------------------------------------------------------------------------------------------

WIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, pre, .away, .skip') && !e.closest('svg svg')
    && e.getClientRects().length && e.getBoundingClientRect().right > WIDTH + 1).map(e => e.tagName + '.' + e.className).slice(0, 5)"""
# Of text on what is behind it, as WCAG defines contrast.
CONTRAST = """(() => {
    const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b; };
    const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255,255,255)'; };
    return [...document.querySelectorAll('h1, h2, p, th, td, small, a, .pill, button, code, summary')].filter(e => !e.closest('svg') && e.getClientRects().length)
        .map(e => { const a = light(getComputedStyle(e).color), b = light(behind(e)); return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.outerHTML.slice(0, 80)]; })
        .filter(([ratio]) => ratio < 4.5).slice(0, 3); })()"""


def check_view(b, url, width, dark, figures=FIGURES):
    name = "%d px, %s" % (width, "dark" if dark else "light")
    b.open(url, width=width, dark=dark)
    check(name + ": no errors", not b.errors, b.errors)
    check(name + ": nothing is asked for but the page", b.requests == [url], b.requests)
    # Not innerWidth, which grows on a phone with what does not fit.
    size = b.run("document.documentElement.scrollWidth")
    check(name + ": no wider than the window", size <= width, size)
    out = b.run(WIDE.replace("WIDTH", str(width)))
    check(name + ": nothing sticks out", out == [], out)
    cut = b.run("[...document.querySelectorAll('td, thead th')].filter(e => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1)"
                ".map(e => e.outerHTML.slice(0, 90)).slice(0, 3)")
    check(name + ": cells are wide enough", cut == [], cut)
    for figure in figures:
        height = b.run("document.querySelector('#fig-%s').getBoundingClientRect().height" % figure)
        check("%s: figure %s is seen" % (name, figure), height > 40, height)
    empty = b.run("[...document.querySelectorAll('figure svg[role=img]')].filter(s => s.getClientRects().length && "
                  "(s.getBoundingClientRect().width < 40 || !s.querySelector('rect, circle, line, path'))).length")
    check(name + ": pictures show something", empty == 0, empty)
    check(name + ": pictures have names",
          b.run("[...document.querySelectorAll('figure svg[role=img]')].every(s => s.querySelector('title').textContent.length > 2)"))
    check(name + ": letters are large enough",
          b.run("[...document.querySelectorAll('main *')].every(e => parseFloat(getComputedStyle(e).fontSize) >= 11)"))
    check(name + ": text stands out", b.run(CONTRAST) == [], b.run(CONTRAST))
    shade = b.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((s, v) => s + +v, 0)")
    check(name + ": its own paper", shade < 150 if dark else shade > 600, shade)
    if os.environ.get("TERN_PICTURES"):
        b.picture(os.path.join(os.environ["TERN_PICTURES"], "report-%d-%s.png" % (width, "dark" if dark else "light")))


def check_drawn(b, data):
    sections = data["sections"]
    for name, selector, n in (
            ("a bar for each share", "#fig-performance .bar", sum(r["share"] is not None for r in sections["performance"]["rows"])),
            ("a point for each step", "#fig-roofline .point circle", len(sections["roofline"]["points"])),
            ("roofs", "#fig-roofline svg.plot line.roof", 5),
            ("frames", "#fig-flame g.f", 11),
            ("a dot for each comparison", "#fig-comparison .dot", sum(r["ratio"] is not None for r in sections["comparison"]["rows"])),
            ("a line at 1.0", "#fig-comparison .reference", sum(r["ratio"] is not None for r in sections["comparison"]["rows"])),
            ("medians", "#fig-history .dot", sum(len(s["medians_us"]) for s in sections["history"])),
            ("memory in use", "#fig-memory svg.plot path.area", 1),
            ("headings of columns", "thead th:not([scope=col])", 0)):
        found = b.run("document.querySelectorAll('%s').length" % selector)
        check("drawn: " + name, found == n, "%s, not %s" % (found, n))
    # A bar is as long as its share says.
    shares = b.run("[...document.querySelectorAll('#fig-performance .bar')].map(r => r.getBoundingClientRect().width / r.ownerSVGElement.getBoundingClientRect().width)")
    expected = [r["share"] for r in sections["performance"]["rows"] if r["share"] is not None]
    check("drawn: bars are true", all(abs(a - e) < 0.01 for a, e in zip(shares, expected)), (shares, expected))
    check("drawn: names are text", b.run("document.querySelectorAll('main script').length - document.querySelectorAll('.flame script').length") == 0
          and b.run("document.body.textContent.includes('</script><script>alert(1)')"))


def check_use(b, data):
    b.run("document.querySelectorAll('details.json').forEach(d => { d.open = true; })")
    b.run("new Promise(r => setTimeout(r, 200))")
    texts = b.run("[...document.querySelectorAll('details.json pre')].map(p => p.textContent)")
    check("use: figures show their data", len(texts) >= len(FIGURES) and all(t and json.loads(t) is not None for t in texts))
    b.run("window.made = []; URL.createObjectURL = blob => { made.push(blob); return 'blob:test'; }; HTMLAnchorElement.prototype.click = () => {};"
          "document.querySelectorAll('button[data-file]').forEach(x => x.click())")
    blobs = b.run("Promise.all(made.map(x => x.text()))")
    check("use: the data can be downloaded", len(blobs) == 5 and json.loads(blobs[0]) == data["sections"]["data"]["sources"][0]["data"])
    check("use: and the whole report", blobs and json.loads(blobs[-1]) == data)
    before = b.run("document.querySelector('.flame g.f.part svg').getAttribute('width')")
    b.run("document.querySelector('.flame g.f.part').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    check("use: the flame graph zooms", b.run("document.querySelector('.flame g.f.part svg').getAttribute('width')") == "100%" != before)
    b.run("const f = document.querySelector('.flame input'); f.value = 'attention'; f.dispatchEvent(new Event('input'))")
    check("use: and can be searched", b.run("document.querySelectorAll('.flame .found').length") == 2)
    check("use: no errors", not b.errors, b.errors)


def check_devices(content):
    """The comparison of devices, which is a document of its own: what can be seen without a browser."""
    data = json.loads(re.search(r'<script type="application/json" id="report-data">(.*?)</script>', content, re.S).group(1))
    rows = data["sections"]["devices"]["rows"]
    times = [r for r in rows if r["samples"]]
    chart = content[content.index('id="fig-devices"'):]
    chart = html.unescape(chart[:chart.index("</figure>")])
    check("devices: a mark for each time", chart.count('<svg class="mark"') == len(times), chart.count('<svg class="mark"'))
    check("devices: what cannot run says why", all("unavailable: " + r["error"] in chart for r in rows if not r["samples"]))
    check("devices: advice for each use", all(r["words"] in chart for r in data["sections"]["devices"]["recommendations"]))
    return data


def check_devices_drawn(b, data):
    rows = data["sections"]["devices"]["rows"]
    first = {(r["op"], r["dtype"], r["shape"]): r["median_us"] for r in rows if r["device"] == rows[0]["device"]}
    ratios = [r["median_us"] / first[r["op"], r["dtype"], r["shape"]] for r in rows if r["samples"]]
    # Left end 1/16, right end 16, in powers of two.
    expected = [min(max((math.log2(ratio) + 4) / 8, 0), 1) for ratio in ratios]
    found = b.run("[...document.querySelectorAll('#fig-devices svg.mark')].map(s => { const d = s.querySelector('.dot').getBoundingClientRect(), "
                  "r = s.getBoundingClientRect(); return (d.left + d.width / 2 - r.left) / r.width; })")
    check("devices: dots are where their ratios are", len(found) == len(expected)
          and all(abs(a - e) < 0.03 for a, e in zip(found, expected)), (found, expected))


def check_plain(b, url):
    b.open(url, width=360, scripts=False)
    b.call("Emulation.setScriptExecutionDisabled", {"value": False})  # for the questions
    check("no scripts: charts and figures are there", b.run("document.querySelectorAll('figure svg').length") > 20)
    check("no scripts: no wider than the window", b.run("document.documentElement.scrollWidth") <= 360)
    check("no scripts: no button that does nothing", b.run("[...document.querySelectorAll('button')].every(x => x.hidden)"))
    b.open(url, width=800, media="print")
    check("print: no navigation", b.run("getComputedStyle(document.querySelector('nav')).display") == "none")


program = browser.find()
if PREFIX:
    skip_all("the program runs in an emulator")
page = write("report.html", *given("results", "profile", "memory"), "--against", *given("old"))
data = check_source(page)
devices = write("devices.html", *given("devices"), "--section", "devices")
devices_data = check_devices(open(devices, encoding="utf-8").read())
if not program:
    skip_all("there is no Chromium; TERN_CHROMIUM can name one")
with browser.Browser(program) as b:
    address = "file://" + page
    for width in (360, 800, 1280):
        for dark in (False, True):
            check_view(b, address, width, dark)
    b.open(address)
    check_drawn(b, data)
    check_use(b, data)
    check_plain(b, address)
    for width in (360, 1280):
        check_view(b, "file://" + devices, width, False, ("devices",))
    check_devices_drawn(b, devices_data)
    empty = "file://" + write("empty.html", *given("memory"), "--section", "performance", "--section", "summary")
    b.open(empty, width=360)
    check("what is missing is said", b.run("document.querySelector('#performance .missing').textContent").startswith("unavailable: "))
    check("a page with little has no errors", not b.errors, b.errors)
finish()
