//! The POST of a status check: whether it is sent, and that it is sent once.
//!
//! The engine asks when it is connected and has sent nothing. Then the host's owner must agree (a DNS record), the
//! address must not get too many POSTs, and the state of the tool must say that this check posts. Only after that is
//! saved, the request is sent. A message that is delivered again finds it there, so nothing is sent again.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use serde_json::json;
use tracing::warn;
use vedette_domain::checks::check::CheckError;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::tool_state::{NoPost, ToolState};
use vedette_domain::expectations::POSTS_TO_ADDRESS;
use vedette_domain::source::Source;
use vedette_probe::status::{Consent, POST_LIMITED, POST_LOST, POST_NOT_PROVEN};
use vedette_runtime::App;
use vedette_store::{StoreError, budget, retry_on_conflict};

/// Why a run ends without a check.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The state does not allow it.
    Refused(NoPost),
    /// The site is gone.
    Gone,
    /// The table does not answer.
    Fault(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Fault(error)
    }
}

/// Consents to the POST of a run.
pub(crate) struct Posting<'a> {
    app: &'a App,
    run: &'a Run,
    outcome: Mutex<Result<ToolState, Halt>>,
}

impl<'a> Posting<'a> {
    /// For a run that began with this state of its tool.
    pub(crate) const fn new(app: &'a App, run: &'a Run, state: ToolState) -> Self {
        Self { app, run, outcome: Mutex::new(Ok(state)) }
    }

    /// The state with which the run is saved, or why it is not.
    pub(crate) fn end(self) -> Result<ToolState, Halt> {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(&self) -> MutexGuard<'_, Result<ToolState, Halt>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn consent(&self, address: Option<IpAddr>) -> Result<(), CheckError> {
        let Self { app, run, .. } = self;
        if let Err(why) = app.txt_records.prove(&run.site).await {
            let message = format!("the POST was not sent: {why}");
            return Err(refused(message, POST_NOT_PROVEN));
        }
        match self.begin(address.map_or(Source::Unknown, Source::of)).await {
            Ok(None) => Ok(()),
            Ok(Some(limit)) => Err(limit),
            Err(halt) => {
                *self.outcome() = Err(halt);
                // Nobody sees this error, because the run ends without a check.
                Err(refused("the POST was not sent".to_owned(), POST_LOST))
            }
        }
    }

    /// Counts the POST and saves that it begins; returns an error for the check if the address gets too many.
    async fn begin(&self, address: Source) -> Result<Option<CheckError>, Halt> {
        let Self { app, run, .. } = self;
        let (limit, team) = (POSTS_TO_ADDRESS, run.site.team);
        let subject = format!("post:{address}");
        let used = app.store.count_shared(&subject, team, limit, app.clock.now()).await?;
        if !limit.admits(used) {
            let (share, divided) = (limit.share(used.teams), limit.divided);
            let message = format!(
                "the POST was not sent: the team has used up its share of the POSTs to {address}, which is {share} of \
                 {divided} a minute"
            );
            return Ok(Some(refused(message, POST_LIMITED)));
        }
        let mut read = self.outcome().as_ref().ok().cloned();
        let (partition, tool) = (run.site.id.partition(), run.tool());
        let begun = retry_on_conflict(budget::READ, || {
            let read = read.take();
            async move {
                let state = match read {
                    Some(state) => state,
                    None => match app.store.site_tool(partition, tool).await? {
                        Some((current, state)) if current.id == run.site.id => state,
                        _ => return Ok(Err(Halt::Gone)),
                    },
                };
                let now = app.clock.now();
                let next = match state.begin_post(run.check, run.site.cfg, now) {
                    Ok(next) => next,
                    Err(refusal) => return Ok(Err(Halt::Refused(refusal))),
                };
                app.store.put_tool(partition, tool, &next, now).await?;
                Ok::<_, StoreError>(Ok(next))
            }
        });
        let state = begun.await??;
        *self.outcome() = Ok(state);
        Ok(None)
    }
}

impl Consent for Posting<'_> {
    fn may_post(&self, address: Option<IpAddr>) -> BoxFuture<'_, Result<(), CheckError>> {
        Box::pin(self.consent(address))
    }
}

/// The error of a check whose POST may have been sent by a run that died.
pub(crate) fn lost() -> CheckError {
    warn!("a POST may have been sent, and its response is lost");
    let message = "the POST may have been sent, and its response is lost; it is not sent again";
    refused(message.to_owned(), POST_LOST)
}

fn refused(message: String, code: &str) -> CheckError {
    CheckError { message, code: code.to_owned(), data: json!({}) }
}
