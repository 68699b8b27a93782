//! The page that a link in a message leads to. Everybody who reads the message can acknowledge or snooze its issue there
//! without signing in.

use lambda_http::http::header::ACCESS_CONTROL_ALLOW_ORIGIN;
use lambda_http::http::{HeaderValue, StatusCode};
use maud::{Markup, html};
use vedette_actions::{ActionError, Decision, decide};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::audit::{Actor, By};
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::reader_link::{RESPONSE, ReaderLink, ReaderResponse};
use vedette_domain::id::{ChannelId, IssueId, TeamId};
use vedette_domain::issues::Responder;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::{ChannelRef, IssueWithMonitor, TeamWithSettings, budget, retry_on_conflict};

use crate::{RequestContext, layout, words};

/// Shows the issue, and asks how to respond to it.
pub(crate) async fn ask_to_respond(context: RequestContext<'_>) -> Result<Response, ApiError> {
    Followed::read(context).await?.page(context).await
}

/// Responds to the issue. The request comes from the page, or from a button in the message.
pub(crate) async fn respond(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let mut response = retry_on_conflict(budget::WRITE, || respond_once(context)).await?;
    // The buttons of ntfy's web app run on a page of ntfy, which has to see that it worked.
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}

async fn respond_once(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let mut followed = Followed::read(context).await?;
    let query = Query::parse(context.head.uri.query());
    let chosen = ReaderResponse::parse(query.search(RESPONSE).unwrap_or_default());
    let chosen = chosen.ok_or(ApiError::BadRequest("Choose how to respond to the issue."))?;
    let now = context.app.clock.now();
    if let Followed { about: Ok(found), channel, team, .. } = &mut followed
        && chosen.changes(&found.issue, now)
    {
        let by = By { actor: Actor::ReaderOf(channel.id), now };
        let decision = match chosen.snoozes_until(now) {
            None => Decision::Acknowledge(Responder::Reader { channel: channel.id }),
            until => Decision::Snooze(until),
        };
        match decide(context.app, &team.team, found, decision, by).await {
            Ok(change) => found.issue = change.after,
            // The page shows what happened meanwhile.
            Err(ActionError::Refused(_)) => {}
            Err(ActionError::Failed(fault)) => return Err(fault.into()),
        }
    }
    followed.page(context).await
}

/// What a link leads to.
struct Followed {
    channel: Channel,
    team: TeamWithSettings,
    link: ReaderLink,
    /// The issue, or why the link no longer works.
    about: Result<IssueWithMonitor, Refusal>,
}

/// Why a link no longer works.
#[derive(Clone, Copy)]
enum Refusal {
    Expired,
    TurnedOff,
    /// The issue is over.
    Over,
    /// The issue has opened again since.
    Reopened,
}

impl Followed {
    /// Without a link that the channel has signed, the answer is the same as for a channel that does not exist.
    async fn read(context: RequestContext<'_>) -> Result<Self, ApiError> {
        let id = context.parameters.id("team", TeamId::parse)?;
        let place =
            ChannelRef { team: id, id: context.parameters.id("channel", ChannelId::parse)? };
        let issue = context.parameters.id("issue", IssueId::parse)?;
        let channel = context.app.store.channel(place).await?.ok_or(ApiError::NotFound)?;
        let query = Query::parse(context.head.uri.query());
        let parameter = |name: &'static str| query.search(name).unwrap_or_default().to_owned();
        let link = ReaderLink::read(&channel, issue, parameter).ok_or(ApiError::NotFound)?;
        let (store, now) = (&context.app.store, context.app.clock.now());
        let (team, found) =
            futures::try_join!(store.team(id, now), store.issue_with_monitor(issue))?;
        let team = team.ok_or(ApiError::NotFound)?;
        let about = if channel.filter.without_links || !channel.is_on() {
            Err(Refusal::TurnedOff)
        } else if link.is_expired(now) {
            Err(Refusal::Expired)
        } else {
            match found.filter(|found| found.monitor.team() == id) {
                Some(found) if link.is_about(&found.issue) => Ok(found),
                Some(found) if found.issue.lifecycle.is_active() => Err(Refusal::Reopened),
                _ => Err(Refusal::Over),
            }
        };
        Ok(Self { channel, team, link, about })
    }

