//! The form for a heartbeat, a new one or one that is changed. Its preview says what the schedule means.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use vedette_actions::{create_heartbeat, edit_heartbeat};
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::heartbeats::heartbeat::{DEFAULT_GRACE_MINUTES, LONGEST_MINUTES};
use vedette_domain::heartbeats::input::{HeartbeatEdit, NewHeartbeat};
use vedette_domain::heartbeats::schedule::{CronExpression, JobSchedule};
use vedette_domain::input::{Input, InputField};
use vedette_domain::time::{clock, day, duration};
use vedette_domain::time_zone::NamedZone;
use vedette_http::error::ApiError;
use vedette_http::resource::HeartbeatResource;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_routing::HeartbeatAccess;
use vedette_store::{StoredHeartbeat, TeamWithSettings};

use super::{command, endings, path, path_of, pings, schedule};
use crate::form::FormInput;
use crate::layout::{self, Heading, NavTab};
use crate::sites::tags;
use crate::time_zone::zones;
use crate::{RequestContext, words};

/// The choice between a cron expression and a period, which only the form has. Its values are the names of their fields.
const SCHEDULE: &str = "schedule";
const CRON: &str = "cron";
const PERIOD: &str = "period_minutes";
const ZONE: &str = "time_zone";
const GRACE: &str = "grace_minutes";
const LONGEST_RUN: &str = "longest_run_minutes";

/// The value of the button that shows what the schedule means, and saves nothing.
const PREVIEW: &str = "preview";
/// How many times the preview shows.
const PREVIEWED: usize = 3;

/// The fields of the form. Pausing has a button of its own, and an address is brought along through the API.
fn fields() -> impl Iterator<Item = &'static InputField> {
    NewHeartbeat::FIELDS.iter().filter(|field| !matches!(field.name, "paused" | "ping_uuid"))
}

/// The fields that say when a ping is missed.
fn is_about_time(field: &InputField) -> bool {
    matches!(field.name, PERIOD | CRON | ZONE | GRACE | LONGEST_RUN)
}

/// Reads fields of the form. Of a cron expression and a period, only the one that was chosen counts, and is required.
fn read<T: Input>(
    sent: &FormInput,
    fields: impl Iterator<Item = &'static InputField>,
) -> Result<T, ValidationError> {
    let (chosen, others): (_, &[&str]) = match sent.text(SCHEDULE) {
        CRON => (CRON, &[PERIOD]),
        _ => (PERIOD, &[CRON, ZONE]),
    };
    let mut errors = Errors::new();
    if sent.text(chosen).trim().is_empty() {
        errors.push(chosen, format!("The {chosen} field is required."));
    }
    let mut texts = sent.texts(fields.filter(|field| !others.contains(&field.name)));
    if let Some(list) = texts.get_mut(tags::FIELD) {
        *list = tags::split(sent.text(tags::FIELD));
    }
    let read = T::from_texts(&texts);
    let read = read.map_err(|refusal| errors.extend(refusal)).ok();
    errors.finish(read)
}

/// The form with what is wrong with its schedule, if it was sent for the preview.
fn previewed(sent: &FormInput) -> Option<FormInput> {
    if !sent.has("do", PREVIEW) {
        return None;
    }
    let about_time = fields().filter(|field| is_about_time(field));
    Some(match read::<HeartbeatEdit>(sent, about_time) {
        Ok(_) => sent.clone(),
        Err(refusal) => sent.clone().refused(refusal),
    })
}

/// Asks for a new heartbeat.
pub(crate) async fn ask_to_add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let mut input = FormInput::default();
    input.put(SCHEDULE, CRON);
    input.put(ZONE, team.team.zone.name());
    input.put(GRACE, DEFAULT_GRACE_MINUTES.to_string());
    Ok(new_page(context, &team.team, &input))
}

