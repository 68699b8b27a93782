//! The page of an issue. Members see what is wrong and what to do about it; other visitors only see where to read it.

mod compared;
pub(crate) mod evidence;
mod found;
pub(crate) mod list;
mod measured;
mod timeline;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{
    ACKNOWLEDGED_MAX, ActionError, Decision, acknowledge_all as take_all, decide,
};
use vedette_domain::accounts::account::{Permission, Role, User};
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::compose::{self, AlertSubject};
use vedette_domain::alerts::due::News;
use vedette_domain::alerts::link;
use vedette_domain::alerts::notification::{Notification, NotificationOutcome};
use vedette_domain::alerts::{Alert, Fact};
use vedette_domain::id::{ChannelId, IssueId, UserId};
use vedette_domain::input::Input as _;
use vedette_domain::issues::input::NewNote;
use vedette_domain::issues::opening::Opening;
use vedette_domain::issues::past_tense::past;
use vedette_domain::issues::record::Issue;
use vedette_domain::issues::{Fingerprint, IssueStatus, Problem, Severity};
use vedette_domain::monitor::Monitor;
use vedette_domain::time;
use vedette_http::access::IssueAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::IssueResource;
use vedette_http::response::Response;
use vedette_store::{IndexRow, IssueWithMonitor, TeamWithSettings};

use self::found::Found;
use crate::clock::Clock;
use crate::form::{FormInput, field};
use crate::layout::{Heading, NavTab};
use crate::look::{Icon, Look, TabState};
use crate::sites::link_out;
use crate::words::{counted, grouped};
use crate::{RequestContext, layout, look, maintenance, words};

/// How long an issue can be snoozed: the hours, and the text in the form.
const SNOOZES: [(i64, &str); 4] = [(1, "1 hour"), (4, "4 hours"), (24, "1 day"), (168, "1 week")];

/// How many openings are listed, the newest ones.
const OPENINGS_SHOWN: usize = 20;

/// What a page shows in addition to the issue: why an action was refused, and the form for a note.
#[derive(Default)]
struct Shown {
    problem: Option<String>,
    input: FormInput,
}

/// Shows an issue to a member. Shows everybody else where to read it, without looking for the issue.
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
        p { "Members of the team see this issue here after they " a href="/sign-in" { "sign in" } ". You can also read it with the API or the command line:" }
        p { code { "GET /api/v1/issues/" (issue) } }
        p { code { "vedette issue show " (issue) } }
    };
    layout::page(context, StatusCode::OK, "Sign in to see this issue", &content)
}

/// Acknowledges an open issue, from its page or from the list of sites.
pub(crate) async fn acknowledge(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.user.id;
    let answer = carry_out(context, &access, Decision::Acknowledge(by.into())).await?;
    if field(context.body, "then") == "list" && answer.status() == StatusCode::SEE_OTHER {
        let team = access.stored.monitor.team();
        return layout::redirect(&format!("/teams/{team}?notice=acknowledged"));
    }
    Ok(answer)
}

/// Acknowledges the outages of a card of the list of sites: those whose issues opened within a time, and only those. If
/// there are too many for one request, the card offers the others again.
pub(crate) async fn acknowledge_all(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (caller, sent) = (&context.member()?.caller, FormInput::sent(context.body));
    let instant = |name| {
        let instant: Result<Timestamp, _> = sent.text(name).parse();
        instant.map_err(|_| ApiError::BadRequest("The form does not say which issues it is about."))
    };
    let opened = instant("from")?..=instant("to")?;
    let mut found = context.app.store.issue_index(team.id(), true).await?;
    found.retain(|row| is_outage(row) && row.status == IssueStatus::Open);
    found.retain(|row| opened.contains(&row.opened_at));
    found.sort_by_key(|row| row.opened_at);
    let issues = found.iter().map(|row| row.id);
    let count = take_all(context.app, &team.team, issues, caller.user.id, caller.by()).await;
    let said = match count.map_err(ApiError::from)? {
        0 => "none-open",
        _ if found.len() > ACKNOWLEDGED_MAX => "some-acknowledged",
        _ => "all-acknowledged",
    };
    layout::redirect(&format!("/teams/{}?notice={said}", team.id()))
}

/// Whether an issue is an outage.
pub(crate) fn is_outage(issue: &IndexRow) -> bool {
    issue.fingerprint == Fingerprint::StatusDown
}

/// The order of active issues: outages first, then the most severe; among these, those that nobody has acknowledged
/// first, then the newest.
pub(crate) fn order(issue: &IndexRow) -> (Reverse<bool>, Severity, bool, Reverse<Timestamp>) {
    let is_taken = issue.status == IssueStatus::Acknowledged;
    (Reverse(is_outage(issue)), issue.severity(), is_taken, Reverse(issue.opened_at))
}

