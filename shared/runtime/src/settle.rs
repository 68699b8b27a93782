//! Saving a finished run: the one way by which checks end, issues move and timers are set.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tracing::{error, warn};
use vedette_domain::account::Team;
use vedette_domain::check::{Check, DnsBaseline, Finish, ToolResult};
use vedette_domain::id::CheckId;
use vedette_domain::issue::InvalidTransition;
use vedette_domain::issue::evaluate::{Evaluation, Timer};
use vedette_domain::issue::record::{IssueChange, Observed, follow};
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_domain::tool_state::{Conclusion, Discard, Run, ToolPolicy, ToolState};
use vedette_store::{Changes, StoreError, StoredCheck, ToolChange, budget, retry_on_conflict};

use crate::App;

/// A run that has ended, under the site and team that it began with.
#[derive(Debug)]
pub struct FinishedRun<'a> {
    /// The site as it was when the run began.
    pub site: &'a Site,
    /// The tool's state as it was then.
    pub state: ToolState,
    /// The team as it was then.
    pub team: &'a Team,
    /// The team's settings as they were then.
    pub settings: &'a Settings,
    /// The tool.
    pub tool: Tool,
    /// The check that the run makes or finishes.
    pub check: CheckId,
    /// How it ended.
    pub finish: Finish,
}

/// What became of a run.
#[derive(Debug)]
pub enum Settled {
    /// It counts nothing.
    Discarded(Discard),
    /// Its site is gone.
    Gone,
    /// It is saved.
    Saved {
        /// The check.
        check: Check,
        /// Issues that it opened or resolved.
        issues: Vec<IssueChange>,
    },
}

/// Saves a run and sends the retry or follow-up that it asks for. When something else was written
/// meanwhile, the same result is applied to what is there now; nothing is probed twice.
///
/// # Errors
///
/// When the table does not answer; the run may be settled again, it counts once.
pub async fn settle(app: &App, finished: FinishedRun<'_>) -> Result<Settled, StoreError> {
    let FinishedRun { site, state, team, settings, tool, check, finish } = finished;
    let partition = site.id.partition();
    let plan = team.plan;
    let settings = Settings::resolve(settings, &site.overrides, plan);
    let now = app.clock.now();
    let mut read = Some(state);
    retry_on_conflict(budget::WRITE, || {
        let read = read.take();
        async {
            let state = match read {
                Some(state) => state,
                None => match app.store.site_tool(partition, tool).await? {
                    Some((current, state)) if current.id == site.id => state,
                    _ => return Ok(Settled::Gone),
                },
            };
            let evaluations = match &finish {
                Finish::Completed(result) if check.is_automatic() => {
                    let baseline = baseline(app, &state, result).await?;
                    result.evaluate(&settings, &site.expected_records, baseline.as_ref())
                }
                _ => Vec::new(),
            };
            let run = Run {
                site: site.id,
                check,
                tool,
                cfg: site.cfg,
                finish: &finish,
                evaluations: &evaluations,
                policy: ToolPolicy::of(tool, &settings),
                now,
                pace: app.service.pace,
                retention_days: plan.limits().history_retention_days,
            };
            let closed = match state.closed_day(check.created_at()) {
                Some(date) => app.store.day(partition, tool, date).await?,
                None => None,
            };
            let conclusion = match state.conclude(closed.as_ref(), &run) {
                Ok(conclusion) => conclusion,
                Err(discard) => return Ok(Settled::Discarded(discard)),
            };
            let (issues, refused) =
                follow_events(app, site, &state, &conclusion, &evaluations, now).await?;
            let tools = [ToolChange { tool, read: &state, conclusion: &conclusion }];
            let changes = Changes { site, tools: &tools, issues: &issues, usage: None, now };
            app.store.commit(&changes).await?;
            // Tracker and record are written together; should they ever differ, the tracker leads.
            // (On a conflict the state that was read is an old one, and means nothing.)
            for refusal in refused {
                error!(site = %site.id, %check, %refusal, "an issue was left as it is");
            }
            if let Some(timer) = conclusion.timer.filter(|timer| !timer.is_far(now)) {
                send_timer(app, site, tool, timer).await;
            }
            Ok(Settled::Saved { check: conclusion.check, issues })
        }
    })
    .await
}

/// The learnt records that a DNS result is held against. The records themselves are read only when
/// the result differs, to say how.
async fn baseline(
    app: &App,
    state: &ToolState,
    result: &ToolResult,
) -> Result<Option<DnsBaseline>, StoreError> {
    let (ToolResult::Dns(result), Some(learnt)) = (result, &state.learnt) else { return Ok(None) };
    let prints = learnt.baseline.clone();
    let mut records = None;
    if result.prints().completed_by(&prints) != prints
        && let Some(StoredCheck { check, .. }) = app.store.check(learnt.check).await?
    {
        let found = check.result.and_then(|mut result| result.get_mut("records").map(Value::take));
        records = found.and_then(|records| serde_json::from_value(records).ok());
    }
    Ok(Some(DnsBaseline { prints, records }))
}

/// What the run's events make of the issues' records, and what the records do not admit.
async fn follow_events(
    app: &App,
    site: &Site,
    state: &ToolState,
    conclusion: &Conclusion,
    evaluations: &[Evaluation],
    now: Timestamp,
) -> Result<(Vec<IssueChange>, Vec<InvalidTransition>), StoreError> {
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for (event, index) in &conclusion.events {
        let Some(evaluation) = evaluations.get(*index) else { continue };
        let before = app.store.issue(site.id.partition(), evaluation.fingerprint).await?;
        let previous = state.to_compare(evaluation.fingerprint);
        let observed = Observed { check: conclusion.check.id, previous, evaluation, now };
        match follow(before, event, &observed) {
            Ok(change) => changes.extend(change),
            Err(refusal) => refused.push(refusal),
        }
    }
    Ok((changes, refused))
}

/// Sends a retry or follow-up with its delay. What lies further ahead than a queue can delay is
/// sent by the keeper in time, and so is what cannot be sent now.
pub async fn send_timer(app: &App, site: &Site, tool: Tool, timer: Timer) {
    let now = app.clock.now();
    if !timer.fits_a_queue(now) {
        return;
    }
    let order = RunOrder::Automatic { reason: timer.reason, slot: timer.due };
    let message = Message::Check(CheckMessage { team: site.team, site: site.id, tool, order });
    let delay = timer.due.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
    if let Err(error) = app.queue.send(&message, delay).await {
        warn!(site = %site.id, %tool, %error, "a timer is left to the keeper's sweep");
    }
}

/// Forgets the first run, retry or follow-up of a tool that is not to run.
///
/// # Errors
///
/// A conflict when the tool was written meanwhile.
pub async fn forget_timer(
    app: &App,
    site: &Site,
    tool: Tool,
    state: &ToolState,
) -> Result<(), StoreError> {
    if state.timer.is_none() {
        return Ok(());
    }
    let (partition, next) = (site.id.partition(), state.without_timer());
    app.store.put_tool(partition, tool, state, &next, app.clock.now()).await
}
