"""Uses the deployment over HTTP through the gateway, and checks everything that follows.

    story.py WORK_FOLDER STACK VEDETTE AUDITOR_PORT HOME_PORT OUTPOST_PORT OUTPOST_REGION

VEDETTE is the operator's command; at AUDITOR_PORT the functions look for PageSpeed Insights. A
target on this machine is watched: it answers, goes down, and comes back. Every route is asked at
least once for what it gives and once for what it refuses.

The site `denied.test` answers home at HOME_PORT, and the outpost at OUTPOST_PORT. OUTPOST_REGION is
empty if there is no outpost.
"""

import contextlib
import datetime
import http.client
import http.server
import json
import os
import pathlib
import re
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse

import boto3

import alarms

WORK, STACK, VEDETTE = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
AUDITOR_PORT, HOME_PORT, OUTPOST_PORT = map(int, sys.argv[4:7])
# The address of the sites that an outpost is asked about: an address of this machine that counts as public.
PUBLIC = "11.0.0.1"
OUTPOST_REGION = sys.argv[7]
TOOLS = ["status", "ssl", "dns", "broken-links", "performance"]
# A new site's host is crawled and audited once a day. Further sites on it wait for their schedule.
FIRST_TOOLS = ["status", "ssl", "dns"]
# Settings of a site that is only checked for its status, and whose first failed check opens an issue.
OPENS_AT_ONCE = {"failures_to_open": 1, "confirmation_retry_minutes": 1, "incident_follow_up_minutes": 60}
FAILS_AT_ONCE = {tool: {"enabled": False} for tool in TOOLS[1:]} | {
    "status": {"enabled": True, "cadence_minutes": 60, "settings": OPENS_AT_ONCE}
}
NOBODY = "00000000-0000-4000-8000-000000000000"
ROOT = pathlib.Path(__file__).resolve().parents[2]
OPERATIONS = [
    operation
    for path in json.loads((ROOT / "openapi.json").read_text())["paths"].values()
    for operation in path.values()
    if isinstance(operation, dict)
]
# All scopes that a token can have.
SCOPES = ",".join({scope for one in OPERATIONS for given in one.get("security", []) for scope in given["token"]})
began = time.monotonic()


def say(what):
    print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)


# --- The target ---------------------------------------------------------------------------------


