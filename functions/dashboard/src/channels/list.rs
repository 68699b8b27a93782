//! The channels of a team: their state, and the form for a new one.

use std::iter;

use futures::future::try_join_all;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{WaitingDelivery, waiting_for};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::channel::{Channel, Disabled};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt, Standing, TestOutcome};
use vedette_domain::id::ChannelId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{ChannelRef, StoreError, TeamWithSettings};

use super::form::form;
use crate::clock::Clock;
use crate::form::{FormInput, capitalized};
use crate::layout::{self, Heading, NavTab};
use crate::look::{Icon, Look};
use crate::words::{counted, spelled};
use crate::{RequestContext, words};

/// How many failed attempts and waiting messages a channel shows.
const FAILURES: usize = 3;

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 8] = [
    ("added", "Channel added."),
    ("asked", "Channel added. It gets no notifications until its recipient confirms the address."),
    ("saved", "Channel saved."),
    ("tested", "Test notification on its way. The result appears below."),
    ("enabled", "Channel enabled."),
    ("disabled", "Channel disabled. Nothing more is sent to it."),
    ("resent", "Sending the notifications that were waiting."),
    ("removed", "Channel deleted."),
];

/// What was refused, and why.
pub(super) enum Refused {
    /// A new channel, with the status of the answer.
    Addition(FormInput, StatusCode),
    /// An action on a channel.
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
        Some(Refused::Addition(_, status)) => status,
        Some(Refused::Of(..)) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let problem_of = |channel: &Channel| match &refused {
        Some(Refused::Of(id, why)) if *id == channel.id => Some(why.as_str()),
        _ => None,
    };
    let clock = context.clock(Some(&team.team));
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &NOTICES)) }
        @if !channels.is_empty() {
            section.card aria-label="Channels" {
                ul.rows {
                    @for ((channel, state), waiting) in channels.iter().zip(&states).zip(&waiting) {
                        (one((channel, state, clock), &leads_to(channel, &channels), waiting, may_manage, problem_of(channel)))
                    }
                }
            }
        }
        @if may_manage {
            @match &refused {
                Some(Refused::Addition(input, _)) => (form(team, input)),
                _ => (form(team, &FormInput::default())),
            }
        } @else {
            p.quiet { "Owners and admins of the team can add and change channels." }
        }
    };
    let standings: Vec<Standing> = channels
        .iter()
        .zip(&states)
        .map(|(channel, (state, _))| Standing::of(channel, state))
        .collect();
    let lead = match channels.is_empty() {
        true => "Nobody is notified of issues until there is a channel.",
        false => "Where notifications of issues go.",
    };
    let title = Heading::new(headline(&standings)).lead(html! { p.quiet { (lead) } });
    Ok(layout::team_page(context, (&team.team, NavTab::Channels), status, title, &content))
}

/// What waits for a channel. It is read only if the channel is failing.
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

