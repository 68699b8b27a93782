//! Subscriptions of readers to a status page, which they request themselves, and to reports, for which members add
//! them. The answer to a reader's request is the same whether or not the address has a subscription, so nobody learns
//! who has subscribed.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent, By, RecipientChange};
use vedette_domain::accounts::mail_limits::{Limit, counted_as};
use vedette_domain::accounts::mailbox::Mailbox;
use vedette_domain::id::{ListId, StatusPageId, SubscriptionId, TeamId, UserId};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::reports::{RECIPIENTS_MAX, REPORTS_TO_MEMBER, ReportList, ReportPeriod};
use vedette_domain::source::Source;
use vedette_domain::status_pages::{
    SUBSCRIPTIONS_OF_LIST, SUBSCRIPTIONS_OF_MAILBOX, SUBSCRIPTIONS_OF_SOURCE, Subscription,
    SubscriptionRefusal,
};
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, budget, is_full, retry_on_conflict};

use crate::SubscriptionError;
use crate::access::Caller;
use crate::error::ActionError;
use crate::mail::exceeds;

/// More recipients than a team can have, and pending ones.
const RECIPIENTS_READ: usize = 10_000;

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
    match count(app, page.into(), email, source).await {
        Err(ActionError::Refused(SubscriptionRefusal::MailboxAskedOften)) => return Ok(()),
        counted => counted?,
    }
    let wanted = Wanted { team, list: page.into(), reports: None, email };
    let requested = retry_on_conflict(budget::WRITE, || request(app, &wanted, None)).await?;
    // If the address is confirmed, no email is written.
    ask_to_confirm(app, &requested).await
}

/// Adds an address to the recipients of reports, as a member. Its reader is asked by email to confirm, unless it is the
/// member's own address, which they have confirmed by signing in. Returns the subscription.
///
/// # Errors
///
/// When the reports have as many recipients as they may have, or too many emails were requested; when the queue accepts
/// no message, or a fault of the table.
pub async fn add_recipient(
    app: &App,
    team: TeamId,
    reports: &ReportList,
    email: &str,
    (caller, source): (&Caller, Source),
) -> Result<Subscription, SubscriptionError> {
    let (id, now) = (SubscriptionId::of_recipient(reports, email), app.clock.now());
    let others = recipients(app, team).await?;
    let others = others.iter().filter(|one| one.reports.as_ref() == Some(reports) && one.id != id);
    if others.count() >= RECIPIENTS_MAX as usize {
        return Err(SubscriptionRefusal::ManyRecipients.into());
    }
    let is_own = SubscriptionId::of_recipient(reports, &caller.user.email) == id
        && caller.user.email_verified_at.is_some();
    count(app, team.into(), email, source).await?;
    let wanted = Wanted { team, list: team.into(), reports: Some(reports), email };
    let by = Some(caller.by());
    let requested = retry_on_conflict(budget::WRITE, || request(app, &wanted, by)).await?;
    if requested.confirmed_at.is_none() {
        match is_own {
            true => confirm(app, &requested, caller.by()).await?,
            false => ask_to_confirm(app, &requested).await?,
        }
    }
    let confirmed_at = requested.confirmed_at.or(is_own.then_some(now));
    Ok(Subscription { confirmed_at, ..requested })
}

/// The recipients of a team's reports, pending ones included.
///
/// # Errors
///
/// A fault of the table.
pub async fn recipients(app: &App, team: TeamId) -> Result<Vec<Subscription>, StoreError> {
    let now = app.clock.now();
    let mut all = app.store.subscriptions_after(team, None, RECIPIENTS_READ).await?;
    all.retain(|one| one.lasts(now));
    all.sort_unstable_by(|one, other| {
        (&one.reports, &one.email, one.id).cmp(&(&other.reports, &other.email, other.id))
    });
    Ok(all)
}

/// Removes a recipient, as a member.
///
/// # Errors
///
/// A fault of the table; a conflict when the subscription has changed since it was read.
pub async fn remove_recipient(
    app: &App,
    recipient: &Subscription,
    by: By,
) -> Result<(), StoreError> {
    let entry = recorded(recipient, by, RecipientChange::Removed);
    app.store.delete_subscription(recipient, Audit::Entries(entry.as_slice())).await
}

/// Emails a report to the member who asks for it.
///
/// # Errors
///
/// When they have asked too often, when the queue accepts no message, or a fault of the table.
pub async fn send_report(
    app: &App,
    team: TeamId,
    (period, group): (ReportPeriod, Option<String>),
    user: UserId,
) -> Result<(), SubscriptionError> {
    if exceeds(app, &format!("report-now#{user}"), REPORTS_TO_MEMBER).await? {
        return Err(asked_often(app, REPORTS_TO_MEMBER));
    }
    let asked_at = app.clock.now();
    send(app, MailRequest::Report { team, period, group, user, asked_at }).await
}

