"""A team moves from a data folder on this machine to the deployment, and back into another folder.

    move.py STACK VEDETTE

The service on the folder watches a web server that goes down and comes back. What its API answers about every site, check
and issue is what the deployment's API answers once the team is there, and what a service on the other folder answers once
the team is back, byte for byte.
"""

import contextlib
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import boto3

STACK, VEDETTE = sys.argv[1:3]
TOOLS = ("status", "ssl", "dns", "broken-links", "performance")
OFF = {"monitoring_settings": {"tools": {tool: {"enabled": False} for tool in TOOLS}}}
PATIENCE = 60
began = time.monotonic()


def say(what):
    print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)


def until(what, found):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.2)
    raise AssertionError(what)


def operate(*arguments):
    command = [VEDETTE, "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)


class Target(http.server.BaseHTTPRequestHandler):
    """A web server that can be down."""

    status = 200

    def do_GET(self):
        self.send_response(Target.status)
        self.send_header("content-length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Api:
    """An API with a token."""

    def __init__(self, base, token, host=None):
        self.base, self.token, self.host = base, token, host

    def ask(self, method, path, body=None):
        """The body of an answer, unchanged."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        headers |= {"Host": self.host} if self.host else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def get(self, path):
        return json.loads(self.ask("GET", path))["data"]

    def answers(self, team):
        """The answers about every site, check and issue, by path."""
        sites = [site["uuid"] for site in self.get(f"/teams/{team}/sites?per_page=100")]
        issues = [issue["uuid"] for status in ("active", "resolved")
                  for issue in self.get(f"/issues?status={status}&per_page=100")]
        checks = []
        for site in sites:
            for page in range(1, 1000):
                listed = self.get(f"/sites/{site}/checks?per_page=100&page={page}")
                checks += [check["uuid"] for check in listed]
                if len(listed) < 100:
                    break
        reports = [f"/sites/{site}/reports/{kind}" for site in sites for kind in ("uptime", "performance")]
        paths = [f"/sites/{site}" for site in sites] + reports
        paths += [f"/issues/{issue}" for issue in issues] + [f"/checks/{check}" for check in checks]
        found = {path: self.ask("GET", path) for path in paths}
        return found, (len(sites), len(checks), len(issues))


@contextlib.contextmanager
def service(folder, base):
    """The API of a service on a data folder, whose links lead to a base address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    out = folder.with_suffix(".out")
    with open(out, "w") as stdout, open(folder.with_suffix(".log"), "a") as stderr:
        process = subprocess.Popen(
            [VEDETTE, "serve", "--data", folder, "--listen", f"127.0.0.1:{port}", "--token", "--quiet", "--minute", "250ms"],
            stdout=stdout, stderr=stderr,
            env={"PATH": os.environ["PATH"], "VEDETTE_THROTTLE": "4000000000", "VEDETTE_ALLOW_TARGETS": "127.0.0.0/8",
                 "VEDETTE_RDAP": "none", "VEDETTE_AUDITOR": "none", "VEDETTE_BASE_URL": base,
                 "VEDETTE_DOH": "nobody=https://127.0.0.1:1/dns-query"},
        )
        try:
            until("it says where it is", lambda: base in out.read_text())
            yield Api(f"http://127.0.0.1:{port}/api/v1", (folder / "token").read_text().strip())
        finally:
            process.terminate()
            assert process.wait(30) == 0


def deployed():
    """The address at which the emulator serves the deployment's API, and the host name for it."""
    outputs = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
    base = next(one["OutputValue"] for one in outputs if one["OutputKey"] == "ApiBaseUrl")
    gateway = os.environ["AWS_ENDPOINT_URL"]
    api = base.removeprefix("https://").partition(".")[0]
    return f"{gateway}/api/v1", f"{api}.execute-api.localhost:{gateway.rpartition(':')[2]}"


def history(home, api, team, port):
    """A site stays up, and another goes down and comes back. After that, nothing is checked any more."""
    checked = {"status": {"enabled": True, "cadence_minutes": 1}}
    tools = {tool: {"enabled": False} for tool in TOOLS} | checked
    sites = {}
    for path in ("up", "down"):
        url = f"http://127.0.0.1:{port}/{path}"
        body = {"url": url, "monitoring_settings": {"tools": tools}}
        sites[json.loads(api.ask("POST", f"/teams/{team}/sites", body))["data"]["uuid"]] = url
    Target.status = 503
    issue = until("an issue opens", lambda: api.get("/issues?status=active"))[0]["uuid"]
    operate("--data", home, "issue", "ack", issue, "--as", "owner@example.com")
    Target.status = 200
    until("it is resolved", lambda: api.get("/issues?status=resolved"))
    until("there is history", lambda: len(api.get(f"/sites/{next(iter(sites))}/checks?per_page=100")) == 100)
    for site, url in sites.items():
        api.ask("PATCH", f"/sites/{site}", {"url": url, **OFF})
    # Messages that were sent before are handled or dropped.
    time.sleep(3)


def main():
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    gateway, host = deployed()
    # Links in answers lead to the same address everywhere.
    base = f"http://{host}/api/v1"
    with tempfile.TemporaryDirectory() as work:
        home, back = pathlib.Path(work, "home"), pathlib.Path(work, "back")
        with service(home, base) as api:
            team = api.get("/teams")[0]["uuid"]
            history(home, api, team, target.server_port)
            before, counts = api.answers(team)
            token = api.token
        say("a team in a data folder has {} sites, {} checks and {} issues".format(*counts))

        copied = operate("copy", home, f"aws:{STACK}", "--team", team)
        assert copied["sites"] == counts[0] and copied["issues"] >= counts[2], copied
        there, _ = Api(gateway, token, host).answers(team)
        assert there == before, differences(before, there)
        say(f"the team was copied to the deployment, which gives the same answers: {copied}")

        operate("--aws", "--stack", STACK, "plan", "deactivate", team)
        operate("copy", f"aws:{STACK}", back, "--team", team)
        operate("--data", back, "plan", "activate", team)
        (back / "token").write_text(token)
        (back / "token").chmod(0o600)
        with service(back, base) as api:
            again, _ = api.answers(team)
        assert again == before, differences(before, again)
        say("the team was copied to another folder, which gives the same answers")


def differences(before, after):
    """The first answers that differ, from the first difference on."""
    found = [(path, before.get(path, b""), after.get(path, b"")) for path in before | after
             if before.get(path) != after.get(path)]
    at = [len(os.path.commonprefix(answers)) for _, *answers in found]
    return [(path, *(answer[max(start - 40, 0):start + 80] for answer in answers))
            for (path, *answers), start in zip(found, at)][:3]


main()
