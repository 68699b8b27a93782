//! Consumes the check queues: runs the check that a message requests, if it is still wanted according to the table.

mod batch;
mod browser_function;
mod config;
mod engines;
mod grants;
mod incoming;
mod lambda;
mod lease;
mod metrics;
mod outposts;
mod posting;
mod remote_check;
mod secret;
mod unsaved;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use tracing::field::{Empty, display};
use tracing::{Instrument as _, Span, debug, error_span, info};
use vedette_domain::checks::check::{Check, Finish};
use vedette_domain::checks::run::Run;
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::checks::tool_state::{Discard, NoPost, ToolState};
use vedette_domain::id::CheckId;
use vedette_domain::issues::record::IssueChange;
use vedette_domain::message::CheckMessage;
use vedette_domain::sites::site::Site;
use vedette_probe::status::Consent;
use vedette_runs::{Recorded, clear_timer, record_run};
use vedette_runtime::{App, QueueError, SLOW_AFTER};
use vedette_store::{RunContext, StoreError};

use lease::{postpone, with_lease};
use posting::{Halt, Posting};
use unsaved::Unsaved;

pub use batch::{BUSY, handle_batch};
pub use browser_function::{BrowserFunction, BrowserUnavailable};
pub use config::{BROWSER, Config, EngineConfig, LIGHTHOUSE};
pub use engines::{Engines, ProbeInput, Probed};
pub use grants::grants;
pub use incoming::{Incoming, UnreadableMessage};
pub use metrics::Metrics;
pub use outposts::{OUTPOST, Outposts};
pub use secret::auditor_key;
pub use vedette_probe::browser::adopt_orphans;
pub use vedette_probe::ssrf_guard::SsrfGuardError;

