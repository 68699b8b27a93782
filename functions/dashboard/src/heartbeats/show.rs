//! The page of a heartbeat: its state, its figures, its newest runs, and the address that the job pings.

use std::collections::BTreeMap;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::accounts::account::{Permission, Role};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::check::{HeartbeatResult, RunOutcome};
use vedette_domain::checks::history::HistoryFilter;
use vedette_domain::checks::tool::Tool;
use vedette_domain::heartbeats::reports::{Awaited, HeartbeatState, Reports};
use vedette_domain::issues::IssueStatus;
use vedette_domain::issues::record::Issue;
use vedette_domain::time::duration;
use vedette_http::error::ApiError;
use vedette_http::history::history_page;
use vedette_http::paging::PageRequest;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_routing::HeartbeatAccess;
use vedette_store::HistoryAccess;
use vedette_store::StoredHeartbeat;

use super::{address, bars, command, deadline, endings, path, path_of, pill, schedule};
use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::look::{Icon, Look, TabState};
use crate::words::{counted, lasted, unknown};
use crate::{RequestContext, layout, maintenance, words};

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 4] = [
    ("added", "Heartbeat added. Add the line below to the end of the job."),
    ("saved", "Changes saved."),
    (
        "paused",
        "Paused. Its open issues are resolved, and no ping is expected until you resume it or the job pings.",
    ),
    ("resumed", "Resumed. The first ping is expected one period from now."),
];

/// The runs that the chart shows.
const RUNS: usize = 30;

pub(crate) async fn show(
    context: RequestContext<'_>,
    access: HeartbeatAccess,
) -> Result<Response, ApiError> {
    let HeartbeatAccess { team, stored } = &access;
    let heartbeat = &stored.heartbeat;
    let (store, clock) = (&context.app.store, context.clock(Some(&team.team)));
    let role = context.member()?.caller.role_in(team.id())?;
    let tools = BTreeMap::from([(Tool::Heartbeat, stored.state.clone())]);
    let partition = heartbeat.id.partition();
    let history = HistoryAccess { partition, tools: &tools, team };
    let query = Query::parse(context.head.uri.query());
    let page = PageRequest::parse(&query, &mut Errors::new());
    let all = HistoryFilter::default();
    let ((runs, total), issues) =
        futures::try_join!(history_page(store, clock.now, history, &all, page), async {
            Ok(store.issues_of_site(partition).await?)
        },)?;
    let reports = stored.state.reports();
    let active: Vec<&Issue> = issues.iter().filter(|issue| issue.lifecycle.is_active()).collect();
    let line = command(&address(context, heartbeat));
    let content = html! {
        (layout::notice(context, &NOTICES))
        (maintenance::notice(&team.team, (heartbeat.id, &heartbeat.tags), clock))
        @for issue in &active { (active_issue(issue, role, clock)) }
        (unheard(reports, clock))
        @if reports.state() == HeartbeatState::New {
            section.card {
                header { h2 { "Waiting for the first ping" } }
                div.in.stack.gs {
                    p { "Add this to the end of the job. From its first ping on, you are notified when one is missing." }
                    pre data-copy { code { (line) } }
                }
            }
        }
        (figures(stored, reports, context, clock))
        @if !reports.recent.is_empty() { (chart(reports)) }
        (table(&runs, clock))
        (layout::other_pages(page.number(), page.offset() + page.limit() < total, &|number| format!("{}?page={number}", path_of(heartbeat))))
        section.card {
            header { h2 { "Ping address" } }
            div.in.stack.gs {
                pre data-copy { code { (line) } }
                (endings())
                p.quiet.small { "Whoever knows this address can ping. Only members of the team see it." }
            }
        }
        @if let Some(notes) = &heartbeat.notes {
            section.card { header { h2 { "Notes" } } p.in.text { (notes) } }
        }
    };
    let is_down = matches!(reports.state(), HeartbeatState::Late | HeartbeatState::Failed);
    let heading = Heading::new(&*heartbeat.name)
        .about_one(if is_down { TabState::Down } else { TabState::Up })
        .below(path(team.id()), "Heartbeats")
        .state(pill(reports.state()))
        .lead(lead(stored))
        .actions(actions(stored, reports, role));
    Ok(layout::team_page(
        context,
        (&team.team, NavTab::Heartbeats),
        StatusCode::OK,
        heading,
        &content,
    ))
}

