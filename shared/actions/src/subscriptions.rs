//! Subscriptions of readers to a status page. The answer to a request is the same whether or not the address has one,
//! so nobody learns who has subscribed.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::accounts::mail_limits::{Limit, counted_as};
use vedette_domain::accounts::mailbox::Mailbox;
use vedette_domain::id::{StatusPageId, SubscriptionId, TeamId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::source::Source;
use vedette_domain::status_pages::{
    SUBSCRIPTIONS_OF_MAILBOX, SUBSCRIPTIONS_OF_PAGE, SUBSCRIPTIONS_OF_SOURCE, Subscription,
    SubscriptionRefusal,
};
use vedette_runtime::App;
use vedette_store::{StoreError, budget, is_full, retry_on_conflict};

use crate::SubscriptionError;
use crate::mail::exceeds;

/// Asks the reader of an address by email to confirm a subscription, unless the address has one, or its mailbox has
/// been asked too often. The same is read, written and sent whether or not the address has one.
///
/// # Errors
///
/// When the source has requested too many subscriptions, or the page has too many requests; when the queue accepts no
/// message, or a fault of the table.
pub async fn subscribe(
    app: &App,
    team: TeamId,
    page: StatusPageId,
    email: &str,
    source: Source,
) -> Result<(), SubscriptionError> {
    let too_often = |limit: Limit| {
        let wait = limit.until_next(app.clock.now());
        Err(SubscriptionRefusal::AskedOften { wait }.into())
    };
    if exceeds(app, &format!("subscribed#{source}"), SUBSCRIPTIONS_OF_SOURCE).await? {
        return too_often(SUBSCRIPTIONS_OF_SOURCE);
    }
    let mailbox = counted_as(Mailbox::of(email).as_str());
    if exceeds(app, &format!("subscribed-mailbox#{mailbox}"), SUBSCRIPTIONS_OF_MAILBOX).await? {
        return Ok(());
    }
    if exceeds(app, &format!("subscribed-page#{page}"), SUBSCRIPTIONS_OF_PAGE).await? {
        return too_often(SUBSCRIPTIONS_OF_PAGE);
    }
    let subscription = retry_on_conflict(budget::WRITE, || request(app, team, page, email)).await?;
    // If the address is confirmed, no email is written.
    let message = MailRequest::Subscription { team, page, subscription };
    let sent = app.queue.send(&Message::Mail(message), Duration::ZERO).await;
    sent.map_err(|_| SubscriptionRefusal::NotSent.into())
}

/// Saves that a subscription was requested, unless its reader has already confirmed. A request that is repeated keeps
/// its key, so that the links of all emails about it work.
async fn request(
    app: &App,
    team: TeamId,
    page: StatusPageId,
    email: &str,
) -> Result<SubscriptionId, SubscriptionError> {
    let (now, id) = (app.clock.now(), SubscriptionId::of(email));
    let read = app.store.subscription(page, id).await?;
    let new_key = app.entropy.link_key()?;
    let next = match &read {
        Some(confirmed) if confirmed.confirmed_at.is_some() => confirmed.clone(),
        read => {
            let kept = read.as_ref().filter(|read| read.is_pending(now));
            let key = kept.map_or(new_key, |kept| kept.key.clone());
            let email = email.to_owned();
            Subscription { id, page, team, email, key, requested_at: now, confirmed_at: None }
        }
    };
    app.store.put_requested_subscription(read.as_ref(), &next).await?;
    Ok(id)
}

/// Confirms a subscription for its reader.
///
/// # Errors
///
/// When the page has as many subscribers as it may have, or a fault of the table; a conflict when the subscription has
/// changed since it was read.
pub async fn confirm_subscription(
    app: &App,
    pending: &Subscription,
    now: Timestamp,
) -> Result<(), SubscriptionError> {
    match app.store.confirm_subscription(pending, now).await {
        Err(error) if is_full(&error) => Err(SubscriptionRefusal::Full.into()),
        confirmed => Ok(confirmed?),
    }
}

/// Ends a subscription, pending or confirmed.
///
/// # Errors
///
/// A fault of the table; a conflict when the subscription has changed since it was read.
pub async fn unsubscribe(app: &App, subscription: &Subscription) -> Result<(), StoreError> {
    app.store.delete_subscription(subscription).await
}
