//! Consumes the check queues: runs what a message asks for, if the table still asks for it too.

mod browser_function;
mod config;
mod engines;
mod grants;
mod incoming;
mod lease;
mod metrics;
mod secret;
mod unsaved;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, error_span};
use vedette_domain::checks::check::{Check, Finish};
use vedette_domain::checks::tool_state::{Discard, ToolState};
use vedette_domain::id::CheckId;
use vedette_domain::issues::record::IssueChange;
use vedette_domain::message::CheckMessage;
use vedette_domain::sites::site::Site;
use vedette_runs::{Recorded, clear_timer, record_run};
use vedette_runtime::{App, QueueError, SLOW_AFTER};
use vedette_store::{RunContext, StoreError};

use lease::{postpone, with_lease};
use unsaved::Unsaved;

pub use browser_function::{BrowserFunction, NotRun};
pub use config::{BROWSER, Config, EngineConfig};
pub use engines::{Engines, ProbeInput};
pub use grants::grants;
pub use incoming::{Incoming, UnreadableMessage};
pub use metrics::Metrics;
pub use secret::auditor_key;
pub use vedette_probe::browser::adopt_orphans;
pub use vedette_probe::ssrf_guard::SsrfGuardError;

/// A message that could not be handled, to be delivered again.
#[derive(Debug, thiserror::Error)]
pub enum CheckerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue does not take the message that was to wait.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A browser in a function of its own did not answer.
    #[error(transparent)]
    NotRun(#[from] NotRun),
    /// The body is not a check message.
    #[error(transparent)]
    Unreadable(#[from] UnreadableMessage),
}

/// What became of a message.
#[derive(Debug)]
pub enum Handled {
    /// There was nothing to do.
    Dropped(Dropped),
    /// Its team has as many runs under way as allowed, or this one is, or all browsers are busy; the message was sent
    /// again.
    Postponed,
    /// A check has ended.
    Finished(Box<Finished>),
}

/// A check that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The site.
    pub site: Site,
    /// The check.
    pub check: Check,
    /// Issues that it opened or resolved.
    pub issues: Vec<IssueChange>,
    /// From its slot to its start; `None` for an on-demand check, which has no slot.
    pub lag: Option<Duration>,
    /// How long the engine took; `None` if none was asked.
    pub probe_time: Option<Duration>,
}

/// Why there was nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// The site was deleted.
    #[error("the site is gone")]
    Gone,
    /// Plan or settings do not have the tool run.
    #[error("the tool is not to run on this site")]
    NotWanted,
    /// The run counts nothing.
    #[error(transparent)]
    Discarded(#[from] Discard),
}

impl fmt::Display for Handled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped(reason) => write!(f, "dropped: {reason}"),
            Self::Postponed => f.write_str("postponed"),
            Self::Finished(finished) => {
                write!(f, "check {} {}", finished.check.id, finished.check.status.as_str())
            }
        }
    }
}

/// Handles one message.
///
/// # Errors
///
/// When table or queue do not answer; delivering the message again is safe.
pub async fn handle(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
) -> Result<Handled, CheckerError> {
    handle_beside_others(app, engines, message, || {}).await
}

/// Handles one message, and calls `when_slow` once its target has not answered for [`SLOW_AFTER`]: until
/// it does, the run needs nothing but its sockets and memory.
///
/// # Errors
///
/// As [`handle`].
pub async fn handle_beside_others(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let incoming = Incoming::Complete(*message);
    handle_incoming(app, engines, incoming, app.clock.now(), when_slow).await
}

/// Handles a queue message's body, which was sent at an instant.
///
/// # Errors
///
/// As [`handle`], and when the body is not a check message.
pub async fn handle_body(
    app: &App,
    engines: &Engines,
    body: &str,
    sent_at: Timestamp,
) -> Result<Handled, CheckerError> {
    handle_incoming(app, engines, Incoming::parse(body)?, sent_at, || {}).await
}

async fn handle_incoming(
    app: &App,
    engines: &Engines,
    incoming: Incoming,
    sent_at: Timestamp,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let (_, site, tool) = incoming.subject();
    let span = error_span!("run", %tool, %site, check = Empty);
    run(app, engines, incoming, sent_at, when_slow).instrument(span).await
}

