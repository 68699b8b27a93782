//! Reports over a few counted days.

use jiff::Timestamp;
use jiff::civil::date;

use super::*;
use crate::checks::history::{Kind, Sample};
use crate::checks::tool::{CheckStatus, RunReason};
use crate::id::Trigger;

const TODAY: Date = date(2026, 11, 20);

fn noon(day: i8) -> Timestamp {
    crate::checks::history::day_start(date(2026, 11, day)) + 12.hours()
}

/// A day with completed status checks: whether each was up, and its response time.
fn status_day(day: i8, checks: &[(bool, f64)]) -> Day {
    let mut counted = Day::new(date(2026, 11, day), 90);
    for &(up, response_ms) in checks {
        let trigger = Trigger::Automatic(RunReason::Scheduled);
        counted.counters.add(Kind { trigger, status: CheckStatus::Completed }, noon(day));
        counted.add_sample(Sample::Status { up, met: None, response_ms }, noon(day));
    }
    counted
}

/// A day with completed performance checks.
fn performance_day(day: i8, checks: u32, score: Sum, response_ms: Sum, speed_s: Sum) -> Day {
    let mut counted = status_day(day, &vec![(true, 1.0); checks as usize]);
    counted.sums = ReportSums { score, response_ms, speed_s, ..ReportSums::default() };
    counted
}

fn sum(values: &[f64]) -> Sum {
    let mut sum = Sum::default();
    values.iter().for_each(|value| sum.add(*value));
    sum
}

#[test]
fn checks_in_maintenance_windows_are_left_out_next_to_the_uptime_of_all() {
    let mut both = status_day(19, &[(true, 1.0), (true, 1.0), (false, 1.0), (false, 1.0)]);
    for up in [true, false, false] {
        both.add_maintenance_sample(Sample::Status { up, met: None, response_ms: 1.0 });
    }
    let mut inside = status_day(20, &[(false, 1.0)]);
    inside.add_maintenance_sample(Sample::Status { up: false, met: None, response_ms: 1.0 });
    let days = [status_day(18, &[(true, 1.0), (false, 1.0)]), both, inside];
    let report = uptime(Span::until(TODAY, 3), &days);
    assert_eq!(report.total_uptime_percentage, Percentage::of(3, 7));
    let outside = |uptime_percentage, total_checks, up_checks| {
        Some(OutsideMaintenance { uptime_percentage, total_checks, up_checks })
    };
    assert_eq!(report.outside_maintenance, outside(Percentage::of(2, 3), 3, 2));
    let of_days: Vec<_> = report.days.iter().map(|day| day.outside_maintenance).collect();
    assert_eq!(of_days, [None, outside(Percentage::of(1, 1), 1, 1), outside(None, 0, 0)]);
    let usual = uptime(Span::until(TODAY, 3), &days[..1]);
    assert_eq!(usual.outside_maintenance, None);
}

#[test]
fn a_span_ends_today_and_has_as_many_days_as_asked_for() {
    for (days, first) in
        [(1, TODAY), (2, date(2026, 11, 19)), (30, date(2026, 10, 22)), (365, date(2025, 11, 21))]
    {
        let span = Span::until(TODAY, days);
        assert_eq!((span.from, span.to), (first, TODAY));
        assert_eq!(span.dates().count(), usize::from(days));
        let report = uptime(span, &[]);
        assert_eq!(report.days.first().map(|day| day.date), Some(first));
        assert_eq!(report.days.last().map(|day| day.date), Some(TODAY));
    }
}

#[test]
fn met_expectations_have_a_figure_of_their_own_beside_the_uptime() {
    let mut day = Day::new(TODAY, 90);
    for (up, met) in [(true, None), (true, Some(true)), (true, Some(false)), (false, Some(false))] {
        let trigger = Trigger::Automatic(RunReason::Scheduled);
        day.counters.add(Kind { trigger, status: CheckStatus::Completed }, noon(20));
        day.add_sample(Sample::Status { up, met, response_ms: 1.0 }, noon(20));
    }
    let report = uptime(Span::until(TODAY, 2), &[day]);
    assert_eq!(report.total_uptime_percentage, Percentage::of(3, 4));
    // One of three: the first check expected nothing.
    assert_eq!(report.total_met_percentage, Percentage::of(1, 3));
    let of_days: Vec<_> = report.days.iter().map(UptimeDay::met_percentage).collect();
    assert_eq!(of_days, [None, Percentage::of(1, 3)]);
    let none = uptime(Span::until(TODAY, 1), &[status_day(20, &[(true, 1.0)])]);
    assert_eq!(none.total_met_percentage, None);
}

