//! A maintenance window and its instances.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use super::recurrence::Recurrence;
use crate::configuration::ManagedBy;
use crate::id::{SiteId, WindowId};
use crate::input::{TextKind, TextRule};
use crate::sites::selector::Selector;
use crate::sites::tag::Tag;
use crate::time_zone::NamedZone;

/// The longest window, in minutes: 7 days.
pub const DURATION_MAX_MINUTES: u32 = 7 * 24 * 60;
/// The most sites that a window names.
pub const SITES_MAX: usize = 100;
/// The longest name, in characters.
pub(super) const WINDOW_NAME_MAX: usize = 100;
/// The years in which a window may start for the first time.
const YEARS: std::ops::RangeInclusive<i16> = 2000..=2199;
/// The rule for the start of a window: a local time, with or without seconds.
pub(super) const START: TextRule<DateTime> = TextRule {
    min: 0,
    max: usize::MAX,
    kind: TextKind::Pattern(r"^2[01][0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?$"),
    parse: |text| {
        parse_start(text).ok_or_else(|| {
            let (first, last) = YEARS.into_inner();
            format!("must be a local time from {first} to {last}, such as 2026-11-29T02:00")
        })
    },
};
/// How many dates ago an active instance may have started: it takes 7 days at most, and the dates of two time zones
/// differ by at most one.
const DATES_BACK: i64 = 9;

/// A maintenance window.
///
/// Stored under one-letter names, because every run reads the windows of its team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaintenanceWindow {
    /// Its unique ID.
    #[serde(rename = "i")]
    pub id: WindowId,
    /// Display name.
    #[serde(rename = "n")]
    pub name: String,
    /// The sites that it is for; `None` for all sites of the team that the selector matches.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<BTreeSet<SiteId>>,
    /// Which tags the sites that it is for have; `None` if it names them or is for all.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<Selector>,
    /// What the clocks of its zone show when it starts for the first time.
    #[serde(rename = "a")]
    pub start: DateTime,
    /// Its time zone.
    #[serde(rename = "z")]
    pub zone: NamedZone,
    /// How long it takes, in minutes that pass: a clock change makes it neither longer nor shorter.
    #[serde(rename = "m")]
    pub minutes: u32,
    /// When it recurs; `None` if it takes place once.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Recurrence>,
    /// The document that manages it, if there is one.
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
    /// Instances that started until then are over, because somebody ended them.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When its time and its sites became what they are: it did not take place before. `None` if it is older than this
    /// field.
    #[serde(
        rename = "c",
        default,
        skip_serializing_if = "Option::is_none",
        with = "jiff::fmt::serde::timestamp::second::optional"
    )]
    pub changed_at: Option<Timestamp>,
    /// Whether it is only remembered: it is over, or was changed or removed.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_past: bool,
}

/// One time that a window takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// Its first instant.
    pub start: Timestamp,
    /// The first instant after it.
    pub end: Timestamp,
}

impl MaintenanceWindow {
    /// The start of a window that starts now, to the second, with its time zone: the given one, or UTC if its clocks
    /// show this time for the second time today.
    pub fn starting_now(zone: NamedZone, now: Timestamp) -> (DateTime, NamedZone) {
        let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
        let local = zone.local(second).datetime();
        if zone.instant_of(local) == Some(second) {
            return (local, zone);
        }
        let utc = NamedZone::utc();
        (utc.local(second).datetime(), utc)
    }