class Target(http.server.ThreadingHTTPServer):
    """A website on this machine with one broken link, whose answers the test sets."""

    status = 200
    # Seconds before an answer.
    delay = 0
    # Requests so far.
    asked = 0
    # The answer of each address.
    page = b'<html><body><a href="/next">next</a> <a href="/gone">gone</a></body></html>'

    def __init__(self, host="127.0.0.1", port=0):
        super().__init__((host, port), Page)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://{host}:{self.server_port}"
        self.events = []


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.server.page
        self.server.asked += 1
        time.sleep(self.server.delay)
        self.send_response(404 if self.path == "/gone" else self.server.status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def do_POST(self):
        """The receiver of a webhook."""
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/hook":
            self.server.events.append((event["type"], event["data"].get("uuid")))
        # The answer of a receiver that no longer exists.
        is_gone = self.path == "/removed" and event["type"] == "issue.opened"
        self.send_response(410 if is_gone else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Auditor(socketserver.ThreadingTCPServer):
    """Accepts connections and closes them after a while, so an audit takes some time and then fails."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", AUDITOR_PORT), Silence)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Silence(socketserver.BaseRequestHandler):
    def handle(self):
        time.sleep(2)


# --- The deployment -----------------------------------------------------------------------------

schedules = boto3.client("scheduler")
table = boto3.client("dynamodb")
queues = boto3.client("sqs")
logs = boto3.client("logs")
functions = boto3.client("lambda")
iam = boto3.client("iam")
outputs = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]
outputs = {output["OutputKey"]: output["OutputValue"] for output in outputs}
gateway = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc
api = urllib.parse.urlsplit(outputs["ApiBaseUrl"]).hostname.partition(".")[0]
token = None
operator = {}
asked = []


def ask(method, path, body=None, expect=200, bearer=None):
    """Sends a request to the API, and checks the status of the response."""
    connection = http.client.HTTPConnection(gateway, timeout=60)
    headers = {
        "Host": f"{api}.execute-api.localhost:{gateway.partition(':')[2]}",
        "Authorization": f"Bearer {bearer or token}",
        "Content-Type": "application/json",
    }
    connection.request(
        method, f"/api/v1{path}", None if body is None else json.dumps(body), headers
    )
    response = connection.getresponse()
    text = response.read().decode()
    expected = expect if isinstance(expect, tuple) else (expect,)
    assert response.status in expected, (
        f"{method} {path}: {response.status}, not {expect}: {text[:2000]}"
    )
    asked.append((method, path.partition("?")[0], response.status))
    if response.getheader("Content-Type", "").startswith("text/plain"):
        return text
    return json.loads(text) if text else None


def signed_in(email):
    """The cookie of a user's new session."""
    link = operate("sign-in", email, "--url", "https://pages.test")["link"]
    path = urllib.parse.urlsplit(link).path
    visit("GET", path)
    cookie, _ = visit("POST", path, 303)
    visit("GET", path, 404, cookie)
    return cookie


read_mails = set()


def letter(to):
    """The path of the link in the next email that SES sends to an address."""

    def found():
        connection = http.client.HTTPConnection(gateway, timeout=60)
        connection.request("GET", "/_ministack/ses/messages")
        accounts = json.load(connection.getresponse())["messages"].values()
        for mail in (mail for mails in accounts for mail in mails):
            link = re.search(r"https?://[^/]+(/(?:join|sign-in)/[\w-]+|/subscriptions/[\w/-]+\?key=\w+)", mail["BodyText"])
            if link and mail["To"] == [to] and mail["MessageId"] not in read_mails:
                read_mails.add(mail["MessageId"])
                return link[1]

    return until(f"{to} has mail", found, 60)


def visit(method, path, expect=200, cookie="", **form):
    """Requests a page as a browser does, and checks the status; returns the cookie and the text."""
    connection = http.client.HTTPConnection(gateway, timeout=60)
    headers = {
        "Host": f"{api}.execute-api.localhost:{gateway.partition(':')[2]}",
        "Accept": "text/html,*/*;q=0.8",
        "Content-Type": "application/x-www-form-urlencoded",
        "Sec-Fetch-Site": "same-origin",
        "Cookie": cookie,
    }
    connection.request(method, path, urllib.parse.urlencode(form) or None, headers)
    response = connection.getresponse()
    text = response.read().decode()
    said = f"{method} {path}: {response.status}: {text}"
    assert response.status == expect and (expect == 303 or "<h1>" in text), said
    return response.getheader("Set-Cookie", "").partition(";")[0], text


def operate(*arguments, given=""):
    """Runs the `vedette` command as a user with the operator's policy; returns its output."""
    command = [VEDETTE, "--aws", "--stack", STACK, "--json", *arguments]
    environment = os.environ | operator
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=60, env=environment
    )
    said = f"{' '.join(arguments)}: {done.returncode}: {done.stdout} {done.stderr}"
    assert done.returncode == 0, said
    return json.loads(done.stdout)


def until(what, found, seconds, instead=lambda: ""):
    """Waits until something happens; if it does not, the error shows the current state."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = found()
        if result:
            say(what)
            return result
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds} s: {what} {instead()}")


def schedule_expressions(site):
    """The tools that have a schedule for a site, with the schedule's expression."""
    names = [listed["Name"] for listed in schedules.list_schedules(GroupName=STACK)["Schedules"]]
    found = {}
    for name in (name for name in names if name.startswith(site)):
        # A listed schedule may have been deleted since.
        with contextlib.suppress(schedules.exceptions.ResourceNotFoundException):
            schedule = schedules.get_schedule(GroupName=STACK, Name=name)
            found[name.removeprefix(f"{site}-")] = schedule["ScheduleExpression"]
    return found


def fire(name):
    """Makes a schedule fire now, although it is due at another time."""
    (WORK / "fire").mkdir(exist_ok=True)
    (WORK / "fire" / name).touch()


def rows(prefix):
    """The keys of all items in partitions of this prefix."""
    names = {"#pk": "pk", "#sk": "sk"}
    pages = table.get_paginator("scan").paginate(
        TableName=outputs["TableName"],
        ProjectionExpression="#pk, #sk",
        ExpressionAttributeNames=names,
    )
    keys = [(item["pk"]["S"], item["sk"]["S"]) for page in pages for item in page["Items"]]
    return [key for key in keys if key[0].startswith(prefix)]


# --- The story ----------------------------------------------------------------------------------


def employ():
    """An IAM user who has only the permissions that an operator needs."""
    iam.create_user(UserName="operator")
    iam.attach_user_policy(UserName="operator", PolicyArn=outputs["OperatorPolicyArn"])
    key = iam.create_access_key(UserName="operator")["AccessKey"]
    operator["AWS_ACCESS_KEY_ID"] = key["AccessKeyId"]
    operator["AWS_SECRET_ACCESS_KEY"] = key["SecretAccessKey"]


def settle():
    """Creates the first user, team and token with the `vedette` command, and a user without a team."""
    operate("user", "create", "--name", "Ada", "--email", "ada@example.com", "--verified")
    operate("team", "create", "--name", "Tests", "--owner", "ada@example.com", "--plan", "agency")
    operate("user", "create", "--name", "Eve", "--email", "eve@example.com", "--verified")
    made = [
        operate("token", "create", "--email", f"{who}@example.com", "--name", "tests", "--scope", SCOPES)
        for who in ("ada", "eve")
    ]
    return [token["secret"] for token in made]


def watch(team, url, tools=None, js_rendered=False):
    """Adds a site, and returns its uuid."""
    body = {"url": url, "js_rendered": js_rendered, "monitoring_settings": {"tools": tools or {}}}
    return ask("POST", f"/teams/{team}/sites", body, 201)["data"]["uuid"]


def checked_every(minutes):
    settings = {"confirmation_retry_minutes": 1, "incident_follow_up_minutes": 1}
    return {"enabled": True, "cadence_minutes": minutes, "settings": settings}


def latest(site):
    return ask("GET", f"/sites/{site}")["data"]["latest_checks"]


def have_run(site, tools):
    """Whether each of these tools has an automatic check of the site."""
    checks = latest(site)
    return all(checks[tool] and checks[tool]["status"] in ("completed", "failed") for tool in tools)


def reasons(site):
    """The reasons of the site's automatic status checks, the newest first."""
    checks = ask("GET", f"/sites/{site}/checks?type=status&automatic=true&per_page=100")["data"]
    return [check["run_reason"] for check in checks]


def issues(site, status):
    return ask("GET", f"/issues?site={site}&status={status}&tool=status")["data"]


def put_under_watch(team, target):
    """A site is created. Its schedules are created, and its first checks run."""
    strict = {"settings": {"min_broken_count": 1}}
    # A site with http needs a certificate only if its own settings say so. Nothing listens on port 443.
    tools = {"status": checked_every(1), "broken-links": strict, "ssl": {"enabled": True}}
    site = watch(team, target.url, tools)
    until(
        "five schedules are made", lambda: sorted(schedule_expressions(site)) == sorted(TOOLS), 30
    )
    until("each tool has checked the site", lambda: have_run(site, TOOLS), 60)
    checks = latest(site)
    assert checks["status"]["result"]["up"] and checks["broken-links"]["result"]["found"] == 1, (
        checks
    )
    [broken] = ask("GET", f"/issues?site={site}&tool=broken-links")["data"]
    assert broken["fingerprint"] == "broken-links:threshold", broken
    return site


def go_down_and_come_back(site, target):
    """The target goes down: an issue opens and is acknowledged, and resolves when the target is up again."""
    until("a schedule has had the site checked again", lambda: len(reasons(site)) > 1, 75)
    # From here on, checks run once a week, so that no scheduled check runs before a confirmation retry.
    minutely = schedule_expressions(site)["status"]
    change_tools(site, target, {"status": checked_every(7 * 24 * 60)})
    until("it is checked weekly", lambda: schedule_expressions(site)["status"] != minutely, 30)
    team = ask("GET", f"/sites/{site}")["data"]["team_uuid"]
    add_webhook(team, "program", f"{target.url}/hook")
    operate("channel", "test", team, "program")
    add_webhook(team, "forgetful", f"{target.url}/forgetful")
    store_url_with_channel(team, "forgetful", f"{target.url}/forgetful")
    switch_channels_off(team, target)
    target.status = 503
    say("the target is down")
    fire(f"{site}-status")
    [issue] = until("an issue is open", lambda: issues(site, "open"), 160)
    assert issue["fingerprint"] == "status:down" and issue["site"]["uuid"] == site, issue
    operate("issue", "ack", issue["uuid"], "--as", "ada@example.com")
    taken = ask("GET", f"/issues/{issue['uuid']}")["data"]
    assert taken["status"] == "acknowledged" and taken["acknowledged_by"]["name"] == "Ada", taken
    seen = ask("GET", f"/issues/{issue['uuid']}/evidence")["data"]
    assert "503" in json.dumps(seen["first"]), seen
    until("it is followed up", lambda: "incident_follow_up" in reasons(site), 90)
    lose_what_a_channel_knows(team, "forgetful", issue["uuid"])
    target.status = 200
    [resolved] = until("it is resolved", lambda: issues(site, "resolved"), 90)
    told = [("channel.test", None)]
    told += [(event, issue["uuid"]) for event in ("issue.opened", "issue.resolved")]
    # Other sites also have issues.
    mine = lambda: [event for event in target.events if event[1] in (None, issue["uuid"])]
    until("the webhook got the events", lambda: mine() == told, 60, lambda: target.events)
    keys = [entry["key"] for entry in resolved["timeline"]]
    assert keys == ["opened", "acknowledged", "resolved"] and resolved["resolved_by"] is None, (
        resolved
    )
    seen = set(reasons(site))
    assert seen == {"scheduled", "confirmation_retry", "incident_follow_up"}, seen


def fail_from_home(team):
    """Home sees two sites down. The outpost sees only one of them down."""
    seen_from_home, seen_from_outpost = Target(PUBLIC, HOME_PORT), Target(PUBLIC, OUTPOST_PORT)
    seen_from_home.status = 503
    confirmed, denied = (watch(team, f"http://{name}.test/", FAILS_AT_ONCE) for name in ("confirmed", "denied"))
    [issue] = until("an outpost has confirmed an outage", lambda: issues(confirmed, "open"), 30)
    assert issue["fingerprint"] == "status:down", issue
    assert issue["context"]["confirmation"] == "confirmed", issue
    [witness] = issue["context"]["witnesses"]
    assert witness["location"] == OUTPOST_REGION and witness["code"] == 503, issue
    until("the other site was checked", lambda: have_run(denied, ["status"]), 30)
    assert not latest(denied)["status"]["result"]["up"] and not issues(denied, "open")
    return confirmed, denied


def fail_from_home_only(denied):
    """When the outpost sees a site up for the third time, an issue opens that says that it only fails from home."""
    [issue] = until("an issue says that a site fails from home only", lambda: issues(denied, "open"), 160)
    assert issue["fingerprint"] == "status:partial", issue
    [witness] = issue["context"]["witnesses"]
    assert witness["location"] == OUTPOST_REGION and witness["code"] == 200, issue


def stop_crawling(site, target):
    """A site with an open issue is no longer monitored, and channels hear of it. Then it is monitored again."""
    tools = {"status": checked_every(7 * 24 * 60)}
    is_crawled = lambda: "broken-links" in schedule_expressions(site)
    change_tools(site, target, tools | {"broken-links": {"enabled": False}})
    until("it is not crawled any more", lambda: not is_crawled(), 30)
    change_tools(site, target, tools | {"broken-links": {"enabled": True}})
    until("it is crawled again", is_crawled, 30)


def change_tools(site, target, tools):
    """Changes a site's settings."""
    ask("PATCH", f"/sites/{site}", {"url": target.url, "monitoring_settings": {"tools": tools}})


def add_webhook(team, name, url):
    return operate("channel", "add", team, "webhook", "--name", name, given=url)["uuid"]


def switch_channels_off(team, target):
    """A channel that the operator disables, one whose reader unsubscribes, and one whose receiver says that it is
    gone: later, they must hear what they missed."""
    add_webhook(team, "off", f"{target.url}/off")
    operate("channel", "disable", team, "off")
    channel, key = add_address(team, "reader@example.com")
    for page in ("confirm", "unsubscribe"):
        visit("POST", f"/channels/{team}/{channel}/{page}?key={key}")
    add_webhook(team, "removed", f"{target.url}/removed")


def store_url_with_channel(team, name, url):
    """A channel becomes as earlier versions wrote it, with its URL and its key, until the rebuild of every night
    stores apart what is secret."""
    channel = operate("channel", "show", team, name)["uuid"]
    [claim] = [sk for _, sk in rows(f"C#{team}") if holder(team, sk) == channel]
    stored, secret = ({"pk": {"S": f"{prefix}#{team}"}, "sk": {"S": channel}} for prefix in "CZ")
    known = table.get_item(TableName=outputs["TableName"], Key=secret)["Item"]
    former = {"kind": known["kind"], "url": {"S": url}, "keys": known["keys"]}
    table.update_item(
        TableName=outputs["TableName"],
        Key=stored,
        UpdateExpression="SET target = :target",
        ExpressionAttributeValues={":target": {"M": former}},
    )
    table.delete_item(TableName=outputs["TableName"], Key=secret)
    key = {"pk": {"S": f"C#{team}"}, "sk": {"S": claim}}
    table.delete_item(TableName=outputs["TableName"], Key=key)
    # Of a channel that was removed at the moment in which its URL was claimed.
    stray = {"pk": {"S": f"C#{team}"}, "sk": {"S": "U#stray"}}
    claimed = {"channel": {"S": NOBODY}, "digest": {"S": "stray"}}
    table.put_item(TableName=outputs["TableName"], Item=stray | claimed)
    rebuild()
    is_secret = lambda: (f"Z#{team}", channel) in rows(f"Z#{team}")
    until("the URL of a channel is stored apart", is_secret, 30)
    until("the URL is claimed", lambda: holder(team, claim) == channel, 30)
    until("a claim without a channel is gone", lambda: holder(team, "U#stray") is None, 30)


def holder(team, claim):
    """The channel that has claimed a URL, if the row is such a claim."""
    key = {"pk": {"S": f"C#{team}"}, "sk": {"S": claim}}
    found = table.get_item(TableName=outputs["TableName"], Key=key).get("Item", {})
    return found.get("channel", {}).get("S")


def queue(name):
    return queues.get_queue_url(QueueName=f"{STACK}-{name}")["QueueUrl"]


def lose_a_run(tool):
    """The next message of a recurring run is lost. Call this while nothing receives."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]
    counts = lambda: queues.get_queue_attributes(QueueUrl=queue(tool), AttributeNames=names)["Attributes"]
    until(f"a recurring {tool} check was requested", lambda: any(map(int, counts().values())), 140)
    queues.purge_queue(QueueUrl=queue(tool))


def lose_a_schedule(site):
    """A schedule whose message was lost sends the next one. The nightly rebuild creates a schedule that somebody has
    deleted, and logs how many it created."""
    checked = count(site, "dns")
    receive(False)
    fire(f"{site}-dns")
    lose_a_run("dns")
    receive(True)
    fire(f"{site}-dns")
    until("the next run happens", lambda: count(site, "dns") > checked, 60)
    before = schedule_expressions(site)
    schedules.delete_schedule(GroupName=STACK, Name=f"{site}-dns")
    assert "dns" not in schedule_expressions(site)
    told = lambda: sum(line.get("SchedulesRecreated", 0) for line in alarms.embedded(STACK))
    counted = told()
    rebuild()
    until("a deleted schedule is there again", lambda: schedule_expressions(site) == before, 30)
    until("the rebuild has logged the schedule", lambda: told() == counted + 1, 30, told)


def lose_what_a_channel_knows(team, name, issue):
    """The nightly rebuild finds that a channel does not know about an open issue, and notifies the channel."""
    channel = operate("channel", "show", team, name)["uuid"]
    known = lambda: [key for key in rows(f"D#{team}#{channel}") if key[1] == f"I#{issue}"]
    [(pk, sk)] = until("a channel knows of the issue", known, 30)
    table.delete_item(TableName=outputs["TableName"], Key={"pk": {"S": pk}, "sk": {"S": sk}})
    rebuild()
    until("it knows of the issue again", known, 30)


def read_all(team, site, strangers_token):
    """All routes that only read: they return data to members and 404 to others."""
    assert ask("GET", "/me")["data"]["user"]["email"] == "ada@example.com"
    assert [entry["uuid"] for entry in ask("GET", "/teams")["data"]] == [team]
    assert ask("GET", f"/teams/{team}")["data"]["limits"]["plan"] == "agency"
    assert ask("GET", f"/teams/{team}/monitoring")["data"]["settings"]["tools"]
    assert ask("GET", f"/teams/{team}/time-zone")["data"] == {"time_zone": "Europe/Berlin"}
    assert [group["name"] for group in ask("GET", f"/teams/{team}/groups")["data"]["groups"]] == ["Shop"]
    assert ask("GET", f"/teams/{team}/configuration")["data"]["sites"]
    assert ask("GET", "/me/time-zone")["data"] == {"time_zone": "America/New_York"}
    metrics = ask("GET", f"/teams/{team}/metrics")
    assert f'vedette_site_monitored{{site="{site}"}} 1' in metrics.splitlines(), metrics
    # A window begins with the clock: a second read can be the first of the next window, but not a third one, too.
    ask("GET", f"/teams/{team}/metrics", expect=(200, 429))
    ask("GET", f"/teams/{team}/metrics", expect=429)
    assert ask("GET", f"/sites/{site}/expectations")["data"]["method"] == "GET"
    listed = ask("GET", f"/teams/{team}/sites?search=127.0.0.1&sort=name")
    assert site in [entry["uuid"] for entry in listed["data"]], listed
    assert (
        ask("GET", f"/sites/{site}/reports/uptime?days=7")["data"]["total_uptime_percentage"]
        is not None
    )
    assert ask("GET", f"/sites/{site}/reports/performance?days=7")["data"]["total_checks"] == 0
    for path in (
        f"/teams/{team}",
        f"/teams/{team}/monitoring",
        f"/teams/{team}/time-zone",
        f"/teams/{team}/groups",
        f"/teams/{team}/configuration",
        f"/teams/{team}/metrics",
        f"/teams/{team}/maintenance-windows",
        f"/teams/{team}/maintenance-windows/{NOBODY}",
        f"/teams/{team}/members",
        f"/teams/{team}/invitations",
        f"/teams/{team}/status-pages",
        f"/teams/{team}/status-pages/{NOBODY}",
        f"/teams/{team}/status-pages/{NOBODY}/incidents",
        f"/teams/{team}/status-pages/{NOBODY}/incidents/{NOBODY}",
        f"/teams/{team}/sites",
        f"/sites/{site}",
        f"/sites/{site}/expectations",
        f"/sites/{site}/checks",
        f"/sites/{site}/reports/uptime",
        f"/sites/{site}/reports/performance",
        f"/issues/{NOBODY}",
        f"/issues/{NOBODY}/evidence",
        f"/checks/{NOBODY}",
    ):
        ask("GET", path, expect=404, bearer=strangers_token)
    ask("GET", "/issues?status=lost", expect=422)
    ask("GET", "/me", expect=401, bearer="unknown")
    ask("GET", "/me/time-zone", expect=401, bearer="unknown")
    ask("GET", "/teams", expect=401, bearer="unknown")
    ask("GET", "/nowhere", expect=404)
    visit("GET", "/nowhere/at/all", 404)


def order_checks(site):
    """Requests an on-demand check of each tool."""
    ordered = ask("POST", f"/sites/{site}/checks", {}, 202)["data"]
    assert sorted(check["type"] for check in ordered) == sorted(TOOLS), ordered
    return [check["uuid"] for check in ordered]


def pending(checks):
    read = [ask("GET", f"/checks/{check}")["data"] for check in checks]
    return [check["type"] for check in read if check["status"] == "pending"]


def crawl_with_the_browser(team):
    """Links that a script makes are found by the function with the browser. On a host of its own, where the site's
    first crawl is counted for itself."""
    scripted = Target("127.0.0.5")
    scripted.page = b"""<html><body><script>
        for (const path of ['/next', '/gone']) {
            const link = document.createElement('a');
            link.href = link.textContent = path;
            document.body.append(link);
        }
        </script></body></html>"""
    site = watch(team, scripted.url, js_rendered=True)
    # If an audit were still running, the next site's audit would wait for minutes.
    crawled = lambda: have_run(site, ["broken-links", "performance"])
    until("a site has been crawled with a browser", crawled, 120)
    check = latest(site)["broken-links"]
    assert check["status"] == "completed", check
    result = check["result"]
    assert result["crawl"]["js_rendered"] and result["crawl"]["pages"] == 2, result
    assert [link["url"] for link in result["urls"]] == [f"{scripted.url}/gone"], result
    return site


def check_on_demand(team, target):
    """Checks on demand run, and are deleted; automatic ones are not. What may not be reached fails,
    and with the check its state goes from the list of sites."""
    # The fifth on its host, and so the last with a first crawl and audit. An order that comes while these run
    # would have to wait for redelivery.
    site = watch(team, f"{target.url}/ordered")
    until("a site for checks on demand has been checked", lambda: have_run(site, TOOLS), 60)
    # An address for documentation (RFC 5737), to which Vedette does not connect.
    ask("PATCH", f"/sites/{site}", {"url": "http://192.0.2.1/"})
    ordered = order_checks(site)
    refused = ask("POST", f"/sites/{site}/checks", {"tools": ["status"]}, 422)
    assert "tools" in refused["errors"], refused
    until("checks on demand have run", lambda: not pending(ordered), 60)
    assert site in listed_as(team, "failed")
    for check in ordered:
        ask("DELETE", f"/checks/{check}", expect=204)
    automatic = ask("GET", f"/sites/{site}/checks?automatic=true")["data"][0]
    ask("DELETE", f"/checks/{automatic['uuid']}", expect=403)
    return site


def listed_as(team, state):
    """The sites whose newest status check has a given state."""
    return [
        site["uuid"]
        for site in ask("GET", f"/teams/{team}/sites?tool=status&status={state}")["data"]
    ]


def operate_well(site):
    """The operator's commands find no problem and change nothing."""
    before = schedule_expressions(site)
    operate("reconcile")
    assert schedule_expressions(site) == before, before
    health = operate("doctor")
    assert not health["problems"] and not health["deployment"]["unseen"], health
    answering = [OUTPOST_REGION] if OUTPOST_REGION else []
    assert health["deployment"].get("outposts", []) == answering, health


def receive(enabled):
    """Turns the event sources of all queues on or off."""
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)


