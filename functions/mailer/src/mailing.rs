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
use vedette_notifier::send::SendOutcome;
use vedette_runtime::App;

use crate::write::RETRY;
use crate::{Mailer, MailerError};

/// How many subscriptions are read at once.
const BATCH: usize = 50;
/// How long one message of the queue sends. The email that is being sent then may take another 30 seconds, which the
/// function and the lease allow for.
const SENDS_FOR: SignedDuration = SignedDuration::from_secs(20);

/// Continues a mailing, unless another process does.
pub(crate) async fn mailing(
    app: &App,
    mailer: &impl Mailer,
    page: StatusPageId,
    incident: IncidentId,
) -> Result<(), MailerError> {
    let began = app.clock.now();
    let Some(mailing) = app.store.mailing(page, incident).await? else { return Ok(()) };
    if mailing.is_leased(began) {
        return Ok(());
    }
    // A conflict means that another process has begun, or that there is a newer update, which has its own message.
    let continued = continue_mailing(app, mailer, mailing, began).await;
    match continued {
        Err(MailerError::Store(error)) if error.is_conflict() => Ok(()),
        continued => continued,
    }
}

async fn continue_mailing(
    app: &App,
    mailer: &impl Mailer,
    mailing: Mailing,
    began: Timestamp,
) -> Result<(), MailerError> {
    let lease = began.saturating_add(MAILING_LEASE).unwrap_or(Timestamp::MAX);
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
    loop {
        let next = app.store.subscriptions_after(mailing.page, mailing.after, BATCH).await?;
        let Some(last) = next.last() else {
            return Ok(app.store.delete_mailing(&mailing).await?);
        };
        let last = last.id;
        for subscriber in next.iter().filter(|one| one.is_confirmed_by(written_at)) {
            if app.clock.now().duration_since(began) >= SENDS_FOR {
                return pause(app, mailing, Duration::ZERO).await;
            }
            let (mail, id) = email(base, page, subscriber, news.clone());
            let outcome = mailer.write(&subscriber.email, mail, id, app.clock.now()).await;
            let next = match outcome {
                SendOutcome::Delivered => mailing.clone().past(subscriber.id),
                SendOutcome::Refused { why } | SendOutcome::Gone { why } => {
                    warn!(why, "an email to a subscriber was refused");
                    mailing.clone().past(subscriber.id)
                }
                SendOutcome::Retry { after, why } => {
                    warn!(why, "could not send an email to a subscriber; trying again later");
                    let failed = mailing.clone().failed(subscriber.id);
                    let mailing = app.store.save_mailing(&mailing, failed, lease).await?;
                    return pause(app, mailing, after.unwrap_or(RETRY)).await;
                }
                // The log already says that email is held back.
                SendOutcome::Held { after, .. } => return pause(app, mailing, after).await,
            };
            mailing = app.store.save_mailing(&mailing, next, lease).await?;
        }
        mailing.after = Some(last);
    }
}

/// Lets the next message continue a mailing after a while.
async fn pause(app: &App, mailing: Mailing, after: Duration) -> Result<(), MailerError> {
    let after = after.min(LONGEST_DELAY.unsigned_abs());
    let now = app.clock.now();
    let due = now.saturating_add(after).and_then(|at| at.checked_add(MAILING_LEASE)).unwrap_or(now);
    let paused = Mailing { leased_until: None, ..mailing.clone() };
    let Mailing { team, page, incident, .. } =
        app.store.save_mailing(&mailing, paused, due).await?;
    let message = MailRequest::Mailing { team, page, incident };
    Ok(app.queue.send(&Message::Mail(message), after).await?)
}

/// The email to a subscriber, with the id of the message.
fn email(
    base: &str,
    page: &StatusPage,
    subscriber: &Subscription,
    news: IncidentNews,
) -> (TransactionalMail, String) {
    let id = format!("{}.{}.{}", news.incident, news.update, subscriber.id);
    let mail = TransactionalMail {
        kind: TransactionalMailKind::Incident(news),
        url: link::status_page(base, &page.address()),
        unsubscribe_url: Some(link::end_subscription(base, subscriber)),
    };
    (mail, id)
}
