//! The channels of a team, and the two pages that an email links to: one confirms its address, one unsubscribes it. A
//! visitor with the link has read the email; without the link, the answer is the same as for a channel that does not
//! exist.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod edit;
mod forecast;
mod form;
pub(crate) mod list;
pub(crate) mod respond;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{confirm_channel, save_channel};
use vedette_domain::accounts::audit::{Actor, By, ChannelChange};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::link;
use vedette_domain::id::{ChannelId, TeamId};
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::ChannelRef;

use crate::{RequestContext, layout};

/// Asks whether to confirm an address.
pub(crate) async fn ask_to_confirm(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    if opened.channel.disabled.is_some() || opened.channel.since.is_some() {
        return Ok(opened.present_state(context));
    }
    let question =
        html! { "Send alerts from the channel " (opened.name()) " to " (opened.address()) "?" };
    Ok(layout::form(context, "Confirm this address", &question, "Confirm"))
}

/// Confirms an address, once.
pub(crate) async fn confirm(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    // A reader who has unsubscribed wants no alerts, even if they open an older email afterwards.
    if opened.channel.disabled.is_some() {
        return Ok(opened.present_state(context));
    }
    let confirmed = confirm_channel(context.app, &opened.channel, reader(context)).await?;
    let channel = confirmed.unwrap_or(opened.channel);
    Ok(Opened { channel, ..opened }.present_state(context))
}

/// Asks whether to unsubscribe an address.
pub(crate) async fn ask_to_unsubscribe(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    if opened.channel.disabled.is_some() {
        return Ok(opened.present_state(context));
    }
    let question = html! { "Send no more alerts from the channel " (opened.name()) " to " (opened.address()) "?" };
    Ok(layout::form(context, "Unsubscribe this address", &question, "Unsubscribe"))
}

/// Unsubscribes an address, once. The request comes from the form, or from the reader's email program (RFC 8058).
pub(crate) async fn unsubscribe(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let opened = Opened::read(context).await?;
    let Some(channel) = opened.channel.unsubscribed(context.app.clock.now()) else {
        return Ok(opened.present_state(context));
    };
    save_channel(context.app, &channel, ChannelChange::Unsubscribed, reader(context)).await?;
    Ok(Opened { channel, ..opened }.present_state(context))
}

/// The reader of an address, who followed a link.
fn reader(context: RequestContext<'_>) -> By {
    By { actor: Actor::Reader, now: context.app.clock.now() }
}

/// An email channel whose key the visitor has.
struct Opened {
    channel: Channel,
    address: String,
}

impl Opened {
    async fn read(context: RequestContext<'_>) -> Result<Self, ApiError> {
        let team = context.parameters.id("team", TeamId::parse)?;
        let id = context.parameters.id("channel", ChannelId::parse)?;
        let channel = context.app.store.channel(ChannelRef { team, id }).await?;
        let channel = channel.ok_or(ApiError::NotFound)?;
        let query = Query::parse(context.head.uri.query());
        let address = channel.target.address().ok_or(ApiError::NotFound)?.to_owned();
        if !channel.key.matches(query.search(link::KEY).unwrap_or_default()) {
            return Err(ApiError::NotFound);
        }
        Ok(Self { channel, address })
    }

    fn name(&self) -> Markup {
        html! { b { bdi { (self.channel.name) } } }
    }

    fn address(&self) -> Markup {
        html! { b { bdi { (self.address) } } }
    }

    /// Says whether the address receives alerts.
    fn present_state(&self, context: RequestContext<'_>) -> Response {
        let (title, content) = if self.channel.is_on() {
            let content = html! {
                p { "Alerts from the channel " (self.name()) " are sent to " (self.address()) "." }
                p { "Each of them has a link to unsubscribe." }
            };
            ("This address is confirmed", content)
        } else {
            let content = html! {
                p { "No alerts from the channel " (self.name()) " are sent to " (self.address()) "." }
                p { "To get them again, ask the team that monitors these websites to enable the channel." }
            };
            ("This address is unsubscribed", content)
        };
        layout::page(context, StatusCode::OK, title, &content)
    }
}
