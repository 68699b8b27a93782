//! Composes the published page from what the team has chosen and what checks have found.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::incident::{Impact, PageIncident};
use super::page::{Component, StatusPage};
use super::published::{
    ComponentState, PublishedComponent, PublishedGroup, PublishedIncident, PublishedPage,
    PublishedUpdate, PublishedWindow, VERSION,
};
use crate::accounts::team::Team;
use crate::checks::history::{
    COUNTED_DAYS, CheckCount, DayUptime, Retention, day_of, recent_dates,
};
use crate::checks::tool_state::ToolState;
use crate::id::{ComponentId, MonitorId};
use crate::issues::Fingerprint;
use crate::maintenance::MaintenanceWindow;
use crate::sites::tag::{Tag, Tags};

/// How long resolved incidents are shown.
const INCIDENTS_SHOWN_FOR: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How far ahead planned maintenance is shown.
const WINDOWS_SHOWN_AHEAD: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The most text of incidents on a page, in bytes. The newest updates are shown, and that of an open incident in any case.
const INCIDENTS_SHOWN_MAX: usize = 64 * 1024;
/// The name of a window whose own name is not published.
const WINDOW_NAME: &str = "Maintenance";

/// What checks have found about a site, or a job has reported.
#[derive(Debug, Clone)]
pub struct MonitorFacts {
    /// The state of its status checks, or of its reports.
    pub checks: ToolState,
    /// Whether status checks of it run, or pings are expected.
    pub is_monitored: bool,
    /// Minutes between two status checks, as the settings count them; `None` for a heartbeat.
    pub cadence_minutes: Option<u32>,
    /// How long that is; [`SignedDuration::MAX`] for a heartbeat, whose deadline tells when it is late.
    pub cadence: SignedDuration,
    /// Its active issues.
    pub active: Vec<Fingerprint>,
    /// Its tags.
    pub tags: Tags,
}

/// A site of which no check has completed for this many cadences is unknown to readers.
const MISSED_CADENCES: i32 = 3;

impl MonitorFacts {
    /// Until when its checks say something about it, if no further one completes. `None` if no checks run, and the
    /// earliest instant if none has completed.
    pub(super) fn known_until(&self) -> Option<Timestamp> {
        let checked_at = self.checks.latest_completed().map(|latest| latest.id().created_at());
        let wait = self.cadence.saturating_mul(MISSED_CADENCES);
        let until = |at: Timestamp| at.saturating_add(wait).unwrap_or(Timestamp::MAX);
        self.is_monitored.then(|| checked_at.map_or(Timestamp::MIN, until))
    }
}

/// The page as of an instant. Sites and heartbeats without facts are gone. `before` is what was published until then.
pub fn publish(
    page: &StatusPage,
    team: &Team,
    monitors: &BTreeMap<MonitorId, MonitorFacts>,
    incidents: &[PageIncident],
    before: Option<&PublishedPage>,
    now: Timestamp,
) -> PublishedPage {
    let groups = page.groups.iter().map(|group| PublishedGroup {
        name: group.name.clone(),
        components: group
            .components
            .iter()
            .map(|component| {
                let facts = monitors.get(&component.monitor);
                published_component(component, facts, team, incidents, now)
            })
            .collect(),
    });
    let groups: Vec<_> = groups.collect();
    let states = |groups: &[PublishedGroup]| -> Vec<_> {
        let components = groups.iter().flat_map(|group| &group.components);
        components.map(|component| (component.id, component.state)).collect()
    };
    let same = before.filter(|before| states(&before.groups) == states(&groups));
    let unchanged_since =
        same.map_or(now, |same| same.unchanged_since.unwrap_or(same.generated_at));
    PublishedPage {
        version: VERSION,
        generated_at: now,
        unchanged_since: Some(unchanged_since),
        name: page.name.clone(),
        message: page.message.clone(),
        zone: team.zone.clone(),
        is_unlisted: page.is_unlisted(),
        offers_subscriptions: page.offers_subscriptions,
        today: day_of(now),
        groups,
        windows: shown_windows(page, team, monitors, now),
        incidents: shown_incidents(page, incidents, now),
    }
}

