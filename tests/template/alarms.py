"""Evaluates the template's alarms over days of data with gaps, as CloudWatch does, and compares which go off.

    alarms.py

Needs the Python environment of SAM, as transform.py.
"""

import re
import sys

import transform

HOURS = 60
DAYS_2 = 48 * HOURS
TOOLS = ("status", "ssl", "dns")
# The seconds that the oldest message of each queue may wait.
QUEUES = {
    **dict.fromkeys(("Status", "Ssl", "Dns", "Alerts", "Letters"), 300),
    **dict.fromkeys(("BrokenLinks", "Performance"), 3600),
    "Reconcile": 900,
}
# The arguments of FILL that are not numbers.
REPEAT = "REPEAT"


class Series(dict):
    """Values by the number of their period. A period without data has none."""

    def with_each(self, other, compute):
        value = (lambda at: other.get(at)) if isinstance(other, Series) else (lambda _: other)
        found = {at: compute(one, value(at)) for at, one in self.items() if value(at) is not None}
        return Series({at: float(one) for at, one in found.items()})

    def __add__(self, other): return self.with_each(other, lambda a, b: a + b)
    def __sub__(self, other): return self.with_each(other, lambda a, b: a - b)
    def __mul__(self, other): return self.with_each(other, lambda a, b: a * b)
    def __truediv__(self, other): return self.with_each(other, lambda a, b: a / b)
    def __gt__(self, other): return self.with_each(other, lambda a, b: a > b)
    def __le__(self, other): return self.with_each(other, lambda a, b: a <= b)
    def __and__(self, other): return self.with_each(other, lambda a, b: a and b)
    __rmul__ = __mul__