def throttle_the_table(team, site, other):
    """While the table is throttled, messages fail. They are not lost, and are not held back for minutes."""
    before = {tool: count(site, tool) for tool in TOOLS}
    receive(False)
    read = ask("GET", f"/sites/{other}")["data"]
    without_dns = {"tools": {"dns": {"enabled": False}}}
    ask("PATCH", f"/sites/{other}", {"url": read["url"], "monitoring_settings": without_dns})
    visit("POST", "/sign-in", 200, email="ada@example.com")
    (WORK / "throttle").write_text(outputs["TableName"])
    receive(True)
    for tool in TOOLS:
        fire(f"{site}-{tool}")
    queues.send_message(QueueUrl=queue("alerts"), MessageBody=json.dumps({"rebuild": team}))
    queued = len(TOOLS) + 3
    until("the table is throttled, and messages fail", lambda: len(retried()) == queued, 90, retried)
    (WORK / "busy").touch()
    (WORK / "throttle").unlink()
    until("SES is busy, and the email was requested again", letter_waits, 60)
    (WORK / "busy").unlink()
    letter("ada@example.com")

    def is_done():
        checked = all(count(site, tool) > counted for tool, counted in before.items())
        return checked and "dns" not in schedule_expressions(other)

    until("what failed is done soon after", is_done, 60)


def retried():
    """The queues of which a function has had a message again sooner than by itself."""
    found = decisions("sqs:ChangeMessageVisibility")
    return {taken["resource"] for taken in found if f":{STACK}-" in taken["resource"]}


def letter_waits():
    """Whether the function that sends transactional emails has requested one again."""
    sent = decisions("sqs:SendMessage")
    mine = (taken for taken in sent if "-LettersRole-" in taken["role"])
    return [taken for taken in mine if taken["resource"].endswith(f":{STACK}-letters")]


def decisions(action):
    """IAM's decisions about an action."""
    lines = (WORK / "decisions.jsonl").read_text().splitlines()
    return [taken for taken in map(json.loads, lines) if taken["action"] == action]