/// Withdraws an acknowledgement.
pub(crate) async fn unacknowledge(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    carry_out(context, &access, Decision::Unacknowledge).await
}

/// Resolves an issue.
pub(crate) async fn resolve(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let by = context.member()?.caller.user.id;
    carry_out(context, &access, Decision::Resolve(by)).await
}

/// Snoozes the reminders of an issue for a while, or resumes them.
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
        None => return Err(ApiError::BadRequest("Choose how long to snooze.")),
    };
    carry_out(context, &access, Decision::Snooze(until)).await
}

/// Adds a note to an issue.
pub(crate) async fn note(
    context: RequestContext<'_>,
    access: IssueAccess,
) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let (by, now) = (context.member()?.caller.user.id, context.app.clock.now());
    match NewNote::from_texts(&input.texts(NewNote::FIELDS)) {
        Ok(new) => carry_out(context, &access, Decision::Note(new.written_by(by, now))).await,
        Err(refusal) => {
            let shown = Shown { input: input.refused(refusal), ..Shown::default() };
            page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, &shown).await
        }
    }
}

/// Carries out a decision about an issue in its current state. Members who may run checks may decide about issues.
async fn carry_out(
    context: RequestContext<'_>,
    access: &IssueAccess,
    decision: Decision,
) -> Result<Response, ApiError> {
    let (id, caller) = (access.stored.issue.id, &context.member()?.caller);
    let team = &access.team.team;
    match decide(context.app, team, &access.stored, decision, caller.by()).await {
        Ok(_) => layout::redirect(&format!("/issues/{id}")),
        Err(ActionError::Failed(fault)) => Err(fault.into()),
        // Another member was faster: the page shows the current state with the refusal.
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
    let monitor = &access.stored.monitor;
    let team = monitor.team();
    let role = context.member()?.caller.role_in(team)?;
    let clock = context.clock(Some(&access.team.team));
    let (users, found) = futures::try_join!(
        context.app.store.users(people(&access.stored.issue)),
        Found::load(&context.app.store, access, clock.now),
    )?;
    let view = IssueView::new(access, &users, &found, role, clock);
    let content = content(&view, shown);
    let issue = &access.stored.issue;
    let is_critical = issue.lifecycle.is_active() && issue.severity() == Severity::Critical;
    let kind = match monitor {
        Monitor::Site(_) => ("Sites", "", NavTab::Sites),
        Monitor::Heartbeat(_) => ("Heartbeats", "/heartbeats", NavTab::Heartbeats),
    };
    let heading = Heading::within(&*view.title)
        .about_one(if is_critical { TabState::Down } else { TabState::Up })
        .below(format!("/teams/{team}{}", kind.1), kind.0)
        .below(link::monitor("", monitor), monitor.name());
    Ok(layout::team_page(context, (&access.team.team, kind.2), status, heading, &content))
}

/// The people whom the page of an issue names.
fn people(issue: &Issue) -> Vec<UserId> {
    let acts = issue.acts.iter().filter_map(|act| act.by?.member());
    IssueResource::users(issue).chain(acts).collect()
}

/// The page of an issue.
struct IssueView<'a> {
    stored: &'a IssueWithMonitor,
    issue: &'a Issue,
    /// Its last opening.
    problem: Problem,
    monitor: &'a Monitor,
    team: &'a Team,
    users: &'a BTreeMap<UserId, User>,
    /// Its evidence, openings, notifications and checks.
    found: &'a Found,
    clock: Clock<'a>,
    may_act: bool,
    /// What is or was wrong.
    title: String,
    /// What an alert would say in addition.
    lines: Vec<String>,
    facts: Vec<Fact>,
}

impl<'a> IssueView<'a> {
    fn new(
        access: &'a IssueAccess,
        users: &'a BTreeMap<UserId, User>,
        found: &'a Found,
        role: Role,
        clock: Clock<'a>,
    ) -> Self {
        let (issue, monitor) = (&access.stored.issue, &access.stored.monitor);
        let name = |user: UserId| users.get(&user).map(|user| user.name.as_str());
        let subject = AlertSubject {
            issue,
            monitor,
            team: &access.team.team,
            zone: clock.zone,
            acknowledged_by: issue
                .lifecycle
                .acknowledgement()
                .and_then(|taken| name(taken.by.member()?)),
            resolved_by: issue.lifecycle.resolved_by().and_then(name),
            base_url: None,
            ended: None,
            channel: None,
        };
        let (news, sentence) = match issue.lifecycle.is_active() {
            true => (News::StillActive { due: clock.now }, issue.summary.clone()),
            false => {
                let sentence = past(issue.id.fingerprint(), &issue.summary);
                (News::Resolved { before: Vec::new() }, sentence)
            }
        };
        let Alert { mut lines, mut facts, .. } = compose::one(&subject, &news, clock.now);
        lines.retain(|line| !line.trim_end_matches('.').eq_ignore_ascii_case(&sentence));
        // The page shows these elsewhere.
        let shown = ["Severity", "Team", "Since", "Until", "Duration", "Failed checks"];
        facts.retain(|fact| !shown.contains(&fact.label));
        let may_act = role.grants(Permission::RunChecks);
        let title = words::headline(issue, monitor, clock.now);
        let team = &access.team.team;
        let (stored, problem) = (&access.stored, access.stored.problem());
        Self {
            stored,
            issue,
            problem,
            monitor,
            team,
            users,
            found,
            clock,
            may_act,
            title,
            lines,
            facts,
        }
    }

