//! The channels of a team: how they stand, and the form for another one.

use futures::future::try_join_all;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{WaitingDelivery, waiting_for};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::channel::{Channel, Disabled};
use vedette_domain::alerts::channel_state::{ChannelState, Standing, TestOutcome};
use vedette_domain::id::ChannelId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::{ChannelRef, StoreError, TeamWithSettings};

use super::form::{ChannelInput, form};
use crate::RequestContext;
use crate::layout::{self, NavTab};

/// Failed attempts that are shown of a channel, and messages that wait.
const FAILURES: usize = 3;

/// What a form did, as the address names it, and in words.
const SAID: [(&str, &str); 7] = [
    ("added", "The channel is added."),
    ("asked", "The reader of the address is asked to confirm, and gets no alerts until then."),
    ("tested", "The test is under way. What becomes of it is shown below at Last test."),
    ("enabled", "The channel receives alerts again."),
    ("disabled", "Nothing more is sent to the channel."),
    ("resent", "What waited for the channel is sent now."),
    ("removed", "The channel is removed."),
];

/// What was not done, and why.
pub(super) enum Refused {
    /// A new channel.
    Addition(ChannelInput, ValidationError),
    /// A new channel, because another one leads to its URL.
    Taken(ChannelInput, ValidationError),
    /// Something with a channel.
    Of(ChannelId, String),
}

/// Shows the channels.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, None).await
}

pub(super) async fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    refused: Option<Refused>,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let role = context.member()?.caller.role_in(team.id())?;
    let may_manage = role.grants(Permission::ManageChannels);
    let mut channels = store.channels(team.id()).await?;
    channels.sort_by_key(|channel| (channel.created_at, channel.id));
    let places: Vec<ChannelRef> = channels.iter().map(ChannelRef::from).collect();
    let states = store.states_and_tests_of_channels(&places).await?;
    let waiting =
        channels.iter().zip(&states).map(|(channel, (state, _))| waiting(context, channel, state));
    let waiting = try_join_all(waiting).await?;
    let status = match refused {
        Some(Refused::Taken(..)) => StatusCode::CONFLICT,
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let problem_of = |channel: &Channel| match &refused {
        Some(Refused::Of(id, why)) if *id == channel.id => Some(why.as_str()),
        _ => None,
    };
    let content = html! {
        @if refused.is_none() { (layout::done(context, &SAID)) }
        @if channels.is_empty() {
            p { "The team has no channels: nobody is told of its issues." }
        }
        @for ((channel, state), waiting) in channels.iter().zip(&states).zip(&waiting) {
            (one(channel, state, waiting, may_manage, problem_of(channel)))
        }
        @if may_manage {
            h2 { "Add a channel" }
            @match &refused {
                Some(Refused::Addition(input, why) | Refused::Taken(input, why)) => (form(team, input, Some(why))),
                _ => (form(team, &ChannelInput::empty(), None)),
            }
        } @else {
            p { "Owners and admins of the team can add channels and change them." }
        }
    };
    let title = format!("Channels of {}", team.team.name);
    Ok(layout::team_page(context, (&team.team, NavTab::Channels), status, title, &content))
}

/// What waits for a channel that does not take what it is sent; nobody asks that of one that does.
async fn waiting(
    context: RequestContext<'_>,
    channel: &Channel,
    state: &ChannelState,
) -> Result<Vec<WaitingDelivery>, StoreError> {
    match Standing::of(channel, state) {
        Standing::On | Standing::Unconfirmed => Ok(Vec::new()),
        Standing::Failing | Standing::Disabled => {
            let deliveries = context.app.store.deliveries(channel.into()).await?;
            waiting_for(context.app, channel, &deliveries).await
        }
    }
}

