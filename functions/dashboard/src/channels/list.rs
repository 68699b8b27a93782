//! The channels of a team, with their states.

use std::iter;

use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{WaitingDelivery, waiting_for};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::channel::{Channel, Disabled};
use vedette_domain::alerts::channel_state::{ChannelState, FailedAttempt, Standing, TestOutcome};
use vedette_domain::alerts::latency::{DAYS, Quantile};
use vedette_domain::id::ChannelId;
use vedette_domain::time::duration;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{ChannelRef, StoreError, TeamWithSettings};

use super::forecast::Asked;
use super::form::no_mail;
use crate::clock::Clock;
use crate::form::capitalized;
use crate::layout::{self, Heading, NavTab};
use crate::look::{Icon, Look};
use crate::words::{grouped, listed, spelled};
use crate::{RequestContext, words};

/// How many failed attempts and waiting messages a channel shows.
const FAILURES: usize = 3;

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 9] = [
    ("added", "Channel added."),
    ("trying", "Channel added. The result of its test appears below."),
    ("asked", "Channel added. It gets no notifications until its recipient confirms the address."),
    ("saved", "Channel saved."),
    ("tested", "The result of the test appears below."),
    ("enabled", "Channel enabled."),
    ("disabled", "Channel disabled. Nothing more is sent to it."),
    ("resent", "Sending the notifications that were waiting."),
    ("removed", "Channel deleted."),
];

/// The action on a channel that was refused, and why.
pub(super) type Refused = (ChannelId, String);

/// The state of a channel on the page. What needs attention most comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RowState {
    /// The last message did not arrive.
    Failing,
    /// Its receiver no longer accepts anything, so it is disabled.
    Refused,
    /// Nothing has arrived yet.
    Untested,
    /// Its recipient has not confirmed it yet.
    Unconfirmed,
    /// This service sends no email.
    NoMail,
    /// The last message arrived.
    Working,
    /// A person has disabled it.
    Off,
}

impl RowState {
    fn of(channel: &Channel, state: &ChannelState, sends_mail: bool) -> Self {
        let is_email = channel.target.address().is_some();
        match Standing::of(channel, state) {
            Standing::Disabled if channel.disabled.is_some() => Self::Off,
            Standing::Disabled => Self::Refused,
            _ if is_email && !sends_mail => Self::NoMail,
            Standing::Failing => Self::Failing,
            Standing::Unconfirmed => Self::Unconfirmed,
            Standing::On if state.notified_at(channel).is_none() => Self::Untested,
            Standing::On => Self::Working,
        }
    }

    /// The pill.
    const fn word(self) -> (Look, &'static str) {
        match self {
            Self::Failing => (Look::Issues, "Not delivering"),
            Self::Refused => (Look::Issues, "Disabled by its receiver"),
            Self::Untested => (Look::Pending, "Not tested yet"),
            Self::Unconfirmed => (Look::Pending, "Waiting for confirmation"),
            Self::NoMail => (Look::Issues, "This service can’t send email"),
            Self::Working => (Look::Up, "Working"),
            Self::Off => (Look::Paused, "Disabled"),
        }
    }

    /// The states of several channels, in the words for one channel and for more.
    const COUNTED: [(Self, &'static str, &'static str); 5] = [
        (Self::Failing, "isn’t delivering", "aren’t delivering"),
        (Self::Refused, "was disabled by its receiver", "were disabled by their receivers"),
        (Self::Untested, "was never tested", "were never tested"),
        (Self::Unconfirmed, "waits for confirmation", "wait for confirmation"),
        (Self::Off, "is disabled", "are disabled"),
    ];
}

/// A channel of the list.
struct Row {
    channel: Channel,
    state: ChannelState,
    /// Whether a test is on its way.
    is_tested: bool,
    row_state: RowState,
    /// What waits for it. It is read only if the channel is failing.
    waiting: Vec<WaitingDelivery>,
}

