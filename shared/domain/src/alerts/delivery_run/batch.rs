//! News that is ready for people, in batches with one alert each.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::accounts::account::User;
use crate::alerts::channel::{EventKind, PublicTarget};
use crate::alerts::collection::{Collecting, Collection, collect};
use crate::alerts::compose::{self, AlertSubject};
use crate::alerts::delivery::DeliveryState;
use crate::alerts::due::{News, Notified};
use crate::alerts::handle::Handle;
use crate::alerts::storm::Window;
use crate::alerts::{Alert, Thread};
use crate::id::{ChannelId, IssueId, UserId};
use crate::issues::record::Issue;
use crate::monitor::Monitor;

use super::context::DeliveryContext;

/// News about one issue, of which people are notified now.
#[derive(Debug)]
pub(super) struct ReadyNews {
    pub(super) delivery: DeliveryState,
    pub(super) issue: Issue,
    pub(super) monitor: Monitor,
    pub(super) news: News,
    /// What people know after they were notified.
    pub(super) notified: Option<Notified>,
}

/// News of one kind in one alert.
#[derive(Debug)]
pub(super) struct AlertBatch {
    pub(super) collecting: Collecting,
    pub(super) ready: Vec<ReadyNews>,
    /// The window for this kind of news after the alert has arrived.
    pub(super) window: Option<Window>,
    /// Whether the batch contains everything that waited for the end of the last window, rather than one of the first
    /// messages.
    pub(super) is_collection: bool,
    /// When the batches of this kind were formed.
    pub(super) made_at: Timestamp,
}

impl AlertBatch {
    /// What the target answered to the messages about the openings of its issues.
    pub(super) fn openings(&self, target: &PublicTarget) -> Vec<Handle> {
        let handles = self.ready.iter().filter_map(|ready| ready.delivery.handle.as_ref());
        let handles = handles.filter(|handle| handle.is_of(target.digest())).cloned();
        handles.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The issues that it names, and what people learn about each, without issues that were deleted with their site.
    pub(super) fn about(&self) -> impl Iterator<Item = (IssueId, EventKind)> {
        let ready = self.ready.iter().filter(|ready| ready.delivery.deleted.is_none());
        ready.map(|ready| {
            let event = match ready.news {
                News::Opened { .. } => EventKind::Opened,
                News::Resolved { .. } | News::Missed { .. } => EventKind::Resolved,
                News::StillActive { .. } => EventKind::Reminder,
            };
            (ready.issue.id, event)
        })
    }
}

impl ReadyNews {
    /// The member who acknowledged or resolved the issue.
    pub(super) fn decided_by(&self) -> Option<UserId> {
        let lifecycle = self.issue.lifecycle;
        match self.news {
            News::StillActive { .. } => lifecycle.acknowledgement()?.by.member(),
            News::Resolved { .. } | News::Missed { .. } => lifecycle.resolved_by(),
            News::Opened { .. } => None,
        }
    }

    /// The same news, which has to wait for the end of a storm.
    pub(super) fn held(self) -> Self {
        Self { delivery: DeliveryState { is_held: true, ..self.delivery }, ..self }
    }

    /// When the check was due that opened the issue, if this is the opening and nothing has held it back.
    pub(super) fn prompt(&self) -> Option<Timestamp> {
        let is_opening = matches!(self.news, News::Opened { .. });
        self.delivery.prompt(&self.issue).filter(|_| is_opening)
    }

    fn subject<'a>(
        &'a self,
        context: &DeliveryContext<'a>,
        users: &'a BTreeMap<UserId, User>,
    ) -> AlertSubject<'a> {
        let Self { delivery, issue, monitor, .. } = self;
        let name = |user: UserId| users.get(&user).map(|user| user.name.as_str());
        AlertSubject {
            acknowledged_by: issue
                .lifecycle
                .acknowledgement()
                .and_then(|taken| name(taken.by.member()?)),
            resolved_by: issue.lifecycle.resolved_by().and_then(name),
            ..context.subject(delivery, issue, monitor)
        }
    }
}

impl AlertBatch {
    /// The alert, which may have room for only the first of the news.
    pub(super) fn compose(
        &self,
        context: &DeliveryContext<'_>,
        users: &BTreeMap<UserId, User>,
        now: Timestamp,
    ) -> Collection {
        let subjects: Vec<_> =
            self.ready.iter().map(|ready| ready.subject(context, users)).collect();
        match (&subjects[..], &self.ready[..]) {
            ([subject], [ready]) => {
                Collection { alert: compose::one(subject, &ready.news, now), named: 1 }
            }
            _ => {
                let room = context.channel.target.kind().description().room;
                collect(&subjects, self.collecting, room, now)
            }
        }
    }
}

/// The id of an alert, derived from its news, so that it is the same when the alert is sent again. `from` is that of the
/// delivery state: the opening is announced once more if monitoring has ended and goes on.
pub(super) fn alert_id(channel: ChannelId, alert: &Alert, from: Option<Timestamp>) -> String {
    let at = alert.at.as_millisecond();
    let Some(Thread { issue, opened_at }) = &alert.thread else { return format!("{channel}-{at}") };
    let opened_at = opened_at.as_millisecond();
    match from.map(|from| from.as_millisecond() - opened_at).filter(|again| *again > 0) {
        Some(again) => format!("{issue}-{opened_at}-{at}-{again}"),
        None => format!("{issue}-{opened_at}-{at}"),
    }
}
