"""Evaluates the template's alarms on what functions have logged.

The emulator evaluates no alarm over several metrics. It leaves each as it was deployed, with all names filled in, and
this evaluates one over the lines of logs: metrics of functions' own, in CloudWatch's embedded format, and how often
functions were invoked. A story does not take the hours that an alarm looks back upon, so what was written since an
instant stands for every period.
"""

import json
import re

import boto3

logs = boto3.client("logs")


def state(folder, name, since):
    """The state of an alarm: ALARM, OK, or INSUFFICIENT_DATA."""
    alarm = deployed(folder, name)
    [expression] = [metric["Expression"] for metric in alarm["Metrics"] if "Expression" in metric]
    found = {
        metric["Id"]: figure(metric["MetricStat"], since)
        for metric in alarm["Metrics"]
        if "MetricStat" in metric
    }
    value = evaluate(expression, found)
    if value is None:
        treated = alarm["TreatMissingData"]
        return {"missing": "INSUFFICIENT_DATA", "breaching": "ALARM", "notBreaching": "OK"}[treated]
    breaches = {
        "GreaterThanThreshold": value > float(alarm["Threshold"]),
        "LessThanThreshold": value < float(alarm["Threshold"]),
    }
    return "ALARM" if breaches[alarm["ComparisonOperator"]] else "OK"


def tells(folder, name, state):
    """The topics that an alarm notifies when it enters a state."""
    actions = {"ALARM": "AlarmActions", "OK": "OKActions"}.get(state, "InsufficientDataActions")
    return deployed(folder, name).get(actions) or []


def deployed(folder, name):
    """An alarm as the template declares it."""
    return json.loads((folder / "alarms" / f"{name}.json").read_text())


def figure(stat, since):
    """The sum of a metric, or none if there is no data."""
    assert stat["Stat"] == "Sum", stat
    metric = stat["Metric"]
    dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
    if metric["Namespace"] == "AWS/Lambda":
        counted = metric["MetricName"]
        runs = written(f"/aws/lambda/{dimensions['FunctionName']}", since)
        # If a function was not invoked, there is no data about its errors either.
        if not any(line.startswith("START ") for line in runs):
            return None
        if counted == "Invocations":
            return sum(line.startswith("START ") for line in runs)
        assert counted == "Errors", metric
        return sum('"errorType"' in line for line in runs)
    stack = metric["Namespace"].removeprefix("Vedette/")
    values = [
        line[metric["MetricName"]]
        for line in embedded(stack, since)
        for told in line["_aws"]["CloudWatchMetrics"]
        if told["Namespace"] == metric["Namespace"]
        and metric["MetricName"] in (one["Name"] for one in told["Metrics"])
        and sorted(dimensions) in map(sorted, told["Dimensions"])
        and all(line[name] == value for name, value in dimensions.items())
    ]
    return sum(values) if values else None


def embedded(stack, since=0):
    """The lines in the embedded metric format that the functions of a stack have written."""
    groups = logs.get_paginator("describe_log_groups").paginate(
        logGroupNamePrefix=f"/aws/lambda/{stack}-"
    )
    names = [group["logGroupName"] for page in groups for group in page["logGroups"]]
    lines = [line for name in names for line in written(name, since)]
    return [json.loads(line) for line in lines if line.startswith("{") and '"_aws"' in line]


def written(group, since):
    """What a function has logged since an instant."""
    try:
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        events = [event for page in pages for event in page["events"]]
    except logs.exceptions.ResourceNotFoundException:
        return []
    return [event["message"] for event in events if event["timestamp"] >= since * 1000]


def evaluate(expression, figures):
    """Evaluates an expression of CloudWatch over figures. Without data, there is no result."""
    text = re.sub(r"\bAND\b", "and", re.sub(r"\bOR\b", "or", expression))
    text = re.sub(r"\bIF\(", "choose(", text)
    choose = lambda condition, then, otherwise: then if condition else otherwise
    used = {name for name in re.findall(r"[a-z]\w*", text) if name in figures}
    if any(figures[name] is None for name in used):
        return None
    return float(eval(text, {"__builtins__": {}, "choose": choose, "MAX": max}, figures))  # the template's own words
