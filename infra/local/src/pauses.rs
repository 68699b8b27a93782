//! Notices that this process did not run for a while, because it was stopped or its machine was suspended.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use tracing::warn;
use vedette_domain::clock::{PAUSE_MIN, Pause, Pauses};
use vedette_domain::time;
use vedette_runtime::App;

use crate::background::caught;
use crate::clock::running_time;

/// How often the process looks whether it has run.
const BEAT: Duration = Duration::from_secs(1);

/// Logs and remembers when the process did not run, as long as the service runs.
pub(crate) async fn watch(app: App) {
    let read = caught("reading when the service did not run", app.store.pauses()).await;
    let mut known = read.unwrap_or_default();
    app.health.record_pauses(known.pauses.clone());
    loop {
        let (from, timer) = (app.clock.now(), running_time());
        sleep(BEAT).await;
        let Some(pause) = pause(from, running_time().saturating_sub(timer)) else { continue };
        warn!(
            "the service did not run for {}, until {}, because its process was stopped, or the machine was suspended or \
             overloaded; nothing was checked in the meantime",
            time::duration(pause.to.duration_since(pause.from)),
            time::wire(pause.to),
        );
        known.add(pause);
        app.health.record_pauses(known.pauses.clone());
        save(&app, &mut known).await;
    }
}

/// The pause, if a beat took this long.
fn pause(from: Timestamp, took: Duration) -> Option<Pause> {
    let took = SignedDuration::try_from(took).ok()?;
    let is_one = took.saturating_sub(SignedDuration::try_from(BEAT).ok()?) >= PAUSE_MIN;
    is_one.then(|| Pause { from, to: from.saturating_add(took).unwrap_or(from) })
}

/// Saves the pauses. If that fails, they are saved with the next one.
async fn save(app: &App, known: &mut Pauses) {
    let written = caught("saving when the service did not run", app.store.put_pauses(known)).await;
    if let Some(written) = written {
        *known = written;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_that_takes_some_seconds_longer_is_a_pause() {
        let from = Timestamp::UNIX_EPOCH;
        for (millis, is_pause) in [(1_000, false), (5_900, false), (6_000, true), (60_000, true)] {
            let found = pause(from, Duration::from_millis(millis));
            let to = from + SignedDuration::from_millis(millis.try_into().expect("few"));
            assert_eq!(found, is_pause.then_some(Pause { from, to }), "{millis}");
        }
    }
}
