//! What readers of a status page are served.

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::incident::{Impact, IncidentStatus};
use crate::checks::history::DayUptime;
use crate::checks::percentage::Percentage;
use crate::id::{ComponentId, IncidentId};
use crate::time_zone::NamedZone;

/// The version of the stored form. A process refuses a later one than it knows.
pub const VERSION: u32 = 1;

/// A status page as it was published: everything that readers are served. It contains only names and texts that the
/// team wrote for its readers, states, figures, times, and ids that have a meaning on this page alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedPage {
    /// [`VERSION`].
    pub version: u32,
    /// When it was composed.
    pub generated_at: Timestamp,
    /// Since when no component has changed its state; absent in pages of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged_since: Option<Timestamp>,
    /// The page's name.
    pub name: String,
    /// A message to all readers; null if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The time zone in which times are shown.
    #[serde(default, skip_serializing_if = "NamedZone::is_utc")]
    pub zone: NamedZone,
    /// Whether search engines must not list it.
    #[serde(default)]
    pub is_unlisted: bool,
    /// Whether readers can subscribe to its incidents by email.
    #[serde(rename = "subscriptions", default, skip_serializing_if = "std::ops::Not::not")]
    pub offers_subscriptions: bool,
    /// The last of the days that components show, in UTC.
    pub today: Date,
    /// Its components, in groups.
    pub groups: Vec<PublishedGroup>,
    /// Incidents that are not resolved, then those that were resolved within 90 days; of both, the newest comes first.
    pub incidents: Vec<PublishedIncident>,
    /// Maintenance that takes place now or is planned; the earliest comes first.
    pub windows: Vec<PublishedWindow>,
}

/// Components that are shown together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedGroup {
    /// Its heading, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its components.
    pub components: Vec<PublishedComponent>,
}

/// A component with its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedComponent {
    /// Identity on this page.
    pub id: ComponentId,
    /// Its published name.
    pub name: String,
    /// Its state.
    pub state: ComponentState,
    /// Minutes between two of its checks; absent if none run, and in pages of earlier versions.
    #[serde(rename = "cadence", default, skip_serializing_if = "Option::is_none")]
    pub cadence_minutes: Option<u32>,
    /// The last 90 days, oldest first; the last one is [`PublishedPage::today`].
    #[serde(with = "letters")]
    pub days: Vec<DayUptime>,
    /// Its uptime over the last 30 days; `None` without checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime: Option<Percentage>,
    /// Its mean response time in the last hour with checks, in milliseconds, if the team publishes it, and if the
    /// component is neither down nor unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ms: Option<u32>,
}

/// The state of a component, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComponentState {
    /// Nothing says that it does not work.
    Operational,
    /// No check says whether it works.
    Unknown,
    /// The team maintains it.
    Maintenance,
    /// It works, but not as it should.
    Degraded,
    /// It does not work.
    Down,
}

impl ComponentState {
    /// All of them, from best to worst.
    pub const ALL: [Self; 5] =
        [Self::Operational, Self::Unknown, Self::Maintenance, Self::Degraded, Self::Down];

    /// The value in stored pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operational => "operational",
            Self::Unknown => "unknown",
            Self::Maintenance => "maintenance",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}

/// An incident that people wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedIncident {
    /// Identity on this page.
    pub id: IncidentId,
    /// What is or was wrong, in one sentence.
    pub title: String,
    /// How much it affects the components that it concerns.
    pub impact: Impact,
    /// The current status.
    pub status: IncidentStatus,
    /// The components that it concerns, in the order in which they are shown.
    pub components: Vec<ComponentId>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it was resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
    /// By when the team promises the next update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_update_by: Option<Timestamp>,
    /// What the team wrote; the newest comes first. There is at least one.
    pub updates: Vec<PublishedUpdate>,
}

/// An update of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedUpdate {
    /// When it was written.
    pub at: Timestamp,
    /// The status from then on.
    pub status: IncidentStatus,
    /// What people wrote. It may have several lines.
    pub text: String,
}

/// Planned maintenance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedWindow {
    /// Identity on this page: hexadecimal digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it starts or started.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// The components that it concerns, in the order in which they are shown.
    pub components: Vec<ComponentId>,
}

/// What a page says about everything at once, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageSummary {
    /// Everything works.
    Operational,
    /// No check says whether anything works.
    Unknown,
    /// The team maintains something, and everything else works.
    Maintenance,
    /// Something does not work as it should.
    Degraded,
    /// Something does not work.
    PartialOutage,
    /// Nothing works.
    MajorOutage,
}

impl PublishedPage {
    /// All components, in the order in which they are shown.
    pub fn components(&self) -> impl Iterator<Item = &PublishedComponent> {
        self.groups.iter().flat_map(|group| &group.components)
    }

