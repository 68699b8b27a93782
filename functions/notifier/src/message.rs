//! The message that a delivery sends, with its links.

use jiff::Timestamp;
use serde_json::json;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::{Channel, webhook};
use vedette_domain::alerts::delivery::Content;
use vedette_domain::alerts::delivery_run::DeliveryMessage;
use vedette_domain::alerts::mail::{TransactionalMail, TransactionalMailKind};
use vedette_domain::alerts::{Alert, compose, link};
use vedette_domain::time::wire;
use vedette_domain::time_zone::NamedZone;

use crate::send::OutgoingMessage;

/// The dashboard's address is not configured, so a link would lead nowhere.
#[derive(Debug)]
pub(crate) struct NoBase;

/// The message of a delivery to a team's channel, with times in a zone. `base` is the address of the dashboard.
pub(crate) fn message(
    of: DeliveryMessage<'_>,
    channel: &Channel,
    (team, zone): (&Team, &NamedZone),
    base: Option<&str>,
    now: Timestamp,
) -> Result<OutgoingMessage, NoBase> {
    let to_people = |alert: Alert, id: &str| {
        let unsubscribe_url = base.map(|base| link::unsubscribe(base, channel));
        OutgoingMessage::Alert { alert, id: id.to_owned(), unsubscribe_url }
    };
    let content = match of {
        DeliveryMessage::Alert { alert, id } => return Ok(to_people(alert.clone(), id)),
        DeliveryMessage::Queued(queued) => &queued.content,
    };
    let is_for_people = channel.target.is_for_people();
    Ok(match content {
        Content::Confirmation { id, asked_by } => {
            let url = link::confirm(base.ok_or(NoBase)?, channel);
            let kind = TransactionalMailKind::Confirmation {
                asked_by: asked_by.clone(),
                team: team.name.clone(),
            };
            let mail = TransactionalMail { kind, url, unsubscribe_url: None };
            OutgoingMessage::TransactionalMail { mail, id: format!("confirm-{}-{id}", channel.id) }
        }
        Content::Event { id, body, .. } => {
            OutgoingMessage::Event { id: id.clone(), body: body.clone().into_bytes() }
        }
        Content::Test { id } if !is_for_people => {
            let data = json!({ "channel": { "uuid": channel.id, "name": channel.name } });
            OutgoingMessage::Event { id: id.clone(), body: webhook::body(webhook::TEST, now, data) }
        }
        Content::Test { id } => to_people(compose::test(&channel.name, &team.name, now), id),
        Content::Missed { id, since, until } if !is_for_people => {
            let data = json!({
                "channel": { "uuid": channel.id, "name": channel.name },
                "since": wire(*since),
                "until": wire(*until),
            });
            OutgoingMessage::Event {
                id: id.clone(),
                body: webhook::body(webhook::MISSED, *until, data),
            }
        }
        Content::Missed { id, since, until } => {
            let events = base.map(|base| link::events(base, channel.team));
            to_people(compose::missed(&channel.name, (*since, *until), events, team, zone), id)
        }
        Content::BrokenChannel { id, uuid, channel: broken, reason } => {
            let page = base.zip(*uuid).map(|(base, uuid)| link::channel(base, channel.team, uuid));
            to_people(compose::broken_channel(broken, reason, &team.name, page, now), id)
        }
    })
}