/// A channel, with what can be done with it.
fn one(
    channel: &Channel,
    (state, is_tested): &(ChannelState, bool),
    waiting: &[WaitingDelivery],
    may_manage: bool,
    problem: Option<&str>,
) -> Markup {
    let standing = Standing::of(channel, state);
    let disabled = channel.disabled.as_ref().or(state.disabled.as_ref());
    html! {
        section {
            h2 id=(channel.id) { bdi { (channel.name) } }
            @if let Some(problem) = problem { (layout::problem(problem)) }
            dl {
                dt { "Kind" } dd { (channel.target.kind().description().label) }
                dt { "To" } dd { bdi { (channel.target.leads_to()) } }
                dt { "Is told" } dd { (wanted(channel)) }
                dt { "State" }
                dd {
                    (word(standing))
                    @if let Some(Disabled { at, reason }) = disabled {
                        ", since " (layout::instant(*at)) ": " bdi { (reason) }
                    }
                }
                dt { "Last delivery" }
                dd {
                    @match state.delivered_at {
                        Some(at) => (layout::instant(at)),
                        None => "none yet",
                    }
                }
                @if *is_tested || state.last_test.is_some() {
                    dt { "Last test" }
                    dd { (last_test(state, *is_tested)) }
                }
                @if !state.log.is_empty() {
                    dt { "Failed lately" }
                    dd {
                        ul {
                            @for failed in state.log.iter().rev().take(FAILURES) {
                                li {
                                    (layout::instant(failed.at)) ", " (failed.what) ": "
                                    bdi { (failed.why) }
                                }
                            }
                        }
                    }
                }
                @if !waiting.is_empty() {
                    dt { "Waiting" }
                    dd {
                        ul {
                            @for message in waiting.iter().take(FAILURES) {
                                li {
                                    bdi { (message.what) }
                                    @match message.due {
                                        Some(due) => { ", due " (layout::instant(due)) }
                                        None if standing == Standing::Disabled => ", until the channel is enabled",
                                        None => ", given up",
                                    }
                                }
                            }
                            @if waiting.len() > FAILURES { li { (waiting.len() - FAILURES) " more" } }
                        }
                    }
                }
            }
            @if may_manage { (actions(channel, standing)) }
        }
    }
}

/// What became of the last test, or that it is under way.
fn last_test(state: &ChannelState, is_tested: bool) -> Markup {
    html! {
        @match &state.last_test {
            _ if is_tested => "under way",
            Some(TestOutcome { at, failed: None, .. }) => { "delivered " (layout::instant(*at)) }
            Some(TestOutcome { at, failed: Some(why), .. }) => {
                "not delivered, " (layout::instant(*at)) ": " bdi { (why) }
            }
            None => {}
        }
    }
}

fn actions(channel: &Channel, standing: Standing) -> Markup {
    let path = |verb: &str| format!("/teams/{}/channels/{}/{verb}", channel.team, channel.id);
    let button = |verb: &str, word: &str| {
        html! { form method="post" action=(path(verb)) { button { (word) } } }
    };
    html! {
        div.row {
            @match standing {
                Standing::On => (button("test", "Send a test")),
                Standing::Failing => {
                    (button("test", "Send a test"))
                    (button("resend", "Send again what failed"))
                }
                Standing::Unconfirmed => (button("resend", "Ask the reader again")),
                Standing::Disabled => (button("enable", "Enable")),
            }
            @if standing != Standing::Disabled { (button("disable", "Disable")) }
            details {
                summary { "Remove" }
                p { "It is removed with all that waits for it." }
                (button("remove", "Remove this channel"))
            }
        }
    }
}

const fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::On => "Receives alerts",
        Standing::Failing => "Receives alerts, and did not take the last one",
        Standing::Unconfirmed => "Not confirmed yet by its reader",
        Standing::Disabled => "Disabled",
    }
}

fn wanted(channel: &Channel) -> String {
    let filter = &channel.filter;
    let listed = |all: &str, words: Vec<&str>| match words.is_empty() {
        true => all.to_owned(),
        false => words.join(", "),
    };
    let events = filter.events.iter().map(|event| event.as_str()).collect();
    let tools = filter.tools.iter().map(|tool| tool.label()).collect();
    let severities = filter.severities.iter().map(|severity| severity.as_str()).collect();
    format!(
        "{}; {}; {}",
        listed("all events", events),
        listed("all tools", tools),
        listed("all severities", severities)
    )
}
