//! Readers who get email about the incidents of a status page, or the reports of a team.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Builder;

use super::incident::{IncidentStatus, PageIncident};
use super::page::StatusPage;
use crate::accounts::email::normalized;
use crate::accounts::mail_limits::Limit;
use crate::alerts::channel::LinkKey;
use crate::checks::limits::LONGEST_DELAY;
use crate::id::{IncidentId, ListId, StatusPageId, SubscriptionId, TeamId};
use crate::reports::{RECIPIENTS_MAX, ReportList, ReportPeriod};

/// The most confirmed subscriptions of a status page.
pub const SUBSCRIPTIONS_MAX: u32 = 1_000;
/// How long the link that confirms a subscription works.
const SUBSCRIPTION_PENDING_FOR: SignedDuration = SignedDuration::from_hours(48);

/// Subscriptions that one source requests, for all lists together.
pub const SUBSCRIPTIONS_OF_SOURCE: Limit =
    Limit { times: 20, window: SignedDuration::from_hours(1) };
/// Subscriptions that are requested for one list.
pub const SUBSCRIPTIONS_OF_LIST: Limit =
    Limit { times: 500, window: SignedDuration::from_hours(24) };
/// Emails that ask a mailbox to confirm a subscription, for all lists together.
pub const SUBSCRIPTIONS_OF_MAILBOX: Limit =
    Limit { times: 6, window: SignedDuration::from_hours(24) };

/// How long subscribers are sent an update after it was written.
const MAILED_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How long recipients are sent a report after it was made.
const REPORT_MAILED_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How long one process may send a mailing before another may continue it. A batch takes less.
pub const MAILING_LEASE: SignedDuration = SignedDuration::from_mins(2);
/// How often an email to a subscriber is tried.
const TRIES_MAX: u32 = 5;
/// The most subscribers whose emails have failed and are tried again after those to everybody else.
const DEFERRED_MAX: usize = 50;

/// Why a subscription is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionRefusal {
    /// The source has requested too many subscriptions.
    #[error("too many subscriptions were requested from this address; try again later")]
    AskedOften {
        /// How long until it may request another one.
        wait: SignedDuration,
    },
    /// The page has [`SUBSCRIPTIONS_MAX`] subscribers.
    #[error("A status page has at most {SUBSCRIPTIONS_MAX} subscribers.")]
    Full,
    /// The report has [`RECIPIENTS_MAX`] recipients.
    #[error("A report has at most {RECIPIENTS_MAX} recipients.")]
    ManyRecipients,
    /// The address was asked too often to confirm a subscription.
    #[error("too many emails were sent to this address; try again tomorrow")]
    MailboxAskedOften,
    /// No email can be sent now.
    #[error("the queue of emails does not answer")]
    NotSent,
}

/// A reader's subscription to the incidents of a status page, or to reports of a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// Identity, which follows from the address and the reports.
    pub id: SubscriptionId,
    /// The page or, for reports, the team.
    #[serde(rename = "page")]
    pub list: ListId,
    /// The team.
    pub team: TeamId,
    /// Which reports; `None` for the incidents of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports: Option<ReportList>,
    /// The reader's address, as they wrote it.
    pub email: String,
    /// The key in the links of the emails to them. Whoever has it reads their email.
    pub key: LinkKey,
    /// When somebody last requested it.
    pub requested_at: Timestamp,
    /// When the reader confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
}

impl SubscriptionId {
    /// The subscription of an address to a page. The case of its letters does not matter.
    pub fn of(email: &str) -> Self {
        Self::digest(&format!("subscription#{}", normalized(email)))
    }

    /// The subscription of an address to reports.
    pub fn of_recipient(reports: &ReportList, email: &str) -> Self {
        Self::digest(&format!("recipient#{}#{}", normalized(email), reports.key()))
    }

