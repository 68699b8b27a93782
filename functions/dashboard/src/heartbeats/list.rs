//! A team's heartbeats, the worst state first.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_domain::accounts::account::Permission;
use vedette_domain::heartbeats::reports::HeartbeatState;
use vedette_domain::time::duration;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::Errors;
use vedette_store::{StoredHeartbeat, TeamWithSettings};

use super::{ORDER, bars, deadline, look, path, path_of, pill, pings, schedule, word};
use crate::clock::Clock;
use crate::layout::{Heading, NavTab};
use crate::look::Icon;
use crate::paging::WantedPage;
use crate::words::{counted, grouped, unknown};
use crate::{RequestContext, layout};

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 2] =
    [("deleted", "Heartbeat deleted."), ("key", "The team has another ping key.")];

/// The runs that the chart of a row shows.
const RUNS: usize = 20;

pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (id, clock) = (team.id(), context.clock(Some(&team.team)));
    let role = context.member()?.caller.role_in(id)?;
    let may_manage = role.grants(Permission::ManageSites);
    let query = Query::parse(context.head.uri.query());
    let parsed = |text: &str| ORDER.into_iter().find(|state| state.as_str() == text);
    let wanted = query.one_of("state", parsed, &mut Errors::new());
    let (mut all, key) = futures::try_join!(
        context.app.store.heartbeats_relaxed(id),
        context.app.store.team_ping_key(id),
    )?;
    let place = |of: &StoredHeartbeat| ORDER.iter().position(|state| *state == state_of(of));
    all.sort_by_cached_key(|of| (place(of), of.heartbeat.name.to_lowercase(), of.heartbeat.id));
    let count = |state| all.iter().filter(|of| state_of(of) == state).count();
    let counts = ORDER.map(|state| (state, count(state)));
    let shown: Vec<_> =
        all.iter().filter(|of| wanted.is_none_or(|state| state_of(of) == state)).collect();
    let paging = WantedPage::parse(&query).of(shown.len());
    let time_scale = context.app.service.time_scale;
    let content = html! {
        (layout::notice(context, &NOTICES))
        @if all.is_empty() {
            (nothing(id, may_manage))
        } @else {
            (filter(&path(id), wanted, all.len(), &counts))
            div.card {
                table.t.cards-t.jobs {
                    (layout::columns("Heartbeats, the worst state first", &["State", "Job", "Last 20 runs", "Last ping", "Next deadline"]))
                    tbody {
                        @for of in &shown[paging.range()] { (row(of, deadline(of, time_scale, clock), clock)) }
                    }
                }
            }
            (paging.links(&|page| format!("{}?{}{page}", path(id), wanted.map(|state| format!("state={state}")).unwrap_or_default())))
        }
        section.card {
            header { h2 { "Ping key" } }
            div.in.stack.gs {
                @match &key {
                    Some(key) => {
                        p { "Jobs can also ping a heartbeat by its slug. Whoever knows this key can ping all heartbeats of the team." }
                        pre data-copy { code { (pings(context)) "/" (key.reveal()) "/SLUG" } }
                        p.quiet.small { "With " code { "?create=1" } ", a ping creates the heartbeat if there is none with this slug." }
                    }
                    None => p { "With a ping key, jobs can ping a heartbeat by its slug, and create it with their first ping." },
                }
                @if may_manage {
                    form.row method="post" action={ "/teams/" (id) "/ping-key" } {
                        button { @if key.is_some() { "Replace ping key" } @else { "Create ping key" } }
                    }
                }
            }
        }
    };
    let add = html! {
        @if may_manage && !all.is_empty() {
            a.btn.main href={ (path(id)) "/new" } { (Icon::Plus.shape()) span { "Add" span.wide { " heartbeat" } } }
        }
    };
    let heading = Heading::new(title(all.len(), &counts))
        .lead(html! { p.quiet { "A heartbeat stands for a job that tells Vedette when it has run: a backup, an export, a sync." } })
        .actions(add);
    Ok(layout::team_page(
        context,
        (&team.team, NavTab::Heartbeats),
        StatusCode::OK,
        heading,
        &content,
    ))
}

fn state_of(of: &StoredHeartbeat) -> HeartbeatState {
    of.state.reports().state()
}

fn title(all: usize, counts: &[(HeartbeatState, usize)]) -> String {
    let of = |wanted| counts.iter().find(|(state, _)| *state == wanted).map_or(0, |(_, n)| *n);
    let is = |count: usize| if count == 1 { "is" } else { "are" };
    match (all, of(HeartbeatState::Late), of(HeartbeatState::Failed)) {
        (0, _, _) => "No heartbeats".to_owned(),
        (_, 0, 0) => counted(all, "heartbeat", "heartbeats"),
        (_, late, 0) => format!("{} {} late", counted(late, "job", "jobs"), is(late)),
        (_, 0, failed) => format!("{} failed", counted(failed, "job", "jobs")),
        (_, late, failed) => {
            format!(
                "{} {} late, {} failed",
                counted(late, "job", "jobs"),
                is(late),
                grouped(failed as u64)
            )
        }
    }
}

fn nothing(team: vedette_domain::id::TeamId, may_manage: bool) -> Markup {
    html! {
        div.card {
            div.empty {
                p { b { "No heartbeats yet." } " Add one for each job that must run on time. The job pings an address when it has run, and you are notified if no ping comes, or if the job says that it failed." }
                @if may_manage {
                    p { a.btn.main href={ (path(team)) "/new" } { (Icon::Plus.shape()) "Add heartbeat" } }
                }
            }
        }
    }
}

fn filter(
    path: &str,
    wanted: Option<HeartbeatState>,
    all: usize,
    counts: &[(HeartbeatState, usize)],
) -> Markup {
    html! {
        nav.card.counts.many aria-label="Filter by state" {
            a.all href=(path) aria-current=[wanted.is_none().then_some("true")] {
                span.pill.bare.on.ink { "All" span.wide { " heartbeats" } } b { (grouped(all as u64)) }
            }
            @for (state, count) in counts {
                @let is_wanted = wanted == Some(*state);
                a class=[(*count == 0).then_some("zero")] aria-current=[is_wanted.then_some("true")]
                    href=(if is_wanted { path.to_owned() } else { format!("{path}?state={state}") }) {
                    (look(*state).counted(word(*state), *count)) b { (grouped(*count as u64)) }
                }
            }
        }
    }
}

fn row(of: &StoredHeartbeat, next: Markup, clock: Clock<'_>) -> Markup {
    let StoredHeartbeat { heartbeat, state } = of;
    let reports = state.reports();
    let last = reports.recent.iter().next_back().and_then(|run| run.lasted);
    html! {
        tr {
            td.c-st { (pill(reports.state())) }
            td {
                a.name href=(path_of(heartbeat)) { bdi { (heartbeat.name) } }
                p.quiet.small { (schedule(&heartbeat.schedule)) }
            }
            td.c-resp {
                div.resp {
                    (bars(reports, RUNS))
                    span.nb { @match last { Some(lasted) => (duration(lasted)), None => (unknown()) } }
                }
            }
            td.nb { div.only { "Last ping" } @match reports.last { Some(at) => (clock.ago(at)), None => "never" } }
            td.nb { div.only { "Next deadline" } (next) }
        }
    }
}