class Alarm:
    """An alarm, and its states over time."""

    def __init__(self, properties):
        self.properties = properties
        metrics = properties.get("Metrics")
        if metrics is None:
            keys = ("Namespace", "MetricName", "Dimensions")
            metric = {key: properties[key] for key in keys if key in properties}
            stat = {"Stat": properties["Statistic"], "Period": properties["Period"], "Metric": metric}
            metrics = [{"Id": "alone", "MetricStat": stat}, {"Id": "result", "Expression": "alone"}]
        self.stats = {one["Id"]: one["MetricStat"] for one in metrics if "MetricStat" in one}
        [self.expression] = [one["Expression"] for one in metrics if "Expression" in one]
        [period] = {stat["Period"] for stat in self.stats.values()}
        self.minutes = period // 60

    def values(self, data, until):
        """The values of its expression, for each period up to a minute."""
        last = until // self.minutes
        metrics = {name: self.aggregated(stat, data, last) for name, stat in self.stats.items()}
        everywhere = range(last)

        def fill(what, value):
            if isinstance(what, list):
                return [fill(one, value) for one in what]
            found, before = Series(), None
            for at in everywhere:
                before = what.get(at, before) if value == REPEAT else what.get(at, value)
                if before is not None:
                    found[at] = before
            return found

        def of_all(compute):
            # A period in which only some have data has the result of those.
            present = lambda many, at: [one[at] for one in many if at in one]
            return lambda many: Series({at: compute(found) for at in everywhere if (found := present(many, at))})

        choose = lambda condition, yes, no: Series({at: yes if one else no for at, one in condition.items()})
        difference = lambda one: Series({at: one[at] - one[at - 1] for at in one if at - 1 in one})
        known = {
            "METRICS": lambda: list(metrics.values()), "FILL": fill, "REPEAT": REPEAT, "SUM": of_all(sum),
            "MAX": of_all(max), "DIFF": difference, "IF": choose,
        }
        # `AND` binds less than comparisons do, but Python's `&` more.
        text = re.sub(r"IF\((.+?) AND (.+?), (\d), (\d)\)", r"IF((\1) & (\2), \3, \4)", self.expression)
        return eval(text, {"__builtins__": {}}, known | metrics)  # the template's own words

    def aggregated(self, stat, data, last):
        metric = stat["Metric"]
        place = tuple(one["Value"] if isinstance(one["Value"], str) else named(one["Value"]) for one in metric.get("Dimensions", []))
        found = {}
        for minute, value in data.get((metric["MetricName"], *place), {}).items():
            if minute // self.minutes < last:
                found.setdefault(minute // self.minutes, []).append(value)
        compute = {"Sum": sum, "Maximum": max}[stat["Stat"]]
        return Series({at: compute(values) for at, values in found.items()})

    def notifies(self, data, until):
        """Whether it tells anybody that it goes off, or that it has no more data."""
        values, properties = self.values(data, until), self.properties
        threshold = float(properties["Threshold"])
        breaches = {
            "GreaterThanThreshold": lambda value: value > threshold,
            "LessThanThreshold": lambda value: value < threshold,
        }[properties["ComparisonOperator"]]
        periods = properties["EvaluationPeriods"]
        needed = properties.get("DatapointsToAlarm", periods)
        state = "INSUFFICIENT_DATA"
        for at in range(until // self.minutes):
            window = [values[one] for one in range(at - periods + 1, at + 1) if one in values]
            if not window and properties["TreatMissingData"] == "missing":
                now = "INSUFFICIENT_DATA"
            else:
                now = "ALARM" if sum(map(breaches, window)) >= needed else "OK"
            actions = {"ALARM": "AlarmActions", "OK": "OKActions"}.get(now, "InsufficientDataActions")
            if now != state and properties.get(actions):
                return True
            state = now
        return False


def named(value):
    """The name of a resource, as an alarm's dimension has it."""
    return value["Ref"] if "Ref" in value else value["Fn::GetAtt"][0]


def regular(every, value, begin=0, end=DAYS_2):
    return {minute: value for minute in range(begin, end, every)}


def healthy(begin=0):
    """The data of a service without problems."""
    data = {}
    for function in ("Redelivery", "Dispatch"):
        data["Invocations", function] = regular(1, 1, begin)
        data["Errors", function] = regular(1, 0, begin)
    for tool in TOOLS:
        for name in ("RunsDue", "RunsDone"):
            data[name, tool] = regular(5, 100 if tool == "status" else 2, begin)
    for queue in QUEUES:
        data["ApproximateAgeOfOldestMessage", f"{queue}Queue"] = regular(1, 20, begin)
    data["NumberOfMessagesSent", "StatusQueue"] = regular(1, 100, begin)
    data["Checks", "status"] = regular(1, 100, begin)
    data["Failures", "status"] = regular(1, 0, begin)
    return data


def dead(queue, values):
    return {("ApproximateNumberOfMessagesVisible", f"{queue}Dlq"): values}


def growing(every, begin, most):
    """A number that grows by one, and stays."""
    steps = lambda minute: min(most, (minute - begin) // every + 1)
    return {minute: steps(minute) for minute in range(begin, DAYS_2)}


def without(*keys, since=20 * HOURS):
    """A service whose data stops."""
    data = healthy()
    for key in keys:
        data[key] = {minute: value for minute, value in data[key].items() if minute < since}
    return data


NOON = 12 * HOURS
ERRORS = {
    "FunctionsAlarm": [
        *(f"vedette-checker-{tool}" for tool in (*TOOLS, "broken-links", "performance")),
        *(f"vedette-{name}" for name in ("browser", "redelivery", "dispatch", "reconcile", "notifier")),
    ],
    "LettersAlarm": ["vedette-letters"],
}
GATEWAY = [("5xx", "Api"), ("FailedRequests",)]
SILENT_GAUGE = [(name, tool) for name in ("RunsDue", "RunsDone") for tool in TOOLS]
# What happens, in addition to or instead of the data of a healthy service, and exactly which alarms go off.
STORIES = [
    ("all is well", {}, []),
    ("the stack is two hours old", healthy(46 * HOURS), []),
    ("there are no sites", {key: regular(5, 0) for key in SILENT_GAUGE}, []),
    ("one message is given up", dead("Status", growing(1, NOON, 1)), []),
    ("old messages stay", dead("Dns", regular(1, 10)), []),
    ("old messages are sent again", dead("Dns", regular(1, 10, 0, NOON) | regular(1, 0, NOON)), []),
    *((f"messages of {queue} are given up after hours without any", dead(queue, growing(1, 30 * HOURS, 5)), ["DlqAlarm"]) for queue in (*QUEUES, "Schedules")),
    ("a message of two queues is given up", dead("Ssl", growing(1, NOON, 1)) | dead("Alerts", growing(1, NOON, 1)), ["DlqAlarm"]),
    ("old messages do not hide new ones", dead("Dns", regular(1, 10)) | dead("Schedules", growing(1, NOON, 3)), ["DlqAlarm"]),
    *((f"a message of {queue} is given up every hour", dead(queue, growing(HOURS, NOON, 99)), ["DlqLeakAlarm"]) for queue in (*QUEUES, "Schedules")),
    ("a message is given up every day", dead("Letters", growing(24 * HOURS, NOON, 99)), []),
    ("one alert is given up", {("AlertsGivenUp",): {NOON: 1}}, []),
    ("an alert is given up every hour", {("AlertsGivenUp",): regular(HOURS, 1, NOON, NOON + 24 * HOURS)}, ["AlertsGivenUpAlarm"]),
    ("many alerts are given up", {("AlertsGivenUp",): {NOON: 20}}, ["AlertsGivenUpAlarm"]),
    ("nine of ten schedules are lost", {("RunsDone", tool): regular(5, 10 if tool == "status" else 0) for tool in TOOLS}, ["ChecksSilentAlarm"]),
    ("a fifth of the schedules are lost", {("RunsDone", "status"): regular(5, 80)}, ["ChecksSilentAlarm"]),
    ("a twentieth of the runs are late", {("RunsDone", "status"): regular(5, 95)}, []),
    ("the runs of one hour are late", {("RunsDone", "status"): regular(5, 100) | regular(5, 0, NOON, NOON + HOURS)}, []),
    *((f"{tool} is silent", {("RunsDone", tool): regular(5, 0, NOON)}, ["ChecksSilentAlarm"]) for tool in TOOLS),
    ("redelivery is off", without(("Invocations", "Redelivery"), ("Errors", "Redelivery"), *SILENT_GAUGE), ["ChecksSilentAlarm", "RedeliverySilentAlarm"]),
    ("redelivery always fails", {("Errors", "Redelivery"): regular(1, 1, NOON)}, ["RedeliverySilentAlarm"]),
    ("the gauge cannot be read", without(*SILENT_GAUGE), ["ChecksSilentAlarm"]),
    ("the polling scheduler is off", without(("Invocations", "Dispatch"), ("Errors", "Dispatch")), ["DispatchSilentAlarm"]),
    ("the polling scheduler fails once", {("Errors", "Dispatch"): regular(1, 0) | {NOON: 1}}, []),
    ("no status check runs", without(("Checks", "status"), ("Failures", "status")), ["ChecksMissingAlarm"]),
    ("all status checks fail", {("Failures", "status"): regular(1, 100, NOON)}, ["ChecksMissingAlarm"]),
    ("no status check is wanted for a while", without(("Checks", "status"), ("Failures", "status"), ("NumberOfMessagesSent", "StatusQueue")), []),
    ("one request fails", {key: {NOON: 1} for key in GATEWAY}, []),
    ("two requests fail", {key: {NOON: 2} for key in GATEWAY}, ["ApiAlarm", "RequestsAlarm"]),
    *((f"{function} fails", {("Errors", function): {NOON: 2}}, [alarm]) for alarm, all in ERRORS.items() for function in all),
    ("functions fail once", {("Errors", function): {NOON + 9 * at: 1} for all in ERRORS.values() for at, function in enumerate(all)}, []),
    ("the notifier fails once", {("Errors", "Notifier"): {NOON: 5}}, []),
    ("the notifier fails again and again", {("Errors", "Notifier"): {NOON: 1, NOON + 10: 1}}, ["NotifierAlarm"]),
    ("functions are throttled for a moment", {("Throttles",): {NOON: 9}}, []),
    ("functions are throttled", {("Throttles",): regular(1, 1, NOON, NOON + 10)}, ["ThrottlesAlarm"]),
    ("the table is throttled for a moment", {("WriteThrottleEvents", "Table"): {NOON: 9}}, []),
    *((f"{' '.join(key)} last", {key: regular(1, 1, NOON, NOON + 10)}, ["TableAlarm"]) for key in (
        ("ReadThrottleEvents", "Table"), ("WriteThrottleEvents", "Table"), ("WriteThrottleEvents", "Table", "work"))),
    *((f"{name} lasts", {(name, "ScheduleGroup"): regular(1, 1, NOON, NOON + 10)}, ["SchedulesAlarm"]) for name in (
        "InvocationThrottleCount", "TargetErrorCount", "InvocationDroppedCount")),
    ("schedules are throttled for a moment", {("InvocationThrottleCount", "ScheduleGroup"): {NOON: 9}}, []),
    *((f"messages of {queue} wait", {("ApproximateAgeOfOldestMessage", f"{queue}Queue"): regular(1, most + 1, NOON)}, ["AgeAlarm"]) for queue, most in QUEUES.items()),
    *((f"messages of {queue} wait a little", {("ApproximateAgeOfOldestMessage", f"{queue}Queue"): regular(1, most, NOON)}, []) for queue, most in QUEUES.items()),
    ("checks wait for a moment", {("ApproximateAgeOfOldestMessage", "DnsQueue"): regular(1, 20) | {NOON: 600}}, []),
    ("only one queue has data", {key: {} for key in healthy() if key[0] == "ApproximateAgeOfOldestMessage"}
        | {("ApproximateAgeOfOldestMessage", "AlertsQueue"): regular(1, 400, NOON)}, ["AgeAlarm"]),
]


def main():
    given = {"GradualDeployment": "true", "AlarmTopic": transform.VALUES["AlarmTopic"]}
    stack = transform.Stack(transform.source(), given)
    alarms = {name: Alarm(properties) for name, properties in stack.of_type("AWS::CloudWatch::Alarm").items()}
    failed, fired = 0, set()
    for what, data, expected in STORIES:
        told = sorted(name for name, alarm in alarms.items() if alarm.notifies(healthy() | data, DAYS_2))
        fired |= set(told)
        if told != sorted(expected):
            failed += 1
            print(f"{what}: {told} instead of {sorted(expected)}")
    assert fired == alarms.keys() or failed, f"no story sets off {alarms.keys() - fired}"
    # Alarms end by themselves soon after the first deployment, too.
    ends = [name for name, one in stack.resources.items() if one["Properties"].get("OKActions")]
    assert ends == ["SomeAlarm"], ends
    if failed:
        sys.exit(1)
    print(f"{len(alarms)} alarms go off when they must, and only then, in {len(STORIES)} stories")


if __name__ == "__main__":
    main()