    /// The component with an id.
    pub fn component(&self, id: ComponentId) -> Option<&PublishedComponent> {
        self.components().find(|component| component.id == id)
    }

    /// The incidents that are not resolved, newest first.
    pub fn unresolved(&self) -> impl Iterator<Item = &PublishedIncident> {
        self.incidents.iter().filter(|incident| incident.status != IncidentStatus::Resolved)
    }

    /// The shortest and the longest time between two checks of a component, in minutes; `None` if none run.
    pub fn cadences(&self) -> Option<(u32, u32)> {
        let cadences = || self.components().filter_map(|component| component.cadence_minutes);
        cadences().min().zip(cadences().max())
    }

    /// The mean uptime of the components that have been checked, rounded down.
    pub fn uptime(&self) -> Option<Percentage> {
        Percentage::mean(self.components().filter_map(|component| component.uptime))
    }

    /// The mean of the response times that are published, in milliseconds.
    pub fn response_ms(&self) -> Option<u32> {
        let times = self.components().filter_map(|component| component.response_ms);
        let (sum, count) = times.fold((0_u64, 0_u64), |(sum, count), response_ms| {
            (sum.saturating_add(u64::from(response_ms)), count.saturating_add(1))
        });
        u32::try_from(sum.checked_div(count)?).ok()
    }

    /// What the page says about everything at once: the worst that its components and unresolved incidents say.
    pub fn summary(&self) -> PageSummary {
        let states = || self.components().map(|component| component.state);
        let known = states().filter(|state| *state != ComponentState::Unknown);
        let worst = match known.max() {
            None => PageSummary::Unknown,
            // A component about which nothing is known may work.
            Some(ComponentState::Down) if states().all(|state| state == ComponentState::Down) => {
                PageSummary::MajorOutage
            }
            Some(ComponentState::Down) => PageSummary::PartialOutage,
            Some(ComponentState::Degraded) => PageSummary::Degraded,
            Some(ComponentState::Maintenance) => PageSummary::Maintenance,
            Some(ComponentState::Operational | ComponentState::Unknown) => PageSummary::Operational,
        };
        let written = self.unresolved().map(|incident| match incident.impact {
            Impact::None => PageSummary::Operational,
            Impact::Minor => PageSummary::Degraded,
            Impact::Major => PageSummary::PartialOutage,
            Impact::Critical => PageSummary::MajorOutage,
        });
        written.fold(worst, PageSummary::max)
    }
}

impl PublishedWindow {
    /// Whether it takes place at an instant.
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.starts_at <= at && at < self.ends_at
    }
}

/// Days as a letter each.
mod letters {
    use super::{DayUptime, Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        days: &[DayUptime],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&days.iter().map(|day| day.letter()).collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<DayUptime>, D::Error> {
        Ok(String::deserialize(deserializer)?.chars().map(DayUptime::read).collect())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// A page of components with these uptimes, in failed checks of 10,000, and response times.
    fn page(components: &[(Option<u64>, Option<u32>)]) -> PublishedPage {
        let components = components.iter().map(|&(failed, response_ms)| PublishedComponent {
            id: ComponentId(Uuid::nil()),
            name: "Shop".to_owned(),
            state: ComponentState::Operational,
            cadence_minutes: None,
            days: Vec::new(),
            uptime: failed.and_then(|failed| Percentage::of(10_000 - failed, 10_000)),
            response_ms,
        });
        PublishedPage {
            version: VERSION,
            generated_at: Timestamp::UNIX_EPOCH,
            unchanged_since: None,
            name: "Meridian".to_owned(),
            message: None,
            zone: NamedZone::utc(),
            is_unlisted: false,
            offers_subscriptions: false,
            today: Date::ZERO,
            groups: vec![PublishedGroup { name: None, components: components.collect() }],
            incidents: Vec::new(),
            windows: Vec::new(),
        }
    }

    #[test]
    fn the_figures_of_a_page_are_the_means_of_what_is_known_of_its_components() {
        for (components, percentage, response_ms) in [
            (&[][..], None, None),
            (&[(None, None)], None, None),
            (&[(Some(0), Some(100)), (Some(0), None)], Some(100.0), Some(100)),
            // Rounded down, so that 100 % stays with those without any failure.
            (&[(Some(0), Some(100)), (Some(1), Some(201)), (None, None)], Some(99.99), Some(150)),
            (&[(Some(6), None), (Some(6), None), (Some(6), None)], Some(99.94), None),
            (&[(None, Some(u32::MAX)), (None, Some(u32::MAX))], None, Some(u32::MAX)),
        ] {
            let page = page(components);
            assert_eq!(page.uptime().map(Percentage::value), percentage, "{components:?}");
            assert_eq!(page.response_ms(), response_ms, "{components:?}");
        }
    }
}