def lose_messages(team, watched, page, target):
    """Messages about a site's checks and alerts are lost: only the table knows about them."""
    site = watch(team, f"{target.url}/lost")
    until(
        "a site whose messages will be lost has been checked",
        lambda: have_run(site, TOOLS),
        60,
    )
    receive(False)
    before = schedule_expressions(site)["status"]
    ordered = order_checks(site)
    without_dns = {"tools": {"dns": {"enabled": False}}}
    ask(
        "PATCH", f"/sites/{site}", {"url": f"{target.url}/lost", "monitoring_settings": without_dns}
    )
    check_status_every(60, team)
    remind_after(30, team)
    [broken] = ask("GET", f"/issues?site={watched}&tool=broken-links&status=open")["data"]
    operate("issue", "ack", broken["uuid"], "--as", "ada@example.com")
    incident = {"title": "Orders are lost", "text": "We are looking into it."}
    ask("POST", f"/teams/{team}/status-pages/{page}/incidents", incident, 201)
    for name in [*TOOLS, "reconcile", "alerts"]:
        queues.purge_queue(QueueUrl=queue(name))
    find_lost_publication(page)
    receive(True)
    say("the messages of five checks, a changed site, a changed team, an issue and an incident are lost")
    return site, ordered, before, time.monotonic()


def find_lost_publication(page):
    """Redelivery finds a publication and emails to subscribers that are overdue, and again if its own message about the
    emails is lost."""
    due = [("I#", page), *[("F#", sk) for _, sk in rows(f"F#{page}") if sk.startswith("M#")]]
    assert len(due) == 2, due
    for prefix, part in due:
        make_overdue(prefix, part)
    fire(f"{STACK}-redelivery")
    sent = lambda: [one for one in decisions("sqs:SendMessage") if "-RedeliveryRole-" in one["role"] and one["resource"].endswith("-letters")]
    until("redelivery has found a publication and emails to subscribers", sent, 60)
    queues.purge_queue(QueueUrl=queue("letters"))
    make_overdue(*due[1])


def make_overdue(prefix, part):
    """Work in the table, with this sort key, has been outstanding for long."""
    [(pk, sk)] = [key for key in rows(prefix) if key[1] == part]
    past = {"ExpressionAttributeNames": {"#due": "due"}, "ExpressionAttributeValues": {":past": {"N": "1"}}}
    key = {"pk": {"S": pk}, "sk": {"S": sk}}
    table.update_item(TableName=outputs["TableName"], Key=key, UpdateExpression="SET #due = :past", **past)


def find_lost_messages(site, ordered, before, lost_at):
    """Redelivery, which runs every minute, finds the lost work in the table."""
    # A crawl is looked for when it should have ended, after five minutes. A first crawl of another site that found no
    # lease comes again by then, too: it goes before, so that the two do not meet.
    for seconds in (295, 302):
        time.sleep(max(0, lost_at + seconds - time.monotonic()))
        fire(f"{STACK}-redelivery")
    still_pending = lambda: outstanding(ordered)
    # If they still run at the same time, the crawl runs five minutes later.
    until("what was lost has been done", lambda: not pending(ordered), 400, still_pending)
    letter(READER)
    found = schedule_expressions(site)
    assert "dns" not in found and found["status"] != before, found
    left = [key for key in rows("S#") if key[1].startswith("O#")] + alert_settings()
    assert not left, left


def outstanding(checks):
    """What a failure says of checks that are still pending: which they are, when the table has them
    sent again, who holds a lease, and what waits in the queues."""
    named = {"#pk": "pk"}
    items = table.scan(
        TableName=outputs["TableName"],
        FilterExpression="attribute_exists(due) OR begins_with(#pk, :leases)",
        ExpressionAttributeNames=named,
        ExpressionAttributeValues={":leases": {"S": "P#"}},
    )["Items"]
    due = {f"{item['pk']['S']} {item['sk']['S']}": item["due"] for item in items if "due" in item}
    leases = [item for item in items if "due" not in item]
    counted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    waiting = {}
    for tool in pending(checks):
        found = queues.get_queue_attributes(QueueUrl=queue(tool), AttributeNames=counted)
        waiting[tool] = found["Attributes"]
    return f"at {time.time():.0f} pending: {waiting}, due: {due}, leases: {leases}"


def alert_settings():
    """The teams whose alerts do not follow the changed settings yet."""
    return [(pk, sk) for pk, sk in rows("D#") if sk == "A" and pk.count("#") == 1]


def crawl_at_once(sites, target):
    """A team's crawls and audits do not take all places: one that gets no lease runs later."""
    runs = [(site, tool) for site in sites for tool in ("broken-links", "performance")]
    before = {run: count(*run) for run in runs}
    target.delay = 1
    for site, tool in [*runs, (sites[0], "ssl"), (sites[0], "dns")]:
        fire(f"{site}-{tool}")
    # Audits, too: the first audit of another site would get no lease, and redelivery would send it again much later.
    have_all_run = lambda: all(count(*run) > counted for run, counted in before.items())
    until("crawls and audits that were due at once have run, one after the other", have_all_run, 90)
    target.delay = 0


def check_beside_a_slow_target(team, sites):
    """While a function waits for one target, it checks others."""
    slow = Target()
    site = watch(team, slow.url)
    until("a site has been checked that will be slow", lambda: have_run(site, FIRST_TOOLS), 60)
    before = {watched: count(watched, "status") for watched in [site, *sites]}
    slow.delay, asked = 25, slow.asked
    fire(f"{site}-status")
    until("it is waited for", lambda: slow.asked > asked, 30)
    slow.delay = 0
    # Only the function that waits can receive the messages that are due now.
    receive(False)
    for watched in sites:
        fire(f"{watched}-status")
    is_done = lambda watched: count(watched, "status") > before[watched]
    until("others have been checked", lambda: all(map(is_done, sites)), 20)
    assert not is_done(site), "the slow one was not waited for"
    receive(True)
    until("the slow one has been, too", lambda: is_done(site), 40)
    assert latest(site)["status"]["result"]["up"], latest(site)
    return site


def count(site, tool):
    return ask("GET", f"/sites/{site}/checks?type={tool}&automatic=true&per_page=1")["meta"][
        "total"
    ]


def create_many(team, target):
    """Adds sites in bulk: existing ones are skipped, and invalid ones fail."""
    # The last one is on a separate host, where nothing listens.
    urls = [f"{target.url}/0", f"{target.url}/1", "http://127.0.0.2:1/"]
    bodies = [{"url": url} for url in [*urls, urls[0], "ftp://127.0.0.1/"]]
    made = ask("POST", f"/teams/{team}/sites/bulk", {"sites": bodies})["data"]
    assert [len(made[name]) for name in ("created", "skipped", "failed")] == [3, 1, 1], made
    ask("POST", f"/teams/{team}/sites/bulk", {"sites": []}, 422)
    ask("POST", f"/teams/{team}/sites", {"url": bodies[0]["url"]}, 422)
    return [site["uuid"] for site in made["created"]]


def check_status_every(minutes, team):
    """Changes the cadence in a team's settings."""
    tools = ask("GET", f"/teams/{team}/monitoring")["data"]["settings"]["tools"]
    tools["status"]["cadence_minutes"] = minutes
    ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": {"tools": tools}})


def remind_after(minutes, team):
    """Changes a team's reminders."""
    settings = ask("GET", f"/teams/{team}/monitoring")["data"]["settings"]
    escalation = {"enabled": True, "intervals": [minutes]}
    kept = {"tools": settings["tools"], "escalation": escalation}
    ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": kept})


def change_settings(team, site, target):
    """A team's settings change the schedules of its sites, and a site's own settings take precedence."""
    until(
        "the other site has its schedules",
        lambda: len(schedule_expressions(site)) == len(TOOLS),
        30,
    )
    before = schedule_expressions(site)
    check_status_every(30, team)
    until(
        "the team's cadence is that of the schedule",
        lambda: schedule_expressions(site)["status"] != before["status"],
        30,
    )
    ask("PATCH", f"/teams/{team}/monitoring", {"monitoring_settings": {}}, 422)
    ask("PATCH", f"/teams/{team}/time-zone", {"time_zone": "Europe/Berlin"})
    ask("PATCH", f"/teams/{team}/time-zone", {"time_zone": "Europe/Atlantis"}, 422)
    groups = {"groups": [{"name": "Shop", "selector": "team:shop"}]}
    assert ask("PUT", f"/teams/{team}/groups", groups)["data"] == groups
    ask("PUT", f"/teams/{team}/groups", {"groups": [{"name": "Shop", "selector": ""}]}, 422)
    apply_documents(team)
    ask("PATCH", "/me/time-zone", {"time_zone": "America/New_York"})
    ask("PATCH", "/me/time-zone", {"time_zone": "Europe/Atlantis"}, 422)
    own = {"ssl": {"enabled": False}}
    tags = ["env:prod", "team:shop"]
    moved = {"url": f"{target.url}/moved", "tags": tags, "monitoring_settings": {"tools": own}}
    changed = ask("PATCH", f"/sites/{site}", moved)["data"]
    assert changed["url"].endswith("/moved") and "ssl" not in changed["enabled_checks"], changed
    assert changed["tags"] == tags, changed
    selected = ask("GET", f"/teams/{team}/sites?selector=env,!legacy&tag=team:shop")["data"]
    assert [found["uuid"] for found in selected] == [site], selected
    until("what is off has no schedule", lambda: "ssl" not in schedule_expressions(site), 30)
    ask("PATCH", f"/sites/{site}", {"url": "nowhere"}, 422)
    fast = {"expectations": [{"kind": "response_time", "max_ms": 20000}]}
    expected = ask("PUT", f"/sites/{site}/expectations", fast)["data"]
    assert expected["expectations"] == fast["expectations"], expected
    posting = {"method": "POST", "post": {"body": "{}"}, "expectations": []}
    refused = ask("PUT", f"/sites/{site}/expectations", posting, 422)
    assert "DNS TXT record" in refused["message"], refused


READER = "reader@example.com"


