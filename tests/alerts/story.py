"""A site goes down, its issue is acknowledged, and it comes back. Every kind of channel gets the alerts.

    story.py API DATA VEDETTE SMTP_PORT FOLDER
"""

import email
import email.policy
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import receivers
from aiosmtpd.controller import Controller
from receivers import PLACES, TOKEN, TOKENS, Receiver
from standardwebhooks import Webhook

API, DATA, VEDETTE, SMTP_PORT, FOLDER = sys.argv[1:]
PATIENCE = 60


class Mails:
    """The SMTP server's side of emails."""

    got = []

    async def handle_DATA(self, _server, _session, envelope):
        Mails.got.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
        return "250 OK"


def operate(*arguments, given=None):
    ran = subprocess.run(
        [VEDETTE, "--json", *arguments],
        input=given, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "VEDETTE_DATA": DATA},
    )
    assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr)
    return json.loads(ran.stdout)


def here(link):
    """Changes a link so that this process can follow it. Browsers resolve names under localhost to this machine, but
    Python may not."""
    return link.replace("//vedette.localhost:", "//127.0.0.1:")


def ask(method, path, body=None):
    token = (pathlib.Path(DATA) / "token").read_text().strip()
    request = urllib.request.Request(
        API + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or "null")


def until(what, found):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what}: {summary()}")


def summary():
    got = {kind: [one["body"][:90] for one in all_] for kind, all_ in Receiver.got.items()}
    return {**got, "mail": [mail["subject"] for mail in Mails.got]}


def words(kind):
    """The text of each message to a channel."""
    return [json.dumps(json.loads(one["body"]), ensure_ascii=False) for one in Receiver.got[kind]]


def everybody(word, event, subject):
    """Waits until every channel has got a message with this text."""
    for kind in PLACES:
        until(f"{kind} says {word}", lambda: [one for one in words(kind) if word in one])
    until(f"{event} comes", lambda: [
        one for one in Receiver.got["webhook"] if json.loads(one["body"])["type"] == event])
    until(f"a mail says {subject}", lambda: [
        mail for mail in Mails.got if mail["subject"].startswith(subject)])


base = receivers.start()
mail_server = Controller(Mails(), hostname="127.0.0.1", port=int(SMTP_PORT))
mail_server.start()

team = ask("GET", "/teams")["data"][0]["uuid"]
token = pathlib.Path(DATA) / "channel-token"
token.write_text(TOKEN)
for kind, place in PLACES.items():
    given = ["--token-file", str(token)] if kind in TOKENS else []
    operate("channel", "add", team, kind, "--name", kind, *given, given=f"{base}/{place}")
added = operate("channel", "add", team, "webhook", "--name", "program", given=f"{base}/webhook/in")
key = re.search(r"whsec_[A-Za-z0-9+/=]+", json.dumps(added)).group()
operate("channel", "add", team, "pagerduty", "--name", "pager", given=f"{base}/{receivers.INTEGRATION}")
operate("channel", "add", team, "alertmanager", "--name", "manager", "--token-file", str(token),
        given=f"{base}/{receivers.ALERTMANAGER}")
listed = json.dumps(operate("channel", "list", team))
secrets = ("s3cret", receivers.CHAT, receivers.USER, key)
assert not any(secret in listed for secret in secrets), listed

# Nobody gets email without having agreed to it. Opening the page is not an agreement.
operate("channel", "add", team, "email", "ops@example.com", "--name", "mail")
asked = until("the question comes", lambda: Mails.got and Mails.got[0])
page = here(re.search(r"http://\S+/confirm\?key=\w+", asked.get_body(("plain",)).get_content()).group())
with urllib.request.urlopen(page, timeout=30) as answer:
    assert "<form" in answer.read().decode()
assert operate("channel", "show", team, "mail")["state"] != "on", "a look confirms nothing"
with urllib.request.urlopen(urllib.request.Request(page, method="POST", data=b""), timeout=30) as answer:
    assert answer.status == 200

for name in (*PLACES, "program", "pager", "manager", "mail"):
    operate("channel", "test", team, name)
everybody("TEST", "channel.test", "[TEST]")

off = {"enabled": False}
ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": {
    "tools": {"ssl": {"enabled": True, "cadence_minutes": 1440}},
    "escalation": {"enabled": True, "intervals": [15]},
}})
name = "Shop <!channel> @everyone \u200fRTL"
site = ask("POST", f"/teams/{team}/sites", {
    "url": base, "name": name,
    "monitoring_settings": {"tools": {"status": {"enabled": True}, "ssl": off, "dns": off,
                                      "broken-links": off, "performance": off}},
})["data"]["uuid"]
Receiver.site = 503
everybody("DOWN: ", "issue.opened", "[DOWN]")
issue = ask("GET", "/issues?status=active")["data"][0]["uuid"]

# Somebody presses the button in ntfy. Looking at the page of the link changes nothing.
[button, view] = next(one for one in map(json.loads, words("ntfy")) if "actions" in one)["actions"]
with urllib.request.urlopen(here(view["url"]), timeout=30) as answer:
    assert "Acknowledge" in answer.read().decode()
