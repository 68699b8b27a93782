//! Finished runs that could not be saved. When their messages are delivered again, the same result is saved. Otherwise,
//! each delivery would check the target again, for example while the disk is full.
//!
//! Of the automatic runs of a tool, those are kept in which something began or ceased to fail, so that an outage is dated
//! from its first failed check.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use vedette_domain::checks::check::Finish;
use vedette_domain::checks::evidence::Evidence;
use vedette_domain::checks::run::Run;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{CheckId, Partition};
use vedette_domain::issues::{Fingerprint, Outcome};

/// The most runs that are kept. With small results they take about 40 MB.
const KEPT: usize = 10_000;
/// The most runs that are kept for a site and tool. A target that fails and recovers all the time has more.
const SERIES_MAX: usize = 8;
/// How many small results one result of a crawl or an audit counts as.
const LONG: usize = 100;
/// A result counts once more for each this many bytes of a response's body and of what was posted.
const SMALL: usize = 2 * 1024;

/// A finished run.
#[derive(Debug)]
pub(crate) struct Unsaved {
    pub(crate) run: Run,
    pub(crate) finish: Finish,
    /// Of a status check.
    pub(crate) evidence: Option<Box<Evidence>>,
    /// The time from its slot to its start.
    pub(crate) lag: Option<SignedDuration>,
    /// How long the engine took.
    pub(crate) probe_time: Option<Duration>,
}

impl Unsaved {
    /// The problems that it found.
    fn failing(&self) -> BTreeSet<Fingerprint> {
        let at = self.run.check.created_at();
        let evaluations = self.run.evaluate(&self.finish, None, at).into_iter();
        let failing = evaluations.filter(|found| found.outcome == Outcome::Down);
        failing.map(|found| found.fingerprint).collect()
    }
}

/// A site, a tool, and whether the runs are automatic.
type Key = (Partition, Tool, bool);

/// The finished runs of this process that could not be saved.
#[derive(Default)]
pub(crate) struct UnsavedRuns {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    runs: HashMap<Key, Series>,
    /// The sum of their weights.
    weight: usize,
    /// How many runs have been kept so far.
    count: u64,
}

/// The runs of a key, oldest first.
#[derive(Default)]
struct Series {
    /// Rises with each run that is kept.
    number: u64,
    /// The newest run, and before it those in which something began or ceased to fail.
    runs: Vec<Arc<Unsaved>>,
}

impl Series {
    fn weight(&self) -> usize {
        self.runs.iter().map(|unsaved| weight(unsaved)).sum()
    }

    /// Adds the newest run, and forgets the one before it if that found what the one before that had found.
    fn push(&mut self, unsaved: Arc<Unsaved>) {
        self.runs.retain(|kept| kept.run.check != unsaved.run.check);
        let is_repetition = match &self.runs[..] {
            [] => false,
            [only] => only.failing().is_empty() && unsaved.failing().is_empty(),
            [.., before, last] => before.failing() == last.failing(),
        };
        if is_repetition {
            self.runs.pop();
        }
        self.runs.push(unsaved);
        let excess = self.runs.len().saturating_sub(SERIES_MAX);
        self.runs.drain(..excess);
    }
}

impl UnsavedRuns {
    /// Keeps a run until it is saved; forgets the oldest ones if there are too many.
    pub(crate) fn keep(&self, unsaved: Arc<Unsaved>) {
        let mut kept = self.kept();
        let key = key(unsaved.run.check);
        let mut series = kept.remove(key).unwrap_or_default();
        series.push(unsaved);
        let weight = series.weight();
        while kept.weight + weight > KEPT {
            let oldest = kept.runs.iter().min_by_key(|(_, series)| series.number);
            let Some((oldest, _)) = oldest else { break };
            let oldest = *oldest;
            kept.remove(oldest);
        }
        kept.weight += weight;
        kept.count += 1;
        series.number = kept.count;
        kept.runs.insert(key, series);
    }

    /// The kept runs of the same site and tool before a check, oldest first. They must be saved before it.
    pub(crate) fn before(&self, check: CheckId) -> Vec<Arc<Unsaved>> {
        let kept = self.kept();
        let runs = kept.runs.get(&key(check)).into_iter().flat_map(|series| &series.runs);
        let earlier = |unsaved: &&Arc<Unsaved>| unsaved.run.check.created_at() < check.created_at();
        runs.filter(earlier).cloned().collect()
    }

