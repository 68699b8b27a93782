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
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.controller import Controller
from standardwebhooks import Webhook

API, DATA, VEDETTE, SMTP_PORT, FOLDER = sys.argv[1:]
PATIENCE = 60


class Receiver(BaseHTTPRequestHandler):
    """Chats and a webhook, distinguished by path, and the monitored site. ntfy messages are posted to the root."""

    got = {"slack": [], "discord": [], "teams": [], "ntfy": [], "webhook": []}
    site = 200

    def do_POST(self):
        kind = self.path.split("/")[1].split("?")[0] or "ntfy"
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        Receiver.got[kind].append({"headers": headers, "body": body, "path": self.path})
        self.answer(202 if kind == "teams" else 200)

    def do_GET(self):
        self.answer(Receiver.site)

    do_HEAD = do_GET

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


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
    got = {kind: [json.loads(one["body"]).get("type") or one["body"][:90] for one in all_]
           for kind, all_ in Receiver.got.items()}
    return {**got, "mail": [mail["subject"] for mail in Mails.got]}


def words(kind):
    """The text of each message to a channel."""
    return [json.dumps(json.loads(one["body"]), ensure_ascii=False) for one in Receiver.got[kind]]


def everybody(word, event, subject):
    """Waits until every channel has got a message with this text."""
    for kind in ("slack", "discord", "teams", "ntfy"):
        until(f"{kind} says {word}", lambda: [one for one in words(kind) if word in one])
    until(f"{event} comes", lambda: [
        one for one in Receiver.got["webhook"] if json.loads(one["body"])["type"] == event])
    until(f"a mail says {subject}", lambda: [
        mail for mail in Mails.got if mail["subject"].startswith(subject)])


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
mail_server = Controller(Mails(), hostname="127.0.0.1", port=int(SMTP_PORT))
mail_server.start()

team = ask("GET", "/teams")["data"][0]["uuid"]
for kind in ("slack", "discord", "teams"):
    operate("channel", "add", team, kind, "--name", kind, given=f"{base}/{kind}/secret?sig=secret")
token = pathlib.Path(DATA) / "ntfy-token"
token.write_text("tk_secret")
operate("channel", "add", team, "ntfy", "--name", "ntfy", "--token-file", str(token), given=f"{base}/secret-topic")
added = operate("channel", "add", team, "webhook", "--name", "program", given=f"{base}/webhook/in")
key = re.search(r"whsec_[A-Za-z0-9+/=]+", json.dumps(added)).group()
listed = json.dumps(operate("channel", "list", team))
secrets = ("/secret", "=secret", "tk_secret", "secret-topic", key)
assert not any(secret in listed for secret in secrets), "a password is shown"

# Nobody gets email without having agreed to it. Opening the page is not an agreement.
operate("channel", "add", team, "email", "ops@example.com", "--name", "mail")
asked = until("the question comes", lambda: Mails.got and Mails.got[0])
page = here(re.search(r"http://\S+/confirm\?key=\w+", asked.get_body(("plain",)).get_content()).group())
with urllib.request.urlopen(page, timeout=30) as answer:
    assert "<form" in answer.read().decode()
assert operate("channel", "show", team, "mail")["state"] != "on", "a look confirms nothing"
with urllib.request.urlopen(urllib.request.Request(page, method="POST", data=b""), timeout=30) as answer:
    assert answer.status == 200

for name in ("slack", "discord", "teams", "ntfy", "program", "mail"):
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
user = ask("GET", "/me")["data"]["user"]
operate("issue", "ack", issue, "--as", user["email"])
everybody("STILL DOWN", "issue.reminder", "[STILL DOWN")
assert any("Acknowledged by" in one for one in words("slack")), "who took it"
Receiver.site = 200
everybody("RESOLVED", "issue.resolved", "[RESOLVED]")

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
