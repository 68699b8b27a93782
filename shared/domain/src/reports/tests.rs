//! Figures and reports, with values calculated by hand.

use jiff::civil::date;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::checks::check::{Check, CheckError, Finish};
use crate::checks::history::{Day, Kind, Sample};
use crate::checks::tool::{CheckStatus, RunReason, Tool};
use crate::id::{CheckId, MonitorId, Trigger};
use crate::issues::Fingerprint;
use crate::issues::outage::OutageRecord;
use crate::issues::record::Issue;
use crate::objectives::{Budget, Objective, ObjectivePercentage, ObjectivePeriod};
use crate::time_zone::NamedZone;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn period(text: &str) -> ReportPeriod {
    text.parse().expect("a period")
}

fn zone(name: &str) -> NamedZone {
    NamedZone::parse(name).expect("a zone")
}

fn id(number: u128) -> MonitorId {
    MonitorId(Uuid::from_u128(number))
}

fn outage(site: MonitorId, from: &str, to: Option<&str>) -> OutageRecord {
    let issue = Issue::opened(site, Fingerprint::StatusDown, at(from));
    let record = OutageRecord::of(&issue, site).expect("an outage");
    OutageRecord { ended_at: to.map(at), detail: "HTTP 503".to_owned(), ..record }
}

/// A day whose hours each have as many checks, with these response times, of which so many failed.
fn day(date: jiff::civil::Date, hours: &[(i8, u32, f64)], failed: u32) -> Day {
    let mut day = Day::new(date, 90);
    let kind =
        Kind { trigger: Trigger::Automatic(RunReason::Scheduled), status: CheckStatus::Completed };
    let mut left = failed;
    for &(hour, checks, response_ms) in hours {
        for minute in 0..checks {
            let at = date.at(hour, minute as i8, 0, 0).to_zoned(jiff::tz::TimeZone::UTC);
            let at = at.expect("an instant").timestamp();
            day.counters.add(kind, at);
            let up = left == 0;
            left = left.saturating_sub(1);
            day.add_sample(Sample::Status { up, met: None, response_ms }, at);
        }
    }
    day
}

/// A status check at an instant.
fn check(site: MonitorId, time: &str, up: Option<bool>) -> Check {
    let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, at(time));
    let finish = Finish::Failed(CheckError {
        message: "It could not run.".to_owned(),
        code: "internal".to_owned(),
        data: json!({}),
    });
    let failed = Check::finished(check, finish, at(time));
    match up {
        None => failed,
        Some(up) => Check {
            status: CheckStatus::Completed,
            result: Some(json!({ "up": up })),
            error: None,
            ..failed
        },
    }
}

fn counted(period: ReportPeriod, zone: &NamedZone, read: CheckedMonitor<'_>) -> MonitorFigures {
    let mut figures = MonitorFigures::of(id(1), "Shop");
    figures.host = Some("shop.example".to_owned());
    figures.counted(read, &period.day_spans(zone))
}

fn of(period: &str, zone_name: &str, monitors: Vec<MonitorFigures>) -> PeriodFigures {
    let (period, zone) = (self::period(period), zone(zone_name));
    let header = ReportHeader {
        made_at: period.made_at(&zone),
        period,
        zone,
        groups: vec!["Shops".to_owned()],
        known_from: None,
        objectives: Vec::new(),
        is_cut: false,
    };
    PeriodFigures { header, monitors }
}

#[test]
fn whole_utc_days_are_counted_and_the_rest_is_read() {
    for (period_text, name, first, last, edges) in [
        ("2026-11", "UTC", date(2026, 11, 1), date(2026, 11, 30), vec![]),
        (
            "2026-10",
            "Europe/Berlin",
            date(2026, 10, 1),
            date(2026, 10, 30),
            vec![
                ("2026-09-30T22:00:00Z", "2026-10-01T00:00:00Z"),
                ("2026-10-31T00:00:00Z", "2026-10-31T23:00:00Z"),
            ],
        ),
        (
            "2024-02",
            "Pacific/Kiritimati",
            date(2024, 2, 1),
            date(2024, 2, 28),
            vec![
                ("2024-01-31T10:00:00Z", "2024-02-01T00:00:00Z"),
                ("2024-02-29T00:00:00Z", "2024-02-29T10:00:00Z"),
            ],
        ),
        (
            "2026-W48",
            "Pacific/Pago_Pago",
            date(2026, 11, 24),
            date(2026, 11, 29),
            vec![
                ("2026-11-23T11:00:00Z", "2026-11-24T00:00:00Z"),
                ("2026-11-30T00:00:00Z", "2026-11-30T11:00:00Z"),
            ],
        ),
    ] {
        let parts = CountedParts::of(period(period_text).span(&zone(name)));
        assert_eq!(parts.days, (first, last), "{period_text} {name}");
        let found: Vec<_> =
            parts.edges.iter().map(|edge| (edge.from.to_string(), edge.to.to_string())).collect();
        let edges: Vec<_> =
            edges.into_iter().map(|(from, to)| (from.to_owned(), to.to_owned())).collect();
        assert_eq!(found, edges, "{period_text} {name}");
    }
}

