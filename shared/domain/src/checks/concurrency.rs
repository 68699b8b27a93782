//! How many of the concurrent runs may belong to one team.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::is_ahead;
use crate::id::CheckId;

/// One team's share of the concurrent runs: three quarters, and at least one. If there is more than one, a team never
/// gets all of them, so that another team's work can start while its own hangs.
pub fn team_share(limit: usize) -> usize {
    (limit.saturating_mul(3) / 4).max(1)
}

/// The smallest limit of which this many runs are one team's share.
pub const fn limit_for_share(share: usize) -> usize {
    share.saturating_mul(4).div_ceil(3)
}

/// How many messages of a queue one process handles at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// Messages that are being processed.
    pub running: usize,
    /// Additional messages that are slow. They only wait for a target, and use a socket and some memory, but no
    /// processor time.
    pub slow: usize,
}

impl Places {
    /// This many places. Slow messages keep theirs.
    pub const fn running(running: usize) -> Self {
        Self { running, slow: 0 }
    }
}

/// The messages of a queue that one process is handling, by the team or user that sent them.
#[derive(Debug, Default)]
pub struct Handling(HashMap<Uuid, Load>);

#[derive(Debug, Default)]
struct Load {
    all: usize,
    slow: usize,
}

impl Load {
    /// Slow messages that take up no place, because they are within the sender's share of slow messages.
    fn aside(&self, places: Places) -> usize {
        self.slow.min(team_share(places.slow)).min(places.slow)
    }
}

impl Handling {
    /// Whether another message may start, from any sender.
    pub fn has_room(&self, places: Places) -> bool {
        let all: usize = self.0.values().map(|load| load.all).sum();
        let aside: usize = self.0.values().map(|load| load.aside(places)).sum();
        all - aside.min(places.slow) < places.running
    }

    /// Whether a sender has less than its share, so that another of its messages may start.
    pub fn has_room_for(&self, sender: Uuid, places: Places) -> bool {
        let holds = |load: &Load| load.all - load.aside(places);
        self.0.get(&sender).map_or(0, holds) < team_share(places.running)
    }

    /// Records that a sender's message starts.
    pub fn begin(&mut self, sender: Uuid) {
        self.0.entry(sender).or_default().all += 1;
    }

    /// Records that one of the sender's messages has become slow. It gives up its place as soon as there is room for
    /// slow messages.
    pub fn slow(&mut self, sender: Uuid) {
        if let Some(load) = self.0.get_mut(&sender) {
            load.slow += 1;
        }
    }

    /// Records that one of the sender's messages has ended, which may have been slow.
    pub fn end(&mut self, sender: Uuid, was_slow: bool) {
        if let Some(load) = self.0.get_mut(&sender) {
            load.all -= 1;
            load.slow -= usize::from(was_slow);
            if load.all == 0 {
                self.0.remove(&sender);
            }
        }
    }

    /// How many messages are slow.
    pub fn slow_count(&self) -> usize {
        self.0.values().map(|load| load.slow).sum()
    }
}

/// The leases that runs of one tool hold for a team, where many processes share a limit. A run releases its lease at
/// its end; the lease of a process that died expires.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Leases {
    /// Increases with every write; 0 if nothing was written yet.
    pub rev: u64,
    /// By run.
    held: BTreeMap<CheckId, Lease>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct Lease {
    #[serde(with = "millisecond::required")]
    until: Timestamp,
}

impl Leases {
    /// The leases with one more for a run; `None` if the team has used its share, or if the run already has a lease. In
    /// the latter case it is in progress, and its message was delivered twice.
    #[must_use]
    pub fn acquire(
        &self,
        run: CheckId,
        limit: usize,
        now: Timestamp,
        until: Timestamp,
    ) -> Option<Self> {
        let mut next = Self { rev: self.rev + 1, ..self.clone() };
        // A lease that ends later than this one would was taken before the clock was set back.
        next.held.retain(|_, lease| lease.until > now && !is_ahead(lease.until, until));
        let is_free = next.held.len() < team_share(limit);
        (is_free && !next.held.contains_key(&run)).then(|| {
            next.held.insert(run, Lease { until });
            next
        })
    }

