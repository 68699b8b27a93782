//! The data folder before the service starts on it, and while it runs.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{error, info};
use vedette_embedded::{DatabaseError, Examination, FileFault, Folder, Watch, examine};
use vedette_runtime::health::ServiceProblem;
use vedette_runtime::{App, Health};

/// How long a start waits for the check of the table's file.
const EXAMINE_FOR: Duration = Duration::from_secs(1);

/// How often the files are checked; with a shorter monitoring minute, twice per such minute.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The minimum, however short a monitoring minute is.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(50);

/// Refuses a table that is incomplete, or whose file is damaged, as far as a check of one second can tell.
pub(crate) async fn examine_table(folder: &Folder) -> Result<(), DatabaseError> {
    folder.judge()?;
    if examine(folder.path(), Some(EXAMINE_FOR)).await? == Examination::Unfinished {
        info!(
            "the table is too large to be examined at the start; `vedette doctor` examines all of it"
        );
    }
    Ok(())
}

/// Checks the files of the data folder regularly, and reports problems until they are solved.
pub(crate) async fn watch(app: App, mut files: Watch) {
    let minute = app.service.time_scale.minute();
    let mut ticks = interval((minute / 2).clamp(LOOK_EVERY_MIN, LOOK_EVERY));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = Vec::new();
    loop {
        ticks.tick().await;
        let look = spawn_blocking(move || {
            let faults = files.inspect();
            (files, faults)
        });
        let faults;
        (files, faults) = match look.await {
            Ok(looked) => looked,
            Err(error) => {
                error!(%error, "stopped monitoring the files of the data folder");
                return;
            }
        };
        // The first fault is already logged as the problem.
        for fault in faults.iter().filter(|fault| !known.is_empty() && !known.contains(*fault)) {
            error!("{fault}; {}", fault.remedy());
        }
        report(&app.health, &faults, app.clock.now());
        known = faults;
    }
}

fn report(health: &Health, faults: &[FileFault], now: Timestamp) {
    if faults.is_empty() {
        health.report_over(|problem| matches!(problem, ServiceProblem::DataFolder { .. }));
        return;
    }
    let what = faults.iter().map(|fault| sentence(&fault.to_string())).collect::<Vec<_>>();
    let remedies: BTreeSet<_> = faults.iter().map(|fault| sentence(&fault.remedy())).collect();
    let remedy = remedies.into_iter().collect::<Vec<_>>().join(" ");
    health.report(ServiceProblem::DataFolder { what: what.join(" "), remedy }, now);
}

/// Makes a sentence of a text.
fn sentence(text: &str) -> String {
    let mut mails = text.chars();
    let first = mails.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(mails).chain(['.']).collect()
}
