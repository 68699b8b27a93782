//! Running a command of the user, whose exit code becomes that of this program.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;

/// How a command has ended, and the end of its output if that was kept.
pub(crate) struct Ended {
    /// Its exit code, or 128 and the number of the signal that ended it.
    pub(crate) code: u8,
    pub(crate) output: Vec<u8>,
}

impl Ended {
    /// Passes the exit code on.
    ///
    /// # Errors
    ///
    /// The command has failed.
    pub(crate) const fn result(&self) -> Result<(), Failure> {
        match self.code {
            0 => Ok(()),
            code => Err(Failure::Command(code)),
        }
    }
}

/// Runs a command until it ends, with the input and output of this process. Ctrl-C reaches it from the terminal. If
/// `keep` is not 0, so many bytes of the end of its output are kept, of both streams as they were written.
///
/// # Errors
///
/// The command cannot be run.
pub(crate) async fn run(
    program: &OsString,
    arguments: &[OsString],
    keep: usize,
) -> Result<Ended, Failure> {
    // From here on, signals no longer end this process, which still has something to do after the command.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut command = Command::new(program);
    command.args(arguments);
    if keep > 0 {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|error| {
        Failure::refused(format!("`{}` cannot be run: {error}", program.to_string_lossy()))
    })?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (kept, mut keeping) = tokio::sync::mpsc::channel::<Vec<u8>>(16);
    let (of_stdout, of_stderr) = (kept.clone(), kept);
    let copying = async {
        tokio::join!(copy(stdout, io::stdout(), of_stdout), copy(stderr, io::stderr(), of_stderr));
    };
    let mut output = Vec::new();
    let collecting = async {
        while let Some(data) = keeping.recv().await {
            output.extend_from_slice(&data);
            output.drain(..output.len().saturating_sub(keep));
        }
    };
    let waiting = async {
        loop {
            tokio::select! {
                status = child.wait() => break status,
                _ = interrupt.recv() => {}
                _ = terminate.recv() => forward(&child),
                _ = hangup.recv() => forward(&child),
            }
        }
    };
    let (status, (), ()) = tokio::join!(waiting, copying, collecting);
    let status = status?;
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    Ok(Ended { code: u8::try_from(code).unwrap_or(u8::MAX), output })
}

/// Passes a stream of the command on, and keeps what it contains.
async fn copy(
    from: Option<impl AsyncRead + Unpin>,
    to: impl AsFd,
    kept: tokio::sync::mpsc::Sender<Vec<u8>>,
) {
    let Some(mut from) = from else { return };
    // This program has locked its standard output.
    let Ok(own) = to.as_fd().try_clone_to_owned() else { return };
    let mut to = File::from_std(own.into());
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let data = &buffer[..length];
        // If nobody reads the output, the command must not notice.
        let _ = to.write_all(data).await;
        let _ = to.flush().await;
        let _ = kept.send(data.to_vec()).await;
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
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "vedette: {line}");
}