    fn digest(text: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&Sha256::digest(text)[..16]);
        Self(Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl Subscription {
    /// The page; `None` for reports.
    pub fn page(&self) -> Option<StatusPageId> {
        self.reports.is_none().then_some(StatusPageId(self.list.0))
    }

    /// The most confirmed subscriptions to the same.
    pub const fn room(&self) -> u32 {
        match self.reports {
            Some(_) => RECIPIENTS_MAX,
            None => SUBSCRIPTIONS_MAX,
        }
    }

    /// When the link that confirms it stops working.
    pub fn expires_at(&self) -> Timestamp {
        self.requested_at.saturating_add(SUBSCRIPTION_PENDING_FOR).unwrap_or(Timestamp::MAX)
    }

    /// Whether it waits for its reader to confirm it.
    pub fn is_pending(&self, now: Timestamp) -> bool {
        self.confirmed_at.is_none() && now < self.expires_at()
    }

    /// Whether its reader has confirmed it, or still can.
    pub fn lasts(&self, now: Timestamp) -> bool {
        self.confirmed_at.is_some() || self.is_pending(now)
    }

    /// Whether its reader had confirmed it at an instant.
    pub fn is_confirmed_by(&self, at: Timestamp) -> bool {
        self.confirmed_at.is_some_and(|confirmed| confirmed <= at)
    }
}

/// What a mailing is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum MailingTopic {
    /// An incident.
    Incident(IncidentId),
    /// The report of a period.
    Report(ReportPeriod),
}

impl MailingTopic {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Self> {
        let incident = IncidentId::parse(text).map(Self::Incident);
        incident.or_else(|| text.parse().ok().map(Self::Report))
    }
}

impl fmt::Display for MailingTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incident(incident) => incident.fmt(f),
            Self::Report(period) => period.fmt(f),
        }
    }
}

/// What subscribers still have to be sent about an incident, or recipients about a period. A newer update replaces an
/// earlier one: a subscriber who was not sent that yet gets only the newer one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mailing {
    /// The team.
    pub team: TeamId,
    /// The readers.
    #[serde(rename = "page")]
    pub list: ListId,
    /// What it is about.
    #[serde(rename = "incident")]
    pub topic: MailingTopic,
    /// Which update of an incident is sent, counted from 1.
    #[serde(rename = "nth")]
    pub update: u32,
    /// The last subscriber whose turn is over. Subscribers have their turns in the order of their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<SubscriptionId>,
    /// Subscribers whose emails have failed, and are tried again at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<SubscriptionId>,
    /// How many of the deferred subscribers, from the first, have had their turn in the current round and failed again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_again: usize,
    /// How often the email to the next subscriber, or those to all deferred ones, have failed.
    #[serde(default)]
    pub tries: u32,
    /// Until when no other process may send it, or until when it pauses, in milliseconds since the epoch.
    #[serde(
        default,
        with = "jiff::fmt::serde::timestamp::millisecond::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub leased_until: Option<Timestamp>,
    /// Rises with every write.
    pub rev: u64,
}

/// What an email to a subscriber says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentNews {
    /// The incident.
    pub incident: IncidentId,
    /// Which update it is, counted from 1.
    pub update: u32,
    /// The name of the page.
    pub page: String,
    /// What is wrong.
    pub title: String,
    /// The status of the incident.
    pub status: IncidentStatus,
    /// What people wrote.
    pub text: String,
    /// The names of the components that the incident concerns.
    pub components: Vec<String>,
}

impl Mailing {
    /// What subscribers have to be sent about the last update of an incident.
    pub fn of(page: &StatusPage, incident: &PageIncident) -> Self {
        let update = u32::try_from(incident.updates.len()).unwrap_or(u32::MAX);
        let topic = MailingTopic::Incident(incident.id);
        Self { update, ..Self::new(page.team, page.id.into(), topic) }
    }

    /// What recipients have to be sent about a period.
    pub fn of_report(team: TeamId, period: ReportPeriod) -> Self {
        Self::new(team, team.into(), MailingTopic::Report(period))
    }

    const fn new(team: TeamId, list: ListId, topic: MailingTopic) -> Self {
        Self {
            team,
            list,
            topic,
            update: 1,
            after: None,
            deferred: Vec::new(),
            failed_again: 0,
            tries: 0,
            leased_until: None,
            rev: 0,
        }
    }