    async fn page(&self, context: RequestContext<'_>) -> Result<Response, ApiError> {
        match &self.about {
            Ok(found) => self.question(context, found).await,
            Err(refusal) => Ok(self.refusal(context, *refusal)),
        }
    }

    /// What is wrong, what people have done about it, and what the reader can do.
    async fn question(
        &self,
        context: RequestContext<'_>,
        found: &IssueWithMonitor,
    ) -> Result<Response, ApiError> {
        let (issue, clock) = (&found.issue, context.clock(Some(&self.team.team)));
        let taken = issue.lifecycle.acknowledgement();
        let member = taken.and_then(|taken| taken.by.member());
        let users = context.app.store.users(member).await?;
        let member = member.and_then(|member| users.get(&member));
        let snoozed = issue.snoozed_until.filter(|until| *until > clock.now);
        let title = words::headline(issue, &found.monitor, clock.now);
        let content = html! {
            p {
                @if !title.starts_with(found.monitor.name()) { bdi { (found.monitor.name()) } " · " }
                "For " (clock.lasting(issue.first_failed_at()))
            }
            @if let Some(taken) = taken {
                p { "Acknowledged by " (self.name_of(taken.by, member)) ", " (clock.instant(taken.at)) }
            }
            @if let Some(until) = snoozed { p { "Reminders are paused until " (clock.instant(until)) } }
            div.row.lg {
                @for response in ReaderResponse::ALL {
                    @if response.changes(issue, clock.now) {
                        form method="post" action={ (self.link.url("", &self.channel)) "&" (RESPONSE) "=" (response.as_str()) } {
                            button.main[response == ReaderResponse::Acknowledge] { (word(response)) }
                        }
                    }
                }
            }
            p.quiet.small {
                "Everybody who reads the channel " bdi { (self.channel.name) } " can do this. "
                a href={ "/issues/" (issue.id) } { "Open the issue" } " to see more."
            }
        };
        Ok(layout::page(context, StatusCode::OK, &title, &content))
    }

    fn name_of(&self, responder: Responder, member: Option<&User>) -> Markup {
        html! {
            @match responder {
                Responder::Member(_) => { bdi { (member.map_or("somebody", |user| &user.name)) } },
                Responder::Reader { channel } if channel == self.channel.id => {
                    "a reader of the channel " bdi { (self.channel.name) }
                },
                Responder::Reader { .. } => "a reader of another channel",
            }
        }
    }

    fn refusal(&self, context: RequestContext<'_>, refusal: Refusal) -> Response {
        let (status, title, why) = match refusal {
            Refusal::Expired => {
                (StatusCode::GONE, "This link has expired", "It worked for seven days.")
            }
            Refusal::TurnedOff => (
                StatusCode::GONE,
                "This link no longer works",
                "The channel is off, or its messages no longer have links.",
            ),
            Refusal::Over => (StatusCode::OK, "This issue is over", "There is nothing left to do."),
            Refusal::Reopened => (
                StatusCode::OK,
                "This link is about an earlier outage",
                "The issue has opened again since. The newest message about it has a link that works.",
            ),
        };
        let content = html! {
            p { (why) }
            p { "Members of the team can " a href={ "/issues/" (self.link.issue) } { "open the issue" } "." }
        };
        layout::page(context, status, title, &content)
    }
}

const fn word(response: ReaderResponse) -> &'static str {
    match response {
        ReaderResponse::Acknowledge => "Acknowledge",
        ReaderResponse::Snooze(1) => "Snooze for 1 hour",
        ReaderResponse::Snooze(_) => "Snooze for 8 hours",
    }
}
