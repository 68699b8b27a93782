//! Tables calculated by hand, and what holds for all budgets.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::checks::history::{Day, InMaintenance};
use crate::input::FieldRule as _;
use crate::issues::Problem;
use crate::maintenance::Instance;
use crate::validation::{Errors, Field};

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

fn span(from: &str, to: &str) -> TimeSpan {
    TimeSpan::new(at(from), at(to))
}

fn objective(percent: f64, period: ObjectivePeriod) -> Objective {
    let percentage = ObjectivePercentage::of(percent).expect("a percentage");
    Objective { percentage, period, counts_maintenance: false }
}

fn outage(from: &str, to: Option<&str>) -> Problem {
    Problem { opened_at: at(from), began_at: at(from), ended_at: to.map(at) }
}

#[test]
fn the_budget_of_days_is_rounded_down() {
    use ObjectivePeriod::{Days7, Days28, Days30, Days90};
    let now = at("2026-11-24T10:00:00Z");
    for (percent, budgets) in [
        (50.0, [302_400, 1_209_600, 1_296_000, 3_888_000]),
        (99.0, [6_048, 24_192, 25_920, 77_760]),
        (99.5, [3_024, 12_096, 12_960, 38_880]),
        (99.9, [604, 2_419, 2_592, 7_776]),
        (99.95, [302, 1_209, 1_296, 3_888]),
        (99.99, [60, 241, 259, 777]),
        (99.999, [6, 24, 25, 77]),
    ] {
        let of = |period| {
            let objective = objective(percent, period);
            objective
                .budget(objective.window(now, &NamedZone::utc()), SignedDuration::ZERO)
                .allowed_seconds
        };
        assert_eq!([Days7, Days28, Days30, Days90].map(of), budgets, "{percent}");
    }
}

