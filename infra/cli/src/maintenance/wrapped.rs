//! Running a command in a maintenance window.

use super::Start;
use crate::Failure;
use crate::api::Api;
use crate::wrapped::{self, say};

/// Opens the API for as long as some work takes.
pub(crate) trait OpensApi {
    /// Does the work with the API.
    async fn with_api<T>(
        &self,
        work: impl AsyncFnOnce(&Api<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure>;
}

/// An API that is open anyway.
impl OpensApi for Api<'_> {
    async fn with_api<T>(
        &self,
        work: impl AsyncFnOnce(&Api<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        work(self).await
    }
}

/// Starts the window, runs its command, and ends the window. The table is closed meanwhile, so that the command may stop
/// the service or start it.
///
/// # Errors
///
/// The window cannot be started, the command cannot be run, or it has failed, which is [`Failure::Command`].
pub(crate) async fn run_in_window(start: &Start, opens: &impl OpensApi) -> Result<(), Failure> {
    let started = opens.with_api(async |api| start.begin(api).await).await?;
    let end = started.until();
    say(&format!("maintenance until {end} at the latest"));
    let done = match start.command() {
        Some((program, arguments)) => {
            wrapped::run(program, arguments, 0).await.and_then(|ended| ended.result())
        }
        None => Ok(()),
    };
    if let Err(failure) = opens.with_api(async |api| started.end(api).await).await {
        say(&format!("the maintenance window was not ended ({failure}); it ends at {end}"));
    }
    done
}
