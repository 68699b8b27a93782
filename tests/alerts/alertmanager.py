"""Sends alerts to a real Alertmanager, which is restarted, refuses some and is sent 200 at once.

    alertmanager.py VEDETTE ALERTMANAGER
"""

import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from service import Service, until

VEDETTE, ALERTMANAGER = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()
SITES = 200
POISONED = "site-3"
CONFIGURATION = """
route:
  receiver: nobody
  group_wait: 1s
  group_interval: 1s
  group_by: [site]
  routes:
    - matchers: [alertname="StatusDown", severity="critical", tag_env="prod"]
      receiver: people
receivers:
  - name: nobody
  - name: people
    webhook_configs:
      - url: BASE/people
        send_resolved: true
"""


class World(BaseHTTPRequestHandler):
    """Sites, the people whom Alertmanager notifies, and a proxy in front of it, which spoils one site's alerts."""

    is_up, is_spoiling, port = {f"/site-{number}": True for number in range(SITES)}, False, None
    people, requests = [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/people":
            World.people += json.loads(body)["alerts"]
            return self.answer(200, b"")
        alerts = json.loads(body)
        for alert in alerts:
            if World.is_spoiling and alert["labels"].get("site") == POISONED:
                alert["labels"]["not-a-label"] = "x"
        try:
            manager = http.client.HTTPConnection("127.0.0.1", World.port, timeout=10)
            manager.request("POST", self.path, json.dumps(alerts), {"content-type": "application/json"})
            answer = manager.getresponse()
            World.requests.append((len(alerts), answer.status))
            self.answer(answer.status, answer.read())
        except OSError:
            self.answer(502, b"")

    def do_GET(self):
        self.answer(200 if World.is_up.get(self.path) else 503, b"")

    do_HEAD = do_GET

    def answer(self, status, data):
        try:
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)
        except OSError:
            pass  # Whoever asked was killed.

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 256


class Manager:
    """The Alertmanager."""

    def __init__(self, folder, base):
        self.folder = folder
        (folder / "alertmanager.yaml").write_text(CONFIGURATION.replace("BASE", base))
        with socket.create_server(("127.0.0.1", 0)) as free:
            World.port = free.getsockname()[1]
        self.start()

    def start(self):
        data = tempfile.mkdtemp(dir=self.folder)
        # Debian's reads its templates at this path only.
        at_its_path = ["unshare", "--map-root-user", "--user", "--mount", "sh", "-c",
                       'mount --bind "$0" /usr/share && exec "$@"', ALERTMANAGER.parents[1] / "share"]
        self.process = subprocess.Popen(
            [*at_its_path, ALERTMANAGER, f"--config.file={self.folder}/alertmanager.yaml", f"--storage.path={data}",
             f"--web.listen-address=127.0.0.1:{World.port}", "--cluster.listen-address="],
            stdout=subprocess.DEVNULL, stderr=open(self.folder / "manager", "a"),
        )
        until("Alertmanager answers", self.answers, 30)

    def answers(self):
        try:
            return self.alerts() is not None
        except OSError:
            return False

    def alerts(self):
        """The alerts that are active."""
        url = f"http://127.0.0.1:{World.port}/api/v2/alerts"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.loads(answer.read())

    def sites(self):
        return {alert["labels"].get("site") for alert in self.alerts()}

    def restart(self):
        """Starts another one, which knows nothing."""
        self.stop()
        self.start()

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def named(*numbers):
    return {f"site-{number}" for number in numbers}


def turn(numbers, is_up):
    World.is_up.update({f"/site-{number}": is_up for number in numbers})


server = Server(("127.0.0.1", 0), World)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place)
    manager = Manager(folder, base)
    service = Service(VEDETTE, folder, "1s")
    try:
        team = service.ask("GET", "/teams")["data"][0]["uuid"]
        off = {"enabled": False, "cadence_minutes": 1440}
        service.ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": {
            "tools": {"status": {"enabled": True, "cadence_minutes": 5, "settings": {"failures_to_open": 1}},
                      "ssl": off, "dns": off, "broken-links": off, "performance": off},
        }})
        service.operate("channel", "add", team, "alertmanager", "--name", "manager", given=base)
        service.operate("channel", "test", team, "manager")
        assert [alert["labels"]["alertname"] for alert in manager.alerts()] == ["VedetteTest"]
        for path in World.is_up:
            service.ask("POST", f"/teams/{team}/sites", {
                "url": base + path, "name": path[1:], "tags": ["env:prod"], "notes": "Restart it."})

        turn([0], False)
        until("an alert opens", lambda: "site-0" in manager.sites())
        alert = next(alert for alert in manager.alerts() if alert["labels"].get("site") == "site-0")
        until("it is repeated", lambda: any(one["fingerprint"] == alert["fingerprint"] and one["endsAt"] > alert["endsAt"]
                                            for one in manager.alerts()))
        until("people hear of it", lambda: [one["status"] for one in World.people] == ["firing"])
        manager.restart()
        assert not manager.alerts()
        until("it is back after a restart", lambda: manager.sites() == {"site-0"}, 20)

        turn([0], True)
        until("it ends", lambda: not manager.sites())
        until("people hear of it", lambda: World.people[-1]["status"] == "resolved")
        assert {json.dumps(one["labels"], sort_keys=True) for one in World.people} == {
            json.dumps(alert["labels"], sort_keys=True)}, "one alert"

        World.is_spoiling = True
        turn([1, 2, 3, 4], False)
        until("the others are sent all the same", lambda: manager.sites() == named(1, 2, 4))
        until("the one is left out", lambda: [status for _, status in World.requests[-3:]] == [200] * 3)
        assert World.requests.count((1, 400)) == 1, World.requests
        failures = json.dumps(service.operate("channel", "failures", team, "manager"))
        assert "DOWN: site-3" in failures and "HTTP 400" in failures, failures
        assert service.operate("channel", "show", team, "manager")["state"] == "on"
        World.is_spoiling = False
        turn([1, 2, 3, 4], True)
        until("they end", lambda: not manager.sites())

        World.requests.clear()
        turn(range(SITES), False)
        time.sleep(2)
        service.kill()
        service.start()
        until("all alerts open", lambda: len(manager.sites()) == SITES)
        until("one request has them all", lambda: (SITES, 200) in World.requests)
        manager.restart()
        until("they are back after a restart", lambda: len(manager.sites()) == SITES, 20)
        turn(range(SITES // 2), True)
        until("half of them end", lambda: len(manager.sites()) == SITES // 2)
        print(f"{SITES} issues took {len(World.requests)} requests")
        service.kill()
        until("the rest ends without the service", lambda: not manager.sites(), 30)
        service.start()
        until("the rest is open again", lambda: len(manager.sites()) == SITES // 2)
        turn(range(SITES), True)
        until("all alerts end", lambda: not manager.sites())
        assert not [request for request in World.requests if request[1] not in (200, 502)], World.requests
        print("a real Alertmanager knew every issue that was open, and no other")
    except BaseException:
        print((folder / "log").read_text()[-4000:], (folder / "manager").read_text()[-2000:], file=sys.stderr)
        print(World.requests[-20:], World.people[-5:], file=sys.stderr)
        raise
    finally:
        service.kill()
        manager.stop()
