"""The first minutes after an installation, over HTTP, and what the service reports to systemd.

    story.py tutorial HEALTH COMMAND...    COMMAND runs the installed program, whose data folder is empty, and HEALTH is
                                           the health check of its package; prints seconds
    story.py browser NODE COMMAND...    the same in Chromium, from the link that the service prints
    story.py performance COMMAND...    COMMAND runs a program that has a browser
    story.py systemd SOCKET COMMAND...    the same program, started as systemd does; SOCKET is the path outside
    story.py booted NSPAWN ROOT PACKAGE REGISTRY    boots the root's own systemd, installs the root's file PACKAGE in it, and
                                                    a browser from this registry of npm
    story.py requests ADDRESS    asks the service at this address again and again until standard input ends. Prints a line
                                 after the first answer, and in the end the longest wait in seconds
    story.py audit ADDRESS TOKEN    adds a site to the service at this address, and waits for its performance check
"""

import functools
import http.client
import json
import os
import pathlib
import queue
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The longest acceptable waits, in seconds: from `serve` to a first result on a page, and for `vedette probe status`. A
# busy machine may take longer, so the test shows the times and does not fail.
FIRST_RESULT, FIRST_PROBE = 30, 5
PATIENCE = 120
# The user that `--token` creates.
OWNER = "owner@example.com"
PROMPT = {
    "VEDETTE_ALLOW_TARGETS": "127.0.0.0/8", "VEDETTE_ALLOW_RECEIVERS": "127.0.0.0/8",
    "VEDETTE_DOH": "nobody=https://127.0.0.1:1/dns-query", "VEDETTE_RDAP": "none",
    # Watching a check takes more requests than people make.
    "VEDETTE_THROTTLE": "6000",
}


class Shop(BaseHTTPRequestHandler):
    """The web shop of the tutorial, with one broken link."""

    def do_GET(self):
        body = b"<h1>Shop</h1><a href=/gone>Gone</a>"
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Receiver(BaseHTTPRequestHandler):
    """A program that gets alerts."""

    got = queue.Queue()

    def do_POST(self):
        Receiver.got.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

    @classmethod
    def next(cls, kind):
        """Waits for the next event of this kind about a status check. The certificate check fails, too."""
        while True:
            try:
                event = cls.got.get(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"the webhook got no {kind}") from None
            if event["data"]["type"] == "status":
                assert event["type"] == kind, event
                return event["data"]