/// The state of a component: that of its site or heartbeat, or what people wrote about it if that is worse.
pub fn component_state(
    monitor: Option<&MonitorFacts>,
    is_in_maintenance: bool,
    written: impl IntoIterator<Item = Impact>,
    now: Timestamp,
) -> ComponentState {
    let checked = match monitor {
        _ if is_in_maintenance => ComponentState::Maintenance,
        Some(monitor) => monitor_state(monitor, now),
        None => ComponentState::Unknown,
    };
    let written = written.into_iter().filter_map(|impact| match impact {
        Impact::None => None,
        Impact::Minor | Impact::Major => Some(ComponentState::Degraded),
        Impact::Critical => Some(ComponentState::Down),
    });
    written.fold(checked, ComponentState::max)
}

/// The state of a site or heartbeat according to its checks. Issues stay active while no checks come, but nothing would
/// notice that they are over.
fn monitor_state(monitor: &MonitorFacts, now: Timestamp) -> ComponentState {
    if monitor.known_until().is_none_or(|until| until <= now) {
        return ComponentState::Unknown;
    }
    let states = monitor.active.iter().filter_map(|fingerprint| affects(*fingerprint));
    states.max().unwrap_or(ComponentState::Operational)
}

/// The state that an issue gives to a component; `None` if visitors of the site do not notice it.
pub const fn affects(fingerprint: Fingerprint) -> Option<ComponentState> {
    match fingerprint {
        Fingerprint::StatusDown | Fingerprint::HeartbeatDown => Some(ComponentState::Down),
        Fingerprint::StatusPartial
        | Fingerprint::StatusExpectation
        | Fingerprint::StatusSlow
        | Fingerprint::SslInvalid
        | Fingerprint::DnsLookupFailed
        | Fingerprint::HeartbeatRunningLong => Some(ComponentState::Degraded),
        Fingerprint::SslExpiring
        | Fingerprint::DnsRecordsMissing
        | Fingerprint::DnsRecordsChanged
        | Fingerprint::DnsDomainExpiring
        | Fingerprint::BrokenLinksThreshold
        | Fingerprint::PerformanceBudget => None,
    }
}

fn published_component(
    component: &Component,
    monitor: Option<&MonitorFacts>,
    team: &Team,
    incidents: &[PageIncident],
    now: Timestamp,
) -> PublishedComponent {
    let retention = team.retention(now);
    let is_in_maintenance =
        team.windows.until(component.monitor, tags(monitor), now, now).is_some();
    let concerning = incidents
        .iter()
        .filter(|incident| !incident.is_resolved() && incident.components.contains(&component.id));
    let impacts = concerning.map(|incident| incident.impact);
    let checks = monitor.map(|monitor| &monitor.checks);
    let state = component_state(monitor, is_in_maintenance, impacts, now);
    // The last response time says nothing about a site that does not respond now.
    let has_response = !matches!(state, ComponentState::Down | ComponentState::Unknown);
    let response = checks.filter(|_| component.publishes_response_time && has_response);
    PublishedComponent {
        id: component.id,
        name: component.name.clone(),
        state,
        cadence_minutes: monitor.filter(|of| of.is_monitored).and_then(|of| of.cadence_minutes),
        days: days(checks, retention, now),
        uptime: checks
            .and_then(|checks| checks.recent_checks(COUNTED_DAYS, retention))
            .and_then(CheckCount::uptime),
        response_ms: response
            .and_then(|checks| checks.hour_means(now).into_iter().rev().flatten().next()),
    }
}

fn days(checks: Option<&ToolState>, retention: Retention, now: Timestamp) -> Vec<DayUptime> {
    let of_day = |date| match checks {
        Some(checks) if retention.reaches(date) => checks.uptime_on(date, now),
        _ => DayUptime::Unknown,
    };
    recent_dates(retention.today).map(of_day).collect()
}

