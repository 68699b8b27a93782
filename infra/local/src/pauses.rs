//! Remembers when the service did not run: it was stopped, or its machine was suspended.

use tokio::time::sleep;
use tracing::warn;
use vedette_domain::clock::{BEAT, Pause, Pauses};
use vedette_domain::time;
use vedette_runtime::{App, running_time};
use vedette_store::StoreError;

use crate::background::caught;

/// How many beats pass between two attempts to save.
const SAVE_EVERY: usize = 60;

/// Remembers when the service did not run, as long as it runs. It begins with the time before its start.
pub(crate) async fn watch(app: App, mut found: Option<Pause>) {
    let read = caught("reading when the service did not run", app.store.pauses()).await;
    let (mut known, mut unsaved) = (read.unwrap_or_default(), Pauses::default());
    let mut beats = 0..;
    loop {
        if let Some(pause) = found {
            known.add(pause);
            unsaved.add(pause);
            beats = 0..;
        }
        // If the disk is full, they are saved later.
        let is_time = beats.next().is_some_and(|beat: usize| beat.is_multiple_of(SAVE_EVERY));
        if is_time && !unsaved.pauses.is_empty() {
            let saved = caught("saving when the service did not run", save(&app, &unsaved)).await;
            if let Some(saved) = saved {
                (known, unsaved) = (saved, Pauses::default());
            }
        }
        app.health.record_pauses(known.pauses.clone());
        found = beat(&app).await;
    }
}

/// Waits for a beat, and returns the pause if the process did not run for a while in the meantime.
async fn beat(app: &App) -> Option<Pause> {
    let (from, timer) = (app.clock.now(), running_time());
    sleep(BEAT).await;
    let took = running_time().saturating_sub(timer);
    if !Pause::is_in(took) {
        return None;
    }
    let to = from.saturating_add(took).unwrap_or(from);
    warn!(
        "the service did not run for {}, until {}, because its process was stopped, or the machine was suspended or \
         overloaded; nothing was checked in the meantime",
        time::duration(to.duration_since(from)),
        time::wire(to),
    );
    Some(Pause { from, to })
}

async fn save(app: &App, unsaved: &Pauses) -> Result<Pauses, StoreError> {
    let mut stored = app.store.pauses().await?;
    unsaved.pauses.iter().for_each(|pause| stored.add(*pause));
    app.store.put_pauses(&stored).await
}