    /// The finished run of a check, if it could not be saved. The run stays here until it is forgotten, because its
    /// message may arrive twice.
    pub(crate) fn of(&self, check: CheckId) -> Option<Arc<Unsaved>> {
        let kept = self.kept();
        let runs = &kept.runs.get(&key(check))?.runs;
        runs.iter().find(|unsaved| unsaved.run.check == check).cloned()
    }

    /// Forgets the run of a check that was saved or is no longer needed.
    pub(crate) fn forget(&self, check: CheckId) {
        let mut kept = self.kept();
        let Some(mut series) = kept.remove(key(check)) else { return };
        series.runs.retain(|unsaved| unsaved.run.check != check);
        if !series.runs.is_empty() {
            kept.weight += series.weight();
            kept.runs.insert(key(check), series);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for UnsavedRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsavedRuns").field("count", &self.kept().runs.len()).finish()
    }
}

impl Kept {
    fn remove(&mut self, key: Key) -> Option<Series> {
        let series = self.runs.remove(&key)?;
        self.weight -= series.weight();
        Some(series)
    }
}

fn key(check: CheckId) -> Key {
    (check.partition(), check.tool(), check.is_automatic())
}

fn weight(Unsaved { run, evidence, .. }: &Unsaved) -> usize {
    let body = evidence.as_ref().and_then(|evidence| evidence.body.as_ref()?.text.as_ref());
    let posted = run.site.expectations.post.as_ref().map_or(0, |post| post.body.len());
    let of_body = (body.map_or(0, String::len) + posted) / SMALL;
    if run.tool().is_long() { LONG } else { 1 + of_body }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use vedette_domain::accounts::plan::Plan;
    use vedette_domain::accounts::team::Team;
    use vedette_domain::checks::schedule::TimeScale;
    use vedette_domain::checks::tool::RunReason;
    use vedette_domain::id::{SiteId, TeamId};
    use vedette_domain::sites::settings::Settings;
    use vedette_domain::sites::site::Site;

    use super::*;

    fn unsaved(site: usize, tool: Tool, minute: i64) -> Arc<Unsaved> {
        let id = |number: usize| format!("0b2c7a52-9f1d-4e43-8a55-{number:012x}");
        let (site, team) = (SiteId::parse(&id(site)), TeamId::parse(&id(1)));
        let (site, team) = (site.expect("an id"), team.expect("an id"));
        let slot = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let url = "https://shop.example".parse().expect("a URL");
        let run = Run {
            check: CheckId::automatic(site, tool, RunReason::Scheduled, slot),
            site: Site::new(site, team, url, slot),
            team: Team::new(team, "Shop", Plan::Agency, slot),
            settings: Settings::defaults(Plan::Agency),
            time_scale: TimeScale::default(),
        };
        Arc::new(Unsaved {
            run,
            finish: Finish::Skipped,
            evidence: None,
            lag: None,
            probe_time: None,
        })
    }

    #[test]
    fn the_newest_run_is_kept_until_it_is_forgotten() {
        let runs = UnsavedRuns::default();
        let (older, newer) = (unsaved(7, Tool::Status, 0), unsaved(7, Tool::Status, 5));
        let other = unsaved(7, Tool::Dns, 0);
        for run in [&older, &newer, &other] {
            runs.keep(Arc::clone(run));
        }
        assert!(runs.of(older.run.check).is_none());
        runs.forget(older.run.check);
        for run in [&newer, &other] {
            assert!(runs.of(run.run.check).is_some() && runs.of(run.run.check).is_some());
            runs.forget(run.run.check);
            assert!(runs.of(run.run.check).is_none());
        }
        assert_eq!(runs.kept().weight, 0);
    }

    #[test]
    fn memory_is_bounded() {
        let runs = UnsavedRuns::default();
        for site in 0..KEPT / LONG + 3 {
            runs.keep(unsaved(site, Tool::BrokenLinks, 0));
        }
        let held = {
            let kept = runs.kept();
            (kept.weight, kept.runs.len())
        };
        assert_eq!(held, (KEPT, KEPT / LONG));
        assert!(runs.of(unsaved(2, Tool::BrokenLinks, 0).run.check).is_none(), "the oldest went");
        assert!(runs.of(unsaved(3, Tool::BrokenLinks, 0).run.check).is_some());
        runs.keep(unsaved(0, Tool::Status, 0));
        assert_eq!(runs.kept().weight, KEPT - LONG + 1);
    }
}