/// Counts a request for a subscription to a list.
async fn count(
    app: &App,
    list: ListId,
    email: &str,
    source: Source,
) -> Result<(), SubscriptionError> {
    if exceeds(app, &format!("subscribed#{source}"), SUBSCRIPTIONS_OF_SOURCE).await? {
        return Err(asked_often(app, SUBSCRIPTIONS_OF_SOURCE));
    }
    let mailbox = counted_as(Mailbox::of(email).as_str());
    if exceeds(app, &format!("subscribed-mailbox#{mailbox}"), SUBSCRIPTIONS_OF_MAILBOX).await? {
        return Err(SubscriptionRefusal::MailboxAskedOften.into());
    }
    if exceeds(app, &format!("subscribed-page#{list}"), SUBSCRIPTIONS_OF_LIST).await? {
        return Err(asked_often(app, SUBSCRIPTIONS_OF_LIST));
    }
    Ok(())
}

fn asked_often(app: &App, limit: Limit) -> SubscriptionError {
    let wait = limit.until_next(app.clock.now());
    SubscriptionRefusal::AskedOften { wait }.into()
}

async fn ask_to_confirm(app: &App, requested: &Subscription) -> Result<(), SubscriptionError> {
    let Subscription { team, list, id: subscription, .. } = *requested;
    send(app, MailRequest::Subscription { team, list, subscription }).await
}

async fn send(app: &App, message: MailRequest) -> Result<(), SubscriptionError> {
    let sent = app.queue.send(&Message::Mail(message), Duration::ZERO).await;
    sent.map_err(|_| SubscriptionRefusal::NotSent.into())
}

/// A subscription that somebody requests.
struct Wanted<'a> {
    team: TeamId,
    list: ListId,
    reports: Option<&'a ReportList>,
    email: &'a str,
}

/// Saves that a subscription was requested, unless its reader has already confirmed. A request that is repeated keeps
/// its key, so that the links of all emails about it work.
async fn request(
    app: &App,
    &Wanted { team, list, reports, email }: &Wanted<'_>,
    by: Option<By>,
) -> Result<Subscription, SubscriptionError> {
    let id = reports.map_or_else(
        || SubscriptionId::of(email),
        |reports| SubscriptionId::of_recipient(reports, email),
    );
    let now = app.clock.now();
    let read = app.store.subscription(list, id).await?;
    let new_key = app.entropy.link_key()?;
    let next = match &read {
        Some(confirmed) if confirmed.confirmed_at.is_some() => confirmed.clone(),
        read => {
            let kept = read.as_ref().filter(|read| read.is_pending(now));
            let key = kept.map_or(new_key, |kept| kept.key.clone());
            Subscription {
                id,
                list,
                team,
                reports: reports.cloned(),
                email: email.to_owned(),
                key,
                requested_at: now,
                confirmed_at: None,
            }
        }
    };
    let is_added = read.as_ref().is_none_or(|read| !read.lasts(now));
    let entry = by.filter(|_| is_added);
    let entry = entry.and_then(|by| recorded(&next, by, RecipientChange::Added));
    app.store
        .put_requested_subscription(read.as_ref(), &next, Audit::Entries(entry.as_slice()))
        .await?;
    Ok(next)
}

/// The entry in the audit log of what was done with a recipient of reports.
fn recorded(subscription: &Subscription, by: By, change: RecipientChange) -> Option<AuditEntry> {
    let event = AuditEvent::recipient(subscription, change)?;
    Some(AuditEntry::new(subscription.team, by, event))
}

/// Confirms a subscription for its reader.
///
/// # Errors
///
/// When the page or the reports have as many subscribers as they may have, or a fault of the table; a conflict when the
/// subscription has changed since it was read.
pub async fn confirm_subscription(
    app: &App,
    pending: &Subscription,
    now: Timestamp,
) -> Result<(), SubscriptionError> {
    confirm(app, pending, By { actor: Actor::Reader, now }).await
}

async fn confirm(app: &App, pending: &Subscription, by: By) -> Result<(), SubscriptionError> {
    let entry = recorded(pending, by, RecipientChange::Confirmed);
    let confirmed =
        app.store.confirm_subscription(pending, by.now, Audit::Entries(entry.as_slice()));
    match confirmed.await {
        Err(error) if is_full(&error) => Err(match pending.reports {
            Some(_) => SubscriptionRefusal::ManyRecipients.into(),
            None => SubscriptionRefusal::Full.into(),
        }),
        confirmed => Ok(confirmed?),
    }
}

/// Ends a subscription, pending or confirmed.
///
/// # Errors
///
/// A fault of the table; a conflict when the subscription has changed since it was read.
pub async fn unsubscribe(app: &App, subscription: &Subscription) -> Result<(), StoreError> {
    let by = By { actor: Actor::Reader, now: app.clock.now() };
    let entry = recorded(subscription, by, RecipientChange::Unsubscribed);
    app.store.delete_subscription(subscription, Audit::Entries(entry.as_slice())).await
}