/// Adds a heartbeat, and shows the address that the job pings.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    if let Some(input) = previewed(&sent) {
        return Ok(new_page(context, &team.team, &input));
    }
    let added = async {
        let new: NewHeartbeat = read(&sent, fields())?;
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
    if let Some(input) = previewed(&sent) {
        return Ok(edit_page(context, &access, &input));
    }
    let HeartbeatAccess { team, stored } = &access;
    let saved = async {
        let edit: HeartbeatEdit = read(&sent, fields())?;
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
    let shown = HeartbeatResource::new(stored, "", time_scale, now);
    input.fill("", fields().filter(|field| field.name != tags::FIELD), &shown)?;
    input.put(tags::FIELD, tags::joined(&stored.heartbeat.tags));
    match stored.heartbeat.schedule {
        JobSchedule::Cron { .. } => input.put(SCHEDULE, CRON),
        JobSchedule::Every { .. } => {
            input.put(SCHEDULE, PERIOD);
            input.put(ZONE, team.team.zone.name());
        }
    }
    Ok(input)
}

fn new_page(context: RequestContext<'_>, team: &Team, input: &FormInput) -> Response {
    let content = html! {
        div.two {
            form.stack method="post" action=(path(team.id)) novalidate {
                (input.uncreated("Heartbeat", fields().map(|field| field.name)))
                (controls(context, input, None))
                (buttons("Add heartbeat", &path(team.id), &path(team.id)))
            }
            div.stack {
                (notified(context, input))
                section.card {
                    header { h2 { "Next: ping Vedette" } }
                    div.in.stack.gs {
                        p { "Add this to the end of the job. You get its address when you have added the heartbeat." }
                        pre { code { (command(&format!("{}/UUID", pings(context)))) } }
                        (endings())
                    }
                }
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
    let action = format!("{}/edit", path_of(heartbeat));
    let content = html! {
        (layout::managed(heartbeat.managed_by.as_ref()))
        div.two {
            form.stack method="post" action=(action) novalidate {
                (input.unsaved(fields().map(|field| field.name)))
                (controls(context, input, Some(stored)))
                (buttons("Save", &action, &path_of(heartbeat)))
            }
            (notified(context, input))
        }
    };
    let heading = Heading::new("Edit heartbeat")
        .below(path(team.id()), "Heartbeats")
        .below(path_of(heartbeat), &heartbeat.name);
    let here = (&team.team, NavTab::Heartbeats);
    layout::team_page(context, here, input.status(), heading, &content)
}

/// The buttons of the form. Enter presses the first one.
fn buttons(verb: &str, action: &str, back: &str) -> Markup {
    html! {
        div.row {
            button.main { (verb) }
            button name="do" value=(PREVIEW) formaction={ (action) "#" (SCHEDULE) } { "Preview" }
            a.btn href=(back) { "Cancel" }
        }
    }
}

fn controls(
    context: RequestContext<'_>,
    input: &FormInput,
    stored: Option<&StoredHeartbeat>,
) -> Markup {
    let meaning = schedule_in(input).map(|schedule| meaning(&schedule, context));
    let median = stored.and_then(|stored| stored.state.reports().recent.median());
    let control = |field: &InputField, more: Option<String>| {
        let (label, help) = (field.label(), format!("{} {}", field.help, more.unwrap_or_default()));
        input.control_of(&(field.shape)(), field.name, (&*label, help.trim()).into())
    };
    let meaning_of = |name| meaning.clone().filter(|_| input.text(SCHEDULE) == name);
    let (first, more): (Vec<_>, Vec<_>) =
        fields().partition(|field| field.name == "name" || is_about_time(field));
    html! {
        section.card {
            header { h2 { "When it runs" } }
            div.fields {
                @for field in first {
                    @match field.name {
                        PERIOD => {
                            (kinds(input))
                            div.from.by-period { (control(field, meaning_of(PERIOD))) }
                        }
                        CRON => div.from.by-cron { (control(field, meaning_of(CRON))) },
                        ZONE => div.from.by-cron { (input.chosen(field, &zones().collect::<Vec<_>>())) },
                        LONGEST_RUN => (control(field, median.map(suggestion))),
                        _ => (input.control(field)),
                    }
                }
            }
        }
        section.card {
            header { h2 { "Details" } }
            div.fields {
                @for field in more {
                    @match field.name {
                        tags::FIELD => (tags::control(input)),
                        _ => (input.control(field)),
                    }
                }
            }
        }
    }
}

/// The choice between a cron expression and a period. The style sheet hides the fields of the other one.
fn kinds(input: &FormInput) -> Markup {
    html! {
        div #(SCHEDULE) {
            p.w5 { "Schedule" }
            div.seg role="radiogroup" aria-label="Schedule" {
                @for (kind, text) in [(CRON, "Cron"), (PERIOD, "Period")] {
                    @let id = format!("{SCHEDULE}.{kind}");
                    label for=(id) { input id=(id) type="radio" name=(SCHEDULE) value=(kind) checked[input.has(SCHEDULE, kind)]; (text) }
                }
            }
        }
    }
}

/// The schedule that a form shows; `None` if it is not one.
fn schedule_in(input: &FormInput) -> Option<JobSchedule> {
    match input.text(SCHEDULE) {
        CRON => {
            let expression = CronExpression::parse(input.text(CRON)).ok()?;
            Some(JobSchedule::Cron { expression, zone: NamedZone::parse(input.text(ZONE))? })
        }
        _ => Some(JobSchedule::Every { minutes: minutes_in(input, PERIOD)? }),
    }
}

fn minutes_in(input: &FormInput, name: &str) -> Option<u32> {
    let minutes = input.text(name).trim().parse().ok()?;
    (1..=LONGEST_MINUTES).contains(&minutes).then_some(minutes)
}

/// A schedule in words, and the next times of a cron expression.
fn meaning(of: &JobSchedule, context: RequestContext<'_>) -> String {
    let words = schedule(of);
    let JobSchedule::Cron { zone, .. } = of else { return format!("{words}.") };
    let (now, time_scale) = (context.app.clock.now(), context.app.service.time_scale);
    let times = of.times_after(now, time_scale).take(PREVIEWED).map(|at| local(at, now, zone));
    format!("{words}. Next: {}.", times.collect::<Vec<_>>().join(", "))
}

/// An instant on the clocks of the job: `21 Nov at 02:30`.
fn local(at: Timestamp, now: Timestamp, zone: &NamedZone) -> String {
    format!("{} at {}", day(at, now, zone), clock(at, zone))
}

/// When people hear of a missing ping, if the form says it.
fn notified(context: RequestContext<'_>, input: &FormInput) -> Markup {
    let Some(example) = example(context, input) else { return Markup::default() };
    html! {
        section.card {
            header { h2 { "When you are notified" } }
            div.in.stack.gs {
                p { (example) }
                p.quiet.small { "No ping is missed before the first one." }
            }
        }
    }
}

fn example(context: RequestContext<'_>, input: &FormInput) -> Option<String> {
    let grace = minutes_in(input, GRACE)?;
    let long = |minutes: u32| duration(SignedDuration::from_mins(minutes.into()));
    let (now, time_scale) = (context.app.clock.now(), context.app.service.time_scale);
    let schedule = schedule_in(input)?;
    Some(match &schedule {
        JobSchedule::Every { minutes } => {
            format!("If no ping comes for {}, you are notified.", long(minutes + grace))
        }
        JobSchedule::Cron { zone, .. } => {
            let expected = schedule.next_after(now, time_scale)?;
            let deadline = expected.checked_add(time_scale.minutes(grace)).ok()?;
            let [expected, deadline] = [expected, deadline].map(|at| local(at, now, zone));
            format!(
                "If no ping comes for the run on {expected}, you are notified on {deadline}, {} after it should have run.",
                long(grace)
            )
        }
    })
}

/// Suggests a limit: twice as long as runs usually take.
fn suggestion(median: SignedDuration) -> String {
    let minutes = (2 * median.as_secs()).div_euclid(60) + 1;
    let minutes = words::grouped(u64::try_from(minutes).unwrap_or(1));
    format!("Runs usually take {}. Twice as long would be {minutes} min.", duration(median))
}
