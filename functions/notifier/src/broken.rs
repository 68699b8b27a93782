//! Messages about the channels themselves: tests, confirmations, and the news that a channel missed
//! something, or that another one does not work.

use std::time::Duration;

use serde_json::json;
use tracing::error;
use vedette_actions::wake;
use vedette_domain::alerts::channel::PublicTarget;
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::alerts::mail::{TransactionalMail, TransactionalMailKind};
use vedette_domain::alerts::{compose, link, webhook};
use vedette_domain::time::wire;
use vedette_store::{ChannelRef, unless_conflict};

use crate::NotifierError;
use crate::deliver::{DeliveryRun, Transport};
use crate::send::{Message as Outgoing, SendOutcome};

/// How long a confirmation waits while there is no address for its link.
const NO_BASE: Duration = Duration::from_mins(15);

/// Sends a message that waits in the queue of a channel.
pub(crate) async fn send<T: Transport>(run: &DeliveryRun<'_, T>, content: &Content) -> SendOutcome {
    let DeliveryRun { channel, team, transport, .. } = run;
    let (team, now) = (team.team.name.as_str(), run.now());
    let message = match content {
        Content::Confirmation { id, asked_by } => {
            let Some(base) = run.app.service.pages_base() else {
                let why = NotifierError::NoBase.to_string();
                return SendOutcome::Held { after: NO_BASE, why };
            };
            let url = link::confirm(base, channel);
            let kind = TransactionalMailKind::Confirmation {
                asked_by: asked_by.clone(),
                team: team.to_owned(),
            };
            let mail = TransactionalMail { kind, url };
            Outgoing::TransactionalMail { mail, id: format!("confirm-{}-{id}", channel.id) }
        }
        Content::Event { id, body, .. } => {
            Outgoing::Event { id: id.clone(), body: body.clone().into_bytes() }
        }
        Content::Test { id } if !channel.target.is_for_people() => {
            let data = json!({ "channel": { "uuid": channel.id, "name": channel.name } });
            Outgoing::Event { id: id.clone(), body: webhook::body(webhook::TEST, now, data) }
        }
        Content::Test { id } => run.alert(compose::test(&channel.name, team, now), id.clone()),
        Content::Missed { id, since, until } if !channel.target.is_for_people() => {
            let data = json!({
                "channel": { "uuid": channel.id, "name": channel.name },
                "since": wire(*since),
                "until": wire(*until),
            });
            Outgoing::Event { id: id.clone(), body: webhook::body(webhook::MISSED, *until, data) }
        }
        Content::Missed { id, since, until } => {
            let base = run.app.service.pages_base();
            let events = base.map(|base| link::events(base, channel.team));
            let missed = compose::missed(&channel.name, (*since, *until), events, team);
            run.alert(missed, id.clone())
        }
        Content::BrokenChannel { id, uuid, channel: broken, reason } => {
            let base = run.app.service.pages_base();
            let page = base.zip(*uuid).map(|(base, uuid)| link::channel(base, channel.team, uuid));
            run.alert(compose::broken_channel(broken, reason, team, page, now), id.clone())
        }
    };
    transport.send(channel, &run.target, &message, now).await
}

/// Tells the team that the channel does not work, by another one that people read; mail is the surest.
pub(crate) async fn notify_owner<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    why: &str,
) -> Result<(), NotifierError> {
    let (app, broken, now) = (run.app, run.channel, run.now());
    let channels = app.store.channels(broken.team).await?;
    let others = channels
        .iter()
        .filter(|other| other.id != broken.id && other.is_on() && other.target.is_for_people());
    let mut works = None;
    for other in others {
        let state = app.store.channel_state(ChannelRef::from(other)).await?;
        let is_mail = matches!(other.target, PublicTarget::Email { .. });
        let is_well = state.disabled.is_none() && state.retry_at.is_none();
        if is_well && (works.is_none() || is_mail) {
            works = Some(other);
        }
    }
    error!(channel = %broken.id, team = %broken.team, notified = works.is_some(), "a channel does not work");
    let Some(other) = works else { return Ok(()) };
    let id = format!("{}-{}", broken.id, now.as_millisecond());
    let group = format!("notice-{id}");
    let (channel, reason) = (broken.name.clone(), why.to_owned());
    let content = Content::BrokenChannel { id, uuid: Some(broken.id), channel, reason };
    let notice = Queued::notice(group, content, now);
    // It may have been told before somebody died.
    if unless_conflict(app.store.put_queued(other.into(), &notice).await)? {
        wake(app, other.into(), Duration::ZERO).await;
    }
    Ok(())
}
