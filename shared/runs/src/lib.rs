//! Saves finished runs and what jobs report. Checks end, issues open and resolve, and timers are set only here.
//!
//! [`record_run`] reads what it needs to judge a run, asks other locations about an outage, lets
//! [`ToolState::apply_run`] decide, and commits.

mod reports;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::error;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::check::{Check, DnsBaseline, Finish, KnownRecords, ToolResult};
use vedette_domain::checks::evidence::Evidence;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::timer::Timer;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{Discard, ToolChange, ToolState};
use vedette_domain::id::{CheckId, IssueId, StatusPageId, TeamId};
use vedette_domain::issues::InvalidTransition;
use vedette_domain::issues::record::{IssueChange, IssueEvent, follow};
use vedette_domain::locations::{HomeStatus, QUESTION_TIMEOUT, Question, Votes};
use vedette_domain::message::{AlertMessage, CheckMessage, Message, ReconcileMessage};
use vedette_domain::monitor::MonitorRef;
use vedette_domain::sites::site::Site;
use vedette_runtime::App;
use vedette_store::{Changes, StoreError, StoredCheck, budget, fits_a_unit, retry_on_conflict};

pub use reports::{PingOutcome, Pinged, record_deadline, record_ping};

/// How long another location may check a target, so that its answer arrives while the caller still waits.
const ANSWER_IN: Duration = QUESTION_TIMEOUT.saturating_sub(Duration::from_secs(1));

/// What happened to a finished run.
#[derive(Debug)]
pub enum Recorded {
    /// The run does not count.
    Discarded(Discard),
    /// Its site is gone.
    SiteGone,
    /// The run was saved.
    Saved {
        /// The check.
        check: Box<Check>,
        /// Issues that it opened or resolved.
        issues: Vec<IssueChange>,
    },
}

/// Saves a run with the evidence to keep, and sends the retry or follow-up that it needs. After a conflict, the same result
/// is applied to the current state: no target is probed and no other location is asked twice.
///
/// # Errors
///
/// When the table does not answer. The run may be recorded again; it counts once.
pub async fn record_run(
    app: &App,
    run: &Run,
    state: ToolState,
    finish: &Finish,
    evidence: Option<&Evidence>,
) -> Result<Recorded, StoreError> {
    let now = app.clock.now();
    let votes = &Box::pin(ask_locations(app, run, &state, finish, now)).await;
    let mut read = Some(state);
    retry_on_conflict(budget::WRITE, || {
        let read = read.take();
        let is_given = read.is_some();
        async move {
            let state = match read {
                Some(state) => state,
                None => match app.store.site_tool(run.site.id.partition(), run.tool()).await? {
                    Some((current, state)) if current.id == run.site.id => state,
                    _ => return Ok(Recorded::SiteGone),
                },
            };
            let baseline = dns_baseline(app, &state, run.check, finish).await?;
            let closed = app.store.closed_day(&state, run.check).await?;
            let evaluations = run.evaluate(finish, baseline.as_ref(), now);
            let applied = state.apply_run(run, finish, evaluations, votes, closed.as_ref(), now);
            let change = match applied {
                Ok(change) => packed(app, run, change.with_evidence(evidence, now), finish, now),
                // The given state may be out of date.
                Err(_) if is_given => return Err(StoreError::STALE),
                Err(discard) => return Ok(Recorded::Discarded(discard)),
            };
            let (issues, refused) = change_issues(app, &run.team, &change.events).await?;
            let (site, tools) = (&run.site, [change]);
            let changes = Changes { site, tools: &tools, issues: &issues, usage: None, now };
            app.store.commit(&changes).await?;
            let [ToolChange { check, timer, .. }] = tools;
            log_refused(&check, refused);
            if let Some(timer) = timer.filter(|timer| !timer.is_far(now)) {
                enqueue_timer(app, site, run.tool(), timer).await;
            }
            for change in &issues {
                enqueue_alert(app, site.team, change).await;
            }
            Ok(Recorded::Saved { check: Box::new(check), issues })
        }
    })
    .await
}

/// The state after a run that changes nothing else; `None` if more must be saved. A history that is made up only needs to
/// save such a state with a later run, so its `rev` stays.
pub fn state_after(app: &App, run: &Run, state: &ToolState, finish: &Finish) -> Option<ToolState> {
    let now = app.clock.now();
    let evaluations = run.evaluate(finish, None, now);
    let change = state.apply_run(run, finish, evaluations, &Votes::NoLocation, None, now).ok()?;
    let tools = [packed(app, run, change, finish, now)];
    let changes = Changes { site: &run.site, tools: &tools, issues: &[], usage: None, now };
    changes.only_state()?;
    let [ToolChange { state: next, .. }] = tools;
    Some(ToolState { rev: state.rev, ..next })
}

