//! Sends subscribers of a status page what is new about an incident, and recipients a report.
//!
//! A mailing goes from one subscriber to the next, and the table has how far it has come. So after a crash, at most one
//! subscriber gets the same email twice, and it has the same id.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::alerts::link;
use vedette_domain::alerts::mail::{TransactionalMail, TransactionalMailKind};
use vedette_domain::checks::limits::LONGEST_DELAY;
use vedette_domain::id::{ListId, StatusPageId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::status_pages::{
    IncidentNews, MAILING_LEASE, Mailing, MailingTopic, StatusPage, Subscription,
};
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, unless_conflict};

use crate::MailerError;
use crate::report::MadeReport;
use crate::write::RETRY;

/// How many subscriptions are read at once.
const BATCH: usize = 50;
/// How long one message of the queue sends before others have their turn, such as sign-in links. The email that is being
/// sent then may take another 30 seconds, which the function and the lease allow for.
const SENDS_FOR: SignedDuration = SignedDuration::from_secs(5);
/// After so many failures in a row, the mailing pauses.
const FAILURES_IN_A_ROW: u32 = 3;

/// Continues a mailing, unless another process does.
pub(crate) async fn mailing(
    app: &App,
    transport: &impl Transport,
    list: ListId,
    topic: MailingTopic,
) -> Result<(), MailerError> {
    let began = app.clock.now();
    let Some(mailing) = app.store.mailing(list, topic).await? else { return Ok(()) };
    if mailing.is_leased(began) {
        return Ok(());
    }
    // A conflict means that another process has begun, or that there is a newer update, which has its own message.
    let continued = continue_mailing(app, transport, mailing, began).await;
    match continued {
        Err(MailerError::Store(error)) if error.is_conflict() => Ok(()),
        continued => continued,
    }
}

async fn continue_mailing(
    app: &App,
    transport: &impl Transport,
    mailing: Mailing,
    began: Timestamp,
) -> Result<(), MailerError> {
    let lease = leased_until(began);
    let leased = Mailing { leased_until: Some(lease), ..mailing.clone() };
    let mut mailing = app.store.save_mailing(&mailing, leased, lease).await?;
    let Some((content, written_at)) = Content::read(app, &mailing, began).await? else {
        return Ok(app.store.delete_mailing(&mailing).await?);
    };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    // Reading a report of many sites takes time.
    let began = app.clock.now();
    let (mut failures, mut waits) = (0, None);
    loop {
        let next = app.store.subscriptions_after(mailing.list, mailing.after, BATCH).await?;
        let Some(last) = next.last() else { break };
        let last = last.id;
        for subscriber in next.iter().filter(|one| one.is_confirmed_by(written_at)) {
            let Some(email) = content.email(base, subscriber) else { continue };
            if app.clock.now().duration_since(began) >= SENDS_FOR {
                return pause(app, mailing, Duration::ZERO).await;
            }
            let failed = match send(app, transport, subscriber, email).await? {
                Sent::Waits(after) => return pause(app, mailing, after).await,
                Sent::Failed(after) => Some(after),
                Sent::Done => None,
            };
            let next = match failed {
                None => mailing.clone().past(subscriber.id),
                Some(_) => mailing.clone().failed(subscriber.id),
            };
            mailing = app.store.save_mailing(&mailing, next, lease).await?;
            failures = if failed.is_some() { failures + 1 } else { 0 };
            waits = waits.max(failed);
            // Several in a row: the mail server is probably away.
            if let Some(after) = failed.filter(|_| failures >= FAILURES_IN_A_ROW) {
                return pause(app, mailing, after).await;
            }
        }
        mailing.after = Some(last);
    }
    match waits {
        Some(after) => pause(app, mailing, after).await,
        None => try_again(app, transport, mailing, began, |one| content.email(base, one)).await,
    }
}

fn leased_until(began: Timestamp) -> Timestamp {
    began.saturating_add(MAILING_LEASE).unwrap_or(Timestamp::MAX)
}

/// Tries the emails to the deferred subscribers again. After several rounds, the mailing ends.
async fn try_again(
    app: &App,
    transport: &impl Transport,
    mut mailing: Mailing,
    began: Timestamp,
    email: impl Fn(&Subscription) -> Option<OutgoingMessage>,
) -> Result<(), MailerError> {
    let (mut longest, lease) = (Duration::ZERO, leased_until(began));
    while let Some(id) = mailing.next_deferred() {
        if app.clock.now().duration_since(began) >= SENDS_FOR {
            return pause(app, mailing, Duration::ZERO).await;
        }
        let subscriber = app.store.subscription(mailing.list, id).await?;
        let email = subscriber.and_then(|one| Some((email(&one)?, one)));
        let failed = match email {
            Some((email, subscriber)) => match send(app, transport, &subscriber, email).await? {
                Sent::Waits(after) => return pause(app, mailing, after).await,
                Sent::Failed(after) => Some(after),
                Sent::Done => None,
            },
            None => None,
        };
        let next = mailing.clone().tried_again(failed.is_some());
        mailing = app.store.save_mailing(&mailing, next, lease).await?;
        longest = longest.max(failed.unwrap_or_default());
    }
    if let Some(next) = mailing.clone().next_round() {
        let wait = if next.has_failed_often() { LONGEST_DELAY.unsigned_abs() } else { longest };
        return pause(app, next, wait).await;
    }
    if !mailing.deferred.is_empty() {
        warn!(unsent = mailing.deferred.len(), "gave up sending an email to subscribers");
    }
    Ok(app.store.delete_mailing(&mailing).await?)
}