fn lead(StoredHeartbeat { heartbeat, .. }: &StoredHeartbeat) -> Markup {
    let grace = jiff::SignedDuration::from_mins(heartbeat.grace_minutes.into());
    html! {
        p.quiet {
            (schedule(&heartbeat.schedule)) " · " (duration(grace)) " of grace"
            @for tag in &heartbeat.tags { " " span.tag { (tag) } }
        }
    }
}

fn actions(stored: &StoredHeartbeat, reports: &Reports, role: Role) -> Markup {
    let path = path_of(&stored.heartbeat);
    html! {
        @if role.grants(Permission::ManageSites) {
            @if reports.paused {
                form method="post" action={ (path) "/resume" } { button { (Icon::Play.shape()) "Resume" } }
            } @else {
                form method="post" action={ (path) "/pause" } { button { (Icon::Pause.shape()) "Pause" } }
            }
            details.menu {
                summary.btn.sq { span.hide { "Heartbeat actions" } (Icon::More.shape()) }
                div.pop {
                    a href={ (path) "/edit" } { (Icon::Edit.shape()) "Edit heartbeat" }
                    hr;
                    a.bad href={ (path) "/delete" } { (Icon::Delete.shape()) "Delete heartbeat…" }
                }
            }
        }
    }
}

/// An open issue, with what can be done about it.
fn active_issue(issue: &Issue, role: Role, clock: Clock<'_>) -> Markup {
    let look = Look::from(issue.severity());
    html! {
        div class={ "note " (look.class()) } role="alert" {
            (look.shape())
            p {
                b { (crate::form::capitalized(&issue.summary)) "." }
                " For " (clock.lasting(issue.first_failed_at()))
                @if issue.status() == IssueStatus::Open { ". Not acknowledged." } @else { ". Acknowledged." }
            }
            @if issue.status() == IssueStatus::Open && role.grants(Permission::RunChecks) {
                form method="post" action={ "/issues/" (issue.id) "/acknowledge" } { button.s.main { "Acknowledge" } }
            }
            a.btn.s href={ "/issues/" (issue.id) } { "View issue" }
        }
    }
}

/// Says that pings could not arrive when one was expected.
fn unheard(reports: &Reports, clock: Clock<'_>) -> Markup {
    let Some(pause) = reports.excused else { return Markup::default() };
    html! {
        (layout::note(Look::Info, &html! {
            b { "A ping may be missing." }
            " Vedette did not listen, or the heartbeat was in maintenance, from " (clock.instant(pause.from)) " to " (clock.instant(pause.to))
            ". That does not count against the job: the next ping is expected one period later."
        }))
    }
}

