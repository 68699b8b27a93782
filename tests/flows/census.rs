//! Reads the table from outside, and compares its rows with its counters.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::Value;
use vedette_domain::checks::history::{day_of, day_start};
use vedette_domain::id::SiteId;
use vedette_tests::Service;

/// Every item by key, as [`vedette_testkit::TestTable::dump`] shows them.
pub(crate) type Dump = BTreeMap<(String, String), Value>;

/// One tool's day on one site: partition, tool, date.
type Place = (String, String, Date);

/// The figures of a day.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Day {
    /// Checks by kind and hour.
    checks: BTreeMap<(String, usize), u64>,
    /// Completed automatic status checks that found the site up.
    up: u64,
    /// The slowest of the completed automatic status checks.
    slowest_ms: Option<f64>,
    /// Sums and maxima of their response times, by hour, in whole milliseconds.
    responses: BTreeMap<usize, (u64, u64)>,
}

impl Day {
    /// Completed automatic checks, and those of them that found the site up.
    pub(crate) fn up(&self) -> (u64, u64) {
        let completed = self.checks.iter().filter(|((kind, _), _)| is_reported(kind));
        (completed.map(|(_, count)| count).sum(), self.up)
    }
}

/// The figures of all days that have checks.
pub(crate) type Census = BTreeMap<Place, Day>;

/// Asserts that the counters match the rows, and that rows and days expire in time. Returns the figures of the rows.
pub(crate) async fn assert_balanced(service: &Service) -> Census {
    let dump = service.test.table.dump().await;
    let rows = of_rows(&dump);
    assert_eq!(of_counters(&dump), rows);
    assert_forgotten_in_time(&dump);
    assert_failing_sites_are_listed(&dump);
    assert_unchecked_sites_are_listed(&dump);
    assert_outages_are_recorded(&dump);
    rows
}

/// Asserts that the last opening of each `status:down` has a record, which has ended if the issue is resolved.
fn assert_outages_are_recorded(dump: &Dump) {
    for ((pk, _), issue) in dump.iter().filter(|((_, sk), _)| sk == "I#status:down") {
        let (lifecycle, site) = (&issue["lifecycle"], pk.trim_start_matches("S#"));
        let place =
            format!("O#{:013}#{site}", lifecycle["opened_at"].as_i64().expect("an instant"));
        let found = dump.iter().find(|((_, sk), _)| *sk == place);
        let (_, record) = found.unwrap_or_else(|| panic!("no record of {issue}"));
        assert_eq!(record["e"].is_null(), lifecycle["status"] != "resolved", "{record}");
    }
}

/// Asserts that the lists of failing sites name those whose newest check failed without an active issue.
fn assert_failing_sites_are_listed(dump: &Dump) {
    let results: BTreeMap<&str, &str> = rows(dump)
        .filter(|(_, tool, kind, _)| *tool == "status" && is_reported(kind))
        .map(|(_, _, _, row)| (text(&row["id"]), text(&row["r"])))
        .collect();
    let mut failing = BTreeSet::new();
    for ((pk, _), state) in dump.iter().filter(|((_, sk), _)| sk == "T#status") {
        let is_failing = !state["fa"].is_null();
        let phase = &state["tr"]["status:down"]["t"]["p"];
        let is_active = ["d", "r"].iter().any(|active| phase.get(active).is_some());
        // The row of the newest check may have expired.
        if let Some(result) = state["ev"].as_str().and_then(|newest| results.get(newest)) {
            let result: Value = serde_json::from_str(result).expect("a result");
            let failed = result["up"] == false;
            assert_eq!(is_failing, failed && !is_active, "{pk}: {state}");
        }
        failing.extend(is_failing.then(|| pk.clone()));
    }
    assert_eq!(listed(dump, "F#").collect::<BTreeSet<_>>(), failing);
}

