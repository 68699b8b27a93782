//! What a team has monitored: a site or a heartbeat.

use serde::{Deserialize, Serialize};

use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::{MonitorId, TeamId};
use crate::sites::settings::SiteOverrides;
use crate::sites::site::Site;
use crate::sites::tag::Tags;

/// A site or a heartbeat, for everything that does not depend on which of them it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Monitor {
    /// A job that pings. It is read first, because no site has all of its fields.
    Heartbeat(Box<Heartbeat>),
    /// A monitored URL.
    Site(Box<Site>),
}

/// Where a monitor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonitorRef {
    /// Its id.
    pub id: MonitorId,
    /// The team that owns it.
    pub team: TeamId,
}

impl From<&Site> for MonitorRef {
    fn from(site: &Site) -> Self {
        Self { id: site.id, team: site.team }
    }
}

impl From<&Heartbeat> for MonitorRef {
    fn from(heartbeat: &Heartbeat) -> Self {
        Self { id: heartbeat.id, team: heartbeat.team }
    }
}

impl From<&Monitor> for MonitorRef {
    fn from(monitor: &Monitor) -> Self {
        Self { id: monitor.id(), team: monitor.team() }
    }
}

/// Returns a field that both kinds have.
macro_rules! both {
    ($self:expr, $field:ident) => {
        match $self {
            Self::Heartbeat(heartbeat) => &heartbeat.$field,
            Self::Site(site) => &site.$field,
        }
    };
}

impl Monitor {
    /// Its id.
    pub fn id(&self) -> MonitorId {
        *both!(self, id)
    }

    /// The team that owns it.
    pub fn team(&self) -> TeamId {
        *both!(self, team)
    }

    /// Its display name.
    pub fn name(&self) -> &str {
        both!(self, name)
    }

    /// Free text, which is sent with notifications.
    pub fn notes(&self) -> Option<&str> {
        both!(self, notes).as_deref()
    }

    /// What it has in common with others.
    pub fn tags(&self) -> &Tags {
        both!(self, tags)
    }

    /// Increases with every change by a client.
    pub fn rev(&self) -> u64 {
        *both!(self, rev)
    }

    /// Version of what determines its runs. A run that began under another one is discarded.
    pub fn cfg(&self) -> u64 {
        *both!(self, cfg)
    }

    /// The site, if it is one.
    pub fn site(&self) -> Option<&Site> {
        match self {
            Self::Site(site) => Some(site),
            Self::Heartbeat(_) => None,
        }
    }

    /// The heartbeat, if it is one.
    pub fn heartbeat(&self) -> Option<&Heartbeat> {
        match self {
            Self::Site(_) => None,
            Self::Heartbeat(heartbeat) => Some(heartbeat),
        }
    }

    /// How it differs from the monitoring settings of its team.
    pub fn overrides(&self) -> SiteOverrides {
        self.site().map(|site| site.overrides.clone()).unwrap_or_default()
    }

    /// What its summaries begin with, where pages show its name instead: the host of a site.
    pub fn subject(&self) -> &str {
        self.site().map_or(Heartbeat::SUBJECT, |site| site.url.domain())
    }

    /// The same without what receivers of alerts must not see: the header that checks send, and what a job pings.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        match &mut self {
            Self::Site(site) => site.overrides.request_header = None,
            Self::Heartbeat(heartbeat) => heartbeat.ping_key = None,
        }
        self
    }

    /// The same without notes.
    #[must_use]
    pub fn without_notes(mut self) -> Self {
        match &mut self {
            Self::Site(site) => site.notes = None,
            Self::Heartbeat(heartbeat) => heartbeat.notes = None,
        }
        self
    }
}

impl From<Site> for Monitor {
    fn from(site: Site) -> Self {
        Self::Site(Box::new(site))
    }
}

impl From<Heartbeat> for Monitor {
    fn from(heartbeat: Heartbeat) -> Self {
        Self::Heartbeat(Box::new(heartbeat))
    }
}