    /// When the last lease expires; `None` if there is none.
    pub fn expire_at(&self) -> Option<Timestamp> {
        self.held.values().map(|lease| lease.until).max()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::checks::tool::{RunReason, Tool};
    use crate::id::SiteId;

    #[test]
    fn a_team_has_three_of_four_and_never_all_of_several() {
        let most = [1, 2, 3, 4, 5, 8, 64, 256].map(team_share);
        assert_eq!(most, [1, 1, 2, 3, 3, 6, 48, 192]);
    }

    #[test]
    fn a_share_fits_into_its_limit_and_into_no_smaller_one() {
        for share in 1..200 {
            let limit = limit_for_share(share);
            assert_eq!(team_share(limit), share);
            assert!(share == 1 || team_share(limit - 1) < share, "{share}");
        }
    }

    const PLACES: Places = Places { running: 4, slow: 8 };

    /// Starts as many messages of a sender as may start, each of which becomes slow at once.
    fn begin_slow(handling: &mut Handling, sender: Uuid, places: Places) -> usize {
        let mut begun = 0;
        while handling.has_room(places) && handling.has_room_for(sender, places) {
            handling.begin(sender);
            handling.slow(sender);
            begun += 1;
        }
        begun
    }

    #[test]
    fn slow_messages_hold_no_place_up_to_the_sender_s_share() {
        let [one, other, third] = [1, 2, 3].map(Uuid::from_u128);
        let mut handling = Handling::default();
        assert_eq!(begin_slow(&mut handling, one, PLACES), 6 + 3, "of those aside, and of places");
        assert_eq!(begin_slow(&mut handling, other, PLACES), 2 + 1, "what is left of both");
        assert!(!handling.has_room(PLACES));
        assert_eq!(handling.slow_count(), PLACES.running + PLACES.slow);

        // One of the slow messages ends, and one that held a place gives it up by itself.
        handling.end(other, true);
        assert!(handling.has_room(PLACES) && handling.has_room_for(third, PLACES));
        handling.begin(third);
        assert!(!handling.has_room(PLACES));
        handling.end(third, false);
        (0..9).for_each(|_| handling.end(one, true));
        (0..2).for_each(|_| handling.end(other, true));
        assert!(handling.0.is_empty(), "nothing is left of those that have ended");
    }

    #[test]
    fn without_room_aside_slow_messages_keep_their_places() {
        let mut handling = Handling::default();
        let places = Places::running(4);
        assert_eq!(begin_slow(&mut handling, Uuid::from_u128(1), places), 3);
        assert_eq!(begin_slow(&mut handling, Uuid::from_u128(2), places), 1);
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_168_440 + second).expect("a timestamp")
    }

    fn run(number: i64) -> CheckId {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        CheckId::automatic(site, Tool::BrokenLinks, RunReason::Scheduled, at(number))
    }

    /// Leases of these runs, each for 300 seconds from the second with its number.
    fn leases(runs: impl IntoIterator<Item = i64>) -> Leases {
        runs.into_iter().fold(Leases::default(), |leases, number| {
            let until = at(number) + SignedDuration::from_secs(300);
            leases.acquire(run(number), 4, at(number), until).expect("free")
        })
    }

    #[test]
    fn leases_are_acquired_and_expire() {
        let three = leases([0, 1, 2]);
        assert_eq!(three.rev, 3);
        assert_eq!(three.expire_at(), Some(at(302)));
        assert_eq!(three.acquire(run(3), 4, at(3), at(303)), None);
        assert_eq!(leases([0]).acquire(run(0), 4, at(60), at(360)), None, "under way");

        // The run with the first lease died.
        assert_eq!(three.acquire(run(3), 4, at(299), at(599)), None);
        let next = three.acquire(run(3), 4, at(300), at(600)).expect("free again");
        assert_eq!((next.rev, next.held.len()), (4, 3));
        assert_eq!(leases([]).expire_at(), None);
    }

    #[test]
    fn leases_from_before_the_clock_was_set_back_are_free() {
        for (back, is_free) in [(30, false), (3_600, true), (365 * 86_400, true)] {
            let taken = leases([back, back + 1, back + 2]);
            let next = taken.acquire(run(3), 4, at(3), at(303));
            assert_eq!(next.is_some(), is_free, "{back}");
        }
    }

    #[test]
    fn leases_are_stored_in_a_stable_form() {
        let form = serde_json::to_string(&leases([0])).expect("json");
        let id = run(0);
        assert_eq!(form, format!(r#"{{"rev":1,"held":{{"{id}":1795168740000}}}}"#));
        assert_eq!(serde_json::from_str::<Leases>(&form).expect("leases"), leases([0]));
    }
}