impl Row {
    async fn read(
        context: RequestContext<'_>,
        channel: Channel,
        (state, is_tested): (ChannelState, bool),
    ) -> Result<Self, StoreError> {
        let row_state = RowState::of(&channel, &state, context.app.service.sends_mail);
        let waiting = match Standing::of(&channel, &state) {
            Standing::On | Standing::Unconfirmed => Vec::new(),
            Standing::Failing | Standing::Disabled => {
                let deliveries = context.app.store.deliveries((&channel).into()).await?;
                waiting_for(context.app, &channel, &deliveries).await?
            }
        };
        Ok(Self { channel, state, is_tested, row_state, waiting })
    }
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
    let asked = Asked::read(context, team).await?;
    let channels = store.channels(team.id()).await?;
    let places: Vec<ChannelRef> = channels.iter().map(ChannelRef::from).collect();
    let states = store.states_and_tests_of_channels(&places).await?;
    let rows = channels.into_iter().zip(states);
    let rows = rows.map(|(channel, state)| Row::read(context, channel, state));
    let mut rows = try_join_all(rows).await?;
    rows.sort_by_key(|row| (row.row_state, row.channel.created_at, row.channel.id));
    let problem_of = |row: &Row| match &refused {
        Some((id, why)) if *id == row.channel.id => Some(why.as_str()),
        _ => None,
    };
    let clock = context.clock(Some(&team.team));
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &NOTICES)) }
        @if let Some(asked) = &asked { (asked.form(team)) }
        @if !rows.is_empty() {
            section.card aria-label="Channels" {
                ul.rows {
                    @for row in &rows {
                        @let notified = asked.as_ref().and_then(|asked| asked.answer(context, team, (&row.channel, &row.state), clock));
                        (one(row, &leads_to(row, &rows), clock, may_manage, problem_of(row), notified))
                    }
                }
            }
        }
        @if !may_manage { p.quiet { "Owners and admins of the team can add and change channels." } }
    };
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let states: Vec<RowState> = rows.iter().map(|row| row.row_state).collect();
    let add = html! {
        @if may_manage {
            a.btn.main href={ "/teams/" (team.id()) "/channels/new" } {
                (Icon::Plus.shape()) span { "Add" span.wide { " channel" } }
            }
        }
    };
    let lead = html! { p.quiet { (lead(&states)) } };
    let title = Heading::new(headline(&states)).lead(lead).actions(add);
    Ok(layout::team_page(context, (&team.team, NavTab::Channels), status, title, &content))
}

/// A channel, with its actions.
fn one(
    row: &Row,
    leads_to: &str,
    clock: Clock<'_>,
    may_manage: bool,
    problem: Option<&str>,
    notified: Option<Markup>,
) -> Markup {
    let Row { channel, state, is_tested, row_state, .. } = row;
    let kind = channel.target.kind();
    let (look, word) = row_state.word();
    html! {
        li.w.top0 id=(channel.id) {
            span.face.l.sq.xl { (Icon::from(kind).shape()) }
            div.grow {
                div.row { b { bdi { (channel.name) } } (look.bare(word)) }
                @if let Some(notified) = notified { p { (notified) } }
                p.quiet.small.cut { (kind.description().label) " · " bdi { (leads_to) } }
                p.small.m1 {
                    (wanted(channel))
                    span.quiet {
                        " · "
                        @match state.notified_at(channel) {
                            Some(at) => { "Last delivered " (clock.instant(at)) }
                            None => "Nothing delivered yet",
                        }
                    }
                }
                (latency(state, clock.now))
                @if *is_tested || state.last_test.is_some() {
                    p.small.quiet { "Last test " (last_test(row, clock)) }
                }
            }
            @if may_manage { (actions(row)) }
            @if let Some(problem) = problem { (layout::problem(problem)) }
            @if *row_state == RowState::NoMail { (layout::note(look, &no_mail())) }
            (troubles(row, clock))
        }
    }
}

/// How fast the channel is notified of openings, if there were any.
fn latency(state: &ChannelState, now: Timestamp) -> Markup {
    let [median, slow] = [50, 99].map(|percent| state.latencies.quantile(percent, now));
    let count = grouped(state.latencies.count(now));
    html! {
        @if let (Some(median), Some(slow)) = (median, slow) {
            p.small.quiet {
                "Openings: half " (within(median)) ", 99% " (within(slow)) " (" (count) " in " (DAYS) " days)"
            }
        }
    }
}

/// `within 5 s`
fn within(quantile: Quantile) -> String {
    let time = |seconds: u32| duration(SignedDuration::from_secs(seconds.into()));
    match quantile {
        Quantile::Within(seconds) => format!("within {}", time(seconds)),
        Quantile::Beyond(seconds) => format!("after more than {}", time(seconds)),
    }
}

/// The last failed attempts, newest first.
fn failures(state: &ChannelState) -> impl Iterator<Item = &FailedAttempt> + Clone {
    state.log.iter().rev().take(FAILURES)
}