/// What other locations say about a run that would open `status:down` according to the given state. All other locations
/// are asked once, concurrently. If the run only opens the issue in a later state, no other location was asked, and the
/// issue waits.
async fn ask_locations(
    app: &App,
    run: &Run,
    state: &ToolState,
    finish: &Finish,
    now: Timestamp,
) -> Votes {
    let Finish::Completed(ToolResult::Status(result)) = finish else { return Votes::NoLocation };
    if !app.remote_checks.are_configured() {
        return Votes::NoLocation;
    }
    if run.maintenance_until(now).is_some() {
        return Votes::NotAsked;
    }
    // Another location sends no POST, and its answer to a GET would say nothing about one.
    if run.site.expectations.post.is_some() {
        return Votes::NoLocation;
    }
    let evaluations = run.evaluate(finish, None, now);
    let is_suspected = evaluations.iter().any(|evaluation| state.suspects(run, evaluation));
    if !is_suspected || state.wants(run.check, now).is_err() {
        return Votes::NotAsked;
    }
    let header = run.settings.request_header.pair();
    let question = Question::new(run.site.url.to_url(), header, ANSWER_IN)
        .asked_with(run.site.expectations.method);
    let codes = &run.settings.tools.status.settings.incident_status_codes;
    app.remote_checks.ask(run.site.team, &question, HomeStatus::of(result, codes)).await
}

/// The change with its check packed, if that is possible and this process writes blocks.
fn packed(app: &App, run: &Run, change: ToolChange, finish: &Finish, now: Timestamp) -> ToolChange {
    let Some(version) = app.service.writes_blocks else { return change };
    let partition = run.site.id.partition();
    change.packed(finish, version, |state| fits_a_unit(partition, run.tool(), state, now))
}

/// The learned records that a DNS result is compared with. The records themselves are read only if some have changed,
/// to show the difference.
async fn dns_baseline(
    app: &App,
    state: &ToolState,
    check: CheckId,
    finish: &Finish,
) -> Result<Option<DnsBaseline>, StoreError> {
    let (Finish::Completed(ToolResult::Dns(result)), Some(learnt)) = (finish, &state.learnt) else {
        return Ok(None);
    };
    let known = learnt.baseline.clone();
    let mut records = None;
    if check.is_automatic()
        && !known.changed_types(&KnownRecords::found_by(result)).is_empty()
        && let Some(StoredCheck { check, .. }) = app.store.check(learnt.check).await?
    {
        let found = check.result.and_then(|mut result| result.get_mut("records").map(Value::take));
        records = found.and_then(|records| serde_json::from_value(records).ok());
    }
    Ok(Some(DnsBaseline { known, records }))
}

/// The issues after the events, and the events that the issues do not allow.
async fn change_issues(
    app: &App,
    team: &Team,
    events: &[IssueEvent],
) -> Result<(Vec<IssueChange>, Vec<InvalidTransition>), StoreError> {
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for event in events {
        let (partition, fingerprint) = (event.check.partition(), event.evaluation.fingerprint);
        let before = app.store.issue(partition, fingerprint).await?;
        match follow(before, event) {
            Ok(change) => changes.extend(change.map(|change| change.published_by(team))),
            Err(refusal) => refused.push(refusal),
        }
    }
    Ok((changes, refused))
}

/// Logs events that the issues do not allow. The tracker and the issue are written together; if they ever differ, the
/// tracker wins. (After a conflict, the state that was read is out of date, so a difference means nothing.)
fn log_refused(check: &Check, refused: Vec<InvalidTransition>) {
    for refusal in refused {
        error!(check = %check.id, %refusal, "could not change an issue; it stays as it is");
    }
}

/// Tells the notifier about a committed change of an issue.
pub async fn enqueue_alert(app: &App, team: TeamId, IssueChange { after, .. }: &IssueChange) {
    enqueue_issue(app, team, after.id).await;
}

/// Tells the notifier that an issue has changed.
pub async fn enqueue_issue(app: &App, team: TeamId, issue: IssueId) {
    let message = AlertMessage::Issue { team, issue };
    app.enqueue_or_leave(Message::Alert(message), Duration::ZERO).await;
}

/// Publishes status pages of a team, after a write that has requested it.
pub async fn enqueue_publications(app: &App, team: TeamId, pages: &[StatusPageId]) {
    for &page in pages {
        let message = Message::Reconcile(ReconcileMessage::Publish { team, page });
        app.enqueue_or_leave(message, Duration::ZERO).await;
    }
}

/// Sends the deadline of a heartbeat with its delay. If it lies further ahead than a queue can delay, or cannot be sent
/// now, the reconciler sends it in time.
pub async fn enqueue_deadline(app: &App, heartbeat: MonitorRef, timer: Timer) {
    let (now, due) = (app.clock.now(), timer.due);
    if !timer.fits_a_queue(now) {
        return;
    }
    let MonitorRef { id: heartbeat, team } = heartbeat;
    let message = ReconcileMessage::Deadline { team, heartbeat, due };
    let delay = due.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
    app.enqueue_or_leave(Message::Reconcile(message), delay).await;
}

/// Sends a retry or follow-up with its delay. If it lies further ahead than a queue can delay, or cannot be sent now,
/// the reconciler sends it in time.
pub async fn enqueue_timer(app: &App, site: &Site, tool: Tool, timer: Timer) {
    let now = app.clock.now();
    if !timer.fits_a_queue(now) {
        return;
    }
    let message = Message::Check(CheckMessage::of(site, timer.check(site.id, tool)));
    let delay = timer.due.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
    app.enqueue_or_leave(message, delay).await;
}

/// Clears the first run, retry or follow-up of a tool that should not run, and ends an outage.
///
/// # Errors
///
/// A conflict when the tool has changed since.
pub async fn clear_timer(
    app: &App,
    site: &Site,
    tool: Tool,
    state: &ToolState,
) -> Result<(), StoreError> {
    if state.timer.is_none() {
        return Ok(());
    }
    let now = app.clock.now();
    app.store.put_tool(site.id.partition(), tool, &state.unmonitored(now), now).await
}
