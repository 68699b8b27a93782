//! Where a team's alerts go: adds channels, tests them, and turns their alerts on again.

mod resend;
mod trial;
mod waiting;

use std::time::Duration;

use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent, By, ChannelChange};
use vedette_domain::alerts::channel::{
    CHANNELS_MAX, Channel, Filter, SecretUrl, Target, TargetEdit,
};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::alerts::mail::Asker;
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::configuration::ManagedBy;
use vedette_domain::id::TeamId;
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::App;
use vedette_store::{Audit, ChannelRef, StoreError, budget, retry_on_conflict, unless_conflict};

use crate::ChannelError;
use crate::access::Caller;
use crate::channel_sync::{enqueue_channel_sync, request_channel_sync};
use crate::mail::{Allowance, Question, ask};

pub use resend::{look_again, send_again, send_sooner};
pub use trial::{queue_test, try_channel};
pub use waiting::{WaitingDelivery, waiting_for};

/// Makes the notifier send what is due to a channel.
pub async fn wake(app: &App, ChannelRef { team, id }: ChannelRef, delay: Duration) {
    let message = AlertMessage::Channel { team, channel: id };
    app.enqueue_or_leave(Message::Alert(message), delay).await;
}

/// Adds a channel to a team, and asks the reader of an email address to confirm it. A channel without a name gets the
/// name of its target.
///
/// # Errors
///
/// The refusal, or a fault of the table.
pub async fn add_channel(
    app: &App,
    team: TeamId,
    name: Option<&str>,
    target: Target,
    filter: Filter,
    by: By,
) -> Result<Channel, ChannelError> {
    add_managed_channel(app, team, (name, target, filter), None, by).await
}

/// The same for a channel that a document manages.
pub(crate) async fn add_managed_channel(
    app: &App,
    team: TeamId,
    (name, target, filter): (Option<&str>, Target, Filter),
    managed_by: Option<ManagedBy>,
    by: By,
) -> Result<Channel, ChannelError> {
    let others = app.store.channels(team).await?;
    if others.len() >= CHANNELS_MAX {
        return Err(ChannelRefusal::Full.into());
    }
    let name = name.unwrap_or_else(|| target.default_name()).to_owned();
    if others.iter().any(|other| other.name == name) {
        return Err(ChannelRefusal::NameTaken(name).into());
    }
    refuse_taken_url(&others, target.url())?;
    let (id, key) = (app.entropy.channel_id()?, app.entropy.link_key()?);
    let new = Channel::new(id, team, &name, target, filter, key, app.clock.now());
    let channel = Channel { managed_by, ..new };
    let is_asked = channel.since.is_none();
    if is_asked {
        hold_questions(app, &channel).await?;
    }
    let event = AuditEvent::channel(&channel, ChannelChange::Added);
    let entry = AuditEntry::new(team, by, event);
    let is_tested = channel.filter.weekly_test.is_some();
    if is_tested {
        request_channel_sync(app, team, app.clock.now()).await?;
    }
    app.store.create_channel(&channel, Audit::Entry(&entry)).await?;
    if is_tested {
        enqueue_channel_sync(app, team).await;
    }
    if is_asked {
        ask_for_confirmation(app, &channel, by).await?;
    }
    Ok(channel)
}

/// Refuses a URL to which another channel of the team leads.
fn refuse_taken_url(others: &[Channel], url: Option<&SecretUrl>) -> Result<(), ChannelRefusal> {
    let Some(url) = url.map(SecretUrl::masked) else { return Ok(()) };
    let leads_there =
        |other: &&Channel| other.target.masked().is_some_and(|masked| masked.digest == url.digest);
    match others.iter().find(leads_there) {
        Some(other) => Err(ChannelRefusal::UrlTaken(other.name.clone())),
        None => Ok(()),
    }
}

/// Changes a channel's name, its choice of alerts, and where it leads. If it leads to another server, it loses its access
/// token, unless the change has one. What waits for it is sent to the new URL now.
///
/// # Errors
///
/// When another channel has the name or leads to the URL, or a fault of the table; a conflict when the channel has
/// changed since it was read, or when it is to lead elsewhere while another process sends to it.
pub async fn edit_channel(
    app: &App,
    channel: &Channel,
    (name, filter): (&str, Filter),
    to: TargetEdit,
    by: By,
) -> Result<(), ChannelError> {
    let managed_by = channel.managed_by.clone();
    edit_managed_channel(app, channel, (name, filter), to, managed_by, by).await
}