    /// Whether another process sends it, or it pauses. A lease that is longer than any is not valid: the clock was set
    /// back.
    pub fn is_leased(&self, now: Timestamp) -> bool {
        let longest = MAILING_LEASE + LONGEST_DELAY;
        self.leased_until.is_some_and(|until| now < until && until.duration_since(now) <= longest)
    }

    /// What subscribers are sent, and when it was written; `None` if nobody is sent it any more: the update is too old,
    /// or the page no longer offers subscriptions.
    pub fn news(
        &self,
        page: &StatusPage,
        incident: &PageIncident,
        now: Timestamp,
    ) -> Option<(IncidentNews, Timestamp)> {
        if !page.offers_subscriptions {
            return None;
        }
        let place = usize::try_from(self.update).ok()?.checked_sub(1)?;
        let update = incident.updates.get(place)?;
        if now.duration_since(update.at) >= MAILED_FOR {
            return None;
        }
        let concerned =
            page.components().filter(|one| !one.is_hidden && incident.components.contains(&one.id));
        let news = IncidentNews {
            incident: incident.id,
            update: self.update,
            page: page.name.clone(),
            title: incident.title.clone(),
            status: update.status,
            text: update.text.clone(),
            components: concerned.map(|one| one.name.clone()).collect(),
        };
        Some((news, update.at))
    }

    /// Whether nobody is sent a report any more that was made then.
    pub fn is_too_late(made_at: Timestamp, now: Timestamp) -> bool {
        now.duration_since(made_at) >= REPORT_MAILED_FOR
    }

    /// The mailing after the turn of a subscriber.
    #[must_use]
    pub fn past(self, subscriber: SubscriptionId) -> Self {
        Self { after: Some(subscriber), tries: 0, ..self }
    }

    /// The mailing after the turn of a subscriber whose email has failed: it is tried again after those to everybody
    /// else. If too many have failed, the mail server is probably away, and the subscriber's turn lasts for several tries.
    #[must_use]
    pub fn failed(mut self, subscriber: SubscriptionId) -> Self {
        if self.deferred.len() < DEFERRED_MAX {
            self.deferred.push(subscriber);
            return self.past(subscriber);
        }
        match self.tries.saturating_add(1) {
            TRIES_MAX.. if self.ends_after_tries() => self.past(subscriber),
            tries => Self { tries, ..self },
        }
    }

    /// Whether it ends after [`TRIES_MAX`] tries. A report is tried until [it is too late](Self::is_too_late).
    const fn ends_after_tries(&self) -> bool {
        matches!(self.topic, MailingTopic::Incident(_))
    }

    /// Whether it has been tried so often that the next try can wait for long.
    pub const fn has_failed_often(&self) -> bool {
        self.tries + 1 >= TRIES_MAX
    }

    /// The deferred subscriber whose turn is next in the current round; `None` at the end of the round.
    pub fn next_deferred(&self) -> Option<SubscriptionId> {
        self.deferred.get(self.failed_again).copied()
    }

    /// The mailing after the turn of the [next deferred subscriber](Self::next_deferred).
    #[must_use]
    pub fn tried_again(mut self, has_failed: bool) -> Self {
        if has_failed {
            self.failed_again += 1;
        } else if self.next_deferred().is_some() {
            self.deferred.remove(self.failed_again);
        }
        self
    }

    /// The mailing after a round of the deferred subscribers; `None` if nothing is left to do, or if the emails to those
    /// that are left have failed too often.
    #[must_use]
    pub fn next_round(self) -> Option<Self> {
        // The first try was before they were deferred.
        let tries = self.tries.saturating_add(1).min(TRIES_MAX);
        let goes_on = tries + 1 < TRIES_MAX || !self.ends_after_tries();
        (!self.deferred.is_empty() && goes_on).then_some(Self { failed_again: 0, tries, ..self })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires it")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailing() -> Mailing {
        Mailing {
            rev: 1,
            ..Mailing::new(
                TeamId(uuid::Uuid::from_u128(2)),
                ListId(uuid::Uuid::from_u128(1)),
                MailingTopic::Incident(IncidentId(uuid::Uuid::from_u128(3))),
            )
        }
    }

