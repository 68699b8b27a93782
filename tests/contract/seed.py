"""Creates sites, checks and an issue in the service, and writes what Schemathesis must know about them.

    seed.py BASE_URL

The folder that it runs in has the tokens: data/token of the owner, token.json of the stranger.
A request that names something that is there gets further than one that makes up its uuid.
"""

import json
import pathlib
import sys
import time
import urllib.parse
import urllib.request

OWNER = pathlib.Path("data/token").read_text().strip()
STRANGER = json.loads(pathlib.Path("token.json").read_text())["secret"]


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {OWNER}"}
    request = urllib.request.Request(sys.argv[1] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["data"]


def until(found):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if result := found():
            return result
        time.sleep(0.1)
    sys.exit("what was put into the service did not come up")


def header(token):
    return [{"name": "Authorization", "value": f"Bearer {token}"}]


users = [
    {"name": "owner", "fixedHeaders": header(OWNER)},
    {"name": "stranger", "fixedHeaders": header(STRANGER)},
]
pathlib.Path("users.json").write_text(json.dumps({"auth": users}))

team = ask("GET", "/teams")[0]["uuid"]
# Nothing listens on port 1, so the first checks of these sites open issues.
strict = {"tools": {"status": {"settings": {"failures_to_open": 1}}}}
bodies = [
    {"url": "http://127.0.0.1:1", "monitoring_settings": strict},
    {"url": "http://127.0.0.1:1/other"},
]
bodies += [{"url": f"http://127.0.0.1:1/{number}"} for number in range(15)]
FAILING = 12
bodies += [
    {"url": f"http://127.0.0.1:1/failing-{number}", "monitoring_settings": strict}
    for number in range(FAILING)
]
made = [ask("POST", f"/teams/{team}/sites", body)["uuid"] for body in bodies]
sites, doomed, idle = made[:2], made[2:7], made[7:17]
until(lambda: len(ask("GET", "/issues?per_page=100")) > FAILING)
issues = [issue["uuid"] for issue in ask("GET", "/issues?per_page=100")]
for issue in issues[:3]:
    ask("POST", f"/issues/{issue}/acknowledge", {})
tokens = [ask("POST", "/me/tokens", {"name": "Doomed"})["hash"] for _ in range(30)]
# Nobody answers the invitations, except for those of the members.
def invite(name):
    body = {"email": f"{name}@example.com", "role": "viewer"}
    return ask("POST", f"/teams/{team}/invitations", body)


invitations = [invite(f"invited-{number}")["hash"] for number in range(12)]
for number in range(12):
    # The link has the name of the pages' host, which only browsers resolve. Pages accept forms only
    # from pages of the same origin.
    path = urllib.parse.urlsplit(invite(f"member-{number}")["url"]).path
    url = urllib.parse.urljoin(sys.argv[1], path)
    own_page = {"Sec-Fetch-Site": "same-origin"}
    join = urllib.request.Request(url, b"", own_page, method="POST")
    urllib.request.urlopen(join, timeout=30).close()
members = ask("GET", f"/teams/{team}/members")
members = [member["uuid"] for member in members if member["role"] == "viewer"]
ordered = [check["uuid"] for site in sites for check in ask("POST", f"/sites/{site}/checks", {})]
until(lambda: all(ask("GET", f"/checks/{check}")["status"] != "pending" for check in ordered))
checks = [check["uuid"] for site in sites for check in ask("GET", f"/sites/{site}/checks")]

# They are active, and ending one leaves its later instances.
start = time.strftime("%Y-%m-%dT%H:%M", time.gmtime())
daily = {"sites": idle[:1], "starts_at": start, "duration_minutes": 1380, "recurrence": "FREQ=DAILY"}
names = [f"Job {n}" for n in range(12)]
heartbeats = [ask("POST", f"/teams/{team}/heartbeats", {"name": name})["uuid"] for name in names]
windows = [ask("POST", f"/teams/{team}/maintenance-windows", daily)["uuid"] for _ in range(12)]

# A team has at most five pages, and some must go.
pages = [
    ask("POST", f"/teams/{team}/status-pages", {"slug": f"page-{number}", "name": "Page"})["uuid"]
    for number in range(4)
]
delays = {"title": "Orders are delayed", "text": "We are looking into it."}
incidents = [
    ask("POST", f"/teams/{team}/status-pages/{pages[0]}/incidents", delays)["uuid"]
    for _ in range(12)
]

slack = {"kind": "slack", "url": "https://hooks.slack.com/services/T0/B0/contract"}
channels = [
    ask("POST", f"/teams/{team}/channels", {**slack, "url": f"{slack['url']}{number}", "name": f"Channel {number}"})["uuid"]
    for number in range(8)
]

for name, values in [
    ("team", [team]),
    ("channel", channels[:2]),
    ("doomed_channel", channels[2:]),
    ("site", sites),
    ("doomed", doomed),
    ("idle", idle),
    ("check", checks),
    ("issue", issues[:6]),
    ("doomed_issue", issues[6:]),
    ("token", tokens),
    ("member", members),
    ("invitation", invitations),
    ("heartbeat", heartbeats[:4]),
    ("doomed_heartbeat", heartbeats[4:]),
    ("window", windows[:4]),
    ("doomed_window", windows[4:]),
    ("status_page", pages[:1]),
    ("doomed_page", pages[1:]),
    ("incident", incidents[:4]),
    ("doomed_incident", incidents[4:]),
]:
    pathlib.Path(f"{name}.txt").write_text("".join(f'"{value}"\n' for value in values))
