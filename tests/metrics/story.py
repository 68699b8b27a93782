"""Prometheus reads the metrics of a team and of the service, and answers the queries of the dashboard.

    story.py PROGRAMS FOLDER SERVICE METRICS TEAM OTHER_TEAM DASHBOARD

Prometheus reads the one team. The metrics of the other one are read here, as one read a minute is served for each.
"""

import http.server
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

programs, folder, service, metrics, team, other, dashboard = sys.argv[1:]
folder = pathlib.Path(folder)
token = (folder / "token").read_text().strip()
owner = (folder / "data" / "token").read_text().strip()


def ask(url, token=None, body=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as response:
        return response.read().decode()


def until(what, found, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {what}")


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{site.server_port}"
off = {"enabled": False}
tools = {tool: off for tool in ("ssl", "dns", "broken-links", "performance")}
for number, (its, name) in enumerate([(team, 'The "shop"'), (team, "Blog"), (other, "a\\b")]):
    wanted = {"url": f"{address}/{number}", "name": name, "monitoring_settings": {"tools": tools}}
    ask(f"{service}/teams/{its}/sites", owner, wanted)


def service_text():
    return ask(f"{metrics}/metrics")


done = 'vedette_checks_total{tool="status",status="completed"} 3'
until("all sites were checked", lambda: done in service_text().splitlines())

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    listen = "127.0.0.1:%d" % free.getsockname()[1]
# A second is as good as a minute, and the team's first read is served.
config = folder / "prometheus.yaml"
config.write_text(re.sub(r"scrape_interval: \w+", "scrape_interval: 1s", config.read_text()))
log = open(folder / "prometheus.log", "w")
prometheus = subprocess.Popen(
    [
        f"{programs}/prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder}/tsdb",
        f"--web.listen-address={listen}",
        "--log.level=warn",
    ],
    stdout=log,
    stderr=log,
)


def api(path, **values):
    answer = ask(f"http://{listen}/api/v1/{path}?{urllib.parse.urlencode(values)}")
    return json.loads(answer)["data"]


def ready():
    try:
        return ask(f"http://{listen}/-/ready")
    except OSError:
        return None


def query(expression, at=None):
    return api("query", query=expression, **({"time": at} if at else {}))["result"]


try:
    until("Prometheus is ready", ready)
    read = until("the team's metrics were read", lambda: query("vedette_site_info[5m]"))
    assert sorted(series["metric"]["name"] for series in read) == ["Blog", 'The "shop"'], read
    when = read[0]["values"][0][0]
    up = {series["value"][1] for series in query("vedette_site_up", when)}
    assert up == {"1"} and len(query("vedette_site_up", when)) == 2, up
    until("the service's metrics were read twice", lambda: query("rate(vedette_checks_total[1m])"))

    asked = 0
    for panel in json.loads(pathlib.Path(dashboard).read_text())["panels"]:
        for target in panel["targets"]:
            # Certificates are not checked here.
            optional = "certificate" in target["expr"] or "check_lag" in target["expr"]
            found = query(target["expr"], when) or query(target["expr"])
            assert found or optional, f"{panel['title']}: {target['expr']} finds nothing"
            asked += 1
    rules = [rule for group in api("rules")["groups"] for rule in group["rules"]]
    assert len(rules) == 9 and all(rule["health"] != "err" for rule in rules), rules
finally:
    prometheus.terminate()
    prometheus.wait()

for text in (service_text(), ask(f"{service}/teams/{other}/metrics", token)):
    checked = subprocess.run([f"{programs}/promtool", "check", "metrics"], input=text.encode(), check=False)
    assert checked.returncode == 0, text
print(f"Prometheus reads {len(read)} sites and the service, and answers {asked} queries of the dashboard")
