//! The message of a delivery, with its links.

use jiff::Timestamp;
use serde_json::json;

use crate::alerts::channel::webhook;
use crate::alerts::delivery::{Content, Queued};
use crate::alerts::handle::Handle;
use crate::alerts::mail::{TransactionalMail, TransactionalMailKind};
use crate::alerts::outgoing_message::OutgoingMessage;
use crate::alerts::{Alert, compose, link, snapshot};
use crate::time::wire;

use super::context::DeliveryContext;

impl DeliveryContext<'_> {
    /// An alert for the people of the channel.
    pub(super) fn alert(&self, alert: Alert, id: String, openings: Vec<Handle>) -> OutgoingMessage {
        let unsubscribe_url = self.pages_base.map(|base| link::unsubscribe(base, self.channel));
        OutgoingMessage::Alert { alert, id, openings, unsubscribe_url }
    }

    /// Something that was queued; `None` if its link would lead nowhere, because the address of the dashboard is not
    /// configured.
    pub(super) fn queued(&self, queued: &Queued, now: Timestamp) -> Option<OutgoingMessage> {
        let content = &queued.content;
        let Self { channel, team, zone, pages_base: base, .. } = *self;
        let gets_events = channel.target.gets_events();
        if let (Content::Test { .. }, Some(period)) = (content, self.period()) {
            let test = snapshot::test(&channel.name, &team.name, period, now);
            return Some(OutgoingMessage::Snapshot { alerts: vec![test] });
        }
        Some(match content {
            Content::Confirmation { id, asked_by } => {
                let url = link::confirm(base?, channel);
                let kind = TransactionalMailKind::Confirmation {
                    asked_by: asked_by.clone(),
                    team: team.name.clone(),
                };
                let mail = TransactionalMail { kind, url, unsubscribe_url: None };
                let id = format!("confirm-{}-{id}", channel.id);
                OutgoingMessage::TransactionalMail { mail, id }
            }
            Content::Event { id, body, .. } => {
                OutgoingMessage::Event { id: id.clone(), body: body.clone().into_bytes() }
            }
            Content::Test { id } if gets_events => {
                let data = json!({ "channel": { "uuid": channel.id, "name": channel.name } });
                let body = webhook::body(webhook::TEST, now, data);
                OutgoingMessage::Event { id: id.clone(), body }
            }
            Content::Test { id } => {
                let test = match queued.is_weekly_test() {
                    true => compose::weekly_test(&channel.name, &team.name, now),
                    false => compose::test(&channel.name, &team.name, now),
                };
                self.alert(test, id.clone(), Vec::new())
            }
            Content::Missed { id, since, until } if gets_events => {
                let data = json!({
                    "channel": { "uuid": channel.id, "name": channel.name },
                    "since": wire(*since),
                    "until": wire(*until),
                });
                let body = webhook::body(webhook::MISSED, *until, data);
                OutgoingMessage::Event { id: id.clone(), body }
            }
            Content::Missed { id, since, until } => {
                let events = base.map(|base| link::events(base, channel.team));
                let alert = compose::missed(&channel.name, (*since, *until), events, team, zone);
                self.alert(alert, id.clone(), Vec::new())
            }
            // The run makes a snapshot of what the channel knows.
            Content::Repeat { .. } => return None,
            Content::BrokenChannel { id, uuid, channel: broken, reason } => {
                let page =
                    base.zip(*uuid).map(|(base, uuid)| link::channel(base, channel.team, uuid));
                let alert = compose::broken_channel(broken, reason, &team.name, page, now);
                self.alert(alert, id.clone(), Vec::new())
            }
            Content::Unchecked { id, site, name, since, reason } => {
                let page = base.map(|base| link::site(base, *site));
                let since = zone.minute(*since);
                let alert = compose::unchecked(name, &since, reason, &team.name, page, now);
                self.alert(alert, id.clone(), Vec::new())
            }
        })
    }
}
