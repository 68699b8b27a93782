//! The page of an issue: for a member what is wrong and what to do about it, for anybody else only where
//! to read it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;
use vedette_actions::{ActionError, Decision, decide};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::alerts::compose::{self, AlertSubject};
use vedette_domain::alerts::due::News;
use vedette_domain::alerts::{Alert, Fact};
use vedette_domain::id::{IssueId, UserId};
use vedette_domain::issues::note::Note;
use vedette_domain::issues::past_tense::past;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{IssueStatus, TimelineKey};
use vedette_domain::sites::site::Site;
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::IssueResource;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;

use crate::form::{FormInput, field};
use crate::layout::NavTab;
use crate::sites::link_out;
use crate::{RequestContext, layout};

/// How long an issue can be snoozed, in hours, and as the form says it.
const SNOOZES: [(i64, &str); 4] = [(1, "1 hour"), (4, "4 hours"), (24, "1 day"), (168, "1 week")];

/// The field of a note.
const NOTE: &str = "note";

/// What a page shows beside the issue: why nothing was done, and the form for a note.
#[derive(Default)]
struct Shown {
    problem: Option<String>,
    input: FormInput,
}

/// Shows an issue to a member; says where it can be read to anybody else, and looks for none.
pub(crate) async fn show(
    context: RequestContext<'_>,
    access: Option<IssueAccess>,
) -> Result<Response, ApiError> {
    match access {
        Some(access) => page(context, &access, StatusCode::OK, &Shown::default()).await,
        None => {
            let id = context.parameters.id("issue", IssueId::parse)?;
            Ok(where_to_read(context, id))
        }
    }
}

fn where_to_read(context: RequestContext<'_>, issue: IssueId) -> Response {
    let content = html! {
        p { "Members of the team see this issue here once they are " a href="/sign-in" { "signed in" } ". The API and the command line show it, too:" }
        p { code { "GET /api/v1/issues/" (issue) } }
        p { code { "vedette issue show " (issue) } }
    };
    layout::page(context, StatusCode::OK, "Where to read this issue", &content)
}

/// Takes an open issue, on its page or in the list of sites.
pub(crate) async fn acknowledge(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.user.id;
    let answer = carry_out(context, &access, Decision::Acknowledge(by)).await?;
    if field(context.body, "then") == "list" && answer.status() == StatusCode::SEE_OTHER {
        let team = access.stored.site.team;
        return layout::redirect(&format!("/teams/{team}?said=acknowledged"));
    }
    Ok(answer)
}

/// Says that an issue is over.
pub(crate) async fn resolve(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.user.id;
    carry_out(context, &access, Decision::Resolve(by)).await
}

/// Silences the reminders of an issue for a while, or has them sent again.
pub(crate) async fn snooze(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let sent = field(context.body, "hours");
    let wanted = SNOOZES.iter().find(|(hours, _)| hours.to_string() == sent);
    let until = match wanted {
        Some((hours, _)) => {
            let until = context.app.clock.now().checked_add(SignedDuration::from_hours(*hours));
            Some(until.map_err(ApiError::internal)?)
        }
        None if sent == "0" => None,
        None => return Err(ApiError::BadRequest("Choose for how long.")),
    };
    carry_out(context, &access, Decision::Snooze(until)).await
}

/// Writes something about an issue.
pub(crate) async fn note(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let (by, now) = (context.member()?.caller.user.id, context.app.clock.now());
    match Note::parse(input.text(NOTE), by, now) {
        Ok(note) => carry_out(context, &access, Decision::Note(note)).await,
        Err(error) => {
            let refusal = ValidationError::new(NOTE, format!("The note field {error}."));
            let shown = Shown { input: input.refused(refusal), ..Shown::default() };
            page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, &shown).await
        }
    }
}

/// Decides on an issue as it is now; issues are handled by those who may run checks.
async fn carry_out(
    context: RequestContext<'_>,
    access: &IssueAccess,
    decision: Decision,
) -> Result<Response, ApiError> {
    let (id, caller) = (access.stored.issue.id, &context.member()?.caller);
    match decide(context.app, &access.stored, decision, caller.actor(), context.app.clock.now())
        .await
    {
        Ok(_) => layout::redirect(&format!("/issues/{id}")),
        Err(ActionError::Failed(fault)) => Err(fault.into()),
        // Somebody else was sooner: what is the case now is shown with it.
        Err(ActionError::Refused(refusal)) => {
            let why = format!("Nothing was changed: {refusal}.");
            let shown = Shown { problem: Some(why), ..Shown::default() };
            page(context, access, StatusCode::CONFLICT, &shown).await
        }
    }
}

async fn page(
    context: RequestContext<'_>,
    access: &IssueAccess,
    status: StatusCode,
    shown: &Shown,
) -> Result<Response, ApiError> {
    let site = &access.stored.site;
    let role = context.member()?.caller.role_in(site.team)?;
    let users = context.app.store.users(people(&access.stored.issue)).await?;
    let view = IssueView::new(access, &users, role, context.app.clock.now());
    let content = content(&view, shown);
    Ok(layout::team_page(
        context,
        (&access.team.team, NavTab::Sites),
        status,
        view.title.as_str(),
        &content,
    ))
}

