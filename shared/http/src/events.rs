//! The events of a team's sites: issues that opened, and issues that were resolved.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use vedette_domain::id::{IssueId, TeamId, UserId};
use vedette_domain::issues::opening::Opening;
use vedette_domain::issues::past_tense::past;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Responder, TimelineKey};
use vedette_store::{IndexRow, IssueWithMonitor, Store, StoreError};

/// The most events that are listed, the newest ones. Each may need to read an issue.
pub const EVENTS_MAX: usize = 500;

/// What happened to an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TeamEventKind {
    /// It opened, or opened again.
    Opened,
    /// It was resolved.
    Resolved,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamEvent {
    /// When it happened.
    pub at: Timestamp,
    /// The issue.
    pub issue: IssueId,
    /// What happened to it.
    pub kind: TeamEventKind,
    /// The member who did it; `None` if a check did.
    pub by: Option<UserId>,
    /// What the issue said at the opening that the event belongs to, or what it says now if that is no longer stored. It
    /// is in the past tense if the problem is over.
    pub summary: String,
    /// How long the problem lasted, if this is its end.
    pub lasted: Option<SignedDuration>,
}

impl TeamEvent {
    /// Its place among the events of its team. Texts of later events are greater.
    pub fn place(&self) -> String {
        place(self.at, self.issue, self.kind)
    }
}

fn place(at: Timestamp, issue: IssueId, kind: TeamEventKind) -> String {
    format!("{}~{issue}~{}", place_of_time(at), matches!(kind, TeamEventKind::Resolved) as u8)
}

/// With milliseconds, like a timeline, so that all have the same length.
fn place_of_time(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Which event is the first of a page.
#[derive(Debug, Clone, Copy)]
pub enum FirstEvent<'a> {
    /// The one after so many newer events.
    After(usize),
    /// The newest one before this place.
    Before(&'a str),
}

/// A page of a team's events, newest first.
#[derive(Debug)]
pub struct TeamEvents {
    events: Vec<TeamEvent>,
    issues: BTreeMap<IssueId, IssueWithMonitor>,
    /// Whether there are older events that are listed.
    pub has_more: bool,
}

/// An entry of a timeline that is an event.
#[derive(Debug, Clone, Copy)]
struct Moment {
    at: Timestamp,
    issue: IssueId,
    kind: TeamEventKind,
    by: Option<UserId>,
    /// The opening that it belongs to.
    opened_at: Timestamp,
}

impl TeamEvents {
    /// Reads a page of `count` events.
    ///
    /// # Errors
    ///
    /// A fault of the table.
    pub async fn load(
        store: &Store,
        team: TeamId,
        first: FirstEvent<'_>,
        count: usize,
    ) -> Result<Self, StoreError> {
        let (active, resolved) =
            futures::try_join!(store.issue_index(team, true), store.issue_index(team, false))?;
        let mut rows: Vec<IndexRow> = active.into_iter().chain(resolved).collect();
        rows.sort_unstable_by_key(|row| Reverse((row.last_event(), row.id)));
        // The newest N events belong to the N issues that changed last: each of these has an event that is newer than any
        // event of the other issues. One more issue says whether there are more events.
        let newer = match first {
            FirstEvent::After(newer) => newer,
            FirstEvent::Before(place) => newer_issues(&rows, place),
        };
        rows.truncate((newer + count).min(EVENTS_MAX) + 1);
        let ids: Vec<IssueId> = rows.iter().map(|row| row.id).collect();
        let issues = store.issues_with_monitors(ids).await?;
        let mut moments: Vec<Moment> = issues.values().flat_map(|of| moments(&of.issue)).collect();
        moments.sort_unstable_by_key(|moment| Reverse((moment.at, moment.issue, moment.kind)));
        let start = match first {
            FirstEvent::After(newer) => newer,
            FirstEvent::Before(before) => {
                moments.partition_point(|Moment { at, issue, kind, .. }| {
                    *before <= *place(*at, *issue, *kind)
                })
            }
        };
        let end = (start + count).min(EVENTS_MAX);
        let has_more = moments.len() > end && end < EVENTS_MAX;
        let shown: Vec<Moment> = moments.into_iter().take(end).skip(start).collect();
        let openings: Vec<_> =
            shown.iter().map(|moment| (moment.issue, moment.opened_at)).collect();
        let openings = store.openings_at(BTreeSet::from_iter(openings)).await?;
        let events = shown
            .into_iter()
            .filter_map(|moment| Some(event(moment, &issues.get(&moment.issue)?.issue, &openings)))
            .collect();
        Ok(Self { events, issues, has_more })
    }

    /// The events with their issues and sites.
    pub fn iter(&self) -> impl Iterator<Item = (&TeamEvent, &IssueWithMonitor)> {
        self.events.iter().filter_map(|event| Some((event, self.issues.get(&event.issue)?)))
    }

    /// Whether the team has no events at all.
    pub fn is_blank(&self) -> bool {
        self.issues.is_empty()
    }

    /// Where the next page begins, if there is one.
    pub fn next_page(&self) -> Option<String> {
        self.events.last().filter(|_| self.has_more).map(TeamEvent::place)
    }
}

/// How many issues may have events at or after a place: their last event is not before it.
fn newer_issues(rows: &[IndexRow], place: &str) -> usize {
    let is_newer = |row: &IndexRow| {
        let last = place_of_time(row.last_event());
        place.get(..last.len()).unwrap_or(place) <= &*last
    };
    rows.partition_point(is_newer)
}

/// The events of an issue.
fn moments(issue: &Issue) -> impl Iterator<Item = Moment> {
    let mut opened_at = Timestamp::UNIX_EPOCH;
    issue.timeline.entries().iter().filter_map(move |entry| {
        let kind = match entry.key {
            TimelineKey::Opened => {
                opened_at = entry.timestamp;
                TeamEventKind::Opened
            }
            TimelineKey::Acknowledged => return None,
            TimelineKey::Resolved => TeamEventKind::Resolved,
        };
        let by = entry.by.and_then(Responder::member);
        Some(Moment { at: entry.timestamp, issue: issue.id, kind, by, opened_at })
    })
}

fn event(
    Moment { at, issue: id, kind, by, opened_at }: Moment,
    issue: &Issue,
    openings: &[Opening],
) -> TeamEvent {
    let opening = openings.iter().find(|one| one.issue == id && one.opened_at == opened_at);
    let said = opening.map_or(&issue.summary, |opening| &opening.summary);
    let is_now = issue.lifecycle.is_active() && issue.lifecycle.opened_at() == opened_at;
    let summary = if is_now { said.clone() } else { past(id.fingerprint(), said) };
    let problems = issue.problems();
    let lasted = problems
        .iter()
        .find(|problem| kind == TeamEventKind::Resolved && problem.opened_at == opened_at)
        .map(|problem| problem.lasted(at));
    TeamEvent { at, issue: id, kind, by, summary, lasted }
}