async fn run(
    app: &App,
    engines: &Engines,
    incoming: Incoming,
    sent_at: Timestamp,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let (team, site, tool) = incoming.subject();
    let context = app.store.run_context_relaxed(team, site, tool).await?;
    let mut begun = begin(app, incoming, sent_at, context).await?;
    if !matches!(begun, Begun::Wanted { runs: true, .. }) {
        // What was read may be out of date, which must not make a run be dropped.
        let context = app.store.run_context(team, site, tool).await?;
        begun = begin(app, incoming, sent_at, context).await?;
    }
    let (message, context, runs) = match begun {
        Begun::Wanted { message, context, runs } => (message, *context, runs),
        Begun::Gone => return Ok(Handled::Dropped(Dropped::Gone)),
        Begun::Discarded(check, discard) => {
            engines.unsaved.forget(check);
            return Ok(Handled::Dropped(discard.into()));
        }
    };
    let (run, state) = context.begin(message.check_id(), app.service.time_scale);
    Span::current().record("check", display(run.check));
    if let Some(unsaved) = engines.unsaved.of(run.check) {
        return save(app, engines, unsaved, state).await;
    }
    let started_at = app.clock.now();
    let lag = run.check.is_automatic().then(|| started_at.duration_since(run.check.created_at()));
    let mut probe_time = None;
    let finish = if runs {
        let Site { url, js_rendered, .. } = &run.site;
        let subject = ProbeInput { url, js_rendered: *js_rendered, settings: &run.settings };
        let probed = async {
            let began = Instant::now();
            let mut probe = pin!(engines.run(tool, subject, started_at, drop));
            let finish = match timeout(SLOW_AFTER, probe.as_mut()).await {
                Ok(finish) => finish,
                Err(_) => {
                    when_slow();
                    probe.await
                }
            };
            probe_time = Some(began.elapsed());
            finish
        };
        let is_outstanding = state.asks_for(run.check);
        match with_lease(app, &message, is_outstanding, probed).await? {
            Some(Ok(finish)) => finish,
            Some(Err(NotRun::Busy)) => {
                postpone(app, &message, is_outstanding).await?;
                return Ok(Handled::Postponed);
            }
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(Handled::Postponed),
        }
    } else if run.check.is_automatic() {
        match clear_timer(app, &run.site, tool, &state).await {
            // The concurrent write has decided on the timer.
            Ok(()) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        return Ok(Handled::Dropped(Dropped::NotWanted));
    } else {
        Finish::Skipped
    };
    save(app, engines, Arc::new(Unsaved { run, finish, lag, probe_time }), state).await
}

/// How a message's run begins.
enum Begun {
    /// It is wanted.
    Wanted {
        /// The message, at a slot that no check has.
        message: CheckMessage,
        context: Box<RunContext>,
        /// Whether plan, settings and this deployment have the tool run.
        runs: bool,
    },
    /// The site was deleted.
    Gone,
    /// It counts nothing.
    Discarded(CheckId, Discard),
}

/// Decides how a message's run begins, from what was read of its site.
async fn begin(
    app: &App,
    incoming: Incoming,
    sent_at: Timestamp,
    context: Option<RunContext>,
) -> Result<Begun, StoreError> {
    let Some(context) = context else { return Ok(Begun::Gone) };
    let (_, _, tool) = incoming.subject();
    let (time_scale, cadence) =
        (app.service.time_scale, context.settings.tools.cadence_minutes(tool));
    let message =
        incoming.fill(time_scale, cadence, sent_at).caught_up(time_scale, cadence, app.clock.now());
    let check = message.check_id();
    if let Err(discard) = context.state.wants(check, app.clock.now()) {
        return Ok(Begun::Discarded(check, discard));
    }
    let Some(message) = at_free_slot(app, message, &context.state).await? else {
        return Ok(Begun::Discarded(check, Discard::Used));
    };
    let runs = app.service.runs(tool, &context.team, &context.settings);
    Ok(Begun::Wanted { message, context: Box::new(context), runs })
}

/// Saves a finished run. If that fails, it is kept for the message's next delivery.
async fn save(
    app: &App,
    engines: &Engines,
    unsaved: Arc<Unsaved>,
    state: ToolState,
) -> Result<Handled, CheckerError> {
    let Unsaved { run, finish, lag, probe_time } = &*unsaved;
    let recorded = match record_run(app, run, state, finish).await {
        Ok(recorded) => recorded,
        Err(error) => {
            engines.unsaved.keep(unsaved);
            return Err(error.into());
        }
    };
    engines.unsaved.forget(run.check);
    Ok(match recorded {
        Recorded::Discarded(discard) => Handled::Dropped(discard.into()),
        Recorded::SiteGone => Handled::Dropped(Dropped::Gone),
        Recorded::Saved { check, issues } => Handled::Finished(Box::new(Finished {
            site: run.site.clone(),
            check,
            issues,
            lag: lag.map(|lag| lag.max(SignedDuration::ZERO).unsigned_abs()),
            probe_time: *probe_time,
        })),
    })
}

/// The message at a slot that no check has. After the clock was set back, slots come again that were used
/// before: a scheduled run moves on by a millisecond, so that the site is still checked, and other runs are
/// dropped.
///
/// # Errors
///
/// When the table does not answer.
pub async fn at_free_slot(
    app: &App,
    mut message: CheckMessage,
    state: &ToolState,
) -> Result<Option<CheckMessage>, StoreError> {
    while state.may_be_used(message.check_id())
        && app.store.check(message.check_id()).await?.is_some()
    {
        let Some(later) = message.a_millisecond_later() else { return Ok(None) };
        message = later;
    }
    Ok(Some(message))
}