/// A message that could not be handled and must be delivered again.
#[derive(Debug, thiserror::Error)]
pub enum CheckerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue does not accept a message that was to be postponed.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The browser function did not answer.
    #[error(transparent)]
    BrowserUnavailable(#[from] BrowserUnavailable),
    /// The body is not a check message.
    #[error(transparent)]
    Unreadable(#[from] UnreadableMessage),
}

/// What became of a message.
#[derive(Debug)]
pub enum Handled {
    /// There was nothing to do.
    Dropped(Dropped),
    /// Its team has as many runs in progress as it may, or this run is in progress already, or all browsers are busy.
    /// The message was sent again.
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
    /// The time from its slot to its start; `None` for an on-demand check, which has no slot.
    pub lag: Option<Duration>,
    /// How long the engine took; `None` if it did not run.
    pub probe_time: Option<Duration>,
}

/// Why there was nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// The site was deleted.
    #[error("the site is gone")]
    Gone,
    /// The plan or the settings disable the tool.
    #[error("the tool does not run on this site")]
    NotWanted,
    /// The run does not count.
    #[error(transparent)]
    Discarded(#[from] Discard),
}

impl Handled {
    /// Whether an operator may want to know about it: a check that could not run, or that has changed an issue. There
    /// are so many others that logs would cost more than anything else but the table.
    pub fn is_eventful(&self) -> bool {
        let Self::Finished(finished) = self else { return false };
        finished.check.status == CheckStatus::Failed || !finished.issues.is_empty()
    }

    /// Logs what became of a message of a function. What is not eventful is only counted, unless the log has more
    /// detail.
    pub fn log(&self, message_id: &str, request_id: &str) {
        if self.is_eventful() {
            info!(message_id, request_id, "{self}");
        } else {
            debug!(message_id, request_id, "{self}");
        }
    }
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
/// When the table or the queue does not answer. It is safe to deliver the message again.
pub async fn handle(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
) -> Result<Handled, CheckerError> {
    handle_beside_others(app, engines, message, || {}).await
}

/// Handles one message, and calls `when_slow` if its target has not answered after [`SLOW_AFTER`]. From then until the
/// answer, the run needs only its sockets and memory.
///
/// # Errors
///
/// See [`handle`].
pub async fn handle_beside_others(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let incoming = Incoming::Complete(*message);
    handle_incoming(app, engines, incoming, app.clock.now(), None, when_slow).await
}

/// Handles the body of a queue message that was sent at an instant. `read` is what was read for its run a moment ago, if
/// anything.
///
/// # Errors
///
/// See [`handle`]; also when the body is not a check message.
pub async fn handle_body(
    app: &App,
    engines: &Engines,
    body: &str,
    sent_at: Timestamp,
    read: Option<Box<RunContext>>,
) -> Result<Handled, CheckerError> {
    handle_incoming(app, engines, Incoming::parse(body)?, sent_at, read, || {}).await
}

async fn handle_incoming(
    app: &App,
    engines: &Engines,
    incoming: Incoming,
    sent_at: Timestamp,
    read: Option<Box<RunContext>>,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let (_, site, tool) = incoming.subject();
    let span = error_span!("run", %tool, %site, check = Empty);
    run(app, engines, incoming, sent_at, read, when_slow).instrument(span).await
}

async fn run(
    app: &App,
    engines: &Engines,
    incoming: Incoming,
    sent_at: Timestamp,
    read: Option<Box<RunContext>>,
    when_slow: impl FnOnce(),
) -> Result<Handled, CheckerError> {
    let (team, site, tool) = incoming.subject();
    let context = match read {
        Some(context) => Some(*context),
        None => app.store.run_context_relaxed(team, site, tool).await?,
    };
    let mut begun = begin(app, incoming, sent_at, context).await?;
    if !matches!(begun, Begun::Started { runs: true, .. }) {
        // The data may be out of date, and a run must not be dropped because of that.
        let context = app.store.run_context(team, site, tool).await?;
        begun = begin(app, incoming, sent_at, context).await?;
    }
    let (message, context, runs) = match begun {
        Begun::Started { message, context, runs } => (message, *context, runs),
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
    let posts = runs && tool == Tool::Status && run.site.expectations.post.is_some();
    if posts && let Some(refusal) = state.refuses_post(run.check, started_at) {
        return end_without_post(app, engines, &message, (run, state, lag), refusal).await;
    }
    let posting = posts.then(|| Posting::new(app, &run, state.clone()));
    let mut probe_time = None;
    let Probed { finish, evidence } = if runs {
        let Site { team, url, js_rendered, expectations, .. } = &run.site;
        let (js_rendered, settings) = (*js_rendered, &run.settings);
        let consent = posting.as_ref().map(|posting| posting as &dyn Consent);
        let team = Some(*team);
        let subject = ProbeInput { team, url, js_rendered, settings, expectations, consent };
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
            Some(Ok(probed)) => probed,
            Some(Err(BrowserUnavailable::Busy)) => {
                postpone(app, &message, is_outstanding).await?;
                return Ok(Handled::Postponed);
            }
            Some(Err(error)) => return Err(error.into()),
            None => return Ok(Handled::Postponed),
        }
    } else if run.check.is_automatic() {
        match clear_timer(app, &run.site, tool, &state).await {
            // The concurrent write has decided about the timer.
            Ok(()) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        return Ok(Handled::Dropped(Dropped::NotWanted));
    } else {
        Finish::Skipped.into()
    };
    let state = match posting.map(Posting::end) {
        None => state,
        Some(Ok(state)) => state,
        Some(Err(Halt::Gone)) => return Ok(Handled::Dropped(Dropped::Gone)),
        Some(Err(Halt::Fault(error))) => return Err(error.into()),
        Some(Err(Halt::Refused(refusal))) => {
            return end_without_post(app, engines, &message, (run, state, lag), refusal).await;
        }
    };
    save(app, engines, Arc::new(Unsaved { run, finish, evidence, lag, probe_time }), state).await
}

/// Ends a run whose POST is not sent, because it does not count or may have been sent before.
async fn end_without_post(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
    (run, state, lag): (Run, ToolState, Option<SignedDuration>),
    refusal: NoPost,
) -> Result<Handled, CheckerError> {
    match refusal {
        NoPost::Discarded(discard) => Ok(Handled::Dropped(discard.into())),
        NoPost::InProgress => {
            postpone(app, message, state.asks_for(run.check)).await?;
            Ok(Handled::Postponed)
        }
        NoPost::Lost => {
            let finish = Finish::Failed(posting::lost());
            let unsaved = Unsaved { run, finish, evidence: None, lag, probe_time: None };
            save(app, engines, Arc::new(unsaved), state).await
        }
    }
}

/// How a message's run begins.
enum Begun {
    /// The run is still wanted.
    Started {
        /// The message, with a slot that no other check has.
        message: CheckMessage,
        context: Box<RunContext>,
        /// Whether the plan, the settings and this deployment enable the tool.
        runs: bool,
    },
    /// The site was deleted.
    Gone,
    /// The run does not count.
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
    Ok(Begun::Started { message, context: Box::new(context), runs })
}

/// Saves a finished run. If that fails, it is kept for the message's next delivery.
async fn save(
    app: &App,
    engines: &Engines,
    unsaved: Arc<Unsaved>,
    state: ToolState,
) -> Result<Handled, CheckerError> {
    let recorded = record(app, engines, &unsaved, state).await;
    let recorded = recorded.inspect_err(|_| engines.unsaved.keep(Arc::clone(&unsaved)))?;
    let Unsaved { run, lag, probe_time, .. } = &*unsaved;
    engines.unsaved.forget(run.check);
    Ok(match recorded {
        Recorded::Discarded(discard) => Handled::Dropped(discard.into()),
        Recorded::SiteGone => Handled::Dropped(Dropped::Gone),
        Recorded::Saved { check, issues } => Handled::Finished(Box::new(Finished {
            site: run.site.clone(),
            check: *check,
            issues,
            lag: lag.map(|lag| lag.max(SignedDuration::ZERO).unsigned_abs()),
            probe_time: *probe_time,
        })),
    })
}

/// Records a finished run, after those before it that could not be saved.
async fn record(
    app: &App,
    engines: &Engines,
    unsaved: &Unsaved,
    state: ToolState,
) -> Result<Recorded, StoreError> {
    for earlier in engines.unsaved.before(unsaved.run.check) {
        let Unsaved { run, finish, evidence, .. } = &*earlier;
        // The state is read again if it has changed, as it has after the first of them.
        record_run(app, run, state.clone(), finish, evidence.as_deref()).await?;
        engines.unsaved.forget(run.check);
    }
    let Unsaved { run, finish, evidence, .. } = unsaved;
    record_run(app, run, state, finish, evidence.as_deref()).await
}

/// The message with a slot that no other check has. After the clock is set back, slots repeat. A scheduled run then
/// moves by a millisecond, so that the site is still checked; other runs are dropped.
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
