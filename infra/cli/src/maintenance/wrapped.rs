//! Running a command in a maintenance window.

use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::Start;
use crate::Failure;
use crate::api::Api;

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
    let done = run_command(start).await;
    if let Err(failure) = opens.with_api(async |api| started.end(api).await).await {
        say(&format!("the maintenance window was not ended ({failure}); it ends at {end}"));
    }
    done
}

/// Runs the command until it ends, with the input and output of this process. Ctrl-C reaches it from the terminal.
async fn run_command(start: &Start) -> Result<(), Failure> {
    let Some((program, arguments)) = start.command() else { return Ok(()) };
    // From here on, signals no longer end this process, which still has to end the window.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let child = Command::new(program).args(arguments).spawn();
    let mut child = child.map_err(|error| {
        Failure::refused(format!("`{}` cannot be run: {error}", program.to_string_lossy()))
    })?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => forward(&child),
            _ = hangup.recv() => forward(&child),
        }
    };
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    match u8::try_from(code).unwrap_or(u8::MAX) {
        0 => Ok(()),
        code => Err(Failure::Command(code)),
    }
}

/// Asks the command to end, as this process was asked.
fn forward(child: &Child) {
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    if let Some(pid) = pid {
        // It may have ended just now.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// Standard output is the command's.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "vedette: {line}");
}
