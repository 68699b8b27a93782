//! A browser's processes, which are many, as one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::param::page_size;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How long killed processes are waited for.
const DEATH: Duration = Duration::from_secs(2);

/// How often their memory is counted.
const SAMPLE: Duration = Duration::from_millis(250);

/// A process with all that it starts, in a group of their own that is killed when the value ends.
/// The fields end in their order, so the processes before their folder.
pub(crate) struct Process {
    group: Group,
    child: Child,
    /// Where they keep all that they write.
    _home: TempDir,
}

/// Where they find other programs.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl Process {
    /// Starts `program` with its standard streams as pipes, and without our environment, which holds
    /// credentials.
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

    /// The first process, of which the others are.
    pub(crate) fn leader(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Ends when they have more than `memory` resident bytes.
    pub(crate) async fn outgrown(&self, memory: u64) {
        let group = self.group.0;
        // Reading the system's list of processes takes milliseconds.
        let resident = || spawn_blocking(move || resident(group));
        while resident().await.unwrap_or_default() <= memory {
            sleep(SAMPLE).await;
        }
        tracing::warn!(memory, "a browser is ended, as its pages take more memory");
    }

    /// Kills them and waits for their end, so that none of them writes any more.
    pub(crate) async fn end(mut self) {
        self.group.kill();
        let gone = async {
            // Where even waiting fails, there is nothing left to wait for.
            let _ = self.child.wait().await;
            while self.group.is_alive() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // Who is dead and not yet reaped counts as alive, which is up to this machine's init.
        let _ = timeout(DEATH, gone).await;
    }
}

/// A process group: the death of its leader alone would not reach what that has started.
struct Group(Option<Pid>);

impl Group {
    fn kill(&self) {
        if let Some(group) = self.0 {
            // Fails where nobody is left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn is_alive(&self) -> bool {
        self.0.is_some_and(|group| test_kill_process_group(group).is_ok())
    }
}

/// Resident bytes of all members of a group; 0 where the system does not tell.
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
    // The name before it may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let group = fields.nth(2)?.parse().ok()?;
    Some((Pid::from_raw(group)?, fields.nth(18)?.parse().ok()?))
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