#[test]
fn without_checks_there_is_nothing_but_zeros_and_nulls() {
    let span = Span::until(TODAY, 2);
    let report = uptime(span, &[Day::new(TODAY, 30)]);
    for day in &report.days {
        let expected = UptimeDay {
            date: day.date,
            uptime_percentage: None,
            response_time: None,
            total_checks: 0,
            up_checks: 0,
            outside_maintenance: None,
            expecting_checks: 0,
            met_checks: 0,
        };
        assert_eq!(*day, expected);
    }
    assert_eq!((report.total_uptime_percentage, report.average_response_time), (None, None));
    let report = performance(span, &[Day::new(TODAY, 30)]);
    let empty = |date| PerformanceDay {
        date,
        performance_score: None,
        response_time: None,
        speed: None,
        total_checks: 0,
    };
    let expected = Performance {
        days: vec![empty(date(2026, 11, 19)), empty(TODAY)],
        average_performance_score: None,
        average_response_time: None,
        average_speed: None,
        total_checks: 0,
    };
    assert_eq!(report, expected);
}

#[test]
fn uptime_counts_checks_and_averages_the_slowest_of_each_day() {
    let days = [
        status_day(20, &[(true, 100.0), (true, 301.5), (false, 30_000.0)]),
        status_day(18, &[(true, 80.4), (true, 99.5)]),
        // Outside the period: before it, and in tomorrow's first seconds.
        status_day(17, &[(false, 5.0)]),
        status_day(21, &[(false, 5.0)]),
    ];
    let report = uptime(Span::until(TODAY, 3), &days);
    let shown: Vec<_> = report
        .days
        .iter()
        .map(|day| (day.uptime_percentage, day.response_time, day.up_checks, day.total_checks))
        .collect();
    assert_eq!(
        shown,
        [
            (Percentage::of(2, 2), Some(100), 2, 2),
            (None, None, 0, 0),
            (Percentage::of(2, 3), Some(30_000), 2, 3)
        ]
    );
    assert_eq!(report.total_uptime_percentage, Percentage::of(4, 5));
    assert_eq!(report.average_response_time, Some(15_050));
}

#[test]
fn uptime_is_of_completed_automatic_checks_of_any_reason() {
    let mut day = Day::new(TODAY, 90);
    for kind in Kind::all() {
        day.counters.add(kind, noon(20));
    }
    day.sums.up = 3;
    let report = uptime(Span::until(TODAY, 1), &[day]);
    assert_eq!((report.days[0].total_checks, report.days[0].up_checks), (3, 3));
}

#[test]
fn averages_have_two_decimals_and_a_half_goes_up() {
    // 1.005 and 99.995 are slightly lower as binary fractions.
    for (average, expected) in [(1.005, 1.01), (99.995, 100.0), (66.666, 66.67), (33.333, 33.33)] {
        assert_eq!(to_hundredths(average), expected, "{average}");
    }
}

#[test]
fn times_are_whole_and_a_half_goes_up() {
    let average = |slowest: &[f64]| {
        let days: Vec<_> =
            (15..).zip(slowest).map(|(day, ms)| status_day(day, &[(true, *ms)])).collect();
        let report = uptime(Span::until(TODAY, 10), &days);
        let shown: Vec<_> = report.days.iter().filter_map(|day| day.response_time).collect();
        (shown, report.average_response_time)
    };
    assert_eq!(average(&[0.4]), (vec![0], Some(0)));
    assert_eq!(average(&[0.5, 1.49, 1.5]), (vec![1, 1, 2], Some(1)));
    // The average of the values that the days show: 2.5, not 2.25.
    assert_eq!(average(&[2.0, 2.5]), (vec![2, 3], Some(3)));
}

#[test]
fn performance_averages_over_checks_and_skips_what_was_not_measured() {
    let days = [
        performance_day(19, 1, sum(&[50.0]), sum(&[400.0]), sum(&[2.0])),
        // The second check of the day has no score, the third no Speed Index.
        performance_day(
            20,
            3,
            sum(&[90.0, 91.0]),
            sum(&[100.0, 101.0, 101.5]),
            sum(&[1.005, 1.005]),
        ),
        performance_day(10, 1, sum(&[1.0]), sum(&[1.0]), sum(&[1.0])),
    ];
    let report = performance(Span::until(TODAY, 3), &days);
    let shown: Vec<_> = report
        .days
        .iter()
        .map(|day| (day.performance_score, day.response_time, day.speed, day.total_checks))
        .collect();
    assert_eq!(
        shown,
        [
            (None, None, None, 0),
            (Some(50.0), Some(400), Some(2.0), 1),
            (Some(90.5), Some(101), Some(1.01), 3),
        ]
    );
    assert_eq!(report.average_performance_score, Some(77.0));
    assert_eq!(report.average_response_time, Some(176));
    assert_eq!(report.average_speed, Some(1.34));
    assert_eq!(report.total_checks, 4);
}

#[test]
fn a_day_whose_checks_measured_nothing_has_checks_and_nulls() {
    let day = performance_day(20, 2, Sum::default(), sum(&[10.0, 11.0]), Sum::default());
    let report = performance(Span::until(TODAY, 1), &[day]);
    let expected = PerformanceDay {
        date: TODAY,
        performance_score: None,
        response_time: Some(11),
        speed: None,
        total_checks: 2,
    };
    assert_eq!(report.days, [expected]);
    assert_eq!((report.average_performance_score, report.average_speed), (None, None));
}