#[test]
fn checks_at_both_ends_count_one_by_one_and_those_of_other_days_do_not() {
    let berlin = zone("Europe/Berlin");
    let read = CheckedMonitor {
        // The days at both ends are read for their response times only: their checks come one by one.
        days: vec![
            day(date(2026, 11, 22), &[(22, 50, 900.0), (23, 2, 100.0)], 9),
            day(date(2026, 11, 23), &[(0, 10, 100.0), (1, 30, 200.0)], 4),
            day(date(2026, 11, 29), &[(22, 5, 300.0), (23, 40, 900.0)], 9),
        ],
        edges: vec![
            check(id(1), "2026-11-22T23:00:00Z", Some(true)),
            check(id(1), "2026-11-22T23:30:00Z", Some(false)),
            check(id(1), "2026-11-29T22:59:59Z", None),
            Check { in_maintenance: true, ..check(id(1), "2026-11-29T22:00:00Z", Some(false)) },
        ],
        ..CheckedMonitor::default()
    };
    let figures = counted(period("2026-W48"), &berlin, read);
    // 40 checks of the whole day, of which 4 failed, and 2 at the beginning, of which 1 failed.
    let expected = CheckCounts { checks: 42, up: 37, in_maintenance: 1, failed: 1, missed: 0 };
    assert_eq!(figures.counts, expected);
    // Hours: 2 × 100, 10 × 100, 30 × 200, 5 × 300. The 24th of 47 checks is in the hour with 200.
    assert_eq!(figures.median_ms, Some(200));
    assert_eq!((expected.made(), expected.due()), (43, 44));
}

#[test]
fn downtime_is_cut_at_the_ends_of_days_and_of_the_period() {
    let berlin = zone("Europe/Berlin");
    let site = id(1);
    let read = CheckedMonitor {
        outages: vec![
            // It ends at the instant at which the month begins.
            outage(site, "2026-09-30T20:00:00Z", Some("2026-09-30T22:00:00Z")),
            // It begins an hour before the month, and ends half an hour after.
            outage(site, "2026-09-30T21:00:00Z", Some("2026-09-30T22:30:00Z")),
            // The day on which clocks go back has 25 hours.
            outage(site, "2026-10-24T21:00:00Z", Some("2026-10-26T00:00:00Z")),
            // It goes on.
            outage(site, "2026-10-31T22:45:00Z", None),
        ],
        ..CheckedMonitor::default()
    };
    let figures = counted(period("2026-10"), &berlin, read);
    assert_eq!(figures.outage_count, 4);
    let minutes: Vec<_> =
        figures.days.iter().map(|(day, of)| (day + 1, of.outages, of.down_ms / 60_000)).collect();
    assert_eq!(minutes, [(1, 2, 30), (24, 1, 60), (25, 1, 1_500), (26, 1, 60), (31, 1, 15)]);
    assert_eq!(figures.down(), SignedDuration::from_mins(30 + 60 + 1_500 + 60 + 15));
}

#[test]
fn what_is_stored_of_a_monitor_is_read_again() {
    let site = id(1);
    let outages: Vec<_> = (0..40)
        .map(|day| {
            let from = at("2026-11-01T00:00:00Z") + SignedDuration::from_hours(12 * day);
            let to = from + SignedDuration::from_mins(5);
            outage(site, &from.to_string(), Some(&to.to_string()))
        })
        .collect();
    let read = CheckedMonitor { outages, ..CheckedMonitor::default() };
    let figures = counted(period("2026-11"), &zone("UTC"), read);
    assert_eq!((figures.outage_count, figures.outages.len()), (40, OUTAGES_KEPT));
    assert_eq!(figures.down(), SignedDuration::from_mins(200), "all of them");
    let stored = serde_json::to_vec(&figures).expect("stored");
    assert_eq!(serde_json::from_slice::<MonitorFigures>(&stored).expect("read"), figures);
}