/// Asserts that the lists of sites that can't be checked follow the states of their status tools.
fn assert_unchecked_sites_are_listed(dump: &Dump) {
    let states =
        dump.iter().filter(|((_, sk), state)| sk == "T#status" && state["nr"]["l"] == true);
    let unchecked: BTreeSet<&str> = states.map(|((pk, _), _)| pk.as_str()).collect();
    let listed: BTreeSet<String> = listed(dump, "G#").collect();
    assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), unchecked);
}

/// The partitions of the sites in a list of a team.
fn listed<'d>(dump: &'d Dump, prefix: &'d str) -> impl Iterator<Item = String> + 'd {
    dump.keys().filter_map(move |(pk, sk)| {
        let site = sk.strip_prefix(prefix).filter(|_| pk.starts_with("N#"))?;
        Some(format!("S#{:016x}", SiteId::parse(site)?.partition().0))
    })
}

/// Recounts the rows.
fn of_rows(dump: &Dump) -> Census {
    let mut census = Census::new();
    for (pk, tool, kind, row) in rows(dump) {
        let created_at = created_at(row);
        let place = (pk.to_owned(), tool.to_owned(), day_of(created_at));
        let day = census.entry(place).or_default();
        let hour = TimeZone::UTC.to_datetime(created_at).hour();
        let hour = usize::try_from(hour).expect("an hour");
        *day.checks.entry((kind.clone(), hour)).or_default() += 1;
        if tool == "status" && is_reported(&kind) {
            let result: Value = serde_json::from_str(text(&row["r"])).expect("a result");
            day.up += u64::from(result["up"] == true);
            let ms = result["response_time"].as_f64().expect("a time");
            day.slowest_ms = Some(day.slowest_ms.map_or(ms, |slowest| slowest.max(ms)));
            let ms = ms.round() as u64;
            if ms > 0 {
                let (sum, slowest) = day.responses.entry(hour).or_default();
                (*sum, *slowest) = (*sum + ms, ms.max(*slowest));
            }
        }
    }
    census
}

/// Whether reports count checks of this kind: automatic, completed ones.
fn is_reported(kind: &str) -> bool {
    ["sc", "rc", "fc"].contains(&kind)
}

/// Reads the counters of open and closed days.
fn of_counters(dump: &Dump) -> Census {
    let mut census = Census::new();
    for ((pk, sk), item) in dump {
        let Some(tool) = tool_of(pk, sk) else { continue };
        let day = if sk.matches('#').count() == 1 { &item["da"] } else { item };
        if day.is_null() {
            continue;
        }
        let date: Date = text(&day["d"]).parse().expect("a date");
        let counted = Day {
            checks: counted_checks(&day["c"]),
            responses: counted_responses(&day["ms"]),
            up: day["r"]["up"].as_u64().unwrap_or(0),
            slowest_ms: day["r"]["slowest_ms"].as_f64(),
        };
        let before = census.insert((pk.clone(), tool.to_owned(), date), counted);
        assert_eq!(before, None, "{sk} is both open and closed");
    }
    // If all checks of a day were deleted, only the fact that the day existed remains.
    census.retain(|_, day| *day != Day::default());
    census
}

/// Counts by kind and hour.
fn counted_checks(counters: &Value) -> BTreeMap<(String, usize), u64> {
    let mut counts = BTreeMap::new();
    for (kind, packed) in counters.as_object().expect("counters") {
        counts.extend(hours(packed).into_iter().map(|(hour, count)| ((kind.clone(), hour), count)));
    }
    counts
}

/// Sums and maxima by hour.
fn counted_responses(responses: &Value) -> BTreeMap<usize, (u64, u64)> {
    let mut counted: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (hour, sum) in hours(&responses["s"]) {
        counted.entry(hour).or_default().0 = sum;
    }
    for (hour, slowest) in hours(&responses["x"]) {
        counted.entry(hour).or_default().1 = slowest;
    }
    counted
}