/// The same for a channel that a document manages.
pub(crate) async fn edit_managed_channel(
    app: &App,
    channel: &Channel,
    (name, filter): (&str, Filter),
    to: TargetEdit,
    managed_by: Option<ManagedBy>,
    by: By,
) -> Result<(), ChannelError> {
    let now = app.clock.now();
    let to = to.beyond(channel.target.masked());
    let edited = channel.edited(name, filter, to.as_ref(), managed_by, now);
    let Some(mut edited) = edited else { return Ok(()) };
    if to.as_ref().is_some_and(|to| to.url.is_some()) {
        // The links in earlier messages belong to their readers.
        edited = edited.with_link_key(app.entropy.link_key()?);
    }
    let mut others = app.store.channels(channel.team).await?;
    others.retain(|other| other.id != channel.id);
    if others.iter().any(|other| other.name == name) {
        return Err(ChannelRefusal::NameTaken(name.to_owned()).into());
    }
    refuse_taken_url(&others, to.as_ref().and_then(|to| to.url.as_ref()))?;
    // Alerts that it gets from now on may be due already.
    request_channel_sync(app, channel.team, now).await?;
    match &to {
        None => save_channel(app, &edited, ChannelChange::Edited, by).await?,
        Some(to) => move_channel(app, channel, &edited, to, by).await?,
    }
    enqueue_channel_sync(app, channel.team).await;
    Ok(())
}

/// Saves a channel that leads elsewhere. Its new receiver gets what waits, unless somebody has disabled the channel.
async fn move_channel(
    app: &App,
    before: &Channel,
    moved: &Channel,
    to: &TargetEdit,
    by: By,
) -> Result<(), StoreError> {
    let place = ChannelRef::from(moved);
    let state = app.store.states_of_channels(&[place]).await?.pop().unwrap_or_default();
    let state = state.moved(app.clock.now()).ok_or(StoreError::STALE)?;
    let event = AuditEvent::channel(moved, ChannelChange::Moved);
    let entry = AuditEntry::new(moved.team, by, event);
    app.store.move_channel(before, moved, to, &state, Audit::Entry(&entry)).await?;
    match moved.is_on() {
        true => resend::make_due(app, place).await,
        false => Ok(()),
    }
}

/// Saves a channel that was changed.
///
/// # Errors
///
/// A fault of the table; a conflict when it has changed since it was read.
pub async fn save_channel(
    app: &App,
    channel: &Channel,
    change: ChannelChange,
    by: By,
) -> Result<(), StoreError> {
    let event = AuditEvent::channel(channel, change);
    let entry = AuditEntry::new(channel.team, by, event);
    app.store.put_channel(channel, Audit::Entry(&entry)).await
}

/// Disables a channel, unless it is disabled already. The reason names the caller.
///
/// # Errors
///
/// A fault of the table; a conflict when the channel has changed since it was read.
pub async fn disable_channel(
    app: &App,
    channel: &Channel,
    caller: &Caller,
) -> Result<(), StoreError> {
    let who = match caller.actor {
        Actor::Operator => "an operator",
        _ => &caller.user.name,
    };
    let reason = format!("disabled by {who}");
    let Some(disabled) = channel.disabled_by_hand(&reason, caller.now) else { return Ok(()) };
    save_channel(app, &disabled, ChannelChange::Disabled, caller.by()).await
}

/// Removes a channel, with everything that is outstanding for it.
///
/// # Errors
///
/// A fault of the table.
pub async fn remove_channel(app: &App, channel: &Channel, by: By) -> Result<(), StoreError> {
    let event = AuditEvent::channel(channel, ChannelChange::Removed);
    let entry = AuditEntry::new(channel.team, by, event);
    let audit = Audit::Entry(&entry);
    retry_on_conflict(budget::WRITE, || app.store.delete_channel(channel, audit)).await
}