/// A site with so many checks and minutes of downtime on the first day.
fn site(number: u128, name: &str, (checks, up): (u64, u64), minutes: i64) -> MonitorFigures {
    let mut figures = MonitorFigures::of(id(number), name);
    figures.host = Some(format!("{name}.example"));
    figures.counts = CheckCounts { checks, up, ..CheckCounts::default() };
    if minutes > 0 {
        figures.outage_count = 1;
        figures.days.insert(0, DayFigures { outages: 1, down_ms: minutes * 60_000 });
        let from = at("2026-11-01T00:00:00Z");
        let to = from + SignedDuration::from_mins(minutes);
        figures.outages = vec![outage(figures.id, &from.to_string(), Some(&to.to_string()))];
    }
    figures
}

#[test]
fn a_report_lists_what_matters_and_compares_it() {
    let mut before = vec![site(1, "a", (1_000, 1_000), 0), site(2, "b", (1_000, 900), 60)];
    before[0].median_ms = Some(100);
    before[0].broken_links = Some(vec![1, 2]);
    before[0].score = Some(9_000);
    before[1].median_ms = Some(300);
    before[1].score = Some(5_050);
    let mut now = before.clone();
    now[0].median_ms = Some(110);
    now[0].broken_links = Some(vec![2, 3, 4]);
    now[0].score = Some(8_000);
    now[0].groups = vec!["Shops".to_owned()];
    now[1] = site(2, "b", (1_000, 999), 61);
    now[1].median_ms = Some(400);
    now[1].score = Some(5_000);
    now[1].undelivered.insert("Ops".to_owned(), 2);
    now.push(site(3, "c", (0, 0), 0));
    now[2].certificate_ends = Some(at("2026-12-20T00:00:00Z"));
    now[1].certificate_ends = Some(at("2027-06-01T00:00:00Z"));
    now[0].domain = Some(("example".to_owned(), at("2027-01-01T00:00:00Z").as_millisecond()));
    now[1].domain = now[0].domain.clone();
    let mut job = MonitorFigures::of(id(4), "backup");
    job.counts = CheckCounts { checks: 30, up: 28, ..CheckCounts::default() };
    now.push(job);
    let (now, before) = (of("2026-11", "UTC", now), of("2026-10", "UTC", before));
    let report = TeamReport::of(&now, Some(&before), None).expect("a report");
    assert_eq!(report.headline(), "99.95 % uptime in November 2026, with one outage");
    assert_eq!(
        report.summary().as_deref(),
        Some("The only outage took 1 h 1 min: b on 1 Nov (HTTP 503).")
    );
    assert_eq!(report.sites, 3);
    assert_eq!(
        report.before.map(|before| before.uptime().map(|of| of.to_string())),
        Some(Some("95.00".to_owned()))
    );
    assert_eq!(report.totals.median_ms, Some(110), "the lower one of two");
    let names = |lines: &[SiteLine]| lines.iter().map(|line| line.name.clone()).collect::<Vec<_>>();
    assert_eq!(
        (names(&report.worst), names(&report.best)),
        (vec!["b".to_owned()], vec!["a".to_owned()])
    );
    assert_eq!(report.without_downtime, 1, "a site without checks has no uptime");
    let responses: Vec<_> = report
        .responses
        .iter()
        .map(|line| (line.now_ms, line.before_ms, line.is_large()))
        .collect();
    assert_eq!(responses, [(400, 300, true), (110, 100, false)], "exactly a tenth is not large");
    let links: Vec<_> =
        report.links.iter().map(|line| (line.new, line.fixed, line.broken)).collect();
    assert_eq!(links, [(2, 1, 3)]);
    let scores: Vec<_> = report.scores.iter().map(|line| (line.now, line.before)).collect();
    assert_eq!(scores, [(8_000, 9_000)], "half a point is noise");
    let ends = |endings: &[Ending]| endings.iter().map(|of| of.name.clone()).collect::<Vec<_>>();
    assert_eq!(ends(&report.certificates), ["c.example"]);
    assert_eq!(ends(&report.domains), ["example"], "once for both sites");
    assert_eq!(report.heartbeats.len(), 1);
    assert_eq!(report.undelivered, [("Ops".to_owned(), 2)]);
    let shops = TeamReport::of(&now, Some(&before), Some("Shops")).expect("a group");
    assert_eq!((shops.sites, shops.totals.outages, shops.heartbeats.len()), (1, 0, 0));
    assert_eq!(shops.before, None, "no site was in the group then");
    assert_eq!(TeamReport::of(&now, None, Some("Other")), None);
}

