//! JSON shapes of the API's resources, fields in the order of its tables.

mod calendar;
mod check;
mod evidence;
mod expectations;
mod issue;
mod monitoring;
mod outcome;
mod report;
mod site;
mod status_page;
mod team;
mod time_zone;
mod user;

use jiff::Timestamp;
use serde::Serializer;
use vedette_domain::id::SiteId;

pub use calendar::CalendarResource;
pub use check::{CheckResource, SiteSummary};
pub use evidence::EvidenceResource;
pub use expectations::ExpectationsResource;
pub use issue::{IssueParts, IssueResource};
pub use monitoring::MonitoringResource;
pub use outcome::SitesOutcome;
pub use report::{PerformanceResource, UptimeResource};
pub use site::SiteResource;
pub use status_page::{IncidentResource, StatusPageResource};
pub use team::TeamResource;
pub use time_zone::{TimeZoneResource, UserTimeZoneResource};
pub use user::{MeResource, UserResource};
pub use vedette_domain::maintenance::WindowResource;

/// Instants as the API writes them.
fn wire_time<S: Serializer>(instant: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&vedette_domain::time::wire(*instant))
}

/// Instants or null.
fn wire_time_or_null<S: Serializer>(
    instant: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match instant {
        Some(instant) => wire_time(instant, serializer),
        None => serializer.serialize_none(),
    }
}

/// Addresses of the API, as clients see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    base: String,
}

impl Links {
    /// Links under a base address that ends in `/api/v1`.
    pub fn new(base: impl Into<String>) -> Self {
        let mut base = base.into();
        base.truncate(base.trim_end_matches('/').len());
        Self { base }
    }

    /// The URL of a path below the base address, which begins with a slash.
    pub fn to(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The base address of the pages, if they are on the same host as the API.
    pub fn pages(&self) -> &str {
        self.base.strip_suffix("/api/v1").unwrap_or(&self.base)
    }

    /// The URL of a site.
    pub fn site(&self, id: SiteId) -> String {
        self.to(&format!("/sites/{id}"))
    }
}