def publish(team, site):
    """A status page with a subscriber and an incident, and each way to change them. The page stays, so that everything
    that changes it has it published again."""
    pages = f"/teams/{team}/status-pages"
    groups = [{"name": "Shop", "components": [{"name": "Checkout", "site": site}]}]
    body = {"slug": "observer", "name": "Observers", "groups": groups, "subscriptions": True}
    page = ask("POST", pages, body, 201)["data"]["uuid"]
    ask("POST", pages, body, 422)
    assert [entry["uuid"] for entry in ask("GET", pages)["data"]] == [page]
    ask("PATCH", f"{pages}/{page}", {"slug": "observers", "message": "We move on Sunday."})
    assert ask("GET", f"{pages}/{page}")["data"]["message"] == "We move on Sunday."
    ask("PATCH", f"{pages}/{page}", {"slug": "Not a slug"}, 422)
    until("readers are served the page", lambda: "We move on Sunday." in served("/status/observers"), 60)
    assert not served("/status/observer")

    visit("GET", "/subscribe/observers")
    visit("POST", "/subscribe/observers", 422, email="nobody")
    visit("POST", "/subscribe/observers", email=READER)
    link = letter(READER)
    visit("GET", link)
    visit("POST", link.replace("key=", "key=0"), 404)
    visit("POST", link)

    incidents = f"{pages}/{page}/incidents"
    delays = {"title": "Orders are delayed", "text": "We are looking into it."}
    incident = ask("POST", incidents, delays, 201)["data"]["uuid"]
    ask("POST", incidents, {"text": "Untitled"}, 422)
    assert [entry["uuid"] for entry in ask("GET", incidents)["data"]] == [incident]
    assert letter(READER).partition("?")[0].endswith("/unsubscribe")
    ask("PATCH", f"{incidents}/{incident}", {"status": "resolved", "text": "It is over."})
    assert ask("GET", f"{incidents}/{incident}")["data"]["status"] == "resolved"
    ask("PATCH", f"{incidents}/{incident}", {"impact": "huge"}, 422)
    letter(READER)
    ask("DELETE", f"{incidents}/{incident}", expect=204)
    ask("DELETE", f"{incidents}/{incident}", expect=404)

    other = {"slug": "other", "name": "Other", "subscriptions": True}
    every_site = {"selector": "!nobody", "publish_new_sites": True}
    other = ask("POST", pages, other | every_site, 201)["data"]["uuid"]
    until("the selector of a page adds sites", lambda: ask("GET", f"{pages}/{other}")["data"]["groups"], 60)
    until("readers are served another page", lambda: served("/status/other"), 60)
    visit("POST", "/subscribe/other", email="late@example.com")
    ask("POST", f"{pages}/{other}/incidents", delays, 201)
    ask("DELETE", f"{pages}/{other}", expect=204)
    ask("DELETE", f"{pages}/{other}", expect=404)
    ask("GET", f"{pages}/{other}", expect=404)
    until("nothing is left of a deleted page", lambda: not [key for prefix in ("O#", "I#", "F#") for key in rows(prefix) if other in "".join(key)], 60)
    say("a status page has readers and a subscriber")
    return page


def served(path):
    """What readers of a status page are served; nothing if there is none."""
    connection = http.client.HTTPConnection(gateway, timeout=60)
    host = f"{api}.execute-api.localhost:{gateway.partition(':')[2]}"
    connection.request("GET", path, headers={"Host": host, "Accept": "text/html"})
    response = connection.getresponse()
    text = response.read().decode()
    return text if response.status == 200 else ""


def publish_by_form(team, cookie):
    """Somebody manages a status page in the dashboard, and the subscriber of another one unsubscribes."""
    pages = f"/teams/{team}/status-pages"
    visit("GET", pages, cookie=cookie)
    visit("POST", pages, 422, cookie, slug="No slug", name="By form")
    visit("POST", pages, 303, cookie, slug="by-form", name="By form")
    listed = visit("GET", pages, cookie=cookie)[1]
    page = re.search(re.escape(pages) + r'/[0-9a-f-]+(?="><bdi>By form)', listed)[0]
    visit("GET", page, cookie=cookie)
    visit("GET", f"{page}/edit", cookie=cookie)
    visit("POST", f"{page}/edit", 422, cookie, slug="No slug", name="By form")
    visit("POST", f"{page}/edit", 303, cookie, slug="moved", name="By form")
    visit("POST", f"{page}/incidents", 422, cookie, title="Untold")
    visit("POST", f"{page}/incidents", 303, cookie, title="Orders are delayed", text="We are looking into it.")
    incident = re.search(re.escape(page) + r"/incidents/[0-9a-f-]+", visit("GET", page, cookie=cookie)[1])[0]
    visit("GET", incident, cookie=cookie)
    visit("POST", incident, 303, cookie, text="It is over.", status="resolved")
    visit("POST", f"{incident}/delete", 303, cookie)
    visit("POST", f"{page}/delete", 303, cookie)

    link = unsubscribe_link()
    visit("GET", link)
    visit("POST", link)
    assert not [key for key in rows("F#") if key[1].startswith("S#")], rows("F#")


def unsubscribe_link():
    """The path of the link in the newest email about an incident."""
    [place] = [key for key in rows("F#") if key[1].startswith("S#")]
    found = table.get_item(
        TableName=outputs["TableName"], Key=dict(zip(("pk", "sk"), ({"S": part} for part in place)))
    )["Item"]
    page, subscription = place[0].removeprefix("F#"), place[1].removeprefix("S#")
    return f"/subscriptions/{page}/{subscription}/unsubscribe?key={found['key']['S']}"


def maintain(team, site):
    """A window in which a check of the site is marked, and each way to change it."""
    windows = f"/teams/{team}/maintenance-windows"
    weekly = {
        "starts_at": "2030-01-06T02:00",
        "time_zone": "Europe/Berlin",
        "duration_minutes": 90,
        "recurrence": "FREQ=WEEKLY;BYDAY=SU",
    }
    window = ask("POST", windows, weekly, 201)["data"]["uuid"]
    ask("POST", windows, {"duration_minutes": 0}, 422)
    assert ask("GET", f"{windows}/{window}")["data"]["next_starts_at"] == "2030-01-06T01:00:00+00:00"
    ask("PATCH", f"{windows}/{window}", {"duration_minutes": 120})
    ask("PATCH", f"{windows}/{window}", {"recurrence": "FREQ=HOURLY"}, 422)
    ask("POST", f"{windows}/{window}/end", {}, 422)
    now = {"name": "Deployment", "sites": [site], "duration_minutes": 30}
    started = ask("POST", windows, now, 201)["data"]["uuid"]
    assert [entry["uuid"] for entry in ask("GET", windows)["data"]] == [started, window]
    check = ask("POST", f"/sites/{site}/checks", {"tools": ["status"]}, 202)["data"][0]["uuid"]
    until(
        "a check in the window is marked",
        lambda: ask("GET", f"/checks/{check}")["data"].get("in_maintenance"),
        60,
    )
    ask("PATCH", f"{windows}/{started}", {"duration_minutes": 45})
    ask("POST", f"{windows}/{started}/end", {})
    ask("GET", f"{windows}/{started}", expect=404)
    active = ask("POST", windows, now, 201)["data"]["uuid"]
    ask("DELETE", f"{windows}/{active}", expect=204)
    ask("DELETE", f"{windows}/{window}", expect=204)
    ask("DELETE", f"{windows}/{window}", expect=404)
    calendar = f"/teams/{team}/maintenance-calendar"
    for method in ("GET", "POST", "DELETE"):
        ask(method, calendar, expect=401, bearer="unknown")
    created = ask("POST", calendar, {}, 201)["data"]["url"]
    assert ask("GET", calendar)["data"]["url"] == created
    ask("DELETE", calendar, expect=204)
    assert ask("GET", calendar)["data"]["url"] is None


def apply_documents(team):
    """A document creates, changes and deletes each kind of object."""
    tools = ("status", "ssl", "dns", "broken-links", "performance")
    off = {"tools": {tool: {"enabled": False} for tool in tools}}

    def document(step):
        site = {"key": "site", "url": f"https://configured.example/{step}", "tags": [f"step:{step}"]}
        hook = f"https://hooks.slack.com/services/T0/B0/{step}"
        mail = {"key": "mail", "kind": "email", "address": "observer@example.com", "selector": "nobody"}
        component = {"name": "Configured", "site": "site"}
        window = {"starts_at": "2030-01-01T02:00", "duration_minutes": 30 + step, "sites": ["site"]}
        page = {"name": "Configured", "slug": f"configured-{step}", "unlisted": step == 1}
        return {
            "name": "story",
            "sites": [{**site, "monitoring_settings": off}],
            "channels": [{"key": "chat", "kind": "slack", "name": "Chat", "url": hook, "selector": "nobody"}, mail],
            "heartbeats": [{"key": "job", "name": f"Job {step}"}],
            "groups": [{"key": "group", "name": "Configured", "selector": f"step:{step}"}],
            "maintenance_windows": [{"key": "window", "name": "Configured", **window}],
            "status_pages": [{"key": "page", **page, "groups": [{"components": [component]}]}],
        }

    path = f"/teams/{team}/configuration"
    ask("POST", path, {}, 422)
    ask("POST", path, {"document": document(0)}, 401, bearer="unknown")
    planned = ask("POST", path, {"document": document(0), "dry_run": True})["data"]
    assert planned["left"] == 7, planned
    lists = ("sites", "heartbeats", "channels", "groups", "maintenance_windows", "status_pages")
    empty = {"name": "story", **{name: [] for name in lists}}
    nothing = {"document": empty, "prune": True, "prune_max": 7}
    for order in ({"document": document(0)}, {"document": document(1)}, nothing):
        made = ask("POST", path, order)["data"]
        assert made["left"] == 0 and len(made["changes"]) >= 5, made
        assert ask("POST", path, order)["data"]["changes"] == [], order


