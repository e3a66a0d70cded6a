"""A headless browser for tests: Debian's chromium, by the WebDriver protocol (W3C), without a package."""

import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager

MISSING = None if shutil.which("chromedriver") else "needs chromium and chromedriver: apt-get install chromium-driver"
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class Browser:
    def __init__(self, address):
        self.address = address
        options = {"goog:chromeOptions": {"args": OPTIONS}, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.call("POST", "", {"capabilities": {"alwaysMatch": options}})
        self.address += f"/{made['sessionId']}"

    def call(self, method, path, content=None):
        data = None if method in ("GET", "DELETE") else json.dumps(content or {}).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, *arguments):
        for _ in range(300):
            if value := self.run(script, *arguments):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true: {script}; the page says {self.run('return document.body.innerText')[:2000]}")

    def press(self, key):
        down_up = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down_up}]})

    def errors(self):
        return [each["message"] for each in self.call("POST", "/se/log", {"type": "browser"})]


@contextmanager
def browser():
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        port = next(line.split()[-1].rstrip(".") for line in driver.stdout if "started successfully on port" in line)
        session = Browser(f"http://127.0.0.1:{port}/session")
        yield session
        session.call("DELETE", "")
    finally:
        driver.terminate()
        driver.wait()
