//! Sends subscribers of a status page what is new about an incident.
//!
//! A mailing goes from one subscriber to the next, and the table has how far it has come. So after a crash, at most one
//! subscriber gets the same email twice, and it has the same id.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use vedette_domain::alerts::link;
use vedette_domain::alerts::mail::{TransactionalMail, TransactionalMailKind};
use vedette_domain::checks::limits::LONGEST_DELAY;
use vedette_domain::id::{IncidentId, StatusPageId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::status_pages::{
    IncidentNews, MAILING_LEASE, Mailing, StatusPage, Subscription,
};
use vedette_notifier::send::{OutgoingMessage, SendOutcome, SendReason};
use vedette_notifier::{Recipient, Transport};
use vedette_runtime::App;
use vedette_store::unless_conflict;

use crate::MailerError;
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
    page: StatusPageId,
    incident: IncidentId,
) -> Result<(), MailerError> {
    let began = app.clock.now();
    let Some(mailing) = app.store.mailing(page, incident).await? else { return Ok(()) };
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
    let (page, incident) = futures::try_join!(
        app.store.status_page(mailing.team, mailing.page),
        app.store.incident(mailing.team, mailing.page, mailing.incident),
    )?;
    let news = page.as_ref().zip(incident.as_ref());
    let news = news.and_then(|(page, incident)| Some((page, mailing.news(page, incident, began)?)));
    let Some((page, (news, written_at))) = news else {
        return Ok(app.store.delete_mailing(&mailing).await?);
    };
    let base = app.service.pages_base().ok_or(MailerError::NoBase)?;
    let email = |subscriber: &Subscription| email(base, page, subscriber, news.clone());
    let (mut failures, mut waits) = (0, None);
    loop {
        let next = app.store.subscriptions_after(mailing.page, mailing.after, BATCH).await?;
        let Some(last) = next.last() else { break };
        let last = last.id;
        for subscriber in next.iter().filter(|one| one.is_confirmed_by(written_at)) {
            if app.clock.now().duration_since(began) >= SENDS_FOR {
                return pause(app, mailing, Duration::ZERO).await;
            }
            let failed = match send(app, transport, subscriber, email(subscriber)).await? {
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
        None => try_again(app, transport, mailing, began, email).await,
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
    email: impl Fn(&Subscription) -> OutgoingMessage,
) -> Result<(), MailerError> {
    let (mut longest, lease) = (Duration::ZERO, leased_until(began));
    while let Some(id) = mailing.next_deferred() {
        if app.clock.now().duration_since(began) >= SENDS_FOR {
            return pause(app, mailing, Duration::ZERO).await;
        }
        let failed = match app.store.subscription(mailing.page, id).await? {
            Some(subscriber) => {
                match send(app, transport, &subscriber, email(&subscriber)).await? {
                    Sent::Waits(after) => return pause(app, mailing, after).await,
                    Sent::Failed(after) => Some(after),
                    Sent::Done => None,
                }
            }
            None => None,
        };
        let next = mailing.clone().tried_again(failed.is_some());
        mailing = app.store.save_mailing(&mailing, next, lease).await?;
        longest = longest.max(failed.unwrap_or_default());
    }
    if let Some(next) = mailing.clone().next_round() {
        return pause(app, next, longest).await;
    }
    if !mailing.deferred.is_empty() {
        warn!(unsent = mailing.deferred.len(), "gave up sending an update to subscribers");
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
            unless_conflict(app.store.delete_subscription(subscriber).await)?;
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
    let Mailing { team, page, incident, .. } =
        app.store.save_mailing(&mailing, paused, due).await?;
    let message = MailRequest::Mailing { team, page, incident };
    Ok(app.queue.send(&Message::Mail(message), after).await?)
}

/// The email to a subscriber.
fn email(
    base: &str,
    page: &StatusPage,
    subscriber: &Subscription,
    news: IncidentNews,
) -> OutgoingMessage {
    let id = format!("{}.{}.{}", news.incident, news.update, subscriber.id);
    let mail = TransactionalMail {
        kind: TransactionalMailKind::Incident(news),
        url: link::status_page(base, &page.address()),
        unsubscribe_url: Some(link::end_subscription(base, subscriber)),
    };
    OutgoingMessage::TransactionalMail { mail, id }
}
