//! Heartbeats: the list of a team, the page of one, and the forms for it.

mod change;
mod form;
mod list;
mod show;

use maud::{Markup, html};
use vedette_domain::checks::check::RunOutcome;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::heartbeats::reports::{HeartbeatState, RecentRun, Reports};
use vedette_domain::heartbeats::schedule::JobSchedule;
use vedette_domain::id::{PingKey, TeamId};
use vedette_store::StoredHeartbeat;

pub(crate) use self::change::{ask_to_delete, delete, pause, replace_key, resume};
pub(crate) use self::form::{add, ask_to_add, edit, save};
pub(crate) use self::list::list;
pub(crate) use self::show::show;

use crate::RequestContext;
use crate::clock::Clock;
use crate::look::Look;
use crate::words;

/// The address of the list.
pub(crate) fn path(team: TeamId) -> String {
    format!("/teams/{team}/heartbeats")
}

/// The address of a heartbeat's page.
fn path_of(heartbeat: &Heartbeat) -> String {
    format!("{}/{}", path(heartbeat.team), heartbeat.id)
}

/// The address below which all keys are.
fn pings(context: RequestContext<'_>) -> String {
    format!("{}/ping", context.app.service.pings_base().unwrap_or_default())
}

/// The address that the job of a heartbeat pings.
fn address(context: RequestContext<'_>, heartbeat: &Heartbeat) -> String {
    let key = heartbeat.ping_key.map(PingKey::reveal).unwrap_or_default();
    format!("{}/{key}", pings(context))
}

/// The line with which a job pings an address.
fn command(address: &str) -> String {
    format!("curl -fsS -m 10 --retry 5 {address}")
}

/// What a job can add to that line.
fn endings() -> Markup {
    html! {
        p.small { code { "/start" } " at the start measures how long a run takes, " code { "/$?" } " at the end reports the exit status, and " code { "--data-binary @FILE" } " keeps the last 10 kB of the output." }
    }
}

/// A state in words.
const fn word(state: HeartbeatState) -> &'static str {
    match state {
        HeartbeatState::New => "Not pinged yet",
        HeartbeatState::OnTime => "On time",
        HeartbeatState::RunningLong => "Running long",
        HeartbeatState::Late => "Late",
        HeartbeatState::Failed => "Failed",
        HeartbeatState::Paused => "Paused",
    }
}

const fn look(state: HeartbeatState) -> Look {
    match state {
        HeartbeatState::New => Look::Pending,
        HeartbeatState::OnTime => Look::Up,
        HeartbeatState::RunningLong => Look::Failing,
        HeartbeatState::Late | HeartbeatState::Failed => Look::Down,
        HeartbeatState::Paused => Look::Paused,
    }
}

/// The order in which states need attention.
const ORDER: [HeartbeatState; 6] = [
    HeartbeatState::Late,
    HeartbeatState::Failed,
    HeartbeatState::RunningLong,
    HeartbeatState::OnTime,
    HeartbeatState::New,
    HeartbeatState::Paused,
];

/// A state with its shape: tinted if something is wrong.
fn pill(state: HeartbeatState) -> Markup {
    let look = look(state);
    match state {
        HeartbeatState::Late | HeartbeatState::Failed | HeartbeatState::RunningLong => {
            look.pill(word(state))
        }
        _ => look.bare(word(state)),
    }
}

/// When something is expected next.
fn deadline(
    StoredHeartbeat { heartbeat, state }: &StoredHeartbeat,
    time_scale: TimeScale,
    clock: Clock<'_>,
) -> Markup {
    match state.reports().deadline(heartbeat, time_scale, clock.now) {
        Some(deadline) => clock.since(deadline.at),
        None => words::unknown(),
    }
}

/// The width of a bar and its gap.
const BAR: usize = 4;
/// The height of a chart.
const HEIGHT: f64 = 24.0;

/// The durations of the newest runs as bars, at most `count` of them. A run that was missed has a bar of its own, and
/// one that did not say how long it took has a low one.
fn bars(reports: &Reports, count: usize) -> Markup {
    let runs: Vec<RecentRun> = reports.recent.iter().collect();
    let runs = &runs[runs.len().saturating_sub(count)..];
    if runs.is_empty() {
        return html! { span {} };
    }
    let seconds = |run: &RecentRun| run.lasted.map_or(0.0, |lasted| lasted.as_secs_f64());
    let longest = runs.iter().map(seconds).fold(0.0, f64::max);
    let bar = |place: usize, run: &RecentRun| {
        let height = match (run.outcome, longest > 0.0) {
            (RunOutcome::Missed, _) => HEIGHT - 4.0,
            (_, true) => (seconds(run) / longest * (HEIGHT - 6.0)).max(2.0),
            (_, false) => 8.0,
        };
        let (x, y) = (place * BAR, HEIGHT - 2.0 - height);
        format!("M{x} {y:.1}h3v{height:.1}h-3z")
    };
    let class = |outcome| match outcome {
        RunOutcome::Missed => "m",
        RunOutcome::Failure | RunOutcome::RunningLong => "x",
        RunOutcome::Success | RunOutcome::Log => "b",
    };
    let of = |outcome| runs.iter().filter(|run| run.outcome == outcome).count();
    let label = format!(
        "The last {}: {} failed, {} missed",
        words::counted(runs.len(), "run", "runs"),
        of(RunOutcome::Failure),
        of(RunOutcome::Missed)
    );
    html! {
        svg.spark.runs viewBox={ "0 0 " (count * BAR) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(label) {
            @for (place, run) in runs.iter().enumerate() { path class=(class(run.outcome)) d=(bar(place, run)) {} }
        }
    }
}

/// When the job runs, in words.
fn schedule(schedule: &JobSchedule) -> String {
    crate::form::capitalized(&schedule.words())
}
