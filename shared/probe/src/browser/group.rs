//! The processes of a browser, which are many, as one.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{sleep, timeout};

/// How long killed processes are waited for.
const DEATH: Duration = Duration::from_secs(2);

/// A process group, killed when the value ends: the death of its leader alone would not reach what
/// that has started.
pub(crate) struct Group(Option<Pid>);

impl Group {
    /// The group that `leader` leads, started with `process_group(0)`.
    pub(crate) fn of(leader: &Child) -> Self {
        Self(leader.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)))
    }

    /// Kills the group and waits for its end, so that nobody in it writes any more.
    pub(crate) async fn end(self, mut leader: Child) {
        self.kill();
        let gone = async {
            // Where even waiting fails, there is nothing left to wait for.
            let _ = leader.wait().await;
            while self.is_alive() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // Who is dead and not yet reaped counts as alive, which is up to this machine's init.
        let _ = timeout(DEATH, gone).await;
    }

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

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