/// The incidents that are shown, open ones first, and newest first among each.
fn shown_incidents(
    page: &StatusPage,
    incidents: &[PageIncident],
    now: Timestamp,
) -> Vec<PublishedIncident> {
    let since = now.saturating_sub(INCIDENTS_SHOWN_FOR).unwrap_or(now);
    let mut shown: Vec<&PageIncident> = incidents
        .iter()
        .filter(|incident| incident.resolved_at().is_none_or(|resolved| resolved >= since))
        .collect();
    shown.sort_by_key(|incident| {
        (incident.is_resolved(), std::cmp::Reverse((incident.started_at, incident.id)))
    });
    let mut left = INCIDENTS_SHOWN_MAX;
    shown.into_iter().filter_map(|incident| published_incident(page, incident, &mut left)).collect()
}

/// An incident with as many of its newest updates as there is room left; `None` if there is none for a resolved one.
fn published_incident(
    page: &StatusPage,
    incident: &PageIncident,
    left: &mut usize,
) -> Option<PublishedIncident> {
    let mut updates = Vec::new();
    for update in incident.updates.iter().rev() {
        let is_kept = updates.is_empty() && !incident.is_resolved();
        let room = left.checked_sub(update.text.len());
        if room.is_none() && !is_kept {
            break;
        }
        *left = room.unwrap_or(0);
        let text = update.text.clone();
        updates.push(PublishedUpdate { at: update.at, status: update.status, text });
    }
    if updates.is_empty() {
        return None;
    }
    let components = page.components().map(|component| component.id);
    Some(PublishedIncident {
        id: incident.id,
        title: incident.title.clone(),
        impact: incident.impact,
        status: incident.status(),
        components: components.filter(|id| incident.components.contains(id)).collect(),
        started_at: incident.started_at,
        resolved_at: incident.resolved_at(),
        next_update_by: incident.next_update_by.filter(|_| !incident.is_resolved()),
        updates,
    })
}

/// The windows that are active or start soon, each with its current or next instance, in the order in which they start.
fn shown_windows(
    page: &StatusPage,
    team: &Team,
    monitors: &BTreeMap<MonitorId, MonitorFacts>,
    now: Timestamp,
) -> Vec<PublishedWindow> {
    let until = now.saturating_add(WINDOWS_SHOWN_AHEAD).unwrap_or(now);
    let mut windows: Vec<_> = team
        .windows
        .iter()
        .filter_map(|window| {
            let instance = window.active_at(now).or_else(|| window.next_after(now))?;
            let components: Vec<_> = covered(page, window, monitors).collect();
            (instance.start < until && !components.is_empty()).then(|| PublishedWindow {
                id: window_id(page, window, instance.start),
                name: match page.names_windows {
                    true => window.name.clone(),
                    false => WINDOW_NAME.to_owned(),
                },
                starts_at: instance.start,
                ends_at: instance.end,
                components,
            })
        })
        .collect();
    windows.sort_by(|a, b| (a.starts_at, &a.id).cmp(&(b.starts_at, &b.id)));
    windows
}

/// The components whose sites and heartbeats a window is for.
pub(super) fn covered(
    page: &StatusPage,
    window: &MaintenanceWindow,
    monitors: &BTreeMap<MonitorId, MonitorFacts>,
) -> impl Iterator<Item = ComponentId> {
    let is_covered = move |component: &&Component| {
        window.covers(component.monitor, tags(monitors.get(&component.monitor)))
    };
    page.components().filter(is_covered).map(|component| component.id)
}

/// The tags of a site or heartbeat; none if it is gone.
fn tags(monitor: Option<&MonitorFacts>) -> impl Iterator<Item = &Tag> + Clone {
    monitor.into_iter().flat_map(|monitor| &monitor.tags)
}

/// An id that two pages that show the same window do not share, and that is the same whenever the page is composed.
fn window_id(page: &StatusPage, window: &MaintenanceWindow, start: Timestamp) -> String {
    let mut hash = Sha256::new();
    hash.update(page.id.0.as_bytes());
    hash.update(window.id.0.as_bytes());
    hash.update(start.as_second().to_be_bytes());
    HEXLOWER.encode(&hash.finalize()[..16])
}
