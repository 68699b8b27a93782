"""Kills the service repeatedly while sites go down and come back. Still, everybody learns the current state.

    killed.py VEDETTE KILLS [SEED]
"""

import collections
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook

VEDETTE, KILLS = sys.argv[1], int(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
SITES = 5
# A killed delivery run holds its channel until its lease has expired.
PATIENCE = 200
chance = random.Random(SEED)


class World(BaseHTTPRequestHandler):
    """Sites, and receivers of alerts. The receivers are slow, so that kills hit the service while it sends."""

    is_up = {f"/site-{number}": True for number in range(SITES)}
    chat = []
    events = []
    failed = set()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        time.sleep(chance.choice([0, 0, 0.05, 0.3]))
        # No request fails twice, because after that a webhook waits for minutes.
        message = headers.get("webhook-id", body)
        if message not in World.failed and chance.random() < 0.1:
            World.failed.add(message)
            return self.answer(503)
        if self.path == "/chat":
            World.chat.append((json.loads(body)["text"], body))
        else:
            World.events.append((headers, body))
        self.answer(200)

    def do_GET(self):
        self.answer(200 if World.is_up.get(self.path) else 503)

    do_HEAD = do_GET

    def answer(self, status):
        try:
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()
        except OSError:
            pass  # Whoever asked was killed.

    def log_message(self, *_):
        pass


class Service:
    """The service's process, which the test starts and kills."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        out = open(self.folder / "out", "w")
        self.process = subprocess.Popen(
            [VEDETTE, "serve", "--data", self.folder / "data", "--listen", "127.0.0.1:0", "--token", "--quiet", "--minute", "0.25s"],
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
            [VEDETTE, "--json", *arguments], input=given, capture_output=True, text=True,
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


def transitions(service):
    """What happened to each issue, in order."""
    issues = [issue for status in ("active", "resolved")
              for issue in service.ask("GET", f"/issues?status={status}&per_page=100")["data"]]
    return {issue["uuid"]: [entry["key"] for entry in service.ask("GET", f"/issues/{issue['uuid']}")["data"]["timeline"]
                            if entry["key"] in ("opened", "resolved")] for issue in issues}


def told_to_program():
    """The events that a webhook got for each issue. Repeated events have the same id."""
    told, known = collections.defaultdict(list), {}
    for headers, body in list(World.events):
        event = json.loads(body)
        first = known.setdefault(headers["webhook-id"], body)
        assert first == body, f"another body under the same id: {first} {body}"
        if (entry := (headers["webhook-id"], event["type"].split(".")[1])) not in told[event["data"]["uuid"]]:
            told[event["data"]["uuid"]].append(entry)
    return {issue: [kind for _, kind in entries] for issue, entries in told.items()}


def believed_by_people():
    """The sites that people believe to be down, according to their last messages."""
    down = set()
    for title, body in list(World.chat):
        # If there are many sites, the title names one.
        sites = set(re.findall(r"site-\d", body))
        is_over = "RESOLVED" in title or "WAS DOWN" in title
        down = down - sites if is_over else down | sites
    return down


def rests(service):
    """Whether all issues are resolved and everybody has heard of it."""
    happened = transitions(service)
    is_over = all(kinds[-1:] == ["resolved"] for kinds in happened.values())
    return is_over and told_to_program() == happened and not believed_by_people() and happened


server = ThreadingHTTPServer(("127.0.0.1", 0), World)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
with tempfile.TemporaryDirectory() as folder:
    service = Service(pathlib.Path(folder))
    try:
        team = service.ask("GET", "/teams")["data"][0]["uuid"]
        off = {"enabled": False, "cadence_minutes": 1440}
        service.ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": {
            "tools": {"status": {"enabled": True, "cadence_minutes": 1, "settings": {"failures_to_open": 1}},
                      "ssl": off, "dns": off, "broken-links": off, "performance": off},
            "escalation": {"enabled": False},
        }})
        service.operate("channel", "add", team, "slack", "--name", "people", given=base + "/chat")
        added = service.operate("channel", "add", team, "webhook", "--name", "program", given=base + "/in")
        key = re.search(r"whsec_[A-Za-z0-9+/=]+", json.dumps(added)).group()
        for path in World.is_up:
            service.ask("POST", f"/teams/{team}/sites", {"url": base + path, "name": path[1:]})
        for _ in range(KILLS):
            for path in chance.sample(sorted(World.is_up), chance.randrange(1, SITES)):
                World.is_up[path] ^= True
            time.sleep(chance.uniform(0.2, 3))
            service.kill()
            service.start()
        World.is_up = dict.fromkeys(World.is_up, True)
        try:
            happened = until("rest", lambda: rests(service))
        except AssertionError:
            told = told_to_program()
            untold = {issue: (kinds, told.get(issue)) for issue, kinds in transitions(service).items()
                      if kinds[-1] != "resolved" or kinds != told.get(issue)}
            channels = [service.operate("channel", "show", team, name) for name in ("people", "program")]
            raise AssertionError(f"seed {SEED}: {untold}, people take {believed_by_people()} to be down: "
                                 f"{[title for title, _ in World.chat[-20:]]}, {channels}") from None
        for headers, body in World.events:
            Webhook(key).verify(body, headers)
        sent, events = len(World.events), sum(map(len, happened.values()))
        repeated = sent - len({headers["webhook-id"] for headers, _ in World.events})
        assert events >= KILLS / 2, f"seed {SEED}: too little happened: {events}"
        assert repeated <= 2 * KILLS, f"seed {SEED}: {repeated} repetitions"
        print(f"killed {KILLS} times: {events} events arrived, {repeated} of them once more; "
              f"people know all of it by {len(World.chat)} messages")
    except BaseException:
        print((pathlib.Path(folder) / "log").read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        service.kill()
