//! Entries of an audit log as the API shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::id::{ChannelId, UserId};
use vedette_domain::issues::Responder;

use super::{UserResource, wire_time};

/// An entry of an audit log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AuditEntry"))]
pub struct AuditEntryResource<'a> {
    /// When it happened.
    #[serde(serialize_with = "wire_time")]
    timestamp: Timestamp,
    /// Who did it: `user`, `operator` (the command line of the service), `reader` (a link in a message) or
    /// `service` (the selector of a status page).
    actor: &'static str,
    /// The user, if a user did it whose account still exists.
    user: Option<UserResource>,
    /// The channel with the message, if somebody used the link in it to acknowledge or snooze an issue. Omitted
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ChannelId", default))]
    channel_uuid: Option<ChannelId>,
    /// What was done.
    event: &'a AuditEvent,
}

impl<'a> AuditEntryResource<'a> {
    /// An entry with its user.
    pub fn new(entry: &'a AuditEntry, users: &BTreeMap<UserId, User>) -> Self {
        let (actor, user) = match entry.actor {
            Actor::User(user) => ("user", users.get(&user)),
            Actor::Operator => ("operator", None),
            Actor::Reader | Actor::ReaderOf(_) => ("reader", None),
            Actor::Service => ("service", None),
        };
        Self {
            timestamp: entry.at,
            actor,
            user: user.map(UserResource::from),
            channel_uuid: entry.actor.responder().and_then(Responder::channel),
            event: &entry.event,
        }
    }
}