def delete(team, sites):
    """When something is deleted, all its items are deleted."""
    assert {sk for _, sk in rows("S#")} > {"A"} and rows("L#") and rows("N#")
    for heartbeat in ask("GET", f"/teams/{team}/heartbeats")["data"]:
        ask("DELETE", f"/teams/{team}/heartbeats/{heartbeat['uuid']}", expect=204)
    for site in sites:
        ask("DELETE", f"/sites/{site}", expect=204)
        ask("DELETE", f"/sites/{site}", expect=404)
        ask("GET", f"/sites/{site}", expect=404)
    until("no schedule is left", lambda: not any(map(schedule_expressions, sites)), 60)
    until("no row of a bucket is left", lambda: not any(map(in_buckets, sites)), 60)
    # For a while, a tombstone says that a site was deleted.
    until(
        "nothing of them is left",
        lambda: {sk for _, sk in rows("S#")} <= {"A"},
        60,
        lambda: rows("S#"),
    )
    # Outages are deleted with the tombstone of their site, which stays until all channels know of the deletion.
    tombstones = {pk.removeprefix("S#") for pk, _ in rows("S#")}
    left = [sk for _, sk in rows("N#") if sk.rpartition("#")[2] not in tombstones]
    # Tags are counted as long as the team exists.
    assert {sk for _, sk in rows("L#")} <= {"tags", "site-groups"} and not left, rows("")


def answer_a_mail(team):
    """The owner of a new channel's address confirms it, and then unsubscribes."""
    channel, key = add_address(team, "ada@example.com")
    for page, states in (("confirm", {"on"}), ("unsubscribe", {"disabled"})):
        path = f"/channels/{team}/{channel}/{page}"
        visit("GET", f"{path}?key={key}")
        visit("POST", f"{path}?key={NOBODY}", 404)
        visit("POST", f"{path}?key={key}")
        assert operate("channel", "show", team, channel)["state"] in states
    operate("channel", "remove", team, channel)
    # A message of it is late, and so was whoever sent to it.
    left = {"pk": {"S": f"D#{team}#{channel}"}, "sk": {"S": "A"}, "rev": {"N": "1"}}
    table.put_item(TableName=outputs["TableName"], Item=left)
    late = {"channel": {"team": team, "channel": channel}}
    queues.send_message(QueueUrl=queue("alerts"), MessageBody=json.dumps(late))
    until("nothing is left of a channel", lambda: not rows(f"D#{team}#{channel}"), 30)
    visit("GET", f"/issues/{NOBODY}", 404)
    say("an email address was confirmed and then unsubscribed")


def add_address(team, address):
    """Adds an email channel, and returns it with the key in the links of its emails."""
    channel = operate("channel", "add", team, "email", address)["uuid"]
    [(pk, sk)] = [key for key in rows("C#") if channel in key[1]]
    found = table.get_item(TableName=outputs["TableName"], Key={"pk": {"S": pk}, "sk": {"S": sk}})
    return channel, found["Item"]["key"]["S"]


def send_from_buckets(team, target):
    """A parameter of the deployment changes: a site's schedules become rows of buckets."""
    site = watch(team, f"{target.url}/buckets", {"status": checked_every(1)})
    until("a site has schedules", lambda: len(schedule_expressions(site)) == len(TOOLS), 30)
    subprocess.run([WORK / "deploy", "Schedules=buckets", "Blocks=2"], check=True, timeout=180)
    operate("reconcile")
    until("they are gone, and runs come from buckets", lambda: not schedule_expressions(site), 30)
    assert len(in_buckets(site)) == len(TOOLS), rows("B#")
    return site


def in_buckets(site):
    """A site's rows in the buckets."""
    return [key for key in rows("B#") if key[1].endswith(site)]


def decide(team):
    """A client decides about an issue, reads what happened, and creates a team and a token."""
    site = watch(team, "http://127.0.0.5:1/", FAILS_AT_ONCE)
    [opened] = until("an issue is open for a client", lambda: issues(site, "open"), 60)
    issue = f"/issues/{opened['uuid']}"
    for verb, body in [
        ("acknowledge", {}),
        ("unacknowledge", {}),
        ("snooze", {"until": "2099-01-01T00:00:00Z"}),
        ("notes", {"note": "The database is full."}),
        ("resolve", {}),
    ]:
        ask("POST", f"{issue}/{verb}", body)
        ask("POST", f"/issues/{NOBODY}/{verb}", body, expect=404)
    ask("GET", f"/teams/{team}/outages")
    ask("GET", f"/teams/{team}/outages?cause=rain", expect=422)
    log = ask("GET", f"/teams/{team}/audit-log?per_page=5")["data"]
    assert log[0]["event"]["decision"] == "resolved", log
    ask("GET", f"/teams/{team}/audit-log?per_page=0", expect=422)
    assert ask("GET", f"/teams/{team}/events?per_page=1")["data"][0]["event"] == "resolved"
    ask("GET", f"/teams/{team}/events?per_page=0", expect=422)
    ask("DELETE", f"/sites/{site}", expect=204)
    made = ask("POST", "/teams", {"name": "A second team"}, 201)["data"]["uuid"]
    ask("POST", "/teams", {}, expect=422)
    ask("PATCH", f"/teams/{made}", {"name": "Another name"})
    ask("PATCH", f"/teams/{made}", {}, expect=422)
    secret = ask("POST", "/me/tokens", {"name": "Script", "scopes": ["teams:read"]}, 201)["data"]
    ask("POST", "/me/tokens", {}, expect=422)
    ask("GET", "/teams", bearer=secret["secret"])
    ask("GET", "/me/tokens", expect=403, bearer=secret["secret"])
    assert secret["hash"] in [one["hash"] for one in ask("GET", "/me/tokens")["data"]]
    ask("DELETE", f"/me/tokens/{secret['hash']}", expect=204)
    ask("DELETE", f"/me/tokens/{secret['hash']}", expect=404)
    ask("GET", "/teams", expect=401, bearer=secret["secret"])
    say("a client decided about an issue, and created a team and a token")


def manage_members(team):
    """A client invites people, one of whom joins, gets another role, and is removed."""
    members, invitations = f"/teams/{team}/members", f"/teams/{team}/invitations"
    ask("POST", invitations, {"email": "client", "role": "viewer"}, expect=422)
    client = {"email": "client@example.com", "role": "viewer"}
    invited = ask("POST", invitations, client, 201)["data"]
    assert (invited["url"], invited["unsent"]) == (None, None), invited
    link = letter(client["email"])
    visit("GET", link)
    assert invited["hash"] in [one["hash"] for one in ask("GET", invitations)["data"]]
    ask("DELETE", f"{invitations}/{invited['hash']}", expect=204)
    ask("DELETE", f"{invitations}/{invited['hash']}", expect=404)
    visit("GET", link, 404)
    ask("POST", invitations, client, 201)
    visit("POST", letter(client["email"]))
    [user] = [one["uuid"] for one in ask("GET", members)["data"] if one["email"] == client["email"]]
    assert ask("PATCH", f"{members}/{user}", {"role": "admin"})["data"]["role"] == "admin"
    ask("PATCH", f"{members}/{user}", {"role": "king"}, expect=422)
    ask("DELETE", f"{members}/{user}", expect=204)
    ask("DELETE", f"{members}/{user}", expect=404)
    say("a client managed the members of a team")


def run_channels(team):
    """A client sets up channels."""
    channels = f"/teams/{team}/channels"
    address = {"kind": "email", "address": "hal@example.com", "name": "Hal"}
    asked = ask("POST", channels, address, 201)["data"]
    assert asked["state"] == "unconfirmed", asked
    ask("DELETE", f"{channels}/{asked['uuid']}", expect=204)
    url = "https://receiver.example.com/a-client-added-this"
    script = {"kind": "webhook", "url": url, "name": "Script", "weekly_test": "Mon 09:00"}
    added = ask("POST", channels, script, 201)["data"]
    ask("POST", channels, {"kind": "webhook", "url": url, "name": "Again"}, expect=422)
    channel = f"{channels}/{added['uuid']}"
    assert "signing_key" not in ask("GET", channel)["data"]
    assert added["uuid"] in [one["uuid"] for one in ask("GET", channels)["data"]]
    # The metrics say how fast the channels are.
    ask("GET", f"/teams/{team}/metrics")
    ask("GET", f"/teams/{NOBODY}/channels", expect=404)
    ask("PATCH", channel, {"severities": ["critical"]})
    ask("PATCH", channel, {"severities": ["bad"]}, expect=422)
    moved = ask("PATCH", channel, {"url": "https://elsewhere.example.com/a-client-moved-this"})["data"]
    assert moved["to"].startswith("https://elsewhere.example.com/…"), moved
    for verb in ("disable", "enable", "test", "resend"):
        ask("POST", f"{channel}/{verb}", {})
        ask("POST", f"{channels}/{NOBODY}/{verb}", {}, expect=404)
    ask("DELETE", channel, expect=204)
    ask("GET", channel, expect=404)
    ask("DELETE", channel, expect=404)
    say("a client set up channels")


def ping(address, expect=200, body=None):
    """Pings a heartbeat as a job does, and checks the status of the answer."""
    url = urllib.parse.urlsplit(address)
    path = f"{url.path}?{url.query}" if url.query else url.path
    connection = http.client.HTTPConnection(gateway, timeout=60)
    connection.request("POST", path, body, {"Host": f"{api}.execute-api.localhost:{gateway.partition(':')[2]}"})
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == expect, f"{address}: {response.status}: {text}"


