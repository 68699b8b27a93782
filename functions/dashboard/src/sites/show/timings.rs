//! Every status check of the last 24 hours.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use vedette_domain::checks::check::{Check, StatusResult};
use vedette_domain::checks::evidence::PHASE_NAMES;
use vedette_domain::checks::history::{HistoryFilter, Kind, RowWindow};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::id::Trigger;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{Store, StoreError};

use super::read;
use crate::RequestContext;
use crate::reports::attached;

/// How far back every check is shown.
pub(super) const TIMINGS_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// The most checks that are read: one a minute, with some retries.
const CHECKS_MAX: usize = 2_000;

/// How long a site took to answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Timing {
    pub(super) at: Timestamp,
    pub(super) ms: f64,
    pub(super) up: bool,
    /// The phases, and what is left of the response time, if they are known.
    pub(super) phases: Option<[Option<f64>; PHASE_NAMES.len()]>,
    /// When the check ended, if it was in a maintenance window.
    pub(super) in_maintenance_until: Option<Timestamp>,
}

/// Reads the timings, oldest first.
pub(super) async fn load(
    store: &Store,
    access: &SiteAccess,
    now: Timestamp,
) -> Result<Vec<Timing>, StoreError> {
    let status = CheckStatus::Completed;
    let kinds = RunReason::ALL.map(|reason| Kind { trigger: Trigger::Automatic(reason), status });
    let window = RowWindow {
        from: now.saturating_sub(TIMINGS_SPAN).unwrap_or(now),
        // The end is exclusive, and a check's id holds its millisecond.
        before: now.saturating_add(SignedDuration::from_secs(1)).unwrap_or(now),
        newer: 0,
        count: CHECKS_MAX,
        older: 0,
        streams: kinds.into_iter().map(|kind| (Tool::Status, kind)).collect(),
    };
    let filter = HistoryFilter {
        tool: Some(Tool::Status),
        status: Some(status),
        automatic: Some(true),
        ..HistoryFilter::default()
    };
    let partition = access.stored.site.id.partition();
    let checks = store.page(partition, &access.stored.tools, &filter, &window).await?;
    Ok(checks.iter().rev().filter_map(timing).collect())
}

fn timing(check: &Check) -> Option<Timing> {
    let (check, result) = read::<StatusResult>(Some(check))?;
    Some(Timing {
        at: check.id.created_at(),
        ms: result.response_time,
        up: result.up,
        phases: result.phases_with_rest(),
        in_maintenance_until: check.completed_at.filter(|_| check.in_maintenance),
    })
}

/// The response times as CSV, oldest first, in milliseconds. The rows contain no text from users, so nothing needs
/// quotes. Unknown values are empty.
pub(crate) async fn response_times(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let timings = load(&context.app.store, &access, context.member()?.caller.now).await?;
    let mut csv =
        String::from("time,up,response_time_ms,lookup_ms,connect_ms,tls_ms,first_byte_ms\r\n");
    for Timing { at, ms, up, phases, .. } in timings {
        // Writing to a string cannot fail.
        let _ = write!(csv, "{at},{up},{ms:.2}");
        for phase in phases.unwrap_or_default() {
            let _ = match phase {
                Some(ms) => write!(csv, ",{ms:.0}"),
                None => write!(csv, ","),
            };
        }
        csv.push_str("\r\n");
    }
    attached(csv, &format!("response-times-{}.csv", access.stored.site.id))
}

/// A percentile of the checks that succeeded, in whole milliseconds: the shortest time within which this percentage of
/// checks ended.
pub(super) fn percentile(timings: &[Timing], percent: usize) -> Option<u64> {
    rank(timings.iter().filter(|timing| timing.up).map(|timing| timing.ms).collect(), percent)
}

/// What the median response time consists of: the whole milliseconds of each phase and the rest. They are differences
/// between the medians of the time that passed until the end of each phase, so together they are the median. `None` if
/// the phases of no check that succeeded are known.
pub(super) fn median_phases(timings: &[Timing]) -> Option<[u64; PHASE_NAMES.len()]> {
    let of_checks = || timings.iter().filter(|timing| timing.up).filter_map(|timing| timing.phases);
    let mut passed = 0;
    let mut phase = |last: usize| {
        let until_end = |phases: [Option<f64>; PHASE_NAMES.len()]| {
            phases.iter().take(last + 1).flatten().sum::<f64>()
        };
        let median = rank(of_checks().map(until_end).collect(), 50)?.max(passed);
        let took = median - passed;
        passed = median;
        Some(took)
    };
    Some([phase(0)?, phase(1)?, phase(2)?, phase(3)?])
}

/// The shortest time within which this percentage of the times are, in whole milliseconds.
fn rank(mut times: Vec<f64>, percent: usize) -> Option<u64> {
    times.sort_by(f64::total_cmp);
    let rank = (times.len() * percent).div_ceil(100);
    let ms = times.get(rank.checked_sub(1)?)?;
    Some(ms.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Timing = Timing {
        at: Timestamp::UNIX_EPOCH,
        ms: 5.0,
        up: true,
        phases: None,
        in_maintenance_until: None,
    };

    #[test]
    fn percentiles_are_of_checks_that_succeeded() {
        let timing = |(place, ms): (usize, f64)| Timing { ms, up: place != 0, ..UP };
        let of = |times: &[f64]| {
            let timings: Vec<_> = times.iter().copied().enumerate().map(timing).collect();
            (percentile(&timings, 50), percentile(&timings, 95))
        };
        assert_eq!(of(&[9_000.0]), (None, None));
        assert_eq!(of(&[9_000.0, 10.4]), (Some(10), Some(10)));
        assert_eq!(of(&[9_000.0, 30.0, 10.0, 20.0]), (Some(20), Some(30)));
        let hundred: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(of(&hundred), (Some(49), Some(94)));
    }

    #[test]
    fn the_phases_of_the_median_add_up_to_it() {
        let of = |lookup, connect, tls, rest: f64| {
            let all = [lookup, Some(connect), tls, Some(rest)];
            Timing { ms: all.iter().flatten().sum(), phases: Some(all), ..UP }
        };
        let timings = [
            of(Some(10.0), 20.0, Some(30.0), 100.0),
            of(None, 25.0, None, 40.0),
            of(Some(90.0), 21.0, Some(33.0), 60.0),
        ];
        let phases = median_phases(&timings).expect("phases");
        assert_eq!(phases, [10, 20, 30, 100]);
        assert_eq!(Some(phases.iter().sum()), percentile(&timings, 50));
        assert_eq!(median_phases(&[UP]), None);
        let down = Timing { up: false, ..timings[0] };
        assert_eq!(median_phases(&[down]), None);
    }
}