    /// `8 failed checks, opened after 2`.
    fn failures(&self) -> Option<String> {
        let opened_after = self.issue.context["failures"].as_u64()?;
        let tracked = self.stored.state.trackers.get(&self.issue.id.fingerprint());
        let all = match self.issue.lifecycle.is_active() {
            true => tracked.and_then(|of| of.tracker.failures()).map(|of| of.streak.get()),
            false => self.issue.seen.failed_checks,
        };
        let all = all.map_or(opened_after, u64::from).max(opened_after);
        let all =
            counted(usize::try_from(all).unwrap_or(usize::MAX), "failed check", "failed checks");
        Some(if opened_after > 1 { format!("{all}, opened after {opened_after}") } else { all })
    }

    /// What an opening said, in the past tense if it is over.
    fn told(&self, opening: &Opening) -> String {
        match self.issue.lifecycle.is_active() && opening.opened_at == self.problem.opened_at {
            true => opening.summary.clone(),
            false => past(self.issue.id.fingerprint(), &opening.summary),
        }
    }

    fn name_of(&self, user: UserId) -> Markup {
        let name = self.users.get(&user).map_or("somebody", |user| user.name.as_str());
        html! { b { bdi { (name) } } }
    }
}

fn content(view: &IssueView<'_>, Shown { problem, input }: &Shown) -> Markup {
    html! {
        @if let Some(problem) = problem { (layout::problem(problem)) }
        (hero(view))
        div.two {
            div.stack {
                (compared::card(view))
                (evidence::card(&view.found.evidence, view.found.checks.last_good, view.clock))
                (timeline::card(view, input))
                (reopenings(view))
            }
            aside.stack { (details(view)) }
        }
    }
}

/// What is wrong, since when, who works on it, and what to do.
fn hero(view: &IssueView<'_>) -> Markup {
    let IssueView { issue, clock, .. } = *view;
    let look = if issue.lifecycle.is_active() { Look::from(issue.severity()) } else { Look::Up };
    let problem = view.problem;
    let since = problem.began_at;
    html! {
        @if issue.lifecycle.is_active() { (maintenance::notice(view.team, (view.monitor.id(), view.monitor.tags()), clock)) }
        section class={ "hero tint " (look.class()) } {
            div.row {
                (look::issue(issue.status(), issue.severity()))
                span.tag { (words::severity(issue.severity())) }
                @if issue.status() == IssueStatus::Open { span.quiet.small { "Not acknowledged" } }
            }
            div {
                h1 { (view.title) }
                p.quiet.m1.say {
                    @if let Some(failures) = view.failures() { (failures) ". " }
                    @for line in &view.lines { (line) " " }
                    @if let Some(until) = issue.snoozed_until.filter(|until| *until > clock.now) {
                        "No reminders until " (clock.instant(until)) "."
                    }
                }
            }
            div.row.far {
                div {
                    p.clock {
                        @match problem.ended_at {
                            Some(_) => (time::duration(problem.lasted(clock.now))),
                            None => (clock.lasting(since)),
                        }
                    }
                    p.quiet.small {
                        "Since " (clock.second(since))
                        @if let Some(end) = problem.ended_at { ", until " (clock.second(end)) }
                        @if view.stored.monitoring_ended_at().is_some() && issue.lifecycle.is_active() { ", when monitoring ended" }
                    }
                }
                @if view.may_act && issue.lifecycle.is_active() { (actions(issue, clock.now)) }
            }
        }
    }
}

fn actions(issue: &Issue, now: Timestamp) -> Markup {
    let path = |verb: &str| format!("/issues/{}/{verb}", issue.id);
    html! {
        div.row.acts {
            @if issue.status() == IssueStatus::Open {
                form.thru method="post" action=(path("acknowledge")) { button.main { "Acknowledge" } }
            }
            @if issue.status() == IssueStatus::Acknowledged {
                form.thru method="post" action=(path("unacknowledge")) { button { "Undo acknowledgement" } }
            }
            details.menu {
                summary.btn { (Icon::Moon.shape()) "Snooze" (Icon::Unfold.shape()) }
                form.pop method="post" action=(path("snooze")) {
                    p.head { "Pause reminders for" }
                    @for (hours, words) in SNOOZES { button name="hours" value=(hours) { (words) } }
                    @if issue.snoozed_until.is_some_and(|until| until > now) {
                        hr;
                        button name="hours" value="0" { "Send reminders again" }
                    }
                }
            }
            form.thru method="post" action=(path("resolve")) { button { "Resolve" } }
        }
    }
}

