//! The processes of a browser, handled as one group.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::param::page_size;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid,
};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How long to wait for killed processes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How often their memory is measured.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);

/// How often to check whether they are gone.
const EXIT_INTERVAL: Duration = Duration::from_millis(10);

/// Whether this process adopts orphans.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process adopt the orphans among its descendants, so that it can reap those of browsers. The first process
/// of a Lambda function reaps only its own children. What a browser leaves behind would fill the process table,
/// invocation by invocation, until no browser could be started.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let own = Some(rustix::process::getpid());
        let is_set = rustix::process::set_child_subreaper(own).is_ok();
        ADOPTS.store(is_set, Ordering::Relaxed);
    }
}

/// A process and all that it starts, in a process group that is killed when dropped. Fields are
/// dropped in order, so the processes end before their folder is removed.
pub(crate) struct Process {
    group: Group,
    child: Child,
    /// The folder for all their files.
    _home: TempDir,
}

/// Where they find other programs.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Process {
    /// Starts `program` with its standard streams as pipes, and without our environment, which
    /// holds credentials.
    pub(crate) fn start(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        home: TempDir,
    ) -> io::Result<Self> {
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            // Without it, Chromium reports a language that no page knows, and `Intl` throws an error.
            .env("LC_ALL", "en_US.UTF-8")
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self { group: Group(group), child, _home: home })
    }

    /// The first process of the group.
    pub(crate) fn leader(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns when the group has more than `memory` resident bytes.
    pub(crate) async fn memory_exceeded(&self, memory: u64) {
        let group = self.group.0;
        // Reading the system's process list takes milliseconds.
        let resident = || spawn_blocking(move || resident(group));
        while resident().await.unwrap_or_default() <= memory {
            sleep(SAMPLE_INTERVAL).await;
        }
        tracing::warn!(memory, "stopped a browser because its pages use too much memory");
    }

    /// Kills them and waits for their end, so that none of them writes any more.
    pub(crate) async fn end(mut self) {
        self.group.kill();
        let gone = async {
            // If waiting fails, there is nothing to wait for.
            let _ = self.child.wait().await;
            while self.group.0.is_some_and(reap) {
                sleep(EXIT_INTERVAL).await;
            }
        };
        // A dead process counts as alive until it is reaped, by us or by the init process.
        let _ = timeout(EXIT_TIMEOUT, gone).await;
    }
}

/// A process group: killing its leader alone would leave the other processes running.
struct Group(Option<Pid>);

impl Group {
    fn kill(&self) {
        if let Some(group) = self.0 {
            // Fails if all of them have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reaps the dead processes of a group that this process has adopted. Returns whether others are left.
fn reap(group: Pid) -> bool {
    while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
    test_kill_process_group(group).is_ok()
}

/// Resident bytes of all members of a group; 0 if the system does not tell.
fn resident(group: Option<Pid>) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let members = stats.filter_map(|stat| {
        let (member_of, pages) = group_and_pages(&stat)?;
        (Some(member_of) == group).then_some(pages)
    });
    members.sum::<u64>() * page_size() as u64
}

/// Process group and resident pages, from `/proc/PID/stat` (proc_pid_stat(5)).
fn group_and_pages(stat: &str) -> Option<(Pid, u64)> {
    // The process name before it may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let group = fields.nth(2)?.parse().ok()?;
    Some((Pid::from_raw(group)?, fields.nth(18)?.parse().ok()?))
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        let Some(group) = self.0.filter(|_| ADOPTS.load(Ordering::Relaxed)) else { return };
        // The caller that dropped it waits for nothing. If no thread can be started, the processes stay until this
        // process ends.
        let _ = thread::Builder::new().spawn(move || {
            let began = Instant::now();
            while reap(group) && began.elapsed() < EXIT_TIMEOUT {
                thread::sleep(EXIT_INTERVAL);
            }
        });
    }
}
