//! Timers of this process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::clock::is_ahead;
use vedette_domain::id::SiteId;
use vedette_domain::message::{CheckMessage, RunOrder};

use super::Schedule;
use crate::Clock;

/// Schedules within this process, rebuilt from the table at every start.
#[derive(Debug, Clone)]
pub struct LocalScheduler(Arc<Local>);

#[derive(Debug)]
struct Local {
    agenda: Mutex<Agenda>,
    changed: Notify,
    clock: Clock,
    time_scale: TimeScale,
}

#[derive(Debug, Default)]
struct Agenda {
    next: HashMap<(SiteId, Tool), Timestamp>,
    by_time: BTreeMap<(Timestamp, SiteId, Tool), Schedule>,
    /// The clock's time at the last check.
    looked_at: Option<Timestamp>,
}

impl LocalScheduler {
    /// No schedules yet.
    pub fn new(clock: Clock, time_scale: TimeScale) -> Self {
        let (agenda, changed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Local { agenda, changed, clock, time_scale }))
    }

    pub(super) fn put(&self, schedule: Schedule) {
        let Schedule { site, tool, cadence_minutes, .. } = schedule;
        let next = self.0.time_scale.next_after(site, tool, cadence_minutes, self.0.clock.now());
        let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        // Confirming a schedule must not skip a run that is due at this moment.
        if agenda.get(site, tool) == Some(&schedule) {
            return;
        }
        agenda.set(schedule, next);
        drop(agenda);
        self.0.changed.notify_one();
    }

    pub(super) fn create_missing(&self, schedule: Schedule) -> bool {
        let Schedule { site, tool, .. } = schedule;
        let agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        let is_missing = agenda.get(site, tool).is_none();
        drop(agenda);
        if is_missing {
            self.put(schedule);
        }
        is_missing
    }

    pub(super) fn delete(&self, site: SiteId, tool: Tool) {
        self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner).remove(site, tool);
    }

    pub(super) fn list(&self) -> Vec<(SiteId, Tool)> {
        let agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        agenda.next.keys().copied().collect()
    }

    /// After the clock was set back, makes sure that no schedule waits for a slot too far ahead. [`Self::next`] would
    /// notice it within a minute.
    pub fn rebuild(&self) {
        let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
        agenda.look(self.0.time_scale, self.0.clock.now());
        drop(agenda);
        self.0.changed.notify_one();
    }

    /// Waits for the next run that is due. If runs of a schedule were missed because the machine slept, one of them
    /// takes place.
    pub async fn next(&self) -> CheckMessage {
        loop {
            let now = self.0.clock.now();
            let first = {
                let mut agenda = self.0.agenda.lock().unwrap_or_else(PoisonError::into_inner);
                agenda.look(self.0.time_scale, now);
                match agenda.first() {
                    Some((slot, schedule)) if slot <= now => {
                        let Schedule { team, site, tool, cadence_minutes } = schedule;
                        let next = self.0.time_scale.next_after(site, tool, cadence_minutes, now);
                        agenda.set(schedule, next);
                        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot };
                        return CheckMessage { team, site, tool, order };
                    }
                    first => first,
                }
            };
            match first {
                Some((slot, ..)) => {
                    // Timers stop while a machine sleeps, but its clock does not.
                    let wait = slot.duration_since(now).unsigned_abs().min(Duration::from_mins(1));
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = self.0.changed.notified() => {}
                    }
                }
                None => self.0.changed.notified().await,
            }
        }
    }
}

impl Agenda {
    fn get(&self, site: SiteId, tool: Tool) -> Option<&Schedule> {
        self.by_time.get(&(*self.next.get(&(site, tool))?, site, tool))
    }

    fn first(&self) -> Option<(Timestamp, Schedule)> {
        self.by_time.first_key_value().map(|((slot, ..), schedule)| (*slot, *schedule))
    }

