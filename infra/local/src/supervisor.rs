//! Notifies systemd, if it started this process: when the service is ready, that it is alive, and when it stops.

use std::convert::Infallible;
use std::future;

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use crate::service::Service;

/// The service is ready.
pub(crate) fn ready(service: &Service) {
    let status = format!("Listening on {}", service.listen());
    notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// The service stops on request.
pub(crate) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Reports again and again that the service is alive, each time after its table has answered. A service that hangs
/// stops reporting, and systemd restarts it. Waits forever if no reports were requested.
pub(crate) async fn keep_alive(service: &Service) -> Infallible {
    let Some(patience) = sd_notify::watchdog_enabled() else { return future::pending().await };
    let mut ticks = interval(patience / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        service.table_answers().await;
        notify(&[NotifyState::Watchdog]);
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "could not notify systemd of the service's state");
    }
}
