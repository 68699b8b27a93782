//! The figures of a report as CSV.

use std::fmt::Write as _;

use vedette_domain::checks::percentage::Percentage;
use vedette_domain::reports::{CheckCounts, MonitorFigures};

use crate::outages::quoted;

/// A row for each site. Unknown values are empty.
pub(super) fn csv(sites: &[&MonitorFigures]) -> String {
    let mut csv = String::from(
        "site,name,host,checks,up_checks,uptime_percentage,checks_in_maintenance,checks_not_run,\
         checks_missed,outages,downtime_seconds,median_response_time_ms\r\n",
    );
    for site in sites {
        let CheckCounts { checks, up, in_maintenance, failed, missed } = site.counts;
        let uptime = Percentage::of(up, checks).map(|uptime| uptime.value().to_string());
        // Writing to a string cannot fail.
        let _ = write!(
            csv,
            "{},{},{},{checks},{up},{},{in_maintenance},{failed},{missed},{},{},{}\r\n",
            site.id,
            quoted(&site.name),
            quoted(site.host.as_deref().unwrap_or_default()),
            uptime.unwrap_or_default(),
            site.outage_count,
            site.down().as_secs(),
            site.median_ms.map(|ms| ms.to_string()).unwrap_or_default(),
        );
    }
    csv
}
