//! The channels of a team, and the pages that a mail leads to: one to confirm its address, one to unsubscribe it. Who has the link
//! has read the mail; whoever has not gets the same answer as for a channel that does not exist.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod list;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::save_channel;
use vedette_domain::alert::channel::{Channel, Target};
use vedette_domain::alert::link;
use vedette_domain::audit::{Actor, ChannelChange};
use vedette_domain::id::ChannelId;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::ChannelRef;

use crate::{Visit, layout};

/// Asks whether an address is to be confirmed.
pub(crate) async fn ask_to_confirm(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    if opened.channel.disabled.is_some() || opened.channel.since.is_some() {
        return Ok(opened.present_state(visit));
    }
    let question =
        html! { "Send alerts of the channel " (opened.name()) " to " (opened.address()) "?" };
    Ok(layout::form(visit, "Confirm this address", &question, "Confirm"))
}

/// Confirms an address, once.
pub(crate) async fn confirm(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    // Who has unsubscribed wants no alerts, even if an older mail is opened afterwards.
    let next = match opened.channel.disabled {
        Some(_) => None,
        None => opened.channel.confirmed(visit.app.clock.now()),
    };
    Ok(opened.save(visit, next, ChannelChange::Confirmed).await?.present_state(visit))
}

/// Asks whether an address is to be unsubscribed.
pub(crate) async fn ask_to_unsubscribe(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    if opened.channel.disabled.is_some() {
        return Ok(opened.present_state(visit));
    }
    let question = html! { "Send no more alerts of the channel " (opened.name()) " to " (opened.address()) "?" };
    Ok(layout::form(visit, "Unsubscribe this address", &question, "Unsubscribe"))
}

/// Unsubscribes an address, once; by the form, or by a mail program in its reader's place (RFC 8058).
pub(crate) async fn unsubscribe(visit: Visit<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(visit).await?;
    let next = opened.channel.unsubscribed(visit.app.clock.now());
    Ok(opened.save(visit, next, ChannelChange::Unsubscribed).await?.present_state(visit))
}

/// A channel of mail whose key the visitor has.
struct Opened {
    channel: Channel,
    address: String,
}

impl Opened {
    async fn read(visit: Visit<'_>) -> Result<Self, ApiError> {
        let team = visit.team_id()?;
        let id = ChannelId::parse(visit.value("channel")).ok_or(ApiError::NotFound)?;
        let channel = visit.app.store.channel(ChannelRef { team, id }).await?;
        let channel = channel.ok_or(ApiError::NotFound)?;
        let query = Query::parse(visit.head.uri.query());
        let Target::Email { address } = &channel.target else { return Err(ApiError::NotFound) };
        if !channel.key.matches(query.search(link::KEY).unwrap_or_default()) {
            return Err(ApiError::NotFound);
        }
        let address = address.clone();
        Ok(Self { channel, address })
    }

    /// Writes the channel, if there is something to be changed.
    async fn save(
        self,
        visit: Visit<'_>,
        next: Option<Channel>,
        change: ChannelChange,
    ) -> Result<Self, ApiError> {
        let Some(channel) = next else { return Ok(self) };
        save_channel(visit.app, &channel, change, Actor::Reader).await?;
        Ok(Self { channel, ..self })
    }

    fn name(&self) -> Markup {
        html! { b { bdi { (self.channel.name) } } }
    }

    fn address(&self) -> Markup {
        html! { b { bdi { (self.address) } } }
    }

    /// Whether alerts are sent to the address.
    fn present_state(&self, visit: Visit<'_>) -> Response {
        let (title, content) = if self.channel.is_on() {
            let content = html! {
                p { "Alerts of the channel " (self.name()) " are sent to " (self.address()) "." }
                p { "Each of them has a link to unsubscribe." }
            };
            ("This address is confirmed", content)
        } else {
            let content = html! {
                p { "No alerts of the channel " (self.name()) " are sent to " (self.address()) "." }
                p { "If they are wanted again, the team that watches these websites can enable the channel." }
            };
            ("This address is unsubscribed", content)
        };
        layout::page(visit, StatusCode::OK, title, &content)
    }
}