/// Confirms an address, which then gets alerts, including what happened since its reader unsubscribed. Returns the
/// channel; `None` if it was already confirmed.
///
/// # Errors
///
/// A fault of the table; a conflict when the channel has changed since it was read.
pub async fn confirm_channel(
    app: &App,
    channel: &Channel,
    by: By,
) -> Result<Option<Channel>, StoreError> {
    let now = app.clock.now();
    let Some(confirmed) = channel.confirmed(now) else { return Ok(None) };
    request_channel_sync(app, channel.team, now).await?;
    save_channel(app, &confirmed, ChannelChange::Confirmed, by).await?;
    enqueue_channel_sync(app, channel.team).await;
    Ok(Some(confirmed))
}

/// Refuses to ask the reader of an address again if they have been asked too often today.
async fn hold_questions(app: &App, channel: &Channel) -> Result<(), ChannelError> {
    let Some(address) = channel.target.address() else { return Ok(()) };
    match ask(app, channel.team, address, Question::Confirm).await? {
        Allowance::Free => Ok(()),
        Allowance::MailboxIsFull => Err(ChannelRefusal::AskedOften(address.to_owned()).into()),
        Allowance::TeamIsDone => Err(ChannelRefusal::AskedMany.into()),
    }
}

/// Emails an address to ask whether it may receive alerts, unless that is about to happen. The email says who is
/// asking.
async fn ask_for_confirmation(app: &App, channel: &Channel, by: By) -> Result<(), StoreError> {
    let asked_by = app.store.users(by.actor.user()).await?.into_values().next();
    let asked_by = asked_by.as_ref().map(Asker::of);
    let content = Content::Confirmation { id: app.entropy.request_id(), asked_by };
    let question = Queued::notice("confirmation".to_owned(), content, app.clock.now());
    unless_conflict(app.store.put_queued(channel.into(), &question).await)?;
    wake(app, channel.into(), Duration::ZERO).await;
    Ok(())
}

/// Enables a channel, no matter who disabled it, and makes it look at everything that it missed. Asks the reader of an
/// unconfirmed address.
///
/// # Errors
///
/// A fault of the table; a conflict while another process sends to the channel.
pub async fn enable_channel(app: &App, channel: &Channel, by: By) -> Result<Channel, ChannelError> {
    let now = app.clock.now();
    request_channel_sync(app, channel.team, now).await?;
    // A person's decision is stored in the channel, and the receiver's in its state. Enabling has the same audit entry
    // in both cases.
    let event = AuditEvent::channel(channel, ChannelChange::Enabled);
    let entry = AuditEntry::new(channel.team, by, event);
    let audit = Audit::Entry(&entry);
    let enabled = match channel.enabled(now) {
        Some(enabled) => {
            app.store.put_channel(&enabled, audit).await?;
            enabled
        }
        None => channel.clone(),
    };
    resend::resend(app, &enabled, |_| audit).await?;
    ask_again(app, &enabled, by).await?;
    enqueue_channel_sync(app, enabled.team).await;
    Ok(enabled)
}

/// Sends what failed and what was given up again now, and asks the reader of an unconfirmed address again. This enables a
/// channel that its receiver had disabled.
///
/// # Errors
///
/// When the channel is disabled, or a fault of the table; a conflict while another process sends to the channel.
pub async fn resend_to_channel(app: &App, channel: &Channel, by: By) -> Result<(), ChannelError> {
    if let Some(disabled) = &channel.disabled {
        let (name, reason) = (channel.name.clone(), disabled.reason.clone());
        return Err(ChannelRefusal::Disabled { name, reason }.into());
    }
    let event = AuditEvent::channel(channel, ChannelChange::Enabled);
    let entry = AuditEntry::new(channel.team, by, event);
    resend::resend(app, channel, |before| match before.disabled {
        Some(_) => Audit::Entry(&entry),
        None => Audit::None,
    })
    .await?;
    ask_again(app, channel, by).await
}

/// Asks the reader of an unconfirmed address.
async fn ask_again(app: &App, channel: &Channel, by: By) -> Result<(), ChannelError> {
    if channel.since.is_none() {
        hold_questions(app, channel).await?;
        ask_for_confirmation(app, channel, by).await?;
    }
    Ok(())
}