class Server(ThreadingHTTPServer):
    """A web server on this machine, until it is stopped."""

    def __init__(self, handler, port=0):
        super().__init__(("127.0.0.1", port), handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class Client:
    """A program that uses the API."""

    def __init__(self, address, token):
        self.address, self.token = address, token

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

    def add_site(self, url, **more):
        team = self.call("GET", "/teams")["data"][0]["uuid"]
        return self.call("POST", f"/teams/{team}/sites", {"url": url, **more})["data"]["uuid"]

    def wait_for(self, site, tool):
        """Waits until the first check of a tool has ended."""
        began = time.monotonic()
        while not (check := self.call("GET", f"/sites/{site}")["data"]["latest_checks"].get(tool)):
            assert time.monotonic() - began < PATIENCE, f"there is no {tool} check"
            time.sleep(0.5)
        return check

    def audit(self):
        """Has Lighthouse audit a page, and describes the result."""
        began = time.monotonic()
        check = self.wait_for(self.add_site(Server(Shop).url), "performance")
        assert check["status"] == "completed", check
        taken = time.monotonic() - began
        return f"Lighthouse audits a page in {taken:.1f} s: {check['result']['speed_metrics']['performance_score']} points"


class Service(Client):
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
        self.command, self.address = command, self.found(r"API +http://([\d.:]+)/api/v1")

    @functools.cached_property
    def token(self):
        """A token of the owner. The output, which is not a terminal, contains none."""
        return self.operate("token", "create", "--email", OWNER, "--name", "Test")["secret"]

    def operate(self, *words):
        done = ran([*self.command, "--json", *words])
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def found(self, pattern):
        """The text that a group of a pattern matches in the output of the service."""
        match = re.search(pattern, self.said)
        return match and match[1]

    def sign_in(self):
        host = f"vedette.localhost:{self.address.rsplit(':', 1)[1]}"
        self.browser = {"Host": host, "Origin": f"http://{host}"}
        link = urllib.parse.urlsplit(self.operate("sign-in", OWNER)["link"])
        status, headers, text = self.ask("POST", link.path, "", self.browser.items())
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


def ran(command, given=None):
    return subprocess.run(command, input=given, capture_output=True, text=True, env={**os.environ, **PROMPT})


def tutorial(health, command):
    """Does what docs/tutorial.md does, with a channel for alerts."""
    health = [*command[:-1], *shlex.split(health)]
    shop, receiver = Server(Shop), Server(Receiver)
    service = Service(command, options=("--token", "--minute", "1s"))
    try:
        service.sign_in()
        site = service.add_site(shop.url, name="Shop")
        # A person watches the page until it shows the result of a check.
        while "HTTP 200 in " not in service.page(f"/sites/{site}"):
            assert time.monotonic() - service.started < PATIENCE, "the page has no result"
            time.sleep(0.1)
        first_result = time.monotonic() - service.started
        latest = service.call("GET", f"/sites/{site}")["data"]["latest_checks"]["status"]
        assert latest["result"]["code"] == 200, latest
        idle = memory(service.pid())
        healthy = ran(health)
        assert healthy.returncode == 0, f"the service runs, but {healthy}"

        team = service.call("GET", "/teams")["data"][0]["uuid"]
        added = ran([*command, "channel", "add", team, "webhook", "--name", "Program"], receiver.url)
        assert added.returncode == 0, added
        began = time.monotonic()
        shop.stop()
        opened = Receiver.next("issue.opened")
        down = time.monotonic() - began
        issue = service.call("GET", "/issues?tool=status")["data"]
        assert [(one["uuid"], one["status"], one["fingerprint"]) for one in issue] == [
            (opened["uuid"], "open", "status:down")], issue
        assert opened["summary"] == "127.0.0.1 is down: connection refused", opened

        began = time.monotonic()
        shop = Server(Shop, shop.server_port)
        resolved = Receiver.next("issue.resolved")
        up = time.monotonic() - began
        issue = service.call("GET", "/issues?tool=status&status=resolved")["data"][0]
        assert issue["uuid"] == resolved["uuid"] == opened["uuid"], issue
        assert [event["key"] for event in issue["timeline"]] == ["opened", "resolved"], issue
        checks = service.call("GET", f"/sites/{site}/checks?type=status&automatic=true")["data"]
        reasons = {(check["run_reason"], check["result"]["code"]) for check in checks}
        assert {("scheduled", 200), ("scheduled", 0), ("confirmation_retry", 0)} <= reasons, reasons

        crawled = service.wait_for(site, "broken-links")["result"]
        assert (crawled["crawled"], [link["status"] for link in crawled["urls"]]) == (1, [404]), crawled
        internal = service.add_site("http://169.254.169.254/")
        refused = service.wait_for(internal, "status")["error"]["message"]
        assert "169.254.169.254 is a link-local address" in refused, refused
    finally:
        service.stop()
    assert ran(health).returncode != 0, "health says that a stopped service runs"

    began = time.monotonic()
    probed = ran([*command, "probe", "status", shop.url])
    probe = time.monotonic() - began
    assert probed.returncode == 0 and "200" in probed.stdout, probed
    print(f"    answers after {service.answers:.2f} s, first result on a page after {first_result:.2f} s of {FIRST_RESULT}, "
          f"vedette probe status in {probe:.2f} s of {FIRST_PROBE}; {idle:.0f} MB", flush=True)
    print(f"    the webhook hears of an outage after {down:.1f} s and of its end after {up:.1f} s, with minutes of one second",
          flush=True)


def browser(node, command):
    """A user without a token, who does what `first-run.mjs` does."""
    service = Service(command, options=(), last="API ")
    try:
        script = pathlib.Path(__file__).with_name("first-run.mjs")
        subprocess.run([node, script, service.found(r"Dashboard +(\S+)"), Server(Shop).url], check=True, timeout=2 * PATIENCE)
    finally:
        service.stop()
    print("    in Chromium: an account, a first site and its results", flush=True)


def performance(command):
    """A Lighthouse check in the program's own root."""
    service = Service(command)
    try:
        said = service.audit()
    finally:
        service.stop()
    print(f"    {said}", flush=True)


def audit(address, token):
    print(Client(address, token).audit())


def requests(address):
    client, longest = Client(address, None), 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        began = time.monotonic()
        client.ask("GET", "/api/v1/me")
        if not longest:
            print("the first request is answered", flush=True)
        longest = max(longest, time.monotonic() - began)
    print(longest)


def children(pid):
    """The processes that any thread of a process has started."""
    threads = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def descendants(pid):
    try:
        found = children(pid)
    except OSError:
        return []  # It has ended.
    return [*found, *(further for child in found for further in descendants(child))]


def name(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return None


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
    kept, [listener], _, _ = socket.recv_fds(told, 4096, 1)
    with socket.socket(fileno=listener) as listener:
        assert kept.strip() == b"FDSTORE=1" and service.address == "{}:{}".format(*listener.getsockname()), kept
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
    print("    systemd gets the socket, READY, WATCHDOG in time, and STOPPING")


class Machine:
    """A root of Debian that its own systemd has booted, in namespaces and without a network."""

    def __init__(self, nspawn, root):
        self.root = root
        self.process = subprocess.Popen(
            [nspawn, "--quiet", "--boot", "--private-network", "--register=no", "--keep-unit", "--link-journal=no",
             "--resolv-conf=off", "--timezone=off", "--console=pipe", f"--directory={root}"],
            # Newer versions of systemd need the second version of cgroups, which this machine may have beside the first.
            env={**os.environ, "UNIFIED_CGROUP_HIERARCHY": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )

    def init(self):
        """The machine's first process."""
        return children(self.process.pid)[0]

    def run(self, *command, check=True, online=False):
        """Runs a command in the machine; `online` in the network of the host."""
        network = () if online else ("--net",)
        ran = subprocess.run(
            ["nsenter", f"--target={self.init()}", "--mount", "--uts", "--ipc", *network, "--pid", "--cgroup", "--root",
             "--wd", "env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", *command],
            capture_output=True, text=True, timeout=PATIENCE,
        )
        assert not check or ran.returncode == 0, ran
        return ran.stdout.strip()

    def start(self, *command, **more):
        """Starts a part of this script in the network of the machine."""
        network = ["nsenter", f"--target={self.init()}", "--net"]
        return subprocess.Popen([*network, sys.executable, __file__, *command], stdout=subprocess.PIPE, text=True, **more)

    def change_unit(self, setting):
        """Changes the service's unit until the machine is off, and restarts the service."""
        folder = "/run/systemd/system/vedette.service.d"
        file = f"{folder}/{setting.split('=')[0]}.conf"
        self.run("sh", "-c", f"mkdir -p {folder} && printf '[Service]\\n{setting}\\n' > {file}")
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "restart", "vedette")

    def journal(self):
        """The log of the service since it started."""
        invocation = self.service("InvocationID")
        return self.run("journalctl", f"_SYSTEMD_INVOCATION_ID={invocation}", "--output", "cat")

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

    def vedette(self, *command, variables=(), **more):
        """Runs a command as the guide says."""
        variables = ("VEDETTE_DATA=/var/lib/vedette", *variables)
        return self.run("runuser", "-u", "vedette", "--", "env", *variables, "vedette", *command, **more)

    def audit(self, token):
        """Has the service audit a page on the machine. Returns what came of it, and the namespaces that a page had for
        itself."""
        began = self.start("audit", "127.0.0.1:8787", token)
        own = set()
        while began.poll() is None:
            own |= self.namespaces_of_pages()
            time.sleep(0.02)
        assert began.returncode == 0, self.journal()
        return began.stdout.read().strip(), own

    def namespaces_of_pages(self):
        """The namespaces that a renderer of the browser does not share with the service. Only the host sees them."""
        spaces = lambda pid: {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in ("user", "pid", "net")}
        found = set()
        service = next(pid for pid in descendants(self.init()) if name(pid) == "vedette")
        for pid in descendants(service):
            try:
                if b"--type=renderer" in open(f"/proc/{pid}/cmdline", "rb").read():
                    found |= {kind for kind, space in spaces(pid).items() if space != spaces(service)[kind]}
            except OSError:
                pass  # It has ended.
        return found

    def power_off(self):
        self.run("systemctl", "poweroff", check=False)
        _, said = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, said


def booted(nspawn, root, package, registry):
    machine = Machine(nspawn, root)
    try:
        machine.wait_until(machine.is_booted)
        machine.run("apt-get", "install", "--yes", package)
        assert machine.service("ActiveState") == "active", machine.run("systemctl", "status", "vedette", check=False)
        assert machine.service("StatusText").startswith("Listening on "), machine.service("StatusText")
        assert "/setup" in machine.journal(), "the journal has no link"
        machine.vedette("user", "create", "--name", "Ada", "--email", "ada@example.com", "--verified")

        asking = machine.start("requests", "127.0.0.1:8787", stdin=subprocess.PIPE)
        asking.stdout.readline()
        began = time.monotonic()
        machine.run("systemctl", "restart", "vedette")
        restart = time.monotonic() - began
        machine.vedette("health")
        wait, _ = asking.communicate()
        assert asking.returncode == 0, "a request was refused during the restart"
        moved(machine)

        # Two minutes are too long for a test.
        machine.change_unit("WatchdogSec=2s")
        machine.run("systemctl", "kill", "--signal=STOP", "vedette")
        hung = machine.wait_until(lambda: machine.has_restarted(1))
        assert "Watchdog timeout" in machine.run("journalctl", "--unit", "vedette"), "the watchdog did not end it"
        machine.run("systemctl", "kill", "--signal=KILL", "vedette")
        killed = machine.wait_until(lambda: machine.has_restarted(2))
        assert "Ada" in machine.vedette("user", "show", "ada@example.com")
        print(f"    a booted systemd starts it, restarts it in {restart:.1f} s, while requests wait for up to "
              f"{float(wait):.1f} s, after a kill in {killed:.1f} s, and "
              f"{hung:.1f} s after it hangs with a watchdog of 2 s", flush=True)

        machine.change_unit("WatchdogSec=2min")
        sandboxed(machine, registry)

        machine.run("systemctl", "stop", "vedette")
        assert machine.service("Result") == "success", machine.run("systemctl", "status", "vedette", check=False)
    finally:
        machine.power_off()


def moved(machine):
    """Changes the address of the service, as docs/guides/install.md says, and back."""
    settings = pathlib.Path(machine.root, "etc/vedette/vedette.env")
    former = settings.read_text()
    # All addresses include the former one, which must be free.
    for changed, address in ((f"{former}VEDETTE_LISTEN=0.0.0.0:8787\n", "0.0.0.0:8787"), (former, "127.0.0.1:8787")):
        settings.write_text(changed)
        machine.run("systemctl", "restart", "vedette")
        kept = machine.service("NFileDescriptorStore")
        assert (machine.service("StatusText"), kept) == (f"Listening on {address}", "1"), machine.journal()


def sandboxed(machine, registry):
    """Installs a browser as docs/guides/install.md says, and audits a page with and without Chromium's sandbox."""
    authorities = "SSL_CERT_FILE=/opt/ca-certificates.crt"
    machine.vedette("browser", "install", "--registry", registry, variables=(authorities,), online=True)
    machine.vedette("team", "create", "--name", "Observers", "--owner", "ada@example.com", "--plan", "agency")
    token = json.loads(machine.vedette("--json", "token", "create", "--email", "ada@example.com", "--name", "Test"))["secret"]
    with open(f"{machine.root}/etc/vedette/vedette.env", "a") as settings:
        settings.writelines(f"{name}={value}\n" for name, value in PROMPT.items())

    machine.run("systemctl", "restart", "vedette")
    said, own = machine.audit(token)
    warning = "does not let Chromium have its sandbox"
    assert own == {"user", "pid", "net"} and warning not in machine.journal(), f"{own}\n{machine.journal()}"
    print(f"    in the unit, with the sandbox of Chromium: {said}", flush=True)

    machine.change_unit("RestrictNamespaces=yes")
    said, own = machine.audit(token)
    assert own == set() and warning in machine.journal(), f"{own}\n{machine.journal()}"
    print(f"    without namespaces, which the log says: {said}", flush=True)


match sys.argv[1:]:
    case ["tutorial", health, *command]:
        tutorial(health, command)
    case ["browser", node, *command]:
        browser(node, command)
    case ["performance", *command]:
        performance(command)
    case ["systemd", path, *command]:
        systemd(path, command)
    case ["booted", nspawn, root, package, registry]:
        booted(nspawn, root, package, registry)
    case ["requests", address]:
        requests(address)
    case ["audit", address, token]:
        audit(address, token)
    case _:
        sys.exit(__doc__)