assert ask("GET", f"/issues/{issue}")["data"]["status"] == "open", "a look acknowledges nothing"
press = urllib.request.Request(here(button["url"]), method=button["method"], headers={"origin": "https://ntfy.sh"})
with urllib.request.urlopen(press, timeout=30) as answer:
    assert answer.headers["access-control-allow-origin"] == "*"
taken = ask("GET", f"/issues/{issue}")["data"]
assert taken["status"] == "acknowledged" and taken["acknowledged_by"] is None, taken
assert taken["timeline"][-1]["channel_uuid"] == operate("channel", "show", team, "ntfy")["uuid"], taken
everybody("STILL DOWN", "issue.reminder", "[STILL DOWN")
assert any("Acknowledged by a reader of this channel" in one for one in words("ntfy")), "who took it"
assert any("Acknowledged by a reader of another channel" in one for one in words("slack")), "who took it"
Receiver.site = 200
everybody("RESOLVED", "issue.resolved", "[RESOLVED]")
until("the incident is resolved", lambda: len(Receiver.got["pagerduty"]) == 4)


def snapshots():
    """What each request to Alertmanager says about the site: its labels, and whether it is open."""
    requests = [(one["at"], alert) for one in list(Receiver.got["alertmanager"]) for alert in json.loads(one["body"])]
    return [(alert["labels"], not receivers.has_ended(alert, at)) for at, alert in requests if "site" in alert["labels"]]


until("the end is repeated", lambda: [is_open for _, is_open in snapshots()][-2:] == [False, False])
assert not Receiver.refused, Receiver.refused

# Nobody gets a message twice, as they would if an answer were taken for a failure.
for kind in PLACES:
    bodies = [one["body"] for one in Receiver.got[kind]]
    assert len(set(bodies)) == len(bodies), (kind, bodies)

# Messages after the opening refer to it.
told = {kind: [json.loads(one["body"]) for one in Receiver.got[kind]] for kind in PLACES}
for kind, opening in (
    ("matrix", lambda one: one.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")),
    ("telegram", lambda one: one.get("reply_parameters", {}).get("message_id")),
    ("google-chat", lambda one: one.get("thread", {}).get("threadKey")),
):
    referred = [opening(one) for one in told[kind] if "TEST" not in json.dumps(one)]
    referred = referred if kind == "google-chat" else referred[1:]
    assert len(set(referred)) == 1 and referred[0] is not None, (kind, referred)
until("the emergency ends", lambda: Receiver.canceled)
assert [one["priority"] for one in told["pushover"] if one["priority"] == 2] == [2], "one emergency"

incidents = [json.loads(one["body"]) for one in Receiver.got["pagerduty"]]
test, *incidents = [(event["event_action"], event["dedup_key"]) for event in incidents]
assert test[0] == "trigger" and [action for action, _ in incidents] == ["trigger", "acknowledge", "resolve"], incidents
assert len({key for _, key in incidents}) == 1 and incidents[0][1] != test[1], "one incident"

repeated = [is_open for _, is_open in snapshots()]
assert repeated.count(True) >= 2 and repeated == sorted(repeated, reverse=True), repeated
assert all(labels == snapshots()[0][0] for labels, _ in snapshots()), "one alert"
assert snapshots()[0][0]["alertname"] == "StatusDown" and snapshots()[0][0]["severity"] == "critical"

for one in Receiver.got["webhook"]:
    Webhook(key).verify(one["body"], one["headers"])
events = [json.loads(one["body"]) for one in Receiver.got["webhook"]]
assert [event["type"] for event in events if event["type"] != "issue.reminder"] == [
    "channel.test", "issue.opened", "issue.resolved"], [event["type"] for event in events]
assert len({one["headers"]["webhook-id"] for one in Receiver.got["webhook"]}) == len(events), "once each"
assert events[1]["data"]["site"]["name"] == name and events[1]["data"]["uuid"] == issue

# A hostile site name notifies nobody and does not break the layout.
assert not any("<!channel>" in one for one in words("slack"))
for one in Receiver.got["discord"]:
    assert json.loads(one["body"])["allowed_mentions"] == {"parse": []} and "wait=true" in one["path"]
mails = [mail for mail in Mails.got if "Shop" in mail["subject"]]
threads = {mail["references"] for mail in mails}
assert len(threads) == 1 and None not in threads, threads
for mail in mails:
    assert mail["to"] == "ops@example.com" and mail["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    plain = mail.get_body(("plain",)).get_content()
    assert f"/issues/{issue}" in plain and "\u200f" not in plain + mail["subject"], plain
    assert mail.get_body(("html",)) is not None

# One-click unsubscribe, as a mail program sends it.
link = here(re.search(r"<(http[^>]+)>", mails[0]["list-unsubscribe"]).group(1))
click = urllib.request.Request(link, method="POST", data=b"List-Unsubscribe=One-Click")
with urllib.request.urlopen(click, timeout=30) as answer:
    assert answer.status == 200
assert operate("channel", "show", team, "mail")["state"] != "on"

pathlib.Path(FOLDER).mkdir()
(pathlib.Path(FOLDER) / "sent.json").write_text(json.dumps({"key": key, **Receiver.got}))
mail_server.stop()
print(f"{sum(map(len, Receiver.got.values()))} messages and {len(Mails.got)} emails arrived as expected")
