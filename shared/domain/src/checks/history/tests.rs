//! Pages of a counted history, compared with a plain list of the same checks.

use jiff::civil::date;
use proptest::prelude::*;

use super::*;
use crate::checks::tool::Tool;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a timestamp")
}

const SCHEDULED: Kind =
    Kind { trigger: Trigger::Automatic(RunReason::Scheduled), status: CheckStatus::Completed };
const PENDING: Kind = Kind { trigger: Trigger::OnDemand, status: CheckStatus::Pending };

#[test]
fn codes_are_distinct_and_read_back() {
    let codes: Vec<_> = Kind::all().map(Kind::code).collect();
    assert_eq!(codes, ["sc", "sf", "rc", "rf", "fc", "ff", "dp", "dc", "df", "ds"]);
    assert!(Kind::all().all(|kind| Kind::parse(kind.code()) == Some(kind)));
}

#[test]
fn an_instant_belongs_to_its_utc_day_and_hour() {
    assert_eq!(day_of(at("2026-11-20T23:59:59.999Z")), date(2026, 11, 20));
    assert_eq!(day_of(at("2026-11-21T00:00:00Z")), date(2026, 11, 21));
    assert_eq!(day_start(date(2026, 11, 21)), at("2026-11-21T00:00:00Z"));
}

#[test]
fn a_day_shows_until_the_shorter_of_two_retentions() {
    let day = Day::new(date(2026, 11, 1), 30);
    assert_eq!(day.until, date(2026, 12, 1));
    let shows = |today, days| Retention { today, days }.shows_day(&day);
    assert!(shows(date(2026, 11, 30), 90), "an upgrade does not lengthen a fixed day");
    assert!(!shows(date(2026, 12, 1), 90));
    assert!(!shows(date(2026, 11, 9), 8), "a downgrade cuts at once");
    assert!(shows(date(2026, 11, 8), 8));
    for today in [date(2026, 11, 8), date(2026, 11, 30), date(2026, 12, 1)] {
        for days in [8, 30, 90] {
            let created_at = at("2026-11-01T23:59:00Z");
            let row = Retention { today, days }.shows_row(created_at, day.rows_expire_at());
            assert_eq!(row, shows(today, days), "a row shows as its day does");
        }
    }
    assert_eq!(day.rows_expire_at(), at("2026-12-03T00:00:00Z"));
    assert_eq!(day.item_expires_at(), at("2027-12-06T00:00:00Z"));
}

#[test]
fn removing_the_last_of_a_kind_leaves_no_trace() {
    let mut counters = Counters::default();
    counters.add(PENDING, at("2026-11-20T09:54:00Z"));
    counters.remove(PENDING, at("2026-11-20T09:54:00Z"));
    counters.remove(PENDING, at("2026-11-20T09:54:00Z"));
    assert_eq!(counters, Counters::default());
}

#[test]
fn a_page_past_the_end_has_a_total_and_no_window() {
    let mut day = Day::new(date(2026, 11, 20), 30);
    day.counters.add(SCHEDULED, at("2026-11-20T09:54:00Z"));
    let located = locate([(Tool::Status, &day)], &HistoryFilter::default(), 25, 25);
    assert_eq!(located, Located { total: 1, window: None });
    let none = HistoryFilter { status: Some(CheckStatus::Failed), ..HistoryFilter::default() };
    assert_eq!(locate([(Tool::Status, &day)], &none, 0, 25).total, 0);
}

fn instants() -> impl Strategy<Value = Vec<(usize, usize, i64)>> {
    // (tool, kind, second within four days)
    proptest::collection::vec((0..5_usize, 0..10_usize, 0..345_600_i64), 0..400)
}

proptest! {
    #[test]
    fn every_page_equals_a_slice_of_the_sorted_list(
        checks in instants(),
        offset in 0..450_u64,
        limit in 1..100_u64,
        tool in proptest::option::of(0..5_usize),
        kind in proptest::option::of(0..10_usize),
        from in proptest::option::of(0..4_i8),
    ) {
        let kinds: Vec<_> = Kind::all().collect();
        let first = date(2026, 11, 18);
        let mut days: BTreeMap<(Tool, Date), Day> = BTreeMap::new();
        let mut rows = Vec::new();
        for (t, k, second) in checks {
            let created = day_start(first) + second.seconds();
            let (tool, kind) = (Tool::ALL[t], kinds[k]);
            let date = day_of(created);
            days.entry((tool, date)).or_insert_with(|| Day::new(date, 30)).counters.add(kind, created);
            rows.push((created, tool, kind));
        }
        let filter = HistoryFilter {
            tool: tool.map(|t| Tool::ALL[t]),
            status: kind.map(|k| kinds[k].status),
            automatic: kind.map(|k| kinds[k].trigger.is_automatic()),
            reason: kind.and_then(|k| kinds[k].trigger.reason()),
            from: from.map(|d| date(2026, 11, 18 + d)),
            to: None,
        };
        rows.retain(|(created, tool, kind)| filter.admits_day(*tool, day_of(*created)) && filter.admits(*kind));
        rows.sort_by_key(|row| std::cmp::Reverse(row.0));
        let located = locate(days.iter().map(|((tool, _), day)| (*tool, day)), &filter, offset, limit);
        prop_assert_eq!(located.total, rows.len() as u64);
        let want: Vec<_> = rows.iter().skip(offset as usize).take(limit as usize).map(|row| row.0).collect();
        let got: Vec<_> = located.window.map_or_else(Vec::new, |window| {
            let inside: Vec<_> = rows
                .iter()
                .filter(|row| window.from <= row.0 && row.0 < window.before)
                .filter(|row| window.streams.contains(&(row.1, row.2)))
                .map(|row| row.0)
                .collect();
            assert_eq!(inside.len(), window.newer + window.count + window.older);
            inside.into_iter().skip(window.newer).take(window.count).collect()
        });
        prop_assert_eq!(got, want);
    }
}
