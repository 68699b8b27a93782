"""The process of a service that a test starts, asks and kills."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

# A killed delivery run holds its channel until its lease has expired.
PATIENCE = 200


class Service:
    """The service's process, which the test starts and kills."""

    def __init__(self, vedette, folder, minute):
        self.vedette, self.folder, self.minute = vedette, folder, minute
        self.start()

    def start(self):
        out = open(self.folder / "out", "w")
        self.process = subprocess.Popen(
            [self.vedette, "serve", "--data", self.folder / "data", "--listen", "127.0.0.1:0", "--token", "--quiet", "--minute", self.minute],
            stdout=out, stderr=open(self.folder / "log", "a"),
            env={"PATH": os.environ["PATH"], "VEDETTE_THROTTLE": "4000000000",
                 "VEDETTE_ALLOW_TARGETS": "127.0.0.0/8",
                 "VEDETTE_ALLOW_RECEIVERS": "127.0.0.0/8", "VEDETTE_RDAP": "none", "VEDETTE_AUDITOR": "none",
                 "VEDETTE_DOH": "nobody=https://127.0.0.1:1/dns-query"},
        )
        self.api = until("it says where it is", self.said, 30)

    def said(self):
        assert self.process.poll() is None, (self.folder / "log").read_text()
        found = re.search(r"http://\S+/api/v1", (self.folder / "out").read_text())
        return found and found.group()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, method, path, body=None):
        token = (self.folder / "data/token").read_text().strip()
        request = urllib.request.Request(
            self.api + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as refusal:
            raise AssertionError(refusal.read().decode()) from None

    def operate(self, *arguments, given=None):
        ran = subprocess.run(
            [self.vedette, "--json", *arguments], input=given, capture_output=True, text=True,
            env={"PATH": "/usr/bin:/bin", "VEDETTE_DATA": str(self.folder / "data")},
        )
        assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)


def until(what, found, patience=PATIENCE):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.2)
    raise AssertionError(what)
