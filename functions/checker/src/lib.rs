//! Consumes the check queues: runs what a message asks for, if the table still asks for it too.

mod engines;
mod incoming;

use std::fmt;

use vedette_domain::check::{Check, Finish};
use vedette_domain::issue::record::IssueChange;
use vedette_domain::message::{CheckMessage, RunOrder};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_domain::tool_state::Discard;
use vedette_runtime::App;
use vedette_runtime::settle::{FinishedRun, Settled, forget_timer, settle};
use vedette_store::StoreError;

pub use engines::{Engines, Subject};
pub use incoming::{Incoming, UnreadableMessage};

/// A message that could not be worked off; it is to be delivered again.
#[derive(Debug, thiserror::Error)]
pub enum CheckerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The body is not a check message.
    #[error(transparent)]
    Unreadable(#[from] UnreadableMessage),
}

/// What became of a message.
#[derive(Debug)]
pub enum Handled {
    /// There was nothing to do.
    Dropped(Dropped),
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
            Self::Finished(finished) => {
                write!(f, "check {} {}", finished.check.id, finished.check.status.as_str())
            }
        }
    }
}

/// Works off one message.
///
/// # Errors
///
/// When the table does not answer; delivering the message again is safe.
pub async fn handle(
    app: &App,
    engines: &Engines,
    message: &CheckMessage,
) -> Result<Handled, CheckerError> {
    let CheckMessage { site, tool, order } = *message;
    let Some((site, state)) =
        app.store.site_tool(site.partition(), tool).await?.filter(|(found, _)| found.id == site)
    else {
        return Ok(Handled::Dropped(Dropped::Gone));
    };
    if let Err(discard) = state.wants(message, app.clock.now()) {
        return Ok(Handled::Dropped(discard.into()));
    }
    let Some(team) = app.store.team(site.team, app.clock.now()).await? else {
        return Ok(Handled::Dropped(Dropped::Gone));
    };
    let plan = team.team.plan;
    let settings = Settings::resolve(&team.settings, &site.overrides, plan);
    let wanted = team.team.plan_active
        && settings.enabled_tools(plan).contains(&tool)
        && app.service.tools.contains(&tool);
    let finish = match (wanted, order) {
        (true, _) => {
            let Site { url, js_rendered, .. } = &site;
            let subject = Subject { url, js_rendered: *js_rendered, settings: &settings };
            engines.run(tool, subject, app.clock.now(), drop).await
        }
        (false, RunOrder::OnDemand { .. }) => Finish::Skipped,
        (false, RunOrder::Automatic { .. }) => {
            match forget_timer(app, &site, tool, &state).await {
                // Whoever wrote in between has decided on the timer anew.
                Ok(()) | Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            return Ok(Handled::Dropped(Dropped::NotWanted));
        }
    };
    let check = message.check_id();
    let finished = FinishedRun { site: &site, state, team: &team, tool, check, finish };
    Ok(match settle(app, finished).await? {
        Settled::Discarded(discard) => Handled::Dropped(discard.into()),
        Settled::Gone => Handled::Dropped(Dropped::Gone),
        Settled::Saved { check, issues } => {
            Handled::Finished(Box::new(Finished { site, check, issues }))
        }
    })
}

/// Works off a queue message's body.
///
/// # Errors
///
/// As [`handle`], and when the body is not a check message.
pub async fn handle_body(
    app: &App,
    engines: &Engines,
    body: &str,
    sent_at: jiff::Timestamp,
) -> Result<Handled, CheckerError> {
    match Incoming::parse(body)?.fill(app, sent_at).await? {
        Some(message) => handle(app, engines, &message).await,
        None => Ok(Handled::Dropped(Dropped::Gone)),
    }
}
