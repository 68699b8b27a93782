//! What the process does besides requests and checks: it runs the reconciler, and tries to write again after a failed
//! write.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};
use vedette_checker::Engines;
use vedette_embedded::{Database, Refusals};
use vedette_notifier::send::Sender;
use vedette_ops::ErrorChain;
use vedette_runtime::health::ServiceProblem;
use vedette_runtime::{App, Health, Scheduler};

/// How often to look for overdue work. On AWS, this is once a minute. Here, it also determines how soon changes from
/// the command line take effect.
const REDELIVER_EVERY: Duration = Duration::from_secs(1);
/// How often to look whether the connection to the internet was lost, or is back.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often timers and alerts are rebuilt.
const REBUILD_EVERY: Duration = Duration::from_hours(24);
/// The pause before the next attempt to restore what the last process had in memory.
const REBUILD_AGAIN: Duration = Duration::from_secs(5);
/// How long after the mail server has accepted email again the channels are looked at once more. A delivery run that
/// was held back just before has saved its wait by then.
const AFTER_RECOVERY: Duration = Duration::from_secs(10);

/// Restores what the last process had in memory: schedules, then messages. Also frees channels that it held when it was
/// killed while it sent alerts.
async fn rebuild(app: App, start: Timestamp) {
    loop {
        let rebuilt = caught("rebuilding the schedules", async {
            vedette_reconciler::reconcile(&app, &|_| {}).await
        });
        if rebuilt.await.is_some() {
            break;
        }
        // Without schedules nothing is monitored.
        sleep(REBUILD_AGAIN).await;
    }
    caught("releasing channels", vedette_notifier::release(&app, start)).await;
    let sent = caught("sending outstanding work", vedette_reconciler::redeliver_all(&app)).await;
    if let Some(sent @ 1..) = sent {
        info!(sent, "sent outstanding work again");
    }
}

/// Restores what the last process had in memory, and then rebuilds timers and alerts, at once and every day.
pub(crate) async fn rebuild_daily(app: App, start: Timestamp) {
    // A rebuild would miss schedules that have not been restored yet.
    rebuild(app.clone(), start).await;
    // Only the process that held email back knows why and until when. One email tries whether that is over.
    let tried = vedette_notifier::redeliver_held_mail(&app, 1);
    caught("trying whether email can be sent", tried).await;
    let mut ticks = interval(REBUILD_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        caught("rebuilding timers and alerts", vedette_reconciler::rebuild_all(&app)).await;
    }
}

/// Sends overdue work again.
pub(crate) async fn redeliver(app: App) {
    let mut ticks = interval(REDELIVER_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        caught("redelivery", vedette_reconciler::redeliver(&app)).await;
    }
}

/// Sends all email that waits once the mail server accepts email again.
pub(crate) async fn send_held_mail(app: App, sender: Arc<Sender>) {
    let mut recoveries = sender.mail_recoveries();
    while recoveries.changed().await.is_ok() {
        for wait in [Duration::ZERO, AFTER_RECOVERY] {
            sleep(wait).await;
            let sent = vedette_notifier::redeliver_held_mail(&app, usize::MAX);
            caught("sending email that was held back", sent).await;
        }
    }
}

/// Reports that this machine has lost its connection to the internet, and when it has one again.
pub(crate) async fn watch_connection(app: App, engines: Arc<Engines>) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match engines.is_connected() {
            Some(false) => app.health.report(ServiceProblem::NoConnection, app.clock.now()),
            Some(true) => {
                app.health.report_over(|problem| matches!(problem, ServiceProblem::NoConnection));
            }
            None => {}
        }
    }
}

/// Rebuilds outstanding work after the clock was set back, because its times are too far in the future.
pub(crate) async fn realign(app: &App) {
    if let Scheduler::Local(scheduler) = &app.scheduler {
        scheduler.rebuild();
    }
    rebuild(app.clone(), app.clock.now()).await;
    caught("rebuilding timers and alerts", vedette_reconciler::rebuild_all(app)).await;
}

/// The pause between two attempts to write to a table that could not be written.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Reports failed writes to the table's file, and when writes succeed again.
pub(crate) fn report(health: &Health, refusals: &Refusals, now: Timestamp) {
    match refusals.write.clone() {
        Some(why) => health.report(ServiceProblem::NotWritable { why }, now),
        None => health.report_over(|problem| matches!(problem, ServiceProblem::NotWritable { .. })),
    }
    match refusals.sync.clone() {
        Some(why) => health.report(ServiceProblem::NotSynced { why }, now),
        None => health.report_over(|problem| matches!(problem, ServiceProblem::NotSynced { .. })),
    }
}

/// Reports failed writes to the table's file, and tries to write as long as they fail. If the file must be reopened for
/// that, says so once another file could be written next to it (`trial`).
pub(crate) async fn watch_table(
    app: App,
    database: Database,
    trial: PathBuf,
    can_write: CancellationToken,
) {
    let mut changes = database.refusals();
    loop {
        let refusals = changes.borrow_and_update().clone();
        report(&app.health, &refusals, app.clock.now());
        let wait = match refusals.write {
            Some(_) => TRY_AGAIN,
            None => Duration::MAX,
        };
        match timeout(wait, changes.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if !refusals.is_read_only => database.try_write().await,
            Err(_) => {
                let written = tokio::fs::write(&trial, vec![0; TRIAL]).await;
                let removed = tokio::fs::remove_file(&trial).await;
                if written.and(removed).is_ok() {
                    info!("the table can be written again: the service restarts");
                    return can_write.cancel();
                }
            }
        }
    }
}

/// The size of the trial file in bytes: as much as SQLite needs next to the table to open it.
const TRIAL: usize = 256 * 1024;

/// The result of a piece of work. A failure or panic is logged, and the loop continues.
pub(crate) async fn caught<T, E: Error>(
    what: &'static str,
    work: impl Future<Output = Result<T, E>>,
) -> Option<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            error!(error = %ErrorChain(&error), "{what} failed");
            None
        }
        Err(_) => {
            error!("{what} panicked");
            None
        }
    }
}
