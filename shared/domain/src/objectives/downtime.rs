//! How long a site was down in a window.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

use super::Objective;
use crate::checks::history::{Day, day_start};
use crate::issues::Problem;
use crate::maintenance::Instance;
use crate::time_span::{TimeSpan, total, union, without};

/// What is known about the downtime of a site.
#[derive(Debug, Clone)]
pub struct Downtime {
    /// The time of its outages.
    outages: Vec<TimeSpan>,
    /// The time of its maintenance.
    maintenance: Vec<TimeSpan>,
}

impl Downtime {
    /// The outages of a site until `now`, and its maintenance.
    pub fn of(
        outages: impl IntoIterator<Item = Problem>,
        maintenance: &[Instance],
        now: Timestamp,
    ) -> Self {
        let outages = outages.into_iter();
        let outages = outages
            .map(|of| TimeSpan::new(of.began_at, of.ended_at.map_or(now, |end| end.min(now))));
        let maintenance = maintenance.iter().map(|of| TimeSpan::new(of.start, of.end));
        Self { outages: union(outages), maintenance: union(maintenance) }
    }

    /// What counts for an objective in a window: the outages, without maintenance unless the objective counts it.
    pub fn counted(&self, objective: Objective, window: TimeSpan) -> Vec<TimeSpan> {
        let down = union(self.outages.iter().map(|outage| outage.within(window)));
        match objective.counts_maintenance {
            true => down,
            false => without(&down, &self.maintenance),
        }
    }

    /// The maintenance during outages.
    fn in_maintenance(&self, window: TimeSpan) -> SignedDuration {
        let down = union(self.outages.iter().map(|outage| outage.within(window)));
        total(&down).saturating_sub(total(&without(&down, &self.maintenance)))
    }
}

/// How long a site was down in maintenance without an outage, as far as its days tell: its checks that failed in
/// maintenance, each of which counts for one cadence, without the time in maintenance that its outages last anyway.
pub(super) fn failed_in_maintenance(
    days: &[Day],
    downtime: &Downtime,
    window: TimeSpan,
    cadence_minutes: u32,
) -> SignedDuration {
    let cadence = SignedDuration::from_mins(cadence_minutes.into());
    let of_day = |day: &Day| {
        let span = span_of(day.date).within(window);
        let of = day.sums.in_maintenance;
        let failed = i32::try_from(of.checks.saturating_sub(of.up)).unwrap_or(i32::MAX);
        let down = cadence.saturating_mul(failed).saturating_sub(downtime.in_maintenance(span));
        down.clamp(SignedDuration::ZERO, span.lasts())
    };
    days.iter().map(of_day).fold(SignedDuration::ZERO, SignedDuration::saturating_add)
}

fn span_of(date: Date) -> TimeSpan {
    TimeSpan::new(day_start(date), day_start(date.saturating_add(1.day())))
}
