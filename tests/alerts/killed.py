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
import time
import urllib.error
import urllib.request

import receivers
from receivers import PLACES, TOKEN, TOKENS, Receiver
from standardwebhooks import Webhook

VEDETTE, KILLS = sys.argv[1], int(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
SITES = 5
# A killed delivery run holds its channel until its lease has expired.
PATIENCE = 200
chance = random.Random(SEED)


class World(Receiver):
    """Sites, and receivers of alerts. The receivers are slow, so that kills hit the service while it sends."""

    is_up = {f"/site-{number}": True for number in range(SITES)}
    failed = set()

    def take(self, kind, headers, text):
        time.sleep(chance.choice([0, 0, 0.05, 0.3]))
        # No request fails twice, because after that a webhook waits for minutes.
        message = (kind, headers.get("webhook-id", text))
        if message not in World.failed and chance.random() < 0.1:
            World.failed.add(message)
            return 503, ""
        return super().take(kind, headers, text)

    def do_GET(self):
        self.answer(200 if World.is_up.get(self.path) else 503, "")

    do_HEAD = do_GET

    def answer(self, status, answer):
        try:
            super().answer(status, answer)
        except OSError:
            pass  # Whoever asked was killed.


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


def events():
    """The requests to the webhook."""
    return [(one["headers"], one["body"]) for one in list(Receiver.got["webhook"])]


def told_to_program():
    """The events that a webhook got for each issue. Repeated events have the same id."""
    told, known = collections.defaultdict(list), {}
    for headers, body in events():
        event = json.loads(body)
        first = known.setdefault(headers["webhook-id"], body)
        assert first == body, f"another body under the same id: {first} {body}"
        if (entry := (headers["webhook-id"], event["type"].split(".")[1])) not in told[event["data"]["uuid"]]:
            told[event["data"]["uuid"]].append(entry)
    return {issue: [kind for _, kind in entries] for issue, entries in told.items()}


def believed_by_people():
    """The sites that the readers of each chat believe to be down, according to their last messages."""
    down = {}
    for kind in PLACES:
        down[kind] = set()
        for body in [one["body"] for one in list(Receiver.got[kind])]:
            sites = set(re.findall(r"site-\d", body))
            is_over = "RESOLVED" in body or "WAS DOWN" in body
            down[kind] = down[kind] - sites if is_over else down[kind] | sites
    return {kind: sites for kind, sites in down.items() if sites}


def rests(service):
    """Whether all issues are resolved and everybody has heard of it."""
    happened = transitions(service)
    is_over = all(kinds[-1:] == ["resolved"] for kinds in happened.values())
    return is_over and told_to_program() == happened and not believed_by_people() and happened


# An address of its own for each receiver, because a team may send one host 60 messages a minute.
base, program, *chats = (receivers.start(World, f"127.0.0.{number}") for number in range(1, 3 + len(PLACES)))
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
        token = pathlib.Path(folder) / "channel-token"
        token.write_text(TOKEN)
        for chat, (kind, place) in zip(chats, PLACES.items()):
            given = ["--token-file", str(token)] if kind in TOKENS else []
            service.operate("channel", "add", team, kind, "--name", kind, *given, given=f"{chat}/{place}")
        added = service.operate("channel", "add", team, "webhook", "--name", "program", given=f"{program}/webhook/in")
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
            channels = service.operate("channel", "list", team)
            raise AssertionError(f"seed {SEED}: {untold}, people take {believed_by_people()} to be down: "
                                 f"{channels}") from None
        assert not Receiver.refused, f"seed {SEED}: {Receiver.refused}"
        for headers, body in events():
            Webhook(key).verify(body, headers)
        sent, count = len(events()), sum(map(len, happened.values()))
        repeated = sent - len({headers["webhook-id"] for headers, _ in events()})
        assert count >= KILLS / 2, f"seed {SEED}: too little happened: {count}"
        assert repeated <= 2 * KILLS, f"seed {SEED}: {repeated} repetitions"
        # Without the answer to a message, its emergency cannot be canceled. It expires.
        told = [json.loads(one["body"]) for one in Receiver.got["pushover"]]
        emergencies = sum(one["priority"] == 2 and "site-" in one["title"] for one in told)
        lost = emergencies - len(set(Receiver.canceled))
        assert lost <= KILLS, f"seed {SEED}: {lost} of {emergencies} emergencies go on"
        chats = sum(len(Receiver.got[kind]) for kind in PLACES)
        print(f"killed {KILLS} times: {count} events arrived, {repeated} of them once more; people know all of it by "
              f"{chats} messages in {len(PLACES)} chats; {len(Receiver.repeated)} had the transaction of another")
    except BaseException:
        print((pathlib.Path(folder) / "log").read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        service.kill()
