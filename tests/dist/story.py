"""The first minutes after an installation, over HTTP, and what the service reports to systemd.

    story.py tutorial COMMAND...    COMMAND runs the installed program, whose data folder is empty; prints seconds
    story.py browser NODE COMMAND...    the same in Chromium, from the link that the service prints
    story.py performance COMMAND...    COMMAND runs a program that has a browser
    story.py systemd SOCKET COMMAND...    the same program, started as systemd does; SOCKET is the path outside
    story.py booted NSPAWN ROOT PACKAGE    boots the root's own systemd, and installs the root's file PACKAGE in it
"""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The longest acceptable waits, in seconds: from `serve` to a first result on a page, and for `vedette probe status`. A
# busy machine may take longer, so the test shows the times and does not fail.
FIRST_RESULT, FIRST_PROBE = 30, 5
PATIENCE = 120
PROMPT = {"VEDETTE_ALLOW_TARGETS": "127.0.0.0/8", "VEDETTE_DOH": "nobody=https://127.0.0.1:1/dns-query", "VEDETTE_RDAP": "none"}


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<h1>Shop</h1>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def shop():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


class Service:
    """`vedette serve`, started as a user starts it."""

    def __init__(self, command, options=("--token",), last="curl", **more):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "serve", "--listen", "127.0.0.1:0", "--quiet", *options], stdout=subprocess.PIPE, text=True,
            env={**os.environ, **PROMPT, **more},
        )
        self.said = ""
        while last not in self.said:
            line = self.process.stdout.readline()
            assert line, f"the service ended with {self.process.wait()}"
            self.said += line
        self.answers = time.monotonic() - self.started
        self.address = self.found(r"API +http://([\d.:]+)/api/v1")
        self.token = self.found(r"Token +(\S+)")
        self.link = self.found(r"Dashboard +http://[^/]+(/\S+)")

    def found(self, pattern):
        """The text that a group of a pattern matches in the output of the service."""
        match = re.search(pattern, self.said)
        return match and match[1]

    def ask(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def call(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        status, _, text = self.ask(method, f"/api/v1{path}", body and json.dumps(body), headers.items())
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text) if text else None

    def sign_in(self):
        host = f"vedette.localhost:{self.address.rsplit(':', 1)[1]}"
        self.browser = {"Host": host, "Origin": f"http://{host}"}
        status, headers, text = self.ask("POST", self.link, "", self.browser.items())
        assert status == 303, f"{status} {text}"
        self.browser["Cookie"] = headers["set-cookie"].split(";")[0]

    def page(self, path):
        status, _, text = self.ask("GET", path, headers=self.browser.items())
        assert status == 200, f"{path}: {status}"
        return text

    def pid(self):
        """The process of the program itself, not the one that started it in its root."""
        pid = self.process.pid
        while open(f"/proc/{pid}/comm").read() == "bwrap\n":
            pid = children(pid)[0]
        return pid

    def stop(self):
        os.kill(self.pid(), signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        assert code == 0, f"the service ended with {code}"


def tutorial(command):
    target = shop()
    service = Service(command)
    try:
        service.sign_in()
        team = service.call("GET", "/teams")["data"][0]["uuid"]
        site = service.call("POST", f"/teams/{team}/sites", {"url": target})["data"]["uuid"]
        # A person watches the page until it shows the result of a check.
        while "HTTP 200 in " not in service.page(f"/sites/{site}"):
            assert time.monotonic() - service.started < PATIENCE, "the page has no result"
            time.sleep(0.1)
        first_result = time.monotonic() - service.started
        latest = service.call("GET", f"/sites/{site}")["data"]["latest_checks"]["status"]
        assert latest["result"]["code"] == 200, latest
        idle = memory(service.pid())
    finally:
        service.stop()

    began = time.monotonic()
    probed = subprocess.run(
        [*command, "probe", "status", target], capture_output=True, text=True, env={**os.environ, **PROMPT}
    )
    probe = time.monotonic() - began
    assert probed.returncode == 0 and "200" in probed.stdout, probed
    print(f"    answers after {service.answers:.2f} s, first result on a page after {first_result:.2f} s of {FIRST_RESULT}, "
          f"vedette probe status in {probe:.2f} s of {FIRST_PROBE}; {idle:.0f} MB", flush=True)


def browser(node, command):
    """A user without a token, who does what `first-run.mjs` does."""
    service = Service(command, options=(), last="API ")
    try:
        script = pathlib.Path(__file__).with_name("first-run.mjs")
        subprocess.run([node, script, service.found(r"Dashboard +(\S+)"), shop()], check=True, timeout=2 * PATIENCE)
    finally:
        service.stop()
    print("    in Chromium: an account, a first site and its results", flush=True)


def performance(command):
    """A Lighthouse check in the program's own root."""
    service = Service(command)
    try:
        team = service.call("GET", "/teams")["data"][0]["uuid"]
        site = service.call("POST", f"/teams/{team}/sites", {"url": shop()})["data"]["uuid"]
        began = time.monotonic()
        while not (check := service.call("GET", f"/sites/{site}")["data"]["latest_checks"].get("performance")):
            assert time.monotonic() - began < PATIENCE, "there is no performance check"
            time.sleep(0.5)
        assert check["status"] == "completed", check
        taken = time.monotonic() - began
        score = check["result"]["speed_metrics"]["performance_score"]
    finally:
        service.stop()
    print(f"    Lighthouse audits a page in {taken:.1f} s: {score} points", flush=True)


def children(pid):
    return [int(child) for child in open(f"/proc/{pid}/task/{pid}/children").read().split()]


def memory(pid):
    """The memory of a process and its children in megabytes, without the pages of their binaries."""
    anonymous = re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]
    return int(anonymous) / 1024 + sum(map(memory, children(pid)))


def systemd(path, command):
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(path)
    os.chmod(path, 0o666)
    told.settimeout(PATIENCE)
    watchdog = 2
    service = Service(command, NOTIFY_SOCKET="/run/notify", WATCHDOG_USEC=str(watchdog * 1_000_000))
    ready = told.recv(4096).decode().splitlines()
    assert "READY=1" in ready and any(line.startswith("STATUS=Listening on ") for line in ready), ready
    times = []
    while len(times) < 4:
        assert told.recv(4096).strip() == b"WATCHDOG=1"
        times.append(time.monotonic())
    longest = max(later - earlier for earlier, later in zip(times, times[1:]))
    assert longest < watchdog, f"silent for {longest:.1f} s"
    service.stop()
    said = [told.recv(4096).strip()]
    while said[-1] != b"STOPPING=1":
        said.append(told.recv(4096).strip())
    print("    systemd gets READY, WATCHDOG in time, and STOPPING")


class Machine:
    """A root of Debian that its own systemd has booted, in namespaces and without a network."""

    def __init__(self, nspawn, root):
        self.process = subprocess.Popen(
            [nspawn, "--quiet", "--boot", "--private-network", "--register=no", "--keep-unit", "--link-journal=no",
             "--resolv-conf=off", "--timezone=off", "--console=pipe", f"--directory={root}"],
            # Newer versions of systemd need the second version of cgroups, which this machine may have beside the first.
            env={**os.environ, "UNIFIED_CGROUP_HIERARCHY": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )

    def run(self, *command, check=True):
        init = children(self.process.pid)[0]
        ran = subprocess.run(
            ["nsenter", f"--target={init}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd",
             "env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", *command],
            capture_output=True, text=True, timeout=PATIENCE,
        )
        assert not check or ran.returncode == 0, ran
        return ran.stdout.strip()

    def wait_until(self, ready):
        """Waits, and returns the seconds."""
        began = time.monotonic()
        while not ready():
            assert self.process.poll() is None, "systemd ended"
            assert time.monotonic() - began < PATIENCE, self.run("systemctl", "status", "vedette", check=False)
            time.sleep(0.1)
        return time.monotonic() - began

    def is_booted(self):
        return children(self.process.pid) and self.run("systemctl", "is-system-running", check=False) in ("running", "degraded")

    def service(self, name):
        """A property of the unit."""
        return self.run("systemctl", "show", "--property", name, "--value", "vedette")

    def has_restarted(self, times):
        return self.service("NRestarts") == str(times) and self.service("ActiveState") == "active"

    def vedette(self, *command):
        """Runs a command as the guide says."""
        return self.run("runuser", "-u", "vedette", "--", "env", "VEDETTE_DATA=/var/lib/vedette", "vedette", *command)

    def power_off(self):
        self.run("systemctl", "poweroff", check=False)
        _, said = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, said


def booted(nspawn, root, package):
    machine = Machine(nspawn, root)
    try:
        machine.wait_until(machine.is_booted)
        machine.run("dpkg", "--install", package)
        assert machine.service("ActiveState") == "active", machine.run("systemctl", "status", "vedette", check=False)
        assert machine.service("StatusText").startswith("Listening on "), machine.service("StatusText")
        assert "/setup" in machine.run("journalctl", "--unit", "vedette", "--output", "cat"), "the journal has no link"
        machine.vedette("user", "create", "--name", "Ada", "--email", "ada@example.com")

        began = time.monotonic()
        machine.run("systemctl", "restart", "vedette")
        restart = time.monotonic() - began
        machine.vedette("health")

        # Two minutes are too long for a test.
        machine.run("sh", "-c", "mkdir -p /run/systemd/system/vedette.service.d && "
                    "printf '[Service]\\nWatchdogSec=2s\\n' > /run/systemd/system/vedette.service.d/watchdog.conf")
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "restart", "vedette")
        machine.run("systemctl", "kill", "--signal=STOP", "vedette")
        hung = machine.wait_until(lambda: machine.has_restarted(1))
        assert "Watchdog timeout" in machine.run("journalctl", "--unit", "vedette"), "the watchdog did not end it"
        machine.run("systemctl", "kill", "--signal=KILL", "vedette")
        killed = machine.wait_until(lambda: machine.has_restarted(2))
        assert "Ada" in machine.vedette("user", "show", "ada@example.com")

        machine.run("systemctl", "stop", "vedette")
        assert machine.service("Result") == "success", machine.run("systemctl", "status", "vedette", check=False)
    finally:
        machine.power_off()
    print(f"    a booted systemd starts it, restarts it in {restart:.1f} s, after a kill in {killed:.1f} s, and {hung:.1f} s "
          "after it hangs with a watchdog of 2 s", flush=True)


match sys.argv[1:]:
    case ["tutorial", *command]:
        tutorial(command)
    case ["browser", node, *command]:
        browser(node, command)
    case ["performance", *command]:
        performance(command)
    case ["systemd", path, *command]:
        systemd(path, command)
    case ["booted", nspawn, root, package]:
        booted(nspawn, root, package)
    case _:
        sys.exit(__doc__)
