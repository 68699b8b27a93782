//! Every status check of the last 24 hours.

use jiff::{SignedDuration, Timestamp};
use vedette_domain::checks::check::{Check, StatusResult};
use vedette_domain::checks::history::{HistoryFilter, Kind, RowWindow};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::id::Trigger;
use vedette_http::access::SiteAccess;
use vedette_store::{Store, StoreError};

use super::read;

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
    Some(Timing { at: check.id.created_at(), ms: result.response_time, up: result.up })
}

/// A percentile of the checks that succeeded, in whole milliseconds: the shortest time within which this percentage of
/// checks ended.
pub(super) fn percentile(timings: &[Timing], percent: usize) -> Option<u64> {
    let mut times: Vec<f64> =
        timings.iter().filter(|timing| timing.up).map(|timing| timing.ms).collect();
    times.sort_by(f64::total_cmp);
    let rank = (times.len() * percent).div_ceil(100);
    let ms = times.get(rank.checked_sub(1)?)?;
    Some(ms.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_checks_that_succeeded() {
        let timing =
            |(place, ms): (usize, f64)| Timing { at: Timestamp::UNIX_EPOCH, ms, up: place != 0 };
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
}
