//! Subscriptions of readers to a status page. The answer to a request is the same whether or not the address has one,
//! so nobody learns who has subscribed.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::accounts::mail_limits::counted_as;
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

/// Asks the reader of an address by email to confirm a subscription, unless the address has one or a limit is reached.
///
/// # Errors
///
/// When the source has requested too many subscriptions, or a fault of the table.
pub async fn subscribe(
    app: &App,
    (team, page): (TeamId, StatusPageId),
    email: &str,
    source: Source,
) -> Result<(), SubscriptionError> {
    let now = app.clock.now();
    let of_source = format!("subscribed#{source}");
    let requested = app.store.count(&of_source, SUBSCRIPTIONS_OF_SOURCE.window, now).await?;
    if requested > SUBSCRIPTIONS_OF_SOURCE.times {
        let wait = SUBSCRIPTIONS_OF_SOURCE.until_next(now);
        return Err(SubscriptionRefusal::AskedOften { wait }.into());
    }
    let mailbox = counted_as(Mailbox::of(email).as_str());
    for (subject, limit) in [
        (format!("subscribed-page#{page}"), SUBSCRIPTIONS_OF_PAGE),
        (format!("subscribed-mailbox#{mailbox}"), SUBSCRIPTIONS_OF_MAILBOX),
    ] {
        if app.store.count(&subject, limit.window, now).await? > limit.times {
            return Ok(());
        }
    }
    let pending = retry_on_conflict(budget::WRITE, || pending(app, (team, page), email)).await?;
    if let Some(Subscription { id: subscription, .. }) = pending {
        let message = MailRequest::Subscription { team, page, subscription };
        app.enqueue_or_leave(Message::Mail(message), Duration::ZERO).await;
    }
    Ok(())
}

/// Saves that an address has been requested; `None` if its reader has already confirmed. A request that is repeated
/// keeps its key, so that the links of all emails about it work.
async fn pending(
    app: &App,
    (team, page): (TeamId, StatusPageId),
    email: &str,
) -> Result<Option<Subscription>, SubscriptionError> {
    let now = app.clock.now();
    let id = SubscriptionId::of(email);
    let read = app.store.subscription(page, id).await?;
    if read.as_ref().is_some_and(|read| read.confirmed_at.is_some()) {
        return Ok(None);
    }
    let key = match read.as_ref().filter(|read| read.is_pending(now)) {
        Some(read) => read.key.clone(),
        None => app.entropy.link_key()?,
    };
    let email = email.to_owned();
    let next = Subscription { id, page, team, email, key, requested_at: now, confirmed_at: None };
    app.store.put_pending_subscription(read.as_ref(), &next).await?;
    Ok(Some(next))
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
