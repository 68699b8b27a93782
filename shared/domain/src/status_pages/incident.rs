//! Incidents: what people write about a problem, for the readers of a status page.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::{ComponentId, IncidentId};

/// The most incidents of a status page.
pub const INCIDENTS_MAX: u32 = 100;
/// The longest title, in characters.
pub(super) const INCIDENT_TITLE_MAX: usize = 200;
/// The most updates of an incident.
pub const UPDATES_MAX: usize = 50;
/// The longest text of an update, in characters.
pub(super) const UPDATE_TEXT_MAX: usize = 1_000;

/// The state of the work on an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IncidentStatus {
    /// The team is looking for the cause.
    Investigating,
    /// The team knows the cause.
    Identified,
    /// The team has fixed the cause, and is watching whether that helps.
    Monitoring,
    /// It is over.
    Resolved,
}

impl IncidentStatus {
    /// All of them, in the order in which they usually follow one another.
    pub const ALL: [Self; 4] =
        [Self::Investigating, Self::Identified, Self::Monitoring, Self::Resolved];

    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Investigating => "investigating",
            Self::Identified => "identified",
            Self::Monitoring => "monitoring",
            Self::Resolved => "resolved",
        }
    }

    /// The status as the readers of a page see it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Investigating => "Investigating",
            Self::Identified => "Identified",
            Self::Monitoring => "Monitoring",
            Self::Resolved => "Resolved",
        }
    }

    /// The status with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == value)
    }
}

/// How much an incident affects the components that it concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// Not at all.
    None,
    /// They are slow, or something small does not work.
    Minor,
    /// Something important does not work.
    Major,
    /// Nothing works.
    Critical,
}

impl fmt::Display for IncidentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Impact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Impact {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] = [Self::None, Self::Minor, Self::Major, Self::Critical];

    /// The value in the API, which is also that of Statuspage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::Critical => "critical",
        }
    }

    /// The impact with this value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|impact| impact.as_str() == value)
    }
}

/// An incident, as the team manages it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageIncident {
    /// Its unique ID, which readers see.
    pub id: IncidentId,
    /// What is wrong, in one sentence.
    pub title: String,
    /// How much it affects the components that it concerns.
    pub impact: Impact,
    /// The components that it concerns.
    #[serde(default)]
    pub components: BTreeSet<ComponentId>,
    /// When it started.
    pub started_at: Timestamp,
    /// By when the team promises the next update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_update_by: Option<Timestamp>,
    /// What the team wrote, oldest first. There is at least one update.
    pub updates: Vec<IncidentUpdate>,
    /// Rises with every write.
    pub rev: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// An update of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentUpdate {
    /// When it was written.
    pub at: Timestamp,
    /// The status from then on.
    pub status: IncidentStatus,
    /// What people wrote.
    pub text: String,
}

/// Why an incident is not saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IncidentRefusal {
    /// The page has [`INCIDENTS_MAX`] incidents.
    #[error("A status page has at most {INCIDENTS_MAX} incidents. Delete an old one.")]
    TooMany,
    /// The incident has [`UPDATES_MAX`] updates.
    #[error("An incident has at most {UPDATES_MAX} updates.")]
    TooManyUpdates,
    /// It concerns a component that the page does not have.
    #[error("The incident concerns a component that the status page does not have.")]
    UnknownComponent,
    /// It would start later than now.
    #[error("An incident cannot start in the future. Announce planned work as maintenance.")]
    StartsInFuture,
}

impl PageIncident {
    /// The current status.
    pub fn status(&self) -> IncidentStatus {
        self.updates.last().map_or(IncidentStatus::Investigating, |update| update.status)
    }

    /// Whether it is over.
    pub fn is_resolved(&self) -> bool {
        self.status() == IncidentStatus::Resolved
    }

    /// When it was resolved, if it is over.
    pub fn resolved_at(&self) -> Option<Timestamp> {
        let last = self
            .updates
            .iter()
            .rev()
            .take_while(|update| update.status == IncidentStatus::Resolved);
        last.last().map(|update| update.at)
    }
}