/// What became of an email to a subscriber.
enum Sent {
    /// It was sent, or never will be.
    Done,
    /// It failed for now, and can be tried again after this time.
    Failed(Duration),
    /// It was not tried, because all email is held back. That may be over after this time.
    Waits(Duration),
}

/// Sends an email to a subscriber.
async fn send(
    app: &App,
    transport: &impl Transport,
    subscriber: &Subscription,
    email: OutgoingMessage,
) -> Result<Sent, MailerError> {
    let to = Recipient::Address(&subscriber.email);
    Ok(match transport.send(to, &email, SendReason::Due, app.clock.now()).await {
        SendOutcome::Delivered { .. } => Sent::Done,
        SendOutcome::Refused { why } => {
            warn!(why, "an email to a subscriber was refused");
            Sent::Done
        }
        SendOutcome::Gone { why } => {
            warn!(why, "a subscriber's mailbox is gone; ending the subscription");
            unless_conflict(app.store.delete_subscription(subscriber, Audit::None).await)?;
            Sent::Done
        }
        SendOutcome::Retry { after, why } => {
            warn!(why, "could not send an email to a subscriber; trying again later");
            Sent::Failed(after.unwrap_or(RETRY))
        }
        // The log already says that email is held back.
        SendOutcome::Held { after, was_tried: true, .. } => Sent::Failed(after),
        // The wait may end sooner than expected.
        SendOutcome::Held { after, was_tried: false, .. } => Sent::Waits(after.min(RETRY)),
    })
}

/// Lets the next message continue a mailing after a while, and no other message before that.
async fn pause(app: &App, mailing: Mailing, after: Duration) -> Result<(), MailerError> {
    let after = after.min(LONGEST_DELAY.unsigned_abs());
    let now = app.clock.now();
    let resumes = now.saturating_add(after).unwrap_or(Timestamp::MAX);
    let due = leased_until(resumes);
    let paused = Mailing { leased_until: Some(resumes), ..mailing.clone() };
    let Mailing { team, list, topic, .. } = app.store.save_mailing(&mailing, paused, due).await?;
    let message = MailRequest::Mailing { team, list, topic };
    Ok(app.queue.send(&Message::Mail(message), after).await?)
}

/// What the emails of a mailing say.
enum Content {
    /// What people wrote about an incident.
    News(Box<StatusPage>, IncidentNews),
    /// A report.
    Report(Box<MadeReport>),
}

impl Content {
    /// The content, and when it was written; `None` if nobody is sent it any more.
    async fn read(
        app: &App,
        mailing: &Mailing,
        now: Timestamp,
    ) -> Result<Option<(Self, Timestamp)>, StoreError> {
        let team = mailing.team;
        Ok(match mailing.topic {
            MailingTopic::Incident(incident) => {
                let page = StatusPageId(mailing.list.0);
                let (page, incident) = futures::try_join!(
                    app.store.status_page(team, page),
                    app.store.incident(team, page, incident),
                )?;
                let read = page.zip(incident);
                read.and_then(|(page, incident)| {
                    let (news, at) = mailing.news(&page, &incident, now)?;
                    Some((Self::News(Box::new(page), news), at))
                })
            }
            MailingTopic::Report(period) => {
                let made = MadeReport::read(app, team, period).await?;
                let made = made.filter(|made| !Mailing::is_too_late(made.made_at(), now));
                made.map(|made| {
                    let at = made.made_at();
                    (Self::Report(Box::new(made)), at)
                })
            }
        })
    }

    /// The email to a subscriber; `None` if they are sent none.
    fn email(&self, base: &str, subscriber: &Subscription) -> Option<OutgoingMessage> {
        let unsubscribe_url = Some(link::end_subscription(base, subscriber));
        let (mail, about) = match self {
            Self::News(page, news) => {
                let mail = TransactionalMail {
                    kind: TransactionalMailKind::Incident(news.clone()),
                    url: link::status_page(base, &page.address()),
                    unsubscribe_url,
                };
                (mail, format!("{}.{}", news.incident, news.update))
            }
            Self::Report(made) => {
                let period = made.period();
                let reports = subscriber.reports.as_ref().filter(|reports| reports.has(period))?;
                let report = made.report(reports.group.as_deref())?;
                // Without sites, there is nothing to say.
                if report.sites == 0 {
                    return None;
                }
                (made.mail(base, report, unsubscribe_url), format!("{}.{period}", subscriber.team))
            }
        };
        let id = format!("{about}.{}", subscriber.id);
        Some(OutgoingMessage::TransactionalMail { mail, id })
    }
}
