//! How long a site was down in a window.

use jiff::{SignedDuration, Timestamp, ToSpan as _};

use crate::checks::history::{Day, day_start};
use crate::issues::Problem;
use crate::maintenance::Instance;
use crate::time_span::{TimeSpan, total, union, without};

/// What is known about the downtime of a site.
#[derive(Debug, Clone)]
pub struct SiteDowntime {
    /// The time of its outages.
    outages: Vec<TimeSpan>,
    /// The time of its maintenance.
    maintenance: Vec<TimeSpan>,
}

impl SiteDowntime {
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

    /// The outages in a window.
    pub fn outages(&self, window: TimeSpan) -> Vec<TimeSpan> {
        union(self.outages.iter().map(|outage| outage.within(window)))
    }

    /// The outages in a window, without the time in maintenance.
    pub fn outside_maintenance(&self, window: TimeSpan) -> Vec<TimeSpan> {
        without(&self.outages(window), &self.maintenance)
    }

    /// How long the site was down in maintenance in a window, as its days tell: each check that failed counts for one
    /// cadence. On days that are partly outside the window, it was not down for longer than its maintenance in the window.
    pub(super) fn failed_in_maintenance(
        &self,
        window: TimeSpan,
        days: &[Day],
        cadence_minutes: u32,
    ) -> SignedDuration {
        let cadence = SignedDuration::from_mins(cadence_minutes.into());
        let of_day = |day: &Day| {
            let whole =
                TimeSpan::new(day_start(day.date), day_start(day.date.saturating_add(1.day())));
            let span = whole.within(window);
            let most = match span == whole {
                true => whole.lasts(),
                false => total(&union(self.maintenance.iter().map(|of| of.within(span)))),
            };
            let of = day.sums.in_maintenance;
            let failed = i32::try_from(of.checks.saturating_sub(of.up)).unwrap_or(i32::MAX);
            cadence.saturating_mul(failed).min(most)
        };
        days.iter().map(of_day).fold(SignedDuration::ZERO, SignedDuration::saturating_add)
    }
}