def run_heartbeats(team, page):
    """A client adds heartbeats. Their jobs fail and succeed, and one of them, which a status page shows, stops reporting.
    Returns the latter."""
    heartbeats, key = f"/teams/{team}/heartbeats", f"/teams/{team}/ping-key"
    minutely = {"name": "Queue", "period_minutes": 1, "grace_minutes": 1}
    late = ask("POST", heartbeats, minutely, 201)["data"]
    # The same issue opens again when the job is late.
    for suffix in ("/fail", ""):
        ping(late["ping_url"] + suffix)
    page = f"/teams/{team}/status-pages/{page}"
    groups = ask("GET", page)["data"]["groups"]
    jobs = {"name": "Jobs", "components": [{"name": "Orders of the day", "heartbeat": late["uuid"]}]}
    ask("PATCH", page, {"groups": groups + [jobs]})
    until("readers are served the state of a job", lambda: "Orders of the day" in served("/status/observers"), 60)
    backup = ask("POST", heartbeats, {"name": "Backup"}, 201)["data"]
    ask("POST", heartbeats, {"name": "Again", "slug": "backup"}, expect=422)
    heartbeat = f"{heartbeats}/{backup['uuid']}"
    listed = [one["uuid"] for one in ask("GET", heartbeats)["data"]]
    assert {late["uuid"], backup["uuid"]} <= set(listed), listed
    failing = lambda: [
        issue["uuid"]
        for issue in ask("GET", f"/issues?team={team}&include=heartbeats&status=open")["data"]
        if issue.get("heartbeat", {}).get("uuid") == backup["uuid"]
    ]
    for suffix, state in (("/start", "on_time"), ("/1", "failed"), ("", "on_time"), ("/fail", "failed")):
        ping(backup["ping_url"] + suffix, body=b"disk full")
        assert ask("GET", heartbeat)["data"]["state"] == state, suffix
    assert failing() and ask("GET", f"{heartbeat}/runs")["data"]
    renamed = {"slug": "nightly", "tags": ["db"], "period_minutes": 1, "grace_minutes": 1}
    ask("PATCH", heartbeat, renamed)
    ask("PATCH", heartbeat, {"cron": "never"}, expect=422)
    ask("PATCH", heartbeat, {"paused": True})
    assert not failing()
    ask("PATCH", heartbeat, {"paused": False})
    ping(backup["ping_url"] + "/fail")
    for path in (heartbeat, f"{heartbeat}/runs"):
        ask("GET", path.replace(backup["uuid"], NOBODY), expect=404)
        ask("DELETE", heartbeat.replace(backup["uuid"], NOBODY), expect=404)

    assert ask("GET", key)["data"]["ping_key"] is None
    first, second = (ask("PUT", key, {})["data"]["ping_key"] for _ in range(2))
    ask("PUT", key, {"ping_key": "short"}, expect=422)
    assert first != second == ask("GET", key)["data"]["ping_key"]
    for path, status in (("nightly", 200), ("new-job?create=1", 201), ("new-job", 200), ("unknown", 404)):
        ping(f"/ping/{second}/{path}", status)
    ask("DELETE", heartbeat, expect=204)
    ping(backup["ping_url"], 404)
    for path in (heartbeats, key):
        ask("GET", path.replace(team, NOBODY), expect=404)
    say("a client managed heartbeats")
    return late["uuid"]


def manage_heartbeats_by_form(team, cookie):
    """Somebody adds a heartbeat, changes and deletes it, and replaces the ping key twice."""
    pages = f"/teams/{team}/heartbeats"
    visit("POST", pages, 303, cookie, name="By form", period_minutes="60", grace_minutes="5")
    text = visit("GET", pages, cookie=cookie)[1]
    heartbeat = f"{pages}/" + re.search(rf'href="{pages}/([0-9a-f-]+)"[^>]*>(?:<[^>]+>)*By form', text)[1]
    visit("GET", heartbeat, cookie=cookie)
    visit("POST", f"{heartbeat}/edit", 303, cookie, name="By form", slug="form", period_minutes="60", grace_minutes="5")
    visit("POST", f"{heartbeat}/pause", 303, cookie)
    visit("POST", f"{heartbeat}/delete", 303, cookie)
    for _ in range(2):
        visit("POST", f"/teams/{team}/ping-key", 303, cookie)


def read_reports(team):
    """A team that has existed for months gets the reports of the last week and month, as far as they are due at this
    hour. Recipients are sent them, and members read them."""
    cookie = signed_in("ada@example.com")
    pages, recipient = f"/teams/{team}/reports", "recipient@example.com"
    ask("GET", f"{pages}/2001-01", expect=404)
    visit("GET", pages, cookie=cookie)
    visit("POST", f"/teams/{team}/recipients", 422, cookie, email="nobody", kind="week")
    # Her own address needs no email.
    visit("POST", f"/teams/{team}/recipients", 303, cookie, email="ada@example.com", kind="week")
    [own] = re.findall(r'action="([^"]+/remove)"', visit("GET", pages, cookie=cookie)[1])
    visit("POST", own, 303, cookie)
    for kind in ("week", "month"):
        visit("POST", f"/teams/{team}/recipients", 303, cookie, email=recipient, kind=kind)
        link = letter(recipient)
        visit("GET", link)
        visit("POST", link)
    long_ago = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=100)
    table.update_item(
        TableName=outputs["TableName"],
        Key={"pk": {"S": f"T#{team}"}, "sk": {"S": "A"}},
        UpdateExpression="SET created_at = :then",
        ExpressionAttributeValues={":then": {"S": long_ago.strftime("%Y-%m-%dT%H:%M:%SZ")}},
    )
    made = lambda: [sk.removeprefix("H#") for _, sk in rows(f"RP#{team}") if sk.startswith("H#")]
    rebuild()
    [period, *_] = until("reports were made", made, 60)
    assert ask("GET", f"{pages}/{period}")["data"]["sites"]
    visit("GET", f"{pages}/{period}", cookie=cookie)
    visit("POST", f"{pages}/{period}/send", 303, cookie)
    link = letter(recipient)
    visit("GET", link)
    visit("POST", link)
    [left] = re.findall(r'action="([^"]+/remove)"', visit("GET", pages, cookie=cookie)[1])
    visit("POST", left, 303, cookie)
    assert not [key for key in rows(f"F#{team}") if key[1].startswith("S#")]

    make_overdue(f"RP#{team}", "A")
    fire(f"{STACK}-redelivery")
    scheduled = lambda: due(f"RP#{team}", "A") > time.time() * 1000 + 600_000
    until("the next report is scheduled again", scheduled, 60)


def due(pk, sk):
    """When outstanding work is due, in milliseconds."""
    key = {"pk": {"S": pk}, "sk": {"S": sk}}
    return int(table.get_item(TableName=outputs["TableName"], Key=key)["Item"]["due"]["N"])


def use_the_pages(team, site, target):
    """Somebody signs in, looks around, adds a site, has one checked and decides on an issue."""
    cookie = signed_in("ada@example.com")
    for page in ("/", f"/teams/{team}", f"/teams/{team}/sites/new", f"/sites/{site}", "/sessions"):
        visit("GET", page, cookie=cookie)
    # The second one is on a separate host, where nothing listens.
    urls = [f"{target.url}/page", "http://127.0.0.3:1/"]
    visit("POST", f"/teams/{team}/sites", 303, cookie, urls="\n".join(urls))
    visit("POST", f"/sites/{site}/checks", 303, cookie)
    visit("POST", f"/sites/{site}/checks", 422, cookie)
    visit("GET", f"/sites/{site}/edit", cookie=cookie)
    visit("POST", f"/sites/{site}/edit", 422, cookie, url="")
    for page in (f"/sites/{site}?range=1y", f"/sites/{site}/checks", f"/sites/{site}/report", f"/teams/{team}/events"):
        visit("GET", page, cookie=cookie)
    check = ask("GET", f"/sites/{site}/checks?per_page=1")["data"][0]["uuid"]
    visit("GET", f"/checks/{check}", cookie=cookie)
    extra = ask("POST", f"/teams/{team}/sites", {"url": "http://127.0.0.4:1/"}, 201)["data"]["uuid"]
    moved = {"url": "http://127.0.0.4:1/moved", "name": "Moved"}
    visit("POST", f"/sites/{extra}/edit", 303, cookie, **moved)
    visit("POST", f"/sites/{extra}/pause", 303, cookie)
    visit("POST", f"/sites/{extra}/resume", 303, cookie)
    visit("GET", f"/sites/{extra}/delete", cookie=cookie)
    visit("POST", f"/sites/{extra}/delete", 303, cookie)
    visit("GET", f"/sites/{extra}", 404, cookie)
    issue = ask("GET", f"/issues?team={team}")["data"][0]["uuid"]
    visit("GET", f"/issues/{issue}", cookie=cookie)
    # No outage began then.
    long_ago = "2000-01-01T00:00:00Z"
    visit("POST", f"/teams/{team}/issues/acknowledge", 303, cookie, **{"from": long_ago, "to": long_ago})
    visit("POST", f"/issues/{issue}/snooze", 303, cookie, hours="1")
    visit("POST", f"/issues/{issue}/note", 303, cookie, note="The database is full.")
    visit("POST", f"/issues/{issue}/resolve", 303, cookie)
    visit("POST", f"/issues/{issue}/acknowledge", 409, cookie)
    visit("GET", f"/issues/{issue}", cookie=cookie)
    run_the_team(team, cookie)
    decide(team)
    manage_members(team)
    run_channels(team)
    manage_heartbeats_by_form(team, cookie)
    visit("GET", "/new-team", cookie=cookie)
    visit("POST", "/new-team", 303, cookie, name="A team of their own")
    # The OpenID provider does not answer, and the function that asks it says so.
    visit("GET", "/oidc", 502, cookie)
    visit("GET", "/oidc/callback", 400, cookie)
    visit("POST", "/sign-out", 303, cookie)
    visit("GET", "/", 303, cookie)
    made = [ask("GET", f"/teams/{team}/sites?search={url.rstrip('/')}")["data"] for url in urls]
    assert [len(found) for found in made] == [1, 1], made
    say("a user used the dashboard")
    return [found["uuid"] for [found] in made]