/// A channel, with its actions.
fn one(
    (channel, (state, is_tested), clock): (&Channel, &(ChannelState, bool), Clock<'_>),
    leads_to: &str,
    waiting: &[WaitingDelivery],
    may_manage: bool,
    problem: Option<&str>,
) -> Markup {
    let standing = Standing::of(channel, state);
    let kind = channel.target.kind();
    let (look, word) = word(standing);
    html! {
        li.w.top0 id=(channel.id) {
            span.face.l.sq.xl { (Icon::from(kind).shape()) }
            div.grow {
                div.row { b { bdi { (channel.name) } } (look.bare(word)) }
                p.quiet.small.cut { (kind.description().label) " · " bdi { (leads_to) } }
                p.small.m1 { (wanted(channel)) span.quiet { " · " (delivered(channel, state, clock)) } }
                @if *is_tested || state.last_test.is_some() {
                    p.small.quiet { "Last test " (last_test(state, *is_tested, clock)) }
                }
            }
            @if may_manage { (actions(channel, standing)) }
            @if let Some(problem) = problem { (layout::problem(problem)) }
            (troubles((channel, state, clock), standing, waiting))
        }
    }
}

fn delivered(channel: &Channel, state: &ChannelState, clock: Clock<'_>) -> Markup {
    // The email that asks to confirm an address is not a notification.
    let began = channel.began();
    let delivered_at = state.delivered_at.filter(|at| began.is_some_and(|began| *at >= began));
    html! {
        @match delivered_at {
            Some(at) => { "Last delivered " (clock.instant(at)) }
            None => "Nothing delivered yet",
        }
    }
}

/// The last failed attempts, newest first.
fn failures(state: &ChannelState) -> impl Iterator<Item = &FailedAttempt> + Clone {
    state.log.iter().rev().take(FAILURES)
}

/// Why a channel does not receive its alerts, and what waits.
fn troubles(
    (channel, state, clock): (&Channel, &ChannelState, Clock<'_>),
    standing: Standing,
    waiting: &[WaitingDelivery],
) -> Markup {
    let disabled = channel.disabled.as_ref().or(state.disabled.as_ref());
    let failed = failures(state);
    // The reason of a failure is shown once, although other lines may have the same.
    let reason = disabled.map(|disabled| &disabled.reason).or(state.held.as_ref());
    let before = iter::once(reason).chain(failed.clone().map(|failed| Some(&failed.why)));
    let (look, _) = word(standing);
    html! {
        @if disabled.is_some() || state.held.is_some() || !state.log.is_empty() || !waiting.is_empty() {
            div class={ "note " (look.class()) } {
                div.grow.stack.gs.small {
                    @if let Some(Disabled { at, reason }) = disabled {
                        p { "Disabled " (clock.instant(*at)) ": " bdi { (reason) } }
                    }
                    @if let Some(why) = &state.held {
                        p { b { "No email can be sent: " bdi { (why) } } }
                    }
                    @for (failed, before) in failed.zip(before) {
                        p {
                            @if before == Some(&failed.why) { "Failed: " } @else { b { bdi { (failed.why) } } " · " }
                            (failed.what) ", " (clock.instant(failed.at))
                        }
                    }
                    @for message in waiting.iter().take(FAILURES) {
                        p {
                            "Waiting: " bdi { (message.what) }
                            @match message.due {
                                Some(due) => { ", next attempt " (clock.instant(due)) }
                                None if standing == Standing::Disabled => ", until the channel is enabled",
                                None => ", given up",
                            }
                        }
                    }
                    @if waiting.len() > FAILURES { p { (waiting.len() - FAILURES) " more are waiting." } }
                }
            }
        }
    }
}

/// The outcome of the last test, or that a test is in progress.
fn last_test(state: &ChannelState, is_tested: bool, clock: Clock<'_>) -> Markup {
    let failed = state.last_test.as_ref().and_then(|test| test.failed.as_ref());
    // With the failures of the channel.
    let mut shown = state.held.iter().chain(failures(state).map(|attempt| &attempt.why));
    let is_shown = shown.any(|shown| Some(shown) == failed);
    html! {
        @match &state.last_test {
            _ if is_tested => "is on its way",
            Some(TestOutcome { at, failed: None, .. }) => { "delivered " (clock.instant(*at)) }
            Some(TestOutcome { at, failed: Some(why), .. }) => {
                "failed " (clock.instant(*at))
                @if !is_shown { ": " bdi { (why) } }
            }
            None => {}
        }
    }
}

fn actions(channel: &Channel, standing: Standing) -> Markup {
    let path = |verb: &str| format!("/teams/{}/channels/{}/{verb}", channel.team, channel.id);
    let button = |verb: &str, word: &str| {
        html! { form method="post" action=(path(verb)) { button.s { (word) } } }
    };
    html! {
        div.row.top0 {
            @match standing {
                Standing::On => (button("test", "Send test")),
                Standing::Failing => {
                    (button("resend", "Try again"))
                    (button("test", "Send test"))
                }
                Standing::Unconfirmed => (button("resend", "Ask again")),
                Standing::Disabled => (button("enable", "Enable")),
            }
            details.menu {
                summary.btn.s.sq.sq2 { span.hide { "Actions for " (channel.name) } (Icon::More.shape()) }
                div.pop {
                    a href=(path("edit")) { (Icon::Edit.shape()) "Edit" }
                    @if standing != Standing::Disabled {
                        form method="post" action=(path("disable")) { button { (Icon::Pause.shape()) "Disable" } }
                        hr;
                    }
                    p.head { "Also deletes notifications that are waiting." }
                    form method="post" action=(path("remove")) {
                        button.bad { (Icon::Delete.shape()) "Delete channel" }
                    }
                }
            }
        }
    }
}

/// The state of a channel, in a word.
const fn word(standing: Standing) -> (Look, &'static str) {
    match standing {
        Standing::On => (Look::Up, "Working"),
        Standing::Failing => (Look::Issues, "Not delivering"),
        Standing::Unconfirmed => (Look::Pending, "Waiting for confirmation"),
        Standing::Disabled => (Look::Paused, "Disabled"),
    }
}

/// The state of all channels of a team, as a heading.
fn headline(channels: &[Standing]) -> String {
    let count = |standing| channels.iter().filter(|one| **one == standing).count();
    let (total, failing, on) = (channels.len(), count(Standing::Failing), count(Standing::On));
    match (total, failing) {
        (0, _) => "No channels yet".to_owned(),
        (1, 1) => "Your channel isn’t delivering".to_owned(),
        (_, 0) if on == total => {
            if total == 1 {
                "Your channel is working".to_owned()
            } else {
                format!("All {total} channels are working")
            }
        }
        (_, 0) => format!(
            "{} of {} working",
            capitalized(&spelled(on)),
            counted(total, "channel is", "channels are")
        ),
        (_, 1) => format!("One of {total} channels isn’t delivering"),
        (_, failing) => {
            format!("{} of {total} channels aren’t delivering", capitalized(&spelled(failing)))
        }
    }
}

/// What a channel is notified of.
fn wanted(channel: &Channel) -> String {
    let filter = &channel.filter;
    let listed = |words: Vec<&str>| (!words.is_empty()).then(|| words.join(", "));
    let parts = [
        listed(filter.events.iter().map(|event| words::event(*event)).collect()),
        listed(filter.tools.iter().map(|tool| words::tool(*tool)).collect()),
        listed(filter.severities.iter().map(|severity| words::severity(*severity)).collect()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "All notifications".to_owned() } else { parts.join("; ") }
}

/// Where a channel leads. If another channel looks the same, it also shows the beginning of the URL's digest.
fn leads_to(channel: &Channel, all: &[Channel]) -> String {
    /// How many digits of a digest are shown.
    const DIGITS: usize = 6;
    let shown = channel.target.leads_to();
    let looks_same = |other: &Channel| other.id != channel.id && other.target.leads_to() == shown;
    match channel.target.masked().and_then(|url| url.digest.get(..DIGITS)) {
        Some(digest) if all.iter().any(looks_same) => format!("{shown} (URL {digest})"),
        _ => shown.to_owned(),
    }
}