/// Whom the page of an issue names.
fn people(issue: &Issue) -> Vec<UserId> {
    IssueResource::users(issue).chain(issue.notes.iter().map(|note| note.by)).collect()
}

/// What the page says of an issue.
struct IssueView<'a> {
    issue: &'a Issue,
    site: &'a Site,
    users: &'a BTreeMap<UserId, User>,
    now: Timestamp,
    may_act: bool,
    /// What is or was wrong.
    title: String,
    /// What an alert would say besides.
    lines: Vec<String>,
    facts: Vec<Fact>,
}

impl<'a> IssueView<'a> {
    fn new(
        access: &'a IssueAccess,
        users: &'a BTreeMap<UserId, User>,
        role: Role,
        now: Timestamp,
    ) -> Self {
        let (issue, site) = (&access.stored.issue, &access.stored.site);
        let name = |user: UserId| users.get(&user).map(|user| user.name.as_str());
        let subject = AlertSubject {
            issue,
            site,
            team: &access.team.team.name,
            acknowledged_by: issue.lifecycle.acknowledgement().and_then(|taken| name(taken.by)),
            resolved_by: issue.lifecycle.resolved_by().and_then(name),
            base_url: None,
            ended: None,
        };
        let (news, title) = match issue.lifecycle.is_active() {
            true => (News::StillActive { due: now }, issue.summary.clone()),
            false => {
                let title = past(issue.id.fingerprint(), &issue.summary);
                (News::Resolved { before: Vec::new() }, title)
            }
        };
        let Alert { mut lines, facts, .. } = compose::one(&subject, &news, now);
        lines.retain(|line| !line.trim_end_matches('.').eq_ignore_ascii_case(&title));
        let may_act = role.grants(Permission::RunChecks);
        Self { issue, site, users, now, may_act, title, lines, facts }
    }
}

fn content(view: &IssueView<'_>, Shown { problem, input }: &Shown) -> Markup {
    let IssueView { issue, site, users, now, .. } = *view;
    html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        p { a href={ "/sites/" (site.id) } { bdi { (site.name) } } ", " (link_out(&site.url)) }
        @for line in &view.lines { p { (line) } }
        @if let Some(until) = issue.snoozed_until.filter(|until| *until > now) {
            p { "No reminders are sent until " (layout::instant(until)) "." }
        }
        @if view.may_act { (actions(issue, now)) }
        h2 { "Details" }
        dl {
            dt { "Status" } dd { (issue.status()) }
            @for fact in &view.facts { dt { (fact.label) } dd { (fact.value) } }
            (measured(&issue.context["measured"]))
        }
        (timeline(issue, users))
        @if !issue.notes.is_empty() || view.may_act { h2 { "Notes" } }
        (notes(issue, users))
        @if view.may_act {
            form method="post" action={ "/issues/" (issue.id) "/note" } {
                (input.textarea(NOTE, "What others should know of it", 3))
                p { button { "Add the note" } }
            }
        }
        @if let Some(notes) = &site.notes { h2 { "Notes of the site" } p { (notes) } }
    }
}

fn actions(issue: &Issue, now: Timestamp) -> Markup {
    let path = |verb: &str| format!("/issues/{}/{verb}", issue.id);
    html! {
        @if issue.lifecycle.is_active() {
            div.row {
                @if issue.status() == IssueStatus::Open {
                    form method="post" action=(path("acknowledge")) { button { "Acknowledge" } }
                }
                form method="post" action=(path("resolve")) { button { "Resolve" } }
                form method="post" action=(path("snooze")) {
                    label for="hours" { "Send no reminders for" }
                    div.row {
                        select #hours name="hours" {
                            @for (hours, words) in SNOOZES { option value=(hours) { (words) } }
                            @if issue.snoozed_until.is_some_and(|until| until > now) {
                                option value="0" { "no time: send them again" }
                            }
                        }
                        button { "Snooze" }
                    }
                }
            }
        }
    }
}

/// What was measured when the issue opened, by name.
fn measured(measured: &Value) -> Markup {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let known = measured.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    html! {
        @for (name, value) in known {
            dt { (name.replace('_', " ")) }
            dd { (text(value)) }
        }
    }
}

fn notes(issue: &Issue, users: &BTreeMap<UserId, User>) -> Markup {
    html! {
        @for note in &issue.notes {
            p.quiet { (layout::instant(note.at)) ", " (name_of(note.by, users)) ":" }
            p.text { (note.text) }
        }
    }
}

fn name_of(user: UserId, users: &BTreeMap<UserId, User>) -> Markup {
    html! { bdi { (users.get(&user).map_or("somebody", |user| user.name.as_str())) } }
}

fn timeline(issue: &Issue, users: &BTreeMap<UserId, User>) -> Markup {
    let notice = |key| match key {
        TimelineKey::Opened => "Opened",
        TimelineKey::Acknowledged => "Acknowledged",
        TimelineKey::Resolved => "Resolved",
    };
    html! {
        h2 { "Timeline" }
        ol {
            @for entry in issue.timeline.entries() {
                li {
                    (layout::instant(entry.timestamp)) ": " (notice(entry.key)) " by "
                    @match entry.user {
                        Some(user) => (name_of(user, users)),
                        None => "a check",
                    }
                }
            }
        }
    }
}