def run_the_team(team, cookie):
    """Somebody saves settings, has a channel and a token, and invites people: one joins, leaves and joins again."""
    pages = f"/teams/{team}"
    for page in ("settings", "channels", "members", "plan", "audit-log"):
        visit("GET", f"{pages}/{page}", cookie=cookie)
    visit("GET", "/tokens", cookie=cookie)
    visit("POST", "/time-zone", 303, cookie, time_zone="Europe/Berlin")
    publish_by_form(team, cookie)
    quiet = "monitoring_settings.quiet_time"
    for ends_at, status in (("06:30", 303), ("22:00", 422)):
        times = {f"{quiet}.starts_at": "22:00", f"{quiet}.ends_at": ends_at}
        visit("POST", f"{pages}/settings/quiet-time", status, cookie, **times)
    visit("POST", f"{pages}/maintenance", 422, cookie, duration_minutes="0")

    channel = {"kind": "email", "to": "ops@example.com"}
    visit("POST", f"{pages}/channels", 303, cookie, **channel)
    visit("POST", f"{pages}/channels", 422, cookie, **channel)
    listed = operate("channel", "list", team)
    [uuid] = [one["uuid"] for one in listed if one["to"] == channel["to"]]
    for verb, status in [
        ("resend", 303), ("test", 422), ("disable", 303), ("enable", 303), ("remove", 303)
    ]:
        visit("POST", f"{pages}/channels/{uuid}/{verb}", status, cookie)

    # Nothing listens there. The page says so as soon as that is known.
    silent = {"kind": "slack", "name": "silent", "to": "https://127.0.0.1:1/password"}
    visit("POST", f"{pages}/channels", 303, cookie, **silent)
    [uuid] = [one["uuid"] for one in operate("channel", "list", team) if one["name"] == "silent"]
    twin = silent | {"name": "twin"}
    visit("POST", f"{pages}/channels", 409, cookie, **twin)
    visit("POST", f"{pages}/channels/{uuid}/test", 303, cookie)
    failed = lambda: "Last test failed " in visit("GET", f"{pages}/channels", cookie=cookie)[1]
    until("the page says that the test did not arrive", failed, 30)
    moved = {"name": "silent", "events": "opened", "severities": "critical", "to": "https://127.0.0.1:1/other"}
    visit("POST", f"{pages}/channels/{uuid}/edit", 303, cookie, **moved)
    visit("POST", f"{pages}/channels/{uuid}/remove", 303, cookie)

    visit("POST", "/tokens", 200, cookie, name="by form", days="1", scopes="teams:read")
    tokens = visit("GET", "/tokens", cookie=cookie)[1].split("by form")[1]
    revoke = re.search(r'action="(/tokens/[0-9a-f]+/revoke)"', tokens)[1]
    visit("POST", revoke, 303, cookie)

    # The page shows a refusal next to the members.
    visit("POST", f"{pages}/members", 422, cookie, email="nobody", role="viewer")
    undecided = {"email": "undecided@example.com", "role": "viewer"}
    visit("POST", f"{pages}/members", 303, cookie, **undecided)
    link = letter(undecided["email"])
    visit("GET", link)
    pending = pending_invitation(pages, cookie)
    visit("POST", f"{pending}/mail", 303, cookie)
    visit("GET", letter(undecided["email"]))
    visit("POST", f"{pending}/withdraw", 303, cookie)
    visit("GET", link, 404)

    guest = {"email": "guest@example.com", "role": "viewer"}
    visit("POST", f"{pages}/members", 303, cookie, **guest)
    link = letter(guest["email"])
    # The next emails are one for the newcomer, and one that they request.
    visit("POST", link)
    visit("POST", letter(guest["email"]), 303)
    visit("POST", "/sign-in", 200, **guest)
    theirs, _ = visit("POST", letter(guest["email"]), 303)
    visit("GET", pages, cookie=theirs)
    visit("GET", link, 404)
    members = visit("GET", f"{pages}/members", cookie=cookie)[1]
    role = re.search(re.escape(guest["email"]) + r'.*?action="([^"]+/role)"', members, re.S)[1]
    remove = role.replace("/role", "/remove")

    # Their invitations are valid only while they may invite.
    friend = {"email": "friend@example.com", "role": "admin"}
    visit("POST", role, 303, cookie, role="admin")
    visit("POST", f"{pages}/members", 303, theirs, **friend)
    link = letter(friend["email"])
    visit("GET", link)
    visit("POST", remove, 303, cookie)
    visit("GET", pages, 404, theirs)
    visit("GET", link, 404)
    visit("POST", link, 404)
    visit("POST", f"{pending_invitation(pages, cookie)}/renew", 303, cookie)
    visit("POST", link, 404)
    visit("POST", f"{letter(friend['email'])}/decline", 200)

    # Somebody with an account joins while signed in.
    visit("POST", f"{pages}/members", 303, cookie, **guest)
    link = letter(guest["email"])
    visit("POST", link, 409)
    visit("POST", link, 403, cookie)
    visit("POST", link, 303, theirs)
    visit("GET", pages, cookie=theirs)
    visit("POST", remove, 303, cookie)
    visit("GET", pages, 404, theirs)
    say("a user managed the team")


def pending_invitation(pages, cookie):
    """The path of the one invitation that a team has."""
    members = visit("GET", f"{pages}/members", cookie=cookie)[1]
    [withdraw] = re.findall(r'action="([^"]+)/withdraw"', members)
    return withdraw


def check_that_all_was_asked():
    """Every route in openapi.json was called successfully, and also refused a request."""
    document = json.loads((pathlib.Path(__file__).parents[2] / "openapi.json").read_text())
    for path, operations in document["paths"].items():
        pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
        for method in operations.keys() & {"get", "post", "patch", "delete"}:
            mine = {
                status
                for asked_method, asked_path, status in asked
                if asked_method == method.upper() and pattern.fullmatch(asked_path)
            }
            assert min(mine) < 300 and max(mine) >= 400, f"{method} {path}: only {mine}"


def check_that_nothing_complained():
    """No function has logged an error or a warning, except about the receiver that is gone, and about what a busy
    machine was too slow for."""
    lines = logged()
    assert lines, "no function has written a line"
    # A request continues if these writes take longer than a moment.
    late = '"could not count a request: the table does not answer"', '"could not record the use of a token"'
    gone = '"a channel is failing"'
    wrong = [
        line
        for line in lines
        if ('"level":"ERROR"' in line or '"level":"WARN"' in line)
        and not any(text in line for text in (*late, gone))
    ]
    assert not wrong, "\n".join(wrong[:20])


def rebuild():
    """Runs the nightly rebuild of timers, schedules and alerts."""
    said = '"message":"rebuilt timers and schedules"', '"message":"rebuilt alerts"'
    told = lambda: [sum(text in line for line in logged()) for text in said]
    before = told()
    fire(f"{STACK}-rebuild")
    done = lambda: all(now > then for now, then in zip(told(), before))
    until("timers, schedules and alerts were rebuilt", done, 60)


def logged():
    """What the functions have logged."""
    groups = logs.get_paginator("describe_log_groups").paginate(
        logGroupNamePrefix=f"/aws/lambda/{STACK}-"
    )
    events = logs.get_paginator("filter_log_events")
    return [
        event["message"]
        for listed in groups
        for group in listed["logGroups"]
        for page in events.paginate(logGroupName=group["logGroupName"])
        for event in page["events"]
    ]


def check_that_nothing_was_given_up():
    letters = operate("dlq", "list")
    assert letters and not any(queue["messages"] for queue in letters), letters


def main():
    global token
    target, _auditor = Target(), Auditor()
    employ()
    token, strangers_token = settle()
    say("the operator created two users, a team and their tokens")
    team = ask("GET", "/teams")["data"][0]["uuid"]
    site = put_under_watch(team, target)
    page = publish(team, site)
    others = create_many(team, target)
    change_settings(team, others[0], target)
    maintain(team, others[1])
    heartbeat = run_heartbeats(team, page)
    operate_well(site)
    others.append(crawl_with_the_browser(team))
    lost = lose_messages(team, site, page, target)
    crawl_at_once([site, others[1]], target)
    others.append(check_on_demand(team, target))
    read_all(team, site, strangers_token)
    answer_a_mail(team)
    is_late = lambda: ask("GET", f"/teams/{team}/heartbeats/{heartbeat}")["data"]["state"] == "late"
    until("a job that no longer reports is late", is_late, 180)
    elsewhere = fail_from_home(team) if OUTPOST_REGION else ()
    go_down_and_come_back(site, target)
    if elsewhere:
        fail_from_home_only(elsewhere[-1])
    others.extend(elsewhere)
    # An audit that redelivery finds while another one runs would have to wait for minutes.
    until(
        "all that was lost but the crawl is found",
        lambda: set(pending(lost[1])) <= {"broken-links"},
        480,
        lambda: outstanding(lost[1]),
    )
    check_that_nothing_complained()
    others.append(check_beside_a_slow_target(team, [site, *others[:2]]))
    find_lost_messages(*lost)
    lose_a_schedule(site)
    stop_crawling(site, target)
    # Not before: if redelivery sends the lost crawl while the table is throttled or while another crawl
    # holds the team's lease, the crawl waits for minutes more.
    throttle_the_table(team, site, others[1])
    bucketed = send_from_buckets(team, target)
    others.extend([bucketed, *use_the_pages(team, site, target)])
    read_reports(team)
    # The last check that a schedule has sent has run by now.
    receive(False)
    lose_a_run("status")
    runs = len(reasons(bucketed))
    receive(True)
    until("a bucket has had the site checked after a message was lost", lambda: len(reasons(bucketed)) > runs, 140)
    check_that_nothing_was_given_up()
    delete(team, [site, lost[0], *others])
    check_that_all_was_asked()


if __name__ == "__main__":
    try:
        main()
    except Exception:
        faults = [line for line in logged() if '"level":"ERROR"' in line]
        print("errors and warnings of functions:", *faults[-20:], sep="\n", file=sys.stderr)
        raise
