"""Alarms and the doctor report silence: an operator turns the polling scheduler of a separate stack off and on again.

    silence.py WORK_FOLDER STACK VEDETTE off|on

The stack is deployed with `Schedules=buckets`. `off` watches a site and disables the schedule that calls the
dispatcher. Redelivery's gauge tells of runs some minutes after they were due, so the story goes on meanwhile. `on` then
holds alarms and `vedette doctor` to what they have to say, and switches the dispatcher on again.
"""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse

import boto3

import alarms

WORK, STACK, VEDETTE, STEP = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
NOTES = WORK / "silence.json"
# The gauge covers the five minutes that ended five minutes ago. The last messages arrive within a minute, and the next
# run would have been due within another one.
TOLD_AFTER, PERIOD = 7 * 60, 5 * 60
schedules = boto3.client("scheduler")
[described] = boto3.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
began = time.monotonic()


def say(what):
    print(f"{time.monotonic() - began:6.1f} s  {what}", flush=True)


def operate(*arguments):
    """Runs the operator's command, and returns its output."""
    command = [VEDETTE, "--aws", "--stack", STACK, "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    # Exit code 1 means that the doctor has found problems.
    is_told = done.returncode == 0 or (done.returncode == 1 and arguments == ("doctor",))
    assert is_told, f"{arguments}: {done.returncode}: {done.stdout} {done.stderr}"
    return json.loads(done.stdout)


def ask(method, path, token, body=None):
    gateway = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc
    api = urllib.parse.urlsplit(outputs["ApiBaseUrl"]).hostname.partition(".")[0]
    connection = http.client.HTTPConnection(gateway, timeout=60)
    headers = {
        "Host": f"{api}.execute-api.localhost:{gateway.partition(':')[2]}",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
    }
    connection.request(method, f"/api/v1{path}", body and json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status < 300, f"{method} {path}: {response.status}: {text}"
    return json.loads(text)["data"]


def until(what, found, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := found():
            say(what)
            return result
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds} s: {what}")


def switch(state):
    """Turns the polling scheduler's schedule on or off, like the button in the console."""
    name = f"{STACK}-dispatch"
    given = schedules.get_schedule(Name=name)
    kept = ("ScheduleExpression", "FlexibleTimeWindow", "Target")
    schedules.update_schedule(Name=name, State=state, **{key: given[key] for key in kept})
    assert schedules.get_schedule(Name=name)["State"] == state


def fire(name):
    """Makes a schedule fire now, although it is due at another time."""
    (WORK / "fire").mkdir(exist_ok=True)
    (WORK / "fire" / name).touch()


def problems():
    return [problem["what"] for problem in operate("doctor")["problems"]]


def is_silent(told):
    return [what for what in told if what.startswith("the polling scheduler has sent no runs since ")]


def scheduled(notes):
    """The time of the site's last run that the polling scheduler has sent."""
    listed = ask("GET", f"/sites/{notes['site']}/checks?type=status&automatic=true", notes["token"])
    return [check["uuid"] for check in listed if check["run_reason"] == "scheduled"]


def off():
    email = "ada@example.com"
    operate("user", "create", "--name", "Ada", "--email", email, "--verified")
    operate("team", "create", "--name", "Silent", "--owner", email, "--plan", "agency")
    token = operate("token", "create", "--email", email, "--name", "silence")["secret"]
    [team] = ask("GET", "/teams", token)
    # The site is the emulator itself, which is up. A site that is down also has runs without a schedule.
    tools = {"status": {"enabled": True, "cadence_minutes": 1}}
    url = f"{os.environ['AWS_ENDPOINT_URL']}/_ministack/health"
    body = {"url": url, "monitoring_settings": {"tools": tools}}
    site = ask("POST", f"/teams/{team['uuid']}/sites", token, body)["uuid"]
    until("the site of the other stack is in its buckets", lambda: not problems_of_schedules(), 60)
    fire(f"{STACK}-dispatch")
    until("the other stack's dispatcher has run, and vedette doctor finds no problem", lambda: not problems(), 60)
    switch("DISABLED")
    NOTES.write_text(json.dumps({"token": token, "site": site, "since": time.time()}))
    say("the dispatcher was switched off")


def problems_of_schedules():
    return [what for what in problems() if "schedules" in what]


def gauge(since):
    """What redelivery has logged since an instant about runs that were due and done."""
    lines = alarms.embedded(STACK, since)
    return [(line["RunsDue"], line["RunsDone"]) for line in lines if line.get("RunsDue")]


def on():
    notes = json.loads(NOTES.read_text())
    since = notes["since"] + TOLD_AFTER
    fired = set()

    def is_told():
        minute, second = divmod(int(time.time()), 60)
        # The emulator's minutes drift, so there may be a minute without a pass.
        if minute * 60 % PERIOD == 0 and second > 30 and minute not in fired:
            fired.add(minute)
            fire(f"{STACK}-redelivery")
        return gauge(since)

    left = max(0, since + PERIOD + 60 - time.time())
    told = until("the gauge has logged runs that were due", is_told, left + 5)
    assert all(due > 0 and done == 0 for due, done in told), told
    # The alarm of the function that is no longer called has no data, and reports that.
    for name, expected in (
        ("ChecksSilentAlarm", "ALARM"),
        ("DispatchSilentAlarm", "INSUFFICIENT_DATA"),
        ("RedeliverySilentAlarm", "OK"),
    ):
        state = alarms.state(WORK, f"{STACK}-{name}", since)
        assert state == expected, (name, state)
        # One alarm over all others says that they have ended.
        teller = "SomeAlarm" if state == "OK" else name
        assert alarms.tells(WORK, f"{STACK}-{teller}", state), (name, state)
    say("the alarms have gone off")
    assert is_silent(problems()), problems()
    say("vedette doctor reports it")

    before, enabled_at = scheduled(notes), time.time()
    switch("ENABLED")
    fire(f"{STACK}-dispatch")
    until("checks run again", lambda: scheduled(notes)[:1] != before[:1], 90)
    until("vedette doctor finds no problem", lambda: not is_silent(problems()), 30)
    # The log of a function arrives after its invocation.
    is_quiet = lambda: alarms.state(WORK, f"{STACK}-DispatchSilentAlarm", enabled_at) == "OK"
    until("the dispatcher is switched on again, and its alarm is quiet", is_quiet, 90)


{"off": off, "on": on}[STEP]()