/// Numbers by hour: the bits that the largest takes, then the numbers.
fn hours(packed: &Value) -> BTreeMap<usize, u64> {
    let mut numbers = BTreeMap::new();
    let bytes = packed.as_array().into_iter().flatten();
    let mut bytes = bytes.map(|byte| byte.as_u64().expect("a byte"));
    let width = usize::try_from(bytes.next().unwrap_or_default()).expect("a small number");
    for (place, byte) in bytes.enumerate() {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
            let bit = place * 8 + bit;
            *numbers.entry(bit / width).or_default() += 1 << (bit % width);
        }
    }
    numbers
}

/// Rows outlive their day by two days; day items are kept for 400.
fn assert_forgotten_in_time(dump: &Dump) {
    let mut until = BTreeMap::new();
    for ((pk, sk), item) in dump {
        let Some(tool) = tool_of(pk, sk) else { continue };
        let is_closed = sk.matches('#').count() == 2;
        let day = if is_closed { item } else { &item["da"] };
        if day.is_null() {
            continue;
        }
        let [date, end]: [Date; 2] =
            ["d", "u"].map(|field| text(&day[field]).parse().expect("a date"));
        until.insert((pk.as_str(), tool, date), end);
        if is_closed {
            assert_eq!(item["ttl"], day_start(date + 400.days()).as_second(), "{sk}");
        }
    }
    for (pk, tool, kind, row) in rows(dump) {
        let end = until[&(pk, tool, day_of(created_at(row)))];
        assert_eq!(row["ttl"], day_start(end + 2.days()).as_second(), "a row of {kind}");
    }
}

/// Check rows with their partition, tool and kind.
fn rows(dump: &Dump) -> impl Iterator<Item = (&str, &str, String, &Value)> {
    dump.iter().filter_map(|((pk, sk), row)| {
        let mut parts = sk.strip_prefix("H#")?.split('#');
        let (tool, stream) = (parts.next()?, parts.next()?);
        let kind = match stream {
            "d" => format!("d{}", &text(&row["s"])[..1]),
            kind => kind.to_owned(),
        };
        Some((pk.as_str(), tool, kind, row))
    })
}

/// The ids of all checks of a site, newest first, with kind and creation.
pub(crate) fn checks(dump: &Dump) -> Vec<(Timestamp, String, String)> {
    let mut checks: Vec<_> = rows(dump)
        .map(|(_, _, kind, row)| (created_at(row), text(&row["id"]).to_owned(), kind))
        .collect();
    checks.sort_by(|one, other| other.cmp(one));
    checks
}

/// How many checks of each kind there are.
pub(crate) fn kinds(dump: &Dump) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for (_, _, kind, _) in rows(dump) {
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

/// The tool of a tool item or day item.
fn tool_of<'a>(pk: &str, sk: &'a str) -> Option<&'a str> {
    pk.strip_prefix("S#")?;
    sk.strip_prefix("T#")?.split('#').next()
}

/// The first 48 bits of a check's id are the milliseconds of its creation.
fn created_at(row: &Value) -> Timestamp {
    let digits = text(&row["id"]).replace('-', "");
    let millis = i64::from_str_radix(&digits[..12], 16).expect("an id");
    Timestamp::from_millisecond(millis).expect("an instant")
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The table without what differs between correct runs: measured times, and the windows in which requests are counted.
pub(crate) fn comparable(mut dump: Dump) -> Dump {
    // Evidence has measured times as well.
    dump.retain(|(pk, sk), _| !pk.starts_with("R#") && !sk.starts_with("V#"));
    dump.values_mut().for_each(forget_times);
    dump
}

/// The fields with measured times.
const MEASURED: [&str; 4] = ["response_time", "phases", "slowest_ms", "ms"];

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A sum is written only if a response took at least a millisecond.
            fields.retain(|name, _| !MEASURED.contains(&name.as_str()));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        Value::String(text) if text.starts_with('{') => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                forget_times(&mut inner);
                *value = inner;
            }
        }
        _ => {}
    }
}
