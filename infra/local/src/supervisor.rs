//! Notifies systemd, if it started this process: when the service is ready, that it is alive, and when it stops. Also has
//! systemd keep the service's socket between two processes.

use std::convert::Infallible;
use std::future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd as _;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

/// The service is ready, and listens on this address.
pub(crate) fn ready(address: SocketAddr) {
    let status = format!("Listening on {address}");
    notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// The service stops on request.
pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// The name of a socket that systemd has kept.
pub(crate) const KEPT: &str = "stored";

/// Has systemd keep a socket for as long as the service runs or restarts, if its unit allows that
/// (`FileDescriptorStoreMax`). Meanwhile, connections wait in the socket's queue.
pub(crate) fn keep(socket: &TcpListener) {
    report(sd_notify::notify_with_fds(&[NotifyState::FdStore], &[socket.as_fd()]));
}

/// Has systemd close the socket that it keeps.
pub(crate) fn keep_no_longer() {
    notify(&[NotifyState::FdStoreRemove, NotifyState::FdName(KEPT)]);
}

/// Reports again and again that the service is alive, each time after it has answered. A service that hangs stops
/// reporting, and systemd restarts it. Waits forever if no reports were requested.
pub(crate) async fn keep_alive(answer: impl AsyncFn()) -> Infallible {
    let Some(patience) = sd_notify::watchdog_enabled() else { return future::pending().await };
    let mut ticks = interval(patience / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        answer().await;
        notify(&[NotifyState::Watchdog]);
    }
}

fn notify(state: &[NotifyState<'_>]) {
    report(sd_notify::notify(state));
}

fn report(notified: io::Result<()>) {
    if let Err(error) = notified {
        warn!(%error, "could not notify systemd of the service's state");
    }
}
