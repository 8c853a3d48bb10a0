"""A headless Chromium, driven through its pipe (--remote-debugging-pipe): no packages are needed beside the browser.

    with Browser(find()) as browser:
        browser.open("file:///tmp/report.html", width=360, dark=True)
        browser.run("document.title")
        browser.errors      # what the page's console and log complained about
        browser.requests    # every address that was asked for
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

# A sanitizer's library that was loaded for this process is for the library alone: Tern's programs have their own, and it stops a
# browser.
os.environ.pop("LD_PRELOAD", None)

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The browser's path, $TERN_CHROMIUM first; None: there is none."""
    given = os.environ.get("TERN_CHROMIUM")
    return given if given else next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, path, seconds=240):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # its children may still write
        self.errors, self.requests, self.seconds, self.number, self.left = [], [], seconds, 0, b""
        to_read, self.to = os.pipe()
        self.answers, to_write = os.pipe()

        def join():  # the browser reads from 3 and writes to 4
            high = [os.dup2(to_read, 60), os.dup2(to_write, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-extensions",
             "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir=" + self.folder.name, "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=join)
        os.close(to_read)
        os.close(to_write)
        os.set_blocking(self.answers, False)
        target = self.call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *what):
        try:
            self.call("Browser.close", session=None)
            self.process.wait(10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for file in (self.to, self.answers):
            os.close(file)
        self.folder.cleanup()

    def message(self, until):
        while b"\0" not in self.left:
            try:
                part = os.read(self.answers, 1 << 20)
                if not part:
                    raise RuntimeError("the browser has ended")
                self.left += part
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError("the browser does not answer")
                time.sleep(0.005)
        first, self.left = self.left.split(b"\0", 1)
        message = json.loads(first)
        self.note(message.get("method"), message.get("params"))
        return message

    def note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(params["entry"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, params=None, session=""):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + self.seconds
        while True:
            answer = self.message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]))
                return answer["result"]

    def open(self, url, width=1280, height=800, dark=False, scripts=True, media=""):
        """Loads a page; a narrow one as on a phone."""
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.call("Emulation.setEmulatedMedia",
                  {"media": media, "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.call("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", {"url": url})
        until = time.monotonic() + self.seconds
        while self.message(until).get("method") != "Page.loadEventFired":
            pass

    def run(self, script):
        result = self.call("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in result:
            raise RuntimeError("%s: %s" % (script, result["exceptionDetails"]))
        return result["result"].get("value")

    def picture(self, path, clip=None):
        """The whole page as PNG."""
        options = {"format": "png", "captureBeyondViewport": True}
        if clip:
            options["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        else:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 12000), "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", options)["data"]))