    /// If the clock was set back since the last check, makes every schedule wait for its next slot after `now`, because
    /// the old slots are too far ahead.
    fn look(&mut self, time_scale: TimeScale, now: Timestamp) {
        let was_set_back = self.looked_at.replace(now).is_some_and(|last| is_ahead(last, now));
        if !was_set_back {
            return;
        }
        for schedule in std::mem::take(&mut self.by_time).into_values() {
            let Schedule { site, tool, cadence_minutes, .. } = schedule;
            let next = time_scale.next_after(site, tool, cadence_minutes, now);
            self.next.insert((site, tool), next);
            self.by_time.insert((next, site, tool), schedule);
        }
    }

    fn set(&mut self, schedule: Schedule, next: Timestamp) {
        let Schedule { site, tool, .. } = schedule;
        self.remove(site, tool);
        self.next.insert((site, tool), next);
        self.by_time.insert((next, site, tool), schedule);
    }

    fn remove(&mut self, site: SiteId, tool: Tool) {
        if let Some(next) = self.next.remove(&(site, tool)) {
            self.by_time.remove(&(next, site, tool));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::super::samples::{every_five_minutes, site, team};
    use super::*;

    #[tokio::test]
    async fn runs_come_at_their_phase_and_a_missed_one_comes_once() {
        let now = Arc::new(AtomicI64::new(1_763_632_440));
        let clock = Clock::from_fn({
            let now = Arc::clone(&now);
            move || Timestamp::from_second(now.load(Ordering::Relaxed)).unwrap_or_default()
        });
        let scheduler = LocalScheduler::new(clock.clone(), TimeScale::default());
        let status = every_five_minutes(Tool::Status);
        scheduler.put(status);
        scheduler.put(status);
        scheduler.put(every_five_minutes(Tool::Dns));
        scheduler.delete(site(), Tool::Dns);
        assert_eq!(scheduler.list(), [(site(), Tool::Status)]);
        let expected = TimeScale::default().next_after(
            site(),
            Tool::Status,
            status.cadence_minutes,
            clock.now(),
        );
        now.fetch_add(3_600, Ordering::Relaxed);
        let order = RunOrder::Automatic { reason: RunReason::Scheduled, slot: expected };
        let first = scheduler.next().await;
        let expected = CheckMessage { team: team(), site: site(), tool: Tool::Status, order };
        assert_eq!(first, expected);
        let agenda = scheduler.0.agenda.lock().expect("agenda");
        assert!(agenda.first().is_some_and(|(next, _)| next > clock.now()));
    }

    #[tokio::test]
    async fn no_schedule_waits_for_a_clock_that_was_set_back() {
        const NOW: i64 = 1_763_632_440;
        for ahead in [3_600, 365 * 86_400] {
            let now = Arc::new(AtomicI64::new(NOW + ahead));
            let clock = Clock::from_fn({
                let now = Arc::clone(&now);
                move || Timestamp::from_second(now.load(Ordering::Relaxed)).unwrap_or_default()
            });
            let scheduler = LocalScheduler::new(clock.clone(), TimeScale::default());
            let (often, daily) = (every_five_minutes(Tool::Status), Tool::Dns);
            let daily = Schedule { cadence_minutes: 1_440, ..every_five_minutes(daily) };
            scheduler.put(often);
            scheduler.put(daily);
            now.fetch_add(300, Ordering::Relaxed);
            assert_eq!(scheduler.next().await.tool, Tool::Status, "by the fast clock");
            now.store(NOW, Ordering::Relaxed);
            let next = |of: Schedule| {
                let Schedule { site, tool, cadence_minutes, .. } = of;
                TimeScale::default().next_after(site, tool, cadence_minutes, clock.now())
            };
            let expected = [next(often), next(daily)];
            scheduler.rebuild();
            let agenda = scheduler.0.agenda.lock().expect("agenda");
            let found = [often, daily].map(|schedule| agenda.next[&(schedule.site, schedule.tool)]);
            assert_eq!(found, expected, "{ahead}");
        }
    }
}