    /// Whether it is for a site with these tags.
    pub fn covers<'t>(
        &self,
        site: SiteId,
        tags: impl IntoIterator<Item = &'t Tag> + Clone,
    ) -> bool {
        self.sites.as_ref().is_none_or(|sites| sites.contains(&site))
            && self.selector.as_ref().is_none_or(|selector| selector.matches(tags))
    }

    /// The instance that is active at an instant. If there are several, it is the one that ends last.
    pub fn active_at(&self, at: Timestamp) -> Option<Instance> {
        self.started_by(at).filter(|instance| at < instance.end)
    }

    /// The last instance that started at an instant or before; `None` if that was long enough ago for it to be over.
    pub(super) fn started_by(&self, at: Timestamp) -> Option<Instance> {
        let today = self.zone.local(at).date();
        (-1..DATES_BACK)
            .filter_map(|back| today.checked_sub(back.days()).ok())
            .filter(|date| self.occurs_on(*date))
            .filter_map(|date| self.instance_on(date))
            .find(|instance| instance.start <= at)
    }

    /// The first instance that starts after an instant.
    pub fn next_after(&self, at: Timestamp) -> Option<Instance> {
        let today = self.zone.local(at).date();
        let mut from = today.yesterday().unwrap_or(today);
        // An instance of yesterday or today may have started already, and a clock change may skip tomorrow.
        for _ in 0..4 {
            let date = self.next_date(from)?;
            match self.instance_on(date) {
                Some(instance) if instance.start > at => return Some(instance),
                _ => from = date.tomorrow().ok()?,
            }
        }
        None
    }

    /// Whether no instance is active or will be.
    pub fn is_over(&self, at: Timestamp) -> bool {
        self.active_at(at).is_none() && self.next_after(at).is_none()
    }

    /// The first date on which the rule lets the window start; not `start` if the rule does not admit it.
    pub fn first_date(&self) -> Option<Date> {
        self.next_date(self.start.date())
    }

    fn occurs_on(&self, date: Date) -> bool {
        let start = self.start.date();
        self.rule.as_ref().map_or(date == start, |rule| rule.occurs_on(start, date))
    }

    fn next_date(&self, from: Date) -> Option<Date> {
        let start = self.start.date();
        match &self.rule {
            Some(rule) => rule.next_date(start, from),
            None => (start >= from).then_some(start),
        }
    }

    /// The instance of a date; `None` if the rule has ended by then, or somebody has ended the instance.
    fn instance_on(&self, date: Date) -> Option<Instance> {
        self.planned_on(date)
            .filter(|planned| self.ended_at.is_none_or(|ended_at| planned.start > ended_at))
    }

    /// The same, even if somebody has ended it.
    fn planned_on(&self, date: Date) -> Option<Instance> {
        let start = self.zone.instant_of(date.to_datetime(self.start.time()))?;
        let until = self.rule.as_ref().and_then(Recurrence::until);
        if until.is_some_and(|until| start > until) {
            return None;
        }
        let end = start.checked_add(SignedDuration::from_mins(self.minutes.into())).ok()?;
        Some(Instance { start, end })
    }

    /// The instances that overlap a time, as far as they took place or will: those that somebody has ended until then, and
    /// none before the window had its time and its sites. If a recurring window was ended several times, only the last of
    /// these is known.
    pub(super) fn instances(&self, from: Timestamp, to: Timestamp) -> Vec<Instance> {
        let first = self.zone.local(from).date().saturating_sub(DATES_BACK.days());
        let last = self.zone.local(to).date().saturating_add(1.day());
        let next = |date: &Date| self.next_date(date.tomorrow().ok()?);
        let dates = std::iter::successors(self.next_date(first), next);
        let planned = dates.take_while(|date| *date <= last);
        let from = self.changed_at.map_or(from, |changed_at| changed_at.max(from));
        let instances = planned.filter_map(|date| {
            let Instance { start, end } = self.planned_on(date)?;
            let end = match self.ended_at {
                Some(ended_at) if start <= ended_at => end.min(ended_at),
                _ => end,
            };
            let start = self.changed_at.map_or(start, |changed_at| changed_at.max(start));
            Some(Instance { start, end })
        });
        instances.filter(|instance| instance.start < to && instance.end > from).collect()
    }

    /// Whether it takes place at the same times as another.
    pub(crate) fn is_at_times_of(&self, other: &Self) -> bool {
        let time = |of: &Self| (of.start, of.minutes, of.zone.clone(), of.rule.clone());
        time(self) == time(other)
    }

    /// Whether it takes place at the same times and for the same sites as another.
    pub(super) fn takes_place_like(&self, other: &Self) -> bool {
        let sites = |of: &Self| (of.sites.clone(), of.selector.clone());
        self.is_at_times_of(other) && sites(self) == sites(other)
    }

    /// What is remembered of it if it does not take place from now on. Nothing manages that.
    pub(super) fn stopped(self, now: Timestamp) -> Self {
        let ended_at = if self.active_at(now).is_some() { Some(now) } else { self.ended_at };
        let rule = self.rule.map(|rule| rule.ending(now));
        Self { rule, ended_at, managed_by: None, ..self }
    }
}

/// Parses the start of a window, `YYYY-MM-DDTHH:MM` with or without `:SS`, from 2000 to 2199.
pub fn parse_start(text: &str) -> Option<DateTime> {
    let is_well_formed = matches!(text.len(), 16 | 19)
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    let start: DateTime = text.parse().ok().filter(|_| is_well_formed)?;
    YEARS.contains(&start.year()).then_some(start)
}
