"""Receivers of messages that enforce the limits that their services document. A message that breaks one is refused, as
the service would, and noted."""

import datetime
import json
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "s3cret-token"
ROOM, CHAT, USER = "!s3cretroom:example.org", "-1001234567890", "u" * 30
# Where each kind of channel leads, below the address of the server, and the kinds with an access token.
PLACES = {
    "slack": "slack/s3cret?sig=s3cret", "discord": "discord/s3cret?sig=s3cret", "teams": "teams/s3cret?sig=s3cret",
    "google-chat": "google-chat/s3cret?key=s3cret", "mattermost": "mattermost/s3cret", "matrix": ROOM,
    "telegram": CHAT, "ntfy": "s3cret-topic", "pushover": USER, "gotify": f"message?token={TOKEN}",
}
INTEGRATION = "s3cretintegration000000000000000"
TOKENS = ("matrix", "telegram", "ntfy", "pushover", "alertmanager")
ALERTMANAGER = "alertmanager/s3cret"


def utf16(text):
    return len(text.encode("utf-16-le")) // 2


class Receiver(BaseHTTPRequestHandler):
    """Chats and a webhook, distinguished by path, and the monitored site. ntfy messages are posted to the root."""

    got = {kind: [] for kind in (*PLACES, "webhook", "pagerduty", "alertmanager")}
    refused, repeated, canceled, transactions = [], [], [], {}
    site = 200

    def kind(self):
        first = re.split("[/?]", self.path)[1]
        if first.startswith("bot"):
            return "telegram"
        return {"v2": "pagerduty", "_matrix": "matrix", "1": "pushover", "message": "gotify", "": "ntfy"}.get(first, first)

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.answer(*self.take(self.kind(), headers, text))

    do_PUT = do_POST

    def take(self, kind, headers, text):
        """Checks and notes a message, and returns the answer to it."""
        check = getattr(self, "take_" + kind.replace("-", "_"), lambda _: (202 if kind == "teams" else 200, "ok"))
        try:
            status, answer = check(json.loads(text))
        except AssertionError as error:
            Receiver.refused.append((kind, str(error), text))
            status, answer = 400, "refused"
        if not self.path.endswith("/cancel.json"):
            Receiver.got[kind].append({"headers": headers, "body": text, "path": self.path, "at": time.time()})
        return status, answer

    def take_telegram(self, message):
        assert self.path == f"/bot{TOKEN}/sendMessage", self.path
        assert message["chat_id"] == CHAT and "parse_mode" not in message, message
        assert 1 <= utf16(message["text"]) <= 4096, "the length"
        for row in message.get("reply_markup", {}).get("inline_keyboard", []):
            for button in row:
                host = urllib.parse.urlsplit(button["url"]).hostname
                assert button["text"] and "." in host and not host.endswith("localhost"), "BUTTON_URL_INVALID"
        reply = message.get("reply_parameters", {}).get("message_id")
        assert reply is None or 1 <= reply <= len(Receiver.got["telegram"]), "no such message"
        return 200, {"ok": True, "result": {"message_id": len(Receiver.got["telegram"]) + 1, "text": message["text"]}}

    def take_matrix(self, message):
        found = re.fullmatch(r"/_matrix/client/v3/rooms/([^/]+)/send/m\.room\.message/([A-Za-z0-9-]+)", self.path)
        assert self.command == "PUT" and found and found[1] == ROOM, self.path
        assert self.headers["authorization"] == f"Bearer {TOKEN}", "the token"
        assert message["msgtype"] == "m.text" and message["m.mentions"] == {}, message
        assert len(json.dumps(message)) <= 65_000, "the length"
        # The same transaction gets the first answer again, and nobody sees a second message.
        is_known = found[2] in Receiver.transactions
        event = Receiver.transactions.setdefault(found[2], f"${len(Receiver.transactions)}")
        reply = message.get("m.relates_to", {}).get("m.in_reply_to", {}).get("event_id")
        assert reply is None or reply in Receiver.transactions.values(), "no such event"
        if is_known:
            Receiver.repeated.append(event)
        return 200, {"event_id": event}

    def take_pushover(self, message):
        assert message["token"] == TOKEN, "the token"
        if self.path != "/1/messages.json":
            Receiver.canceled.append(re.fullmatch(r"/1/receipts/(r\d+)/cancel\.json", self.path)[1])
            return 200, {"status": 1}
        assert message["user"] == USER, "the user"
        for field, limit in (("title", 250), ("message", 1024), ("url", 512), ("url_title", 100)):
            assert len(message.get(field, "-")) in range(1, limit + 1), field
        answer = {"status": 1, "request": "request"}
        if message["priority"] == 2:
            assert message["retry"] >= 30 and message["expire"] <= 10_800, "the repeats"
            answer["receipt"] = f"r{len(Receiver.got['pushover'])}"
        return 200, answer

    def take_pagerduty(self, event):
        # As https://github.com/PagerDuty/api-schema/blob/main/reference/events-v2/openapiv3.json requires.
        assert self.path == "/v2/enqueue" and event["routing_key"] == INTEGRATION, "the key"
        action = event["event_action"]
        assert action in ("trigger", "acknowledge", "resolve") and 1 <= len(event["dedup_key"]) <= 255, event
        if action == "trigger":
            payload = event["payload"]
            assert 1 <= len(payload["summary"]) <= 1024 and payload["source"], payload
            assert payload["severity"] in ("critical", "error", "warning", "info"), payload
        return 202, {"status": "success", "message": "Event processed", "dedup_key": event["dedup_key"]}

    def take_alertmanager(self, alerts):
        # As api/v2/openapi.yaml and types.Alert of Alertmanager require.
        assert self.path == f"/{ALERTMANAGER}/api/v2/alerts", self.path
        assert self.headers["authorization"] == f"Bearer {TOKEN}", "the token"
        assert 1 <= len(alerts) <= 500, "the number"
        assert len({json.dumps(alert["labels"], sort_keys=True) for alert in alerts}) == len(alerts), "the same alert twice"
        for alert in alerts:
            texts = {**alert["labels"], **alert["annotations"]}
            assert alert["labels"]["alertname"] and all(isinstance(text, str) for text in texts.values()), alert
            assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name in texts), alert
            starts_at, ends_at = (datetime.datetime.fromisoformat(alert[name].replace("Z", "+00:00"))
                                  for name in ("startsAt", "endsAt"))
            assert starts_at <= ends_at, alert
            assert re.match("https?://", alert.get("generatorURL", "http://")), alert
        return 200, ""

    def take_gotify(self, message):
        assert self.path == "/message" and self.headers["x-gotify-key"] == TOKEN, self.path
        assert message["message"] and isinstance(message["priority"], int), message
        return 200, {"id": 1}

    def take_google_chat(self, message):
        assert len(json.dumps(message, ensure_ascii=False).encode()) <= 32_000, "the length"
        assert ("thread" in message) == ("messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD" in self.path), self.path
        return 200, {"name": "spaces/a/messages/b"}

    def take_mattermost(self, message):
        assert all(len(one["text"]) <= 16_383 for one in message["attachments"]), "the length"
        return 200, "ok"

    def do_GET(self):
        self.answer(Receiver.site, "ok")

    do_HEAD = do_GET

    def answer(self, status, answer):
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


def start(receiver=Receiver, address="127.0.0.1"):
    """Starts the receivers, and returns their address."""
    server = ThreadingHTTPServer((address, 0), receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{address}:{server.server_port}"


def has_ended(alert, now):
    """Whether an alert for Alertmanager is over at this time, in seconds."""
    return datetime.datetime.fromisoformat(alert["endsAt"].replace("Z", "+00:00")).timestamp() <= now
