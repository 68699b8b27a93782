//! Remembers when the service did not run: it was stopped, or its machine was suspended. Jobs could not report then; nor
//! could they while nothing was saved, or when the clock was set forward.

use jiff::Timestamp;
use tokio::time::sleep;
use tracing::warn;
use vedette_domain::clock::{BEAT, CLOCK_SKEW, Pause, Pauses};
use vedette_domain::time;
use vedette_runtime::{App, running_time};
use vedette_store::StoreError;

use crate::background::caught;

/// How many beats pass between two attempts to save.
const SAVE_EVERY: usize = 60;

/// The time before the start of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopped {
    /// When the service certainly did not run.
    pub(crate) surely: Option<Pause>,
    /// When it may not have run.
    pub(crate) perhaps: Option<Pause>,
}

/// Remembers when the service did not run, as long as it runs. It begins with the time before its start.
pub(crate) async fn watch(app: App, stopped: Stopped) {
    let read = caught("reading when the service did not run", app.store.pauses()).await;
    let (mut known, mut unsaved) = (read.unwrap_or_default(), Pauses::default());
    // What only matters to pings is not saved.
    let mut deaf = Pauses::default();
    stopped.perhaps.into_iter().for_each(|pause| deaf.add(pause));
    let mut found = Beat { pause: stopped.surely, deaf: None, to: app.clock.now() };
    let mut beats = 0..;
    loop {
        if let Some(pause) = found.pause {
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
        if let Some(pause) = found.deaf {
            extend(&mut deaf, pause);
        }
        app.health.record_pauses(known.pauses.clone());
        let mut all = [&known.pauses[..], &deaf.pauses[..]].concat();
        all.sort_unstable_by_key(|pause| pause.to);
        app.health.record_listening(found.to, all);
        found = beat(&app).await;
    }
}

/// What is known after a beat.
struct Beat {
    /// When the process did not run.
    pause: Option<Pause>,
    /// When pings could not arrive or not be saved, although the process ran.
    deaf: Option<Pause>,
    /// When the beat ended.
    to: Timestamp,
}

/// Waits for a beat, and returns whether the process did not run for a while in the meantime.
async fn beat(app: &App) -> Beat {
    let (from, timer) = (app.clock.now(), running_time());
    sleep(BEAT).await;
    let took = running_time().saturating_sub(timer);
    let (now, ran_until) = (app.clock.now(), from.saturating_add(took).unwrap_or(from));
    let is_set_forward = now.duration_since(ran_until) > CLOCK_SKEW;
    let deaf = (is_set_forward || app.health.cannot_save()).then_some(Pause { from, to: now });
    if !Pause::is_in(took) {
        return Beat { pause: None, deaf, to: now };
    }
    let to = ran_until;
    warn!(
        "the service did not run for {}, until {}, because its process was stopped, or the machine was suspended or \
         overloaded; nothing was checked in the meantime",
        time::duration(to.duration_since(from)),
        time::wire(to),
    );
    Beat { pause: Some(Pause { from, to }), deaf, to: now }
}

/// Adds a pause, which may continue the one before.
fn extend(pauses: &mut Pauses, pause: Pause) {
    match pauses.pauses.last_mut() {
        Some(last) if pause.from.duration_since(last.to) <= CLOCK_SKEW => last.to = pause.to,
        _ => pauses.add(pause),
    }
}

async fn save(app: &App, unsaved: &Pauses) -> Result<Pauses, StoreError> {
    let mut stored = app.store.pauses().await?;
    unsaved.pauses.iter().for_each(|pause| stored.add(*pause));
    app.store.put_pauses(&stored).await
}