#[test]
fn a_report_without_checks_says_so() {
    let none = of("2026-10", "UTC", vec![site(1, "a", (0, 0), 0)]);
    let report = TeamReport::of(&none, Some(&none), None).expect("a report");
    assert_eq!(report.headline(), "Nothing was checked in October 2026");
    assert_eq!((report.summary(), report.before), (None, None));
    assert_eq!(report.totals.uptime(), None);
}

#[test]
fn uptime_is_rounded_down_and_downtime_up() {
    let figures = of("2026-11", "UTC", vec![site(1, "a", (1_000_000, 999_999), 0)]);
    let report = TeamReport::of(&figures, None, None).expect("a report");
    assert_eq!(report.headline(), "99.99 % uptime in November 2026, with no outages");
    for (ms, said) in [
        (0, "0 min"),
        (1, "1 min"),
        (60_000, "1 min"),
        (60_001, "2 min"),
        (7_140_001, "2 h"),
        (86_400_001, "1 d 1 h"),
    ] {
        assert_eq!(rounded_up(SignedDuration::from_millis(ms)), said);
    }
}

#[test]
fn lists_are_short() {
    let sites: Vec<_> = (0..30_i64)
        .map(|number| site(number as u128 + 1, &format!("s{number:02}"), (10, 9), number + 1))
        .collect();
    let report = TeamReport::of(&of("2026-11", "UTC", sites), None, None).expect("a report");
    let worst: Vec<_> = report.worst.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(worst, ["s29", "s28", "s27"]);
    assert_eq!((report.outages.len(), report.totals.outages), (OUTAGES_MAX, 30));
    assert!(report.outages.iter().all(|line| line.down > SignedDuration::from_mins(20)));
}

#[test]
fn a_report_says_how_objectives_were_met() {
    let objective = |percentage| Objective {
        percentage: ObjectivePercentage::of(percentage).expect("a percentage"),
        period: ObjectivePeriod::Month,
        counts_maintenance: false,
    };
    let result = |percentage, used_seconds| {
        let objective = objective(percentage);
        // A month of 30 days.
        let allowed_seconds = objective.allowed_seconds(SignedDuration::from_hours(720));
        ObjectiveResult::of(objective, Budget { allowed_seconds, used_seconds }, 5)
    };
    assert_eq!(result(99.99, 0), None, "4 minutes are less than two checks");
    let mut sites = vec![site(1, "a", (10, 10), 0), site(2, "b", (10, 9), 50)];
    sites[0].groups = vec!["Shops".to_owned()];
    sites[0].objective = result(99.9, 0);
    let mut figures = of("2026-11", "UTC", sites);
    let group = |result: Option<ObjectiveResult>| GroupObjective {
        group: "Shops".to_owned(),
        sites: 1,
        result: result.expect("checks can tell"),
    };
    figures.header.objectives = vec![group(result(99.5, 60))];
    let headline =
        |figures: &PeriodFigures| TeamReport::of(figures, None, None).expect("a report").headline();
    assert_eq!(headline(&figures), "95.00 % uptime in November 2026, and every objective was met");
    figures.monitors[1].objective = result(99.9, 50 * 60);
    assert_eq!(
        headline(&figures),
        "95.00 % uptime in November 2026, but 1 of 3 objectives was missed"
    );
    let report = TeamReport::of(&figures, None, None).expect("a report");
    let lines: Vec<_> = report
        .objectives
        .iter()
        .map(|line| {
            let budget = line.result.budget;
            (line.name.as_str(), line.sites, budget.allowed_seconds, budget.left())
        })
        .collect();
    // 99.5 % of 30 days leave 3 h 36 min, and 99.9 % leave 43 min 12 s.
    assert_eq!(
        lines,
        [("Shops", Some(1), 12_960, 12_900), ("b", None, 2_592, -408), ("a", None, 2_592, 2_592)]
    );
    let shops = TeamReport::of(&figures, None, Some("Shops")).expect("a group");
    assert_eq!((shops.objective_count, shops.missed_objectives), (2, 0));
    assert_eq!(shops.headline(), "100 % uptime in November 2026, and every objective was met");
}