    #[test]
    fn an_address_has_one_subscription_whatever_its_case() {
        assert_eq!(SubscriptionId::of("Kate@Example.com"), SubscriptionId::of("kate@example.com"));
        assert_ne!(
            SubscriptionId::of("kate+x@example.com"),
            SubscriptionId::of("kate@example.com")
        );
    }

    #[test]
    fn a_request_waits_two_days_for_its_reader() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a timestamp");
        let pending = Subscription {
            id: SubscriptionId::of("kate@example.com"),
            list: ListId(uuid::Uuid::from_u128(1)),
            team: TeamId(uuid::Uuid::from_u128(2)),
            reports: None,
            email: "kate@example.com".to_owned(),
            key: LinkKey::from_random([7; LinkKey::BYTES]),
            requested_at: at("2026-11-24T00:00:00Z"),
            confirmed_at: None,
        };
        assert!(pending.is_pending(at("2026-11-25T23:59:59Z")));
        assert!(!pending.is_pending(at("2026-11-26T00:00:00Z")));
        let confirmed_at = Some(at("2026-11-24T01:00:00Z"));
        let confirmed = Subscription { confirmed_at, ..pending };
        assert!(!confirmed.is_pending(at("2026-11-24T02:00:00Z")));
        assert!(confirmed.is_confirmed_by(at("2026-11-24T01:00:00Z")));
        assert!(
            !confirmed.is_confirmed_by(at("2026-11-24T00:59:59Z")),
            "not about what was before"
        );
    }

    #[test]
    fn a_failing_mailbox_delays_no_other_subscriber() {
        let (one, two) =
            (SubscriptionId(uuid::Uuid::from_u128(1)), SubscriptionId(uuid::Uuid::from_u128(2)));
        let mut mailing = Mailing { after: Some(one), ..mailing() };
        mailing = mailing.failed(two);
        assert_eq!((mailing.after, &*mailing.deferred), (Some(two), &[two][..]));
        for _ in 2..TRIES_MAX {
            mailing = mailing.tried_again(true).next_round().expect("something is left");
        }
        assert_eq!(mailing.clone().tried_again(true).next_round(), None);
        assert_eq!(mailing.clone().tried_again(false).next_round(), None);

        // If the mail server is away, nobody is left out soon.
        mailing =
            Mailing { after: Some(one), deferred: vec![one; DEFERRED_MAX], tries: 0, ..mailing };
        for _ in 1..TRIES_MAX {
            mailing = mailing.failed(two);
            assert_eq!(mailing.after, Some(one));
        }
        mailing = mailing.failed(two);
        assert_eq!((mailing.after, mailing.tries), (Some(two), 0));
    }

    #[test]
    fn each_deferred_subscriber_has_one_turn_in_a_round() {
        let [one, two, three] = [1, 2, 3].map(|id| SubscriptionId(uuid::Uuid::from_u128(id)));
        let mut mailing = Mailing { deferred: vec![one, two, three], ..mailing() };
        for (next, has_failed) in [(one, true), (two, false), (three, true)] {
            assert_eq!(mailing.next_deferred(), Some(next));
            mailing = mailing.tried_again(has_failed);
        }
        assert_eq!(mailing.next_deferred(), None);
        mailing = mailing.next_round().expect("something is left");
        assert_eq!((mailing.next_deferred(), mailing.tries), (Some(one), 1));
        assert_eq!(mailing.deferred, [one, three]);
    }

    #[test]
    fn a_lease_ends_even_if_the_clock_was_set_back() {
        let at = |text: &str| text.parse::<Timestamp>().expect("a timestamp");
        let mut mailing = mailing();
        let now = at("2026-11-24T00:00:00Z");
        assert!(!mailing.is_leased(now));
        for (until, is_leased) in [
            ("2026-11-24T00:00:00Z", false),
            ("2026-11-24T00:02:00Z", true),
            ("2026-11-24T00:17:00Z", true),
            ("2026-11-24T00:18:00Z", false),
        ] {
            mailing.leased_until = Some(at(until));
            assert_eq!(mailing.is_leased(now), is_leased, "{until}");
        }
    }
}
