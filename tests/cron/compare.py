"""Compares when cron jobs run with cronsim, which Healthchecks uses, around every change of the clocks in ten years.

    compare.py NEXT_RUNS
"""

import collections
import itertools
import subprocess
import sys
import zoneinfo
from datetime import datetime, timezone

from cronsim import CronSim, CronSimError

# Read tzdata, whatever this machine has.
zoneinfo.reset_tzpath(to=[])

HOUR = 3600
DAY = 24 * HOUR
START, END = (int(datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()) for year in (2020, 2030))

ZONES = """
    Europe/Berlin America/New_York Australia/Lord_Howe America/St_Johns Asia/Tehran Africa/Casablanca Pacific/Apia
    America/Sao_Paulo Asia/Kolkata UTC America/Santiago America/Nuuk Africa/Cairo America/Scoresbysund
""".split()

EXPRESSIONS = [expression.strip() for expression in """
    * * * * *; */5 * * * *; */7 * * * *; 0 * * * *; 30 * * * *; 5/15 * * * *; */30 2 * * *; */15 1 * * *; */15 3 * * *;
    */20 0 * * *; */20 23 * * *; 0 */2 * * *; 15 */3 * * *; 30 */6 * * *; * 2 * * *; 0 0 * * *; 30 0 * * *; 15 1 * * *;
    30 1 * * *; 0 2 * * *; 15 2 * * *; 30 2 * * *; 45 2 * * *; 0 3 * * *; 30 3 * * *; 30 23 * * *; 59 23 * * *;
    15 2,3 * * *; 0,15,30,45 1,2,3 * * *; 0-59/10 0-4 * * *; 0-59 2 * * *; 30 0-23 * * *; 0 0-23/4 * * *; 30 2 * * 0;
    30 2 * * 7; 30 2 * * SUN; 0 9 * * MON-FRI; 0 0 * * 5-7; */10 2 * * SUN; 30 2 L * *; 30 2 LW * *; 30 2 * * 0L;
    30 2 * * 7L; 30 2 * * 5L; 30 2 * * SUN#1; */30 2 * * SUN#2,0L; 30 2 13 * FRI; 30 2 */2 * SUN; 30 2 * */2 */3;
    0 0 1 * *; 0 0 1-7 * MON; 30 2 25-31 3,10 *; 30 2 25-31 MAR,OCT SUN; 30 2 1 1 *; 0 12 29 2 *; */15 1,2 8-14 3 *;
    45 1 * 4,10 SUN; 0 1 * * *; 30 23 * 3,4 SAT; 0 0 * 3,9 *
""".split(";")]

# Here, the clocks change by half an hour. cronsim passes the change by adding 60 minutes at a time, so it comes to the
# next hour at its half, and misses the runs before that. Each expression has the number of changes at which it does:
# all twenty, or only those at which the clocks go back.
MISSED_BY_CRONSIM = {
    "Australia/Lord_Howe": dict.fromkeys(
        ("30 * * * *", "*/15 3 * * *", "*/20 0 * * *", "*/20 23 * * *", "15 */3 * * *"), 20
    ) | dict.fromkeys(("*/30 2 * * *", "0 */2 * * *", "* 2 * * *", "*/10 2 * * SUN"), 10)
}

# Texts that are accepted or refused, by their only unusual field.
TEXTS = [frame.format(field) for frame, fields in {
    "{} * * * *": "1,2,3 1,,2 ,1 *,5 */100 */0 5-5/10 10-5 1/2/3 /5 007 60 +5 0~30",
    "0 {} * * *": "24 MON 1MON",
    "0 0 {} * *": "0 32 ? 15W W LW L L/2 LW,15 L,LW L-3 1L",
    "0 0 * {} *": "13 JANUARY 1JAN JAN-MAR/2 jan",
    "0 0 * * {}": "mon 8 1MON 5L FRIL 5#L L L5 1-5L MON#1 MON#0 MON#6 MON-FRI#1 +MON MON,WED#2 5/2 FRI-SUN FRI-7 5-0",
}.items() for field in fields.split()] + [
    "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 */40 * MON#2", "0 0 29 2 */7", "0 0 * *", "30 2 * * MON TUE", "0 30 2 * * *",
    "0 30 2 * * * 2027", "@daily", "@midnight", "@reboot",
]

TAKEN_OTHERWISE = {
    "5-5/10 * * * *",  # 5/10 to cronsim, but 5 to Debian's cron
    "0 0 */40 * MON#2",  # cronsim accepts a job that never runs
    "0 30 2 * * *",  # cronsim knows seconds
    "@daily", "@midnight",  # cronsim knows no nicknames
}


def offset(second, zone):
    return datetime.fromtimestamp(second, zoneinfo.ZoneInfo(zone)).utcoffset()


def changes(zone):
    """The instants at which the clocks of a zone change."""
    for low in range(START, END, 6 * HOUR):
        before, high = offset(low, zone), low + 6 * HOUR
        if before == offset(high, zone):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
        yield high


def cronsim(expression, zone, start, end, count):
    """The runs after one instant and before another, at most so many; None if the expression is refused."""
    try:
        runs = CronSim(expression, datetime.fromtimestamp(start, zoneinfo.ZoneInfo(zone)))
    except CronSimError:
        return None
    seconds = (int(run.timestamp()) for run in runs)
    return [*itertools.islice(itertools.takewhile(lambda second: second < end, seconds), count)]


def vedette(cases):
    """The same of several cases."""
    text = "".join("|".join(map(str, case)) + "\n" for case in cases)
    said = subprocess.run(sys.argv[1:], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [None if line.startswith("refused") else [*map(int, line.split())] for line in said.splitlines()]


def differing(cases):
    for case, ours in zip(cases, vedette(cases), strict=True):
        theirs = cronsim(*case)
        if ours != theirs:
            yield case, ours, theirs


cases = []
for zone in ZONES:
    # Zones whose clocks do not change have a window a year.
    for change in [*changes(zone)] or range(START + 80 * DAY, END, 365 * DAY):
        cases += [(expression, zone, change - 30 * HOUR, change + 40 * HOUR, 10_000) for expression in EXPRESSIONS]
missed = collections.defaultdict(collections.Counter)
for (expression, zone, start, *_), ours, theirs in differing(cases):
    assert set(theirs) < set(ours), f"{expression} in {zone} from {start}: {ours}, but cronsim says {theirs}"
    missed[zone][expression] += 1
assert missed == MISSED_BY_CRONSIM, f"cronsim misses other runs: {dict(missed)}"

start = int(datetime(2026, 11, 20, 10, tzinfo=timezone.utc).timestamp())
texts = {case[0] for case, *_ in differing([(text, "UTC", start, 2**33, 30) for text in TEXTS])}
assert texts == TAKEN_OTHERWISE, f"taken otherwise by cronsim: {texts ^ TAKEN_OTHERWISE}"

count = sum(sum(by_expression.values()) for by_expression in missed.values())
print(f"{len(cases)} windows and {len(TEXTS)} texts: as with cronsim, except for {count} where it misses runs")