/// Each opening, if there was more than one, newest first.
fn reopenings(view: &IssueView<'_>) -> Markup {
    let IssueView { issue, clock, .. } = *view;
    let ended_at = view.stored.monitoring_ended_at();
    let problems: Vec<Problem> =
        issue.problems().into_iter().rev().map(|problem| problem.or_ended(ended_at)).collect();
    let said = |problem: &Problem| match view.found.opening(problem.opened_at) {
        Some(opening) => view.told(opening),
        None => "The details are not kept.".to_owned(),
    };
    html! {
        @if problems.len() > 1 {
            section.card {
                header { h2 { "Openings" } span.quiet.small { (grouped(problems.len() as u64)) } }
                table.t.cards-t {
                    (layout::columns("Each opening of this issue, newest first", &["Start", "Length", "What was wrong"]))
                    tbody {
                        @for problem in problems.iter().take(OPENINGS_SHOWN) {
                            tr {
                                td.nb { (clock.second(problem.began_at)) }
                                td.nb {
                                    (time::duration(problem.lasted(clock.now)))
                                    @if problem.ended_at.is_none() { " so far" }
                                }
                                td { bdi { (words::named(&said(problem), view.monitor)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn details(view: &IssueView<'_>) -> Markup {
    let monitor = view.monitor;
    html! {
        section.card {
            header { h2 { @match monitor { Monitor::Site(_) => "Site", Monitor::Heartbeat(_) => "Heartbeat" } } }
            div.in.stack.gs {
                p { a href=(link::monitor("", monitor)) { bdi { (monitor.name()) } } }
                @if let Some(site) = monitor.site() { p.small { (link_out(&site.url)) } }
                @if let Some(notes) = monitor.notes() { p.quote.text { (notes) } }
            }
        }
        (notifications(view))
        section.card {
            header { h2 { "Details" } }
            dl.facts.in {
                dt { "Tool" } dd { (words::tool(view.issue.id.fingerprint().tool())) }
                @for fact in &view.facts { dt { (fact.label) } dd { (fact.value) } }
                dt { "First opened" } dd { (view.clock.second(view.issue.created_at)) }
            }
        }
    }
}

/// The outcome of the newest notification of each channel.
fn notifications(view: &IssueView<'_>) -> Markup {
    let mut channels: BTreeMap<ChannelId, &Notification> = BTreeMap::new();
    for notification in &view.found.notifications {
        channels.entry(notification.channel).or_insert(notification);
    }
    if channels.is_empty() {
        return Markup::default();
    }
    html! {
        section.card {
            header { h2 { "Notifications" } }
            ul.rows {
                @for Notification { name, outcome, why, at, .. } in channels.values() {
                    @let (look, word) = match outcome {
                        NotificationOutcome::Sent => (Look::Up, "Notified"),
                        NotificationOutcome::Failed => (Look::Issues, "Not notified"),
                        NotificationOutcome::Held => (Look::Pending, "Waiting"),
                    };
                    li {
                        (look.mark())
                        div.grow {
                            b.cut.blk { bdi { (name) } }
                            p.quiet.small { (word) " " (view.clock.second(*at)) @if let Some(why) = why { ": " bdi { (why) } } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::id::SiteId;

    use super::*;

    #[test]
    fn outages_come_before_all_other_issues() {
        use Fingerprint::{SslExpiring, SslInvalid, StatusDown};
        use IssueStatus::{Acknowledged, Open};
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let issue = |fingerprint, chosen_severity, status, second| {
            let opened_at = Timestamp::from_second(second).expect("a timestamp");
            let id = IssueId::new(site, fingerprint, opened_at);
            let resolved_at = None;
            IndexRow {
                id,
                monitor: site,
                fingerprint,
                chosen_severity,
                status,
                opened_at,
                resolved_at,
            }
        };
        let sorted = [
            issue(StatusDown, None, Open, 2),
            issue(StatusDown, None, Open, 1),
            issue(StatusDown, None, Acknowledged, 3),
            issue(StatusDown, Some(Severity::Warning), Open, 3),
            issue(SslInvalid, None, Open, 4),
            issue(SslExpiring, None, Open, 5),
        ];
        assert!(sorted.is_sorted_by_key(order), "{:?}", sorted.each_ref().map(order));
    }
}
