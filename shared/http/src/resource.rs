//! JSON shapes of the API's resources, fields in the order of its tables.

mod audit;
mod calendar;
mod channel;
mod check;
mod configuration;
mod event;
mod evidence;
mod heartbeat;
mod issue;
mod member;
mod monitoring;
mod outage;
mod outcome;
mod report;
mod site;
mod site_group;
mod team;
mod team_report;
mod time_zone;
mod token;
mod user;

use vedette_domain::id::SiteId;

pub use audit::AuditEntryResource;
pub use calendar::CalendarResource;
pub use channel::{ChannelResource, NewChannelResource};
pub use check::{CheckResource, SiteSummary};
pub use configuration::ConfigurationResource;
pub use event::TeamEventResource;
pub use evidence::EvidenceResource;
pub use heartbeat::{HeartbeatResource, HeartbeatSummary, PingKeyResource, RunResource};
pub use issue::{IssueParts, IssueResource};
pub use member::{InvitationResource, MemberResource, NewInvitationResource};
pub use monitoring::MonitoringResource;
pub use outage::OutageResource;
pub use outcome::SitesOutcome;
pub use report::{PerformanceResource, UptimeResource};
pub use site::SiteResource;
pub use site_group::SiteGroupsResource;
pub use team::TeamResource;
pub use team_report::TeamReportResource;
pub use time_zone::{TimeZoneResource, UserTimeZoneResource};
pub use token::{NewTokenResource, TokenResource};
pub use user::{MeResource, UserResource};
pub use vedette_domain::expectations::ExpectationsResource;
pub use vedette_domain::maintenance::WindowResource;
pub use vedette_domain::status_pages::{IncidentResource, StatusPageResource};
use vedette_domain::time::{wire_time, wire_time_or_null};

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