fn figures(
    stored: &StoredHeartbeat,
    reports: &Reports,
    context: RequestContext<'_>,
    clock: Clock<'_>,
) -> Markup {
    let runs: Vec<_> = reports.recent.iter().collect();
    let of = |outcome| runs.iter().filter(|run| run.outcome == outcome).count();
    let good = of(RunOutcome::Success);
    let newest = runs.last();
    let figure = |name: &str, value: Markup, note: Option<Markup>| {
        html! {
            div { span { (name) } p.big { (value) } @if let Some(note) = note { span { (note) } } }
        }
    };
    let of_last = newest.and_then(|run| match run.outcome {
        RunOutcome::Success => run.lasted.map(|lasted| html! { "Took " (duration(lasted)) }),
        RunOutcome::Failure => Some(html! { "Failed" }),
        _ => None,
    });
    let time_scale = context.app.service.time_scale;
    let awaited = reports.deadline(&stored.heartbeat, time_scale, clock.now).map(|it| it.awaited);
    let of_next = awaited.map(|awaited| match awaited {
        Awaited::Ping(expected) => html! { "Ping expected " (clock.since(expected)) },
        Awaited::End(began) => html! { "Run began " (clock.since(began)) },
    });
    let percent = (100 * good).checked_div(runs.len());
    html! {
        div.card.sum4 {
            (figure("Last ping", reports.last.map_or_else(unknown, |at| clock.ago(at)), of_last))
            (figure("Next deadline", deadline(stored, time_scale, clock), of_next))
            (figure(
                "Good runs",
                percent.map_or_else(unknown, |percent| html! { (percent) "\u{202f}%" }),
                (!runs.is_empty()).then(|| html! { (counted(runs.len(), "run", "runs")) ": " (of(RunOutcome::Missed)) " missed, " (of(RunOutcome::Failure)) " failed" }),
            ))
            (figure("Median duration", reports.recent.median().map_or_else(unknown, |median| html! { (duration(median)) }), None))
        }
    }
}

fn chart(reports: &Reports) -> Markup {
    html! {
        section.card {
            header { h2 { "Durations" } span.quiet.small { "The last " (words::grouped(reports.recent.iter().len() as u64)) " runs" } }
            div.in.tall { (bars(reports, RUNS)) }
        }
    }
}

const fn outcome(outcome: RunOutcome) -> (Look, &'static str) {
    match outcome {
        RunOutcome::Success => (Look::Up, "OK"),
        RunOutcome::Failure => (Look::Down, "Failed"),
        RunOutcome::Missed => (Look::Down, "Missed"),
        RunOutcome::RunningLong => (Look::Failing, "No end"),
        RunOutcome::Log => (Look::Info, "Log"),
    }
}

fn table(runs: &[Check], clock: Clock<'_>) -> Markup {
    let read = |check: &Check| Some((check.id.created_at(), HeartbeatResult::of(check)?));
    let runs: Vec<_> = runs.iter().filter_map(read).collect();
    let is_bad = |(_, result): &(_, HeartbeatResult)| result.outcome == RunOutcome::Failure;
    let newest_failed = runs.iter().position(is_bad);
    html! {
        @if !runs.is_empty() {
            section.card {
                header { h2 { "Runs" } }
                table.t.cards-t.job-runs {
                    (layout::columns("Runs, newest first", &["Outcome", "Time", "Output", "Duration", "Exit"]))
                    tbody {
                        @for (place, (at, result)) in runs.iter().enumerate() {
                            @let (look, word) = outcome(result.outcome);
                            tr {
                                td { @if look == Look::Up || look == Look::Info { (look.bare(word)) } @else { (look.pill(word)) } }
                                td.nb { (clock.second(*at)) }
                                td { (output(result, newest_failed == Some(place), clock)) }
                                td.nb { div.only { "Duration" } @match result.duration { Some(ms) => (lasted(ms)), None => (unknown()) } }
                                td { div.only { "Exit" } @match result.exit_status { Some(status) => (status), None => (unknown()) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The output of a run, which is closed unless it is that of the newest failure.
fn output(result: &HeartbeatResult, is_open: bool, clock: Clock<'_>) -> Markup {
    html! {
        @if let Some(text) = &result.output {
            @let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            details open[is_open] {
                summary.cut { bdi { (last.chars().take(80).collect::<String>()) } }
                pre.text { (text) }
            }
        } @else if let (RunOutcome::Missed, Some(deadline)) = (result.outcome, result.deadline) {
            span.quiet { "No ping by " (clock.instant(deadline)) }
        } @else if let (RunOutcome::RunningLong, Some(deadline)) = (result.outcome, result.deadline) {
            span.quiet { "Had not ended by " (clock.instant(deadline)) }
        } @else {
            (unknown())
        }
    }
}
