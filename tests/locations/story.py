"""A service and two agents, each in a separate network namespace, monitor a site in a fourth one.

    story.py VEDETTE
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

VEDETTE = sys.argv[1]
SITE, HOME = "11.0.0.1", "11.0.0.2"
HEADER = "Bearer of the site"
PATIENCE = 120

# Answers with 503 to the addresses in the file, and with 200 to others.
SERVER = textwrap.dedent("""
    import pathlib, sys
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            down = pathlib.Path(sys.argv[1]).read_text().split()
            ip = self.client_address[0]
            self.send_response(503 if "all" in down or ip in down else 200)
            self.send_header("content-length", "0")
            self.end_headers()
        do_HEAD = do_GET
        def log_message(self, *_):
            pass
    ThreadingHTTPServer(("11.0.0.1", 80), Site).serve_forever()
""")

work = pathlib.Path(tempfile.mkdtemp())
down = work / "down"
environment = {
    "PATH": os.environ["PATH"], "VEDETTE_DOH": "none", "VEDETTE_RDAP": "none", "VEDETTE_AUDITOR": "none",
    "VEDETTE_THROTTLE": "4000000000", "VEDETTE_DATA": str(work / "data"),
}


def inside(network, *command, log):
    return subprocess.Popen(["ip", "netns", "exec", network, *command], env=environment,
                            stdout=open(work / f"{log}.out", "a"), stderr=open(work / f"{log}.log", "a"))


def serve():
    return inside("home", VEDETTE, "serve", "--listen", "0.0.0.0:8080", "--quiet", "--token", "--minute", "1s",
                  log="home")


def agent(name):
    return inside(name, VEDETTE, "agent", "--url", f"http://{HOME}:8080", "--allow-http",
                  "--token-file", str(work / f"{name}.token"), log=name)


def operate(*arguments):
    ran = subprocess.run(["ip", "netns", "exec", "home", VEDETTE, "--json", *arguments], env=environment,
                         capture_output=True, text=True)
    assert ran.returncode in (0, 1), (arguments, ran.stdout, ran.stderr)
    return json.loads(ran.stdout)


def ask(method, path, body=None):
    token = work / "data/token"
    if not token.exists():
        return None
    token = token.read_text().strip()
    command = ["ip", "netns", "exec", "home", "curl", "--silent", "--show-error", "--max-time", "20", "-X", method,
               "-H", f"Authorization: Bearer {token}", f"http://{HOME}:8080/api/v1{path}"]
    if body is not None:
        command += ["--data", json.dumps(body)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    return json.loads(ran.stdout) if ran.returncode == 0 and ran.stdout else None


def until(what, found, patience=PATIENCE):
    begun = time.monotonic()
    while time.monotonic() - begun < patience:
        if value := found():
            print(f"{what}: after {time.monotonic() - begun:.1f} s")
            return value
        time.sleep(0.2)
    raise AssertionError(what)


def issues():
    listed = ask("GET", "/issues?status=open")
    return {issue["fingerprint"]: issue["context"] for issue in listed["data"]} if listed else None


def said(context):
    return {witness["location"]: witness.get("code", witness.get("reason")) for witness in context["witnesses"]}


def kill(process):
    # The process itself: `ip netns exec` becomes it.
    process.send_signal(signal.SIGKILL)
    process.wait()


def story():
    down.write_text("")
    processes = {"site": inside("site", sys.executable, "-c", SERVER, str(down), log="site"), "home": serve()}
    until("the service answers", lambda: ask("GET", "/teams"))
    for name in ("frankfurt", "office"):
        (work / f"{name}.token").write_text(operate("agent", "add", name)["token"])
        (work / f"{name}.token").chmod(0o600)
        processes[name] = agent(name)
    until("both agents are seen", lambda: all(known["last_seen_at"] for known in operate("agent", "list")))
    team = ask("GET", "/teams")["data"][0]["uuid"]
    off = {"enabled": False}
    tools = {"status": {"enabled": True, "cadence_minutes": 5}, "ssl": off, "dns": off, "broken-links": off,
             "performance": off}
    ask("POST", f"/teams/{team}/sites", {"url": f"http://{SITE}/", "monitoring_settings": {
        "tools": tools, "request_header": {"name": "Authorization", "value": HEADER}}})

    down.write_text("all")
    context = until("an outage that all see is confirmed", lambda: (issues() or {}).get("status:down"))
    assert context["confirmation"] == "confirmed", context
    assert said(context) == {"frankfurt": 503, "office": 503}, context
    down.write_text("")
    until("it resolves", lambda: issues() == {})

    down.write_text(HOME)
    context = until("an outage that only home sees is a warning", lambda: (issues() or {}).get("status:partial"))
    assert context["confirmation"] == "denied", context
    assert said(context) == {"frankfurt": 200, "office": 200}, context
    assert "status:down" not in issues()

    kill(processes["frankfurt"])
    down.write_text(f"{HOME} 11.0.0.4")
    context = until("one agent suffices, and the warning gives way", lambda: (issues() or {}).get("status:down"))
    assert said(context) == {"frankfurt": "no_answer", "office": 503}, context
    assert "status:partial" not in issues()
    down.write_text("")
    until("it resolves", lambda: issues() == {})

    processes["frankfurt"] = agent("frankfurt")
    kill(processes["home"])
    processes["home"] = serve()
    until("the service answers again", lambda: ask("GET", "/teams"))
    down.write_text("all")
    context = until("agents come back to a service that was killed", lambda: (issues() or {}).get("status:down"))
    assert context["confirmation"] in ("confirmed", "unconfirmed"), context
    down.write_text("")
    until("it resolves", lambda: issues() == {})

    for name in ("frankfurt", "office"):
        kill(processes[name])
    down.write_text("all")
    context = until("without agents an outage is unconfirmed", lambda: (issues() or {}).get("status:down"))
    assert context["confirmation"] == "unconfirmed", context
    until("the operator learns of silent agents",
          lambda: any("frankfurt" in problem["what"] for problem in operate("doctor")["problems"]), 200)

    operate("agent", "revoke", "office")
    processes["office"] = agent("office")
    assert processes["office"].wait(30) == 1, "a revoked agent ends"
    for log in work.glob("*.log"):
        assert HEADER not in log.read_text(), f"{log} holds a header"
    for process in processes.values():
        process.kill()


try:
    story()
except BaseException:
    for log in sorted(work.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text()[-3000:]}", file=sys.stderr)
    raise