/// Why a channel does not receive its alerts, and what waits.
fn troubles(Row { channel, state, row_state, waiting, .. }: &Row, clock: Clock<'_>) -> Markup {
    let disabled = channel.disabled.as_ref().or(state.disabled.as_ref());
    let failed = failures(state);
    // The reason of a failure is shown once, although other lines may have the same.
    let reason = disabled.map(|disabled| &disabled.reason).or(state.held.as_ref());
    let before = iter::once(reason).chain(failed.clone().map(|failed| Some(&failed.why)));
    let (look, _) = row_state.word();
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
                                None if disabled.is_some() => ", until the channel is enabled",
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
fn last_test(Row { channel, state, is_tested, .. }: &Row, clock: Clock<'_>) -> Markup {
    let failed = state.last_test.as_ref().and_then(|test| test.failed.as_ref());
    // With the failures of the channel.
    let mut shown = state.held.iter().chain(failures(state).map(|attempt| &attempt.why));
    let is_shown = shown.any(|shown| Some(shown) == failed);
    html! {
        @match &state.last_test {
            _ if *is_tested => {
                "is on its way. "
                a href={ "/teams/" (channel.team) "/channels" } { "Show the result" }
            }
            Some(TestOutcome { at, failed: None, .. }) => { "delivered " (clock.instant(*at)) }
            Some(TestOutcome { at, failed: Some(why), .. }) => {
                "failed " (clock.instant(*at))
                @if !is_shown { ": " bdi { (why) } }
            }
            None => {}
        }
    }
}

fn actions(Row { channel, state, row_state, waiting, .. }: &Row) -> Markup {
    let path = |verb: &str| format!("/teams/{}/channels/{}/{verb}", channel.team, channel.id);
    let button = |verb: &str, word: &str| {
        html! { form method="post" action=(path(verb)) { button.s { (word) } } }
    };
    // Somebody who has just added it may have entered a wrong URL.
    let has_failed = matches!(row_state, RowState::Failing | RowState::Refused);
    let may_be_wrong = has_failed && state.notified_at(channel).is_none();
    html! {
        div.row.top0 {
            @match row_state {
                RowState::Working | RowState::Untested => (button("test", "Send test")),
                RowState::Failing => {
                    @if !waiting.is_empty() || !may_be_wrong { (button("resend", "Try again")) }
                    (button("test", "Send test"))
                }
                RowState::Unconfirmed => (button("resend", "Ask again")),
                RowState::Refused | RowState::Off => (button("enable", "Enable")),
                RowState::NoMail => {}
            }
            @if may_be_wrong {
                a.btn.s href=(path("edit")) { "Edit" }
                (button("remove", "Delete"))
            }
            details.menu {
                summary.btn.s.sq.sq2 { span.hide { "Actions for " (channel.name) } (Icon::More.shape()) }
                div.pop {
                    a href=(path("edit")) { (Icon::Edit.shape()) "Edit" }
                    @if !matches!(row_state, RowState::Refused | RowState::Off) {
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

/// How many channels work, as a heading. Those that a person has disabled do not count.
fn headline(channels: &[RowState]) -> String {
    let count = |state| channels.iter().filter(|one| **one == state).count();
    let (all, on) = (channels.len(), channels.len() - count(RowState::Off));
    match (on, count(RowState::Working)) {
        (0, _) if all == 0 => "No channels yet".to_owned(),
        (0, _) if all == 1 => "Your channel is disabled".to_owned(),
        (0, _) => format!("All {all} channels are disabled"),
        (1, 1) if all == 1 => "Your channel is working".to_owned(),
        (1, 1) => "One channel is working".to_owned(),
        (1, _) => match channels.first() {
            Some(RowState::Untested) => "Your channel isn’t tested yet",
            Some(RowState::Unconfirmed) => "Your channel waits for confirmation",
            _ => "Your channel isn’t delivering",
        }
        .to_owned(),
        (on, working) if working == on => format!("All {on} channels are working"),
        (on, working) => {
            let verb = if working == 1 { "is" } else { "are" };
            format!("{} of {on} channels {verb} working", capitalized(&spelled(working)))
        }
    }
}

/// What the other channels are doing, as a sentence.
fn lead(channels: &[RowState]) -> String {
    if channels.is_empty() {
        return "Nobody is notified of issues until there is a channel.".to_owned();
    }
    if channels.len() == 1 {
        return "Where notifications of issues go.".to_owned();
    }
    let counts = RowState::COUNTED.iter().filter_map(|(state, one, many)| {
        let count = channels.iter().filter(|other| *other == state).count();
        let says = if count == 1 { one } else { many };
        (count > 0).then(|| format!("{} {says}", spelled(count)))
    });
    let no_mail = channels.contains(&RowState::NoMail);
    let parts = counts.chain(no_mail.then(|| "this service can’t send email".to_owned()));
    match listed(&parts.collect::<Vec<_>>()) {
        none if none.is_empty() => "Where notifications of issues go.".to_owned(),
        parts => format!("{}.", capitalized(&parts)),
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
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        parts.push("All notifications".to_owned());
    }
    let selector = filter.selector.as_ref().map(|selector| format!("sites with {selector}"));
    let delay = filter.delay_minutes.map(|minutes| format!("after {minutes} min"));
    let repeat = filter.repeat_minutes.map(|minutes| format!("again every {minutes} min"));
    let test = filter.weekly_test.map(|hour| format!("weekly test {hour}"));
    parts.extend(selector.into_iter().chain(delay).chain(repeat).chain(test));
    parts.join("; ")
}

/// Where a channel leads. If another channel looks the same, it also shows the beginning of the URL's digest.
fn leads_to(Row { channel, .. }: &Row, all: &[Row]) -> String {
    /// How many digits of a digest are shown.
    const DIGITS: usize = 6;
    let shown = channel.target.leads_to();
    let looks_same =
        |other: &Row| other.channel.id != channel.id && other.channel.target.leads_to() == shown;
    match channel.target.masked().and_then(|url| url.digest.get(..DIGITS)) {
        Some(digest) if all.iter().any(looks_same) => format!("{shown} (URL {digest})"),
        _ => shown.to_owned(),
    }
}
