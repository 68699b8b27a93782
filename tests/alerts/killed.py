"""Kills the service repeatedly while sites go down and come back. Still, everybody learns the current state.

    killed.py VEDETTE KILLS [SITES] [SEED]
"""

import collections
import json
import pathlib
import random
import re
import sys
import tempfile
import time

import receivers
from receivers import PLACES, TOKEN, TOKENS, Receiver
from service import Service, until
from standardwebhooks import Webhook

VEDETTE, KILLS = sys.argv[1], int(sys.argv[2])
SITES = int(sys.argv[3]) if len(sys.argv) > 3 else 5
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
# A webhook gets 60 events a minute, and people the news of 50 sites.
PATIENCE = 200 + 6 * SITES
# With more sites, each is checked less often.
MINUTE = f"{SITES // 5 * 250}ms"
chance = random.Random(SEED)


class World(Receiver):
    """Sites, and receivers of alerts. The receivers are slow, so that kills hit the service while it sends."""

    is_up = {f"/site-{number}": True for number in range(SITES)}
    failed = set()
    verified = 0

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


def transitions(service):
    """What happened to each issue, in order."""
    pages = range(1, 2 + SITES // 100)
    issues = [issue for status in ("active", "resolved") for page in pages
              for issue in service.ask("GET", f"/issues?status={status}&per_page=100&page={page}")["data"]]
    return {issue["uuid"]: [entry["key"] for entry in service.ask("GET", f"/issues/{issue['uuid']}")["data"]["timeline"]
                            if entry["key"] in ("opened", "resolved")] for issue in issues}


def events():
    """The requests to the webhook."""
    return [(one["headers"], one["body"]) for one in list(Receiver.got["webhook"])]


def verify_events():
    """Verifies the signatures of new events, which are valid for five minutes."""
    for headers, body in events()[World.verified:]:
        Webhook(key).verify(body, headers)
        World.verified += 1


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
            # Mattermost gets Markdown, in which a backslash precedes each hyphen.
            sites = set(re.findall(r"site-\d+", body.replace("\\", "")))
            is_over = "RESOLVED" in body or "WAS DOWN" in body
            down[kind] = down[kind] - sites if is_over else down[kind] | sites
    return {kind: sites for kind, sites in down.items() if sites}


def believed_by_alertmanager():
    """The issues whose alerts are open according to the last request with each of them."""
    is_open = {}
    for one in list(Receiver.got["alertmanager"]):
        for alert in json.loads(one["body"]):
            is_open[json.dumps(alert["labels"], sort_keys=True)] = not receivers.has_ended(alert, one["at"])
    return is_open


def rests(service):
    """Whether all issues are resolved and everybody has heard of it."""
    verify_events()
    happened = transitions(service)
    is_over = all(kinds[-1:] == ["resolved"] for kinds in happened.values())
    is_known = told_to_program() == happened and not believed_by_people()
    return is_over and is_known and not any(believed_by_alertmanager().values()) and happened


# An address of its own for each receiver, because a team may send one host 60 messages a minute.
base, program, manager, *chats = (receivers.start(World, f"127.0.0.{number}") for number in range(1, 4 + len(PLACES)))
with tempfile.TemporaryDirectory() as folder:
    service = Service(VEDETTE, pathlib.Path(folder), MINUTE)
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
        service.operate("channel", "add", team, "alertmanager", "--name", "manager", "--token-file", str(token),
                        given=f"{manager}/{receivers.ALERTMANAGER}")
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
            happened = until("rest", lambda: rests(service), PATIENCE)
        except AssertionError:
            told = told_to_program()
            untold = {issue: (kinds, told.get(issue)) for issue, kinds in transitions(service).items()
                      if kinds[-1] != "resolved" or kinds != told.get(issue)}
            channels = service.operate("channel", "list", team)
            raise AssertionError(f"seed {SEED}: {untold}, people take {believed_by_people()} to be down: "
                                 f"{channels}") from None
        assert not Receiver.refused, f"seed {SEED}: {Receiver.refused}"
        assert 0 < len(believed_by_alertmanager()) <= len(happened), f"seed {SEED}: {believed_by_alertmanager()}"
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