#[test]
fn a_month_is_that_of_the_clocks_of_the_team() {
    let of = objective(99.9, ObjectivePeriod::Month);
    for (zone, now, from, to, allowed) in [
        ("UTC", "2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z", 2_419),
        ("UTC", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", 2_678),
        ("UTC", "2028-02-01T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", 2_505),
        ("UTC", "2100-02-14T00:00:00Z", "2100-02-01T00:00:00Z", "2100-03-01T00:00:00Z", 2_419),
        // The clocks are put forward or back in these months: a day has 23, 25 or 24 and a half hours.
        (
            "Europe/Berlin",
            "2026-03-29T12:00:00Z",
            "2026-02-28T23:00:00Z",
            "2026-03-31T22:00:00Z",
            2_674,
        ),
        (
            "Europe/Berlin",
            "2026-10-01T00:00:00Z",
            "2026-09-30T22:00:00Z",
            "2026-10-31T23:00:00Z",
            2_682,
        ),
        (
            "America/New_York",
            "2026-11-01T04:00:00Z",
            "2026-11-01T04:00:00Z",
            "2026-12-01T05:00:00Z",
            2_595,
        ),
        (
            "Australia/Lord_Howe",
            "2026-04-05T00:00:00Z",
            "2026-03-31T13:00:00Z",
            "2026-04-30T13:30:00Z",
            2_593,
        ),
        // Two zones whose dates differ by a day or two.
        (
            "Pacific/Pago_Pago",
            "2026-12-01T10:59:59Z",
            "2026-11-01T11:00:00Z",
            "2026-12-01T11:00:00Z",
            2_592,
        ),
        (
            "Pacific/Kiritimati",
            "2026-11-30T10:00:00Z",
            "2026-11-30T10:00:00Z",
            "2026-12-31T10:00:00Z",
            2_678,
        ),
    ] {
        let zone = NamedZone::parse(zone).expect("a zone");
        let window = of.window(at(now), &zone);
        assert_eq!(window, span(from, to), "{zone} {now}");
        assert_eq!(
            of.budget(window, SignedDuration::ZERO).allowed_seconds,
            allowed,
            "{zone} {now}"
        );
        assert_eq!(of.window_since(at(now), &zone, at(now)), window, "a young site has all of it");
    }
}

#[test]
fn the_last_days_of_a_young_site_begin_with_it() {
    let (of, utc) = (objective(99.9, ObjectivePeriod::Days30), NamedZone::utc());
    let (now, month) = (at("2026-11-24T10:00:00Z"), at("2026-10-25T10:00:00Z"));
    for (since, from, allowed) in [
        (at("2026-11-23T10:00:00Z"), at("2026-11-23T10:00:00Z"), 86),
        (at("2020-01-01T00:00:00Z"), month, 2_592),
        (at("2027-01-01T00:00:00Z"), now, 0),
    ] {
        let window = of.window_since(now, &utc, since);
        assert_eq!(window, TimeSpan::new(from, now));
        let budget = of.budget(window, SignedDuration::ZERO);
        assert_eq!((budget.allowed_seconds, budget.used_percent()), (allowed, 0), "not used up");
    }
}

#[test]
fn outages_count_once_within_the_window_and_without_maintenance() {
    let outages = [
        outage("2026-11-17T08:00:00Z", Some("2026-11-17T10:04:00Z")),
        outage("2026-11-20T10:00:00Z", Some("2026-11-20T12:00:00Z")),
        outage("2026-11-20T11:00:00Z", Some("2026-11-20T13:00:00Z")),
        outage("2026-11-24T09:59:00.500Z", None),
    ];
    let maintenance = [
        Instance { start: at("2026-11-17T02:00:00Z"), end: at("2026-11-17T04:00:00Z") },
        Instance { start: at("2026-11-17T10:10:00Z"), end: at("2026-11-17T11:10:00Z") },
        Instance { start: at("2026-11-20T10:30:00Z"), end: at("2026-11-20T12:30:00Z") },
        Instance { start: at("2026-11-24T03:00:00Z"), end: at("2026-11-24T09:00:00Z") },
    ];
    let now = at("2026-11-24T10:00:00Z");
    let of = objective(99.0, ObjectivePeriod::Days7);
    let window = of.window(now, &NamedZone::utc());
    let downtime = SiteDowntime::of(outages, &maintenance, now);
    let budget = of.group_budget(window, [&downtime, &downtime]);
    let used = 4 * 60 + 3_600 + 60;
    assert_eq!(budget, Budget { allowed_seconds: 6_048, used_seconds: used });
    assert_eq!((budget.left(), budget.used_percent()), (2_148, 64));
    let all = Objective { counts_maintenance: true, ..of };
    let budget = all.group_budget(window, [&downtime]);
    assert_eq!(budget.used_seconds, used + 2 * 3_600);
    assert_eq!((budget.left(), budget.used_percent()), (-5_052, 183));

    let day = |date: &str, checks, up| {
        let mut day = Day::new(date.parse().expect("a date"), 90);
        day.sums.in_maintenance = InMaintenance { checks, up };
        day
    };
    let days = [
        day("2026-11-16", 9, 0),
        day("2026-11-17", 24, 0),
        day("2026-11-20", 40, 10),
        day("2026-11-24", 288, 0),
    ];
    // On the first and the last day, no more than an hour and six hours of maintenance are in the window.
    let failed = (60 + 30 * 5 + 6 * 60) * 60;
    let used = |of: Objective| of.site_budget(window, &downtime, &days, 5).used_seconds;
    let outside = 4 * 60 + 3_600 + 60;
    assert_eq!([used(of), used(all)], [outside, outside + failed]);
}

#[test]
fn what_is_left_is_as_exact_as_the_checks() {
    let budget = |allowed_seconds, used_seconds| Budget { allowed_seconds, used_seconds };
    for (budget, cadence, left, is_used_up) in [
        (budget(2_592, 0), 5, 43, false),
        (budget(2_592, 1), 1, 43, false),
        (budget(2_592, 61), 1, 42, false),
        (budget(2_592, 61), 5, 40, false),
        (budget(2_592, 2_591), 1, 0, false),
        (budget(2_592, 2_592), 1, 0, true),
        (budget(2_592, 2_593), 1, -1, true),
        (budget(2_592, 3_312), 1, -12, true),
        (budget(2_592, 3_312), 5, -15, true),
        (budget(2_592, 3_312), 0, -12, true),
    ] {
        assert_eq!(budget.left_minutes(cadence), left, "{budget:?} {cadence}");
        assert_eq!(budget.is_used_up(), is_used_up, "{budget:?}");
    }
    assert_eq!(
        [0, 1, 2_591, 2_592, 15_863].map(|used| budget(2_592, used).used_percent()),
        [0, 0, 99, 100, 611]
    );
}

#[test]
fn an_objective_that_the_checks_cannot_tell_is_refused_with_the_reason() {
    use ObjectivePeriod::{Days7, Days30, Month};
    for (percent, period, cadence, reason) in [
        (99.9, Days7, 5, None),
        (99.9, Days7, 10, Some("checks every 10 minutes cannot tell 99.9 % of 7 days")),
        (99.99, Days7, 5, Some("checks every 5 minutes cannot tell 99.99 % of 7 days")),
        (99.99, Days7, 1, Some("checks every minute cannot tell 99.99 % of 7 days")),
        (99.99, Days30, 1, None),
        (99.0, Days7, 50, None),
        (99.0, Days7, 51, Some("checks every 51 minutes cannot tell 99 % of 7 days")),
        (99.9, Month, 20, None),
        (99.9, Month, 30, Some("checks every 30 minutes cannot tell 99.9 % of a calendar month")),
    ] {
        let refused = objective(percent, period).check_cadence(cadence).err();
        assert_eq!(refused.map(|refused| refused.reason()).as_deref(), reason);
    }
    let refused = objective(99.99, Days7).check_cadence(5).expect_err("refused");
    let message =
        "must be one that checks can tell: checks every 5 minutes cannot tell 99.99 % of 7 days";
    assert_eq!(refused.to_string(), message);
}

#[test]
fn an_objective_is_read_and_stored_as_the_api_shows_it() {
    let read = |sent: &Value, is_text: bool| {
        let field = match is_text {
            true => Field::text("objective", sent),
            false => Field::at("objective", sent),
        };
        let mut errors = Errors::new();
        let read = ObjectiveRule.read(&field, &mut errors);
        errors.finish(read).map_err(|error| error.message())
    };
    for period in ObjectivePeriod::ALL {
        let sent = json!({ "percentage": 99.95, "period": period, "counts_maintenance": true });
        let of = read(&sent, false).expect("an objective");
        assert_eq!((of.period, of.counts_maintenance), (period, true));
        assert_eq!(serde_json::to_value(of).expect("json"), sent);
        assert_eq!(serde_json::from_value::<Objective>(sent).expect("readable"), of);
        assert_eq!(json!(period), period.to_string());
    }
    let typed = json!({ "percentage": " 99.9 ", "period": "month", "counts_maintenance": "" });
    assert_eq!(read(&typed, true), Ok(objective(99.9, ObjectivePeriod::Month)));
    let range =
        "The objective.percentage field must be from 50 to 99.999, with at most three decimals.";
    for (percentage, message) in [
        (json!(49.999), range),
        (json!(100), range),
        (json!(99.9995), range),
        (json!(-1), range),
        (json!(1e300), range),
        (json!("99.9"), "The objective.percentage field must be a number."),
        (json!(null), "The objective.percentage field is required."),
    ] {
        let sent = json!({ "percentage": percentage, "period": "7_days" });
        assert_eq!(read(&sent, false), Err(message.to_owned()), "{percentage}");
    }
    let typed = json!({ "percentage": "NaN", "period": "month", "counts_maintenance": "" });
    assert_eq!(read(&typed, true), Err(range.to_owned()));
}

proptest! {
    #[test]
    fn a_window_has_its_instant_and_its_budget_is_split_into_used_and_left(
        second in 0_i64..4_000_000_000,
        thousandths in 50_000_u32..100_000,
        period in prop::sample::select(ObjectivePeriod::ALL.to_vec()),
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Apia", "Pacific/Pago_Pago", "America/Sao_Paulo"]),
        spans in prop::collection::vec((-3_000_000_i64..3_000_000, 0_i64..500_000), 0..8),
        cadence in 1_u32..1_440,
    ) {
        let zone = NamedZone::parse(zone).expect("a zone");
        let now = Timestamp::from_second(second).expect("a timestamp");
        let of = objective(f64::from(thousandths) / 1_000.0, period);
        prop_assert_eq!(f64::from(of.percentage).to_string(), of.percentage.to_string());
        let window = of.window(now, &zone);
        prop_assert!(window.from < now || period == ObjectivePeriod::Month);
        prop_assert!(window.contains(now) || window.to == now);
        prop_assert_eq!(of.window(window.from, &zone).to > window.from, period == ObjectivePeriod::Month);
        let at = |offset: i64| Timestamp::from_second(second + offset).unwrap_or(now);
        let outages = spans.iter().map(|&(from, lasts)| Problem {
            opened_at: at(from),
            began_at: at(from),
            ended_at: Some(at(from + lasts)),
        });
        let downtime = SiteDowntime::of(outages, &[], now);
        let budget = of.site_budget(window, &downtime, &[], cadence);
        prop_assert_eq!(budget, of.group_budget(window, [&downtime, &downtime]));
        prop_assert!((0..=window.lasts().as_secs()).contains(&budget.used_seconds));
        prop_assert!(budget.allowed_seconds * 2 <= window.lasts().as_secs());
        prop_assert_eq!(budget.left() + budget.used_seconds, budget.allowed_seconds);
        let shown = 60 * budget.left_minutes(cadence);
        prop_assert!(shown <= budget.left() && budget.left() - shown < 60 * i64::from(cadence));
        prop_assert_eq!(budget.used_percent() >= 100, budget.is_used_up());
    }
}

#[test]
fn what_is_left_is_told_in_minutes() {
    let budget = |allowed_seconds, used_seconds| Budget { allowed_seconds, used_seconds };
    for (budget, cadence, text) in [
        (budget(2_592, 0), 5, "43 min left"),
        (budget(2_592, 61), 5, "40 min left"),
        (budget(12_960, 60), 1, "3 h 35 min left"),
        (budget(2_592, 2_500), 5, "less than 5 min left"),
        (budget(2_592, 2_592), 5, "0 min left"),
        (budget(2_592, 3_312), 1, "12 min over"),
    ] {
        assert_eq!(budget.left_in_words(cadence), text);
    }
    assert_eq!(budget(2_592, 0).allowed_in_words(), "43 min");
    assert_eq!(budget(59, 0).allowed_in_words(), "0 min");
}
