//! The form for a heartbeat, a new one or one that is changed.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_actions::{create_heartbeat, edit_heartbeat};
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::heartbeats::heartbeat::DEFAULT_GRACE_MINUTES;
use vedette_domain::heartbeats::input::{HeartbeatEdit, NewHeartbeat};
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::time::duration;
use vedette_http::error::ApiError;
use vedette_http::resource::HeartbeatResource;
use vedette_http::response::Response;
use vedette_routing::HeartbeatAccess;
use vedette_store::{StoredHeartbeat, TeamWithSettings};

use super::{path, path_of};
use crate::form::FormInput;
use crate::layout::{self, Heading, NavTab};
use crate::time_zone::zones;
use crate::{RequestContext, words};

/// The fields of the form. Pausing has a button of its own, and an address is brought along through the API.
fn fields() -> impl Iterator<Item = &'static InputField> {
    NewHeartbeat::FIELDS.iter().filter(|field| !matches!(field.name, "paused" | "ping_uuid"))
}

/// Asks for a new heartbeat.
pub(crate) async fn ask_to_add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let mut input = FormInput::default();
    input.put("time_zone", team.team.zone.name());
    input.put("grace_minutes", DEFAULT_GRACE_MINUTES.to_string());
    Ok(new_page(context, &team.team, &input))
}

/// Adds a heartbeat, and shows the address that the job pings.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    let added = async {
        let new = NewHeartbeat::from_texts(&sent.texts(fields()))?;
        Ok(create_heartbeat(context.app, &team.team, new, caller.by()).await?)
    };
    match added.await {
        Ok(stored) => layout::redirect(&format!("{}?notice=added", path_of(&stored.heartbeat))),
        Err(ApiError::Validation(refusal)) => {
            Ok(new_page(context, &team.team, &sent.refused(refusal)))
        }
        Err(error) => Err(error),
    }
}

/// Asks what to change.
pub(crate) async fn edit(
    context: RequestContext<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let (time_scale, now) = (context.app.service.time_scale, context.app.clock.now());
    let input = stored_input(&access, time_scale, now)?;
    Ok(edit_page(context, &access, &input))
}

/// Saves a changed heartbeat.
pub(crate) async fn save(
    context: RequestContext<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    let HeartbeatAccess { team, stored } = &access;
    let saved = async {
        let edit = HeartbeatEdit::from_texts(&sent.texts(fields()))?;
        Ok(edit_heartbeat(context.app, &team.team, stored, edit, caller.by()).await?)
    };
    match saved.await {
        Ok(saved) => layout::redirect(&format!("{}?notice=saved", path_of(&saved.heartbeat))),
        Err(ApiError::Validation(refusal)) => {
            Ok(edit_page(context, &access, &sent.refused(refusal)))
        }
        Err(error) => Err(error),
    }
}

fn stored_input(
    HeartbeatAccess { stored, team }: &HeartbeatAccess,
    time_scale: TimeScale,
    now: Timestamp,
) -> Result<FormInput, ApiError> {
    let mut input = FormInput::default();
    input.fill("", fields(), &HeartbeatResource::new(stored, "", time_scale, now))?;
    if input.text("time_zone").is_empty() {
        input.put("time_zone", team.team.zone.name());
    }
    Ok(input)
}

fn new_page(context: RequestContext<'_>, team: &Team, input: &FormInput) -> Response {
    let content = html! {
        form.card method="post" action=(path(team.id)) novalidate {
            (input.uncreated("Heartbeat", fields().map(|field| field.name)))
            (controls(input, None))
            footer {
                button.main { "Add heartbeat" }
                a.btn href=(path(team.id)) { "Cancel" }
            }
        }
    };
    let heading = Heading::new("Add heartbeat")
        .below(path(team.id), "Heartbeats")
        .lead(html! { p.quiet { "Vedette notifies you when a job does not run, fails, or takes too long." } });
    layout::team_page(context, (team, NavTab::Heartbeats), input.status(), heading, &content)
}

fn edit_page(
    context: RequestContext<'_>,
    HeartbeatAccess { team, stored }: &HeartbeatAccess,
    input: &FormInput,
) -> Response {
    let heartbeat = &stored.heartbeat;
    let content = html! {
        (layout::managed(heartbeat.managed_by.as_ref()))
        form.card method="post" action={ (path_of(heartbeat)) "/edit" } novalidate {
            (input.unsaved(fields().map(|field| field.name)))
            (controls(input, Some(stored)))
            footer {
                button.main { "Save" }
                a.btn href=(path_of(heartbeat)) { "Cancel" }
            }
        }
    };
    let heading = Heading::new("Edit heartbeat")
        .below(path(team.id()), "Heartbeats")
        .below(path_of(heartbeat), &heartbeat.name);
    let here = (&team.team, NavTab::Heartbeats);
    layout::team_page(context, here, input.status(), heading, &content)
}

fn controls(input: &FormInput, stored: Option<&StoredHeartbeat>) -> Markup {
    let median = stored.and_then(|stored| stored.state.reports().recent.median());
    html! {
        div.fields {
            @for field in fields() {
                @match field.name {
                    "time_zone" => (input.chosen(field, &zones().collect::<Vec<_>>())),
                    "longest_run_minutes" => {
                        (input.control(field))
                        @if let Some(median) = median { p.quiet.small { (suggestion(median)) } }
                    }
                    _ => (input.control(field)),
                }
            }
        }
    }
}

/// Suggests a limit: twice as long as runs usually take.
fn suggestion(median: SignedDuration) -> String {
    let minutes = (2 * median.as_secs()).div_euclid(60) + 1;
    let minutes = words::grouped(u64::try_from(minutes).unwrap_or(1));
    format!("Runs usually take {}. Twice as long would be {minutes} min.", duration(median))
}
