//! Many lives at once, and counts of what happened in them.

use std::collections::BTreeMap;
use std::ops::{Add, RangeInclusive};
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// How many lives run at once.
const CONCURRENCY: usize = 2;

/// How often each thing happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn add(&mut self, what: &'static str, count: impl Into<u64>) {
        *self.0.entry(what).or_default() += count.into();
    }

    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }

    /// What happens more rarely is not tested.
    pub(crate) fn assert_at_least<const N: usize>(&self, least: [(&str, u64); N]) {
        for (what, least) in least {
            assert!(self.of(what) >= least, "{what} are too rare to be tested: {self:?}");
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        other.0.into_iter().for_each(|(what, count)| Self::add(&mut self, what, count));
        self
    }
}

/// Runs the life of each seed, until one of them fails.
pub(crate) fn live_all(seeds: RangeInclusive<u64>, live: impl Fn(u64) -> Counts + Sync) -> Counts {
    let seeds = Mutex::new(seeds);
    let rest = || seeds.lock().unwrap_or_else(PoisonError::into_inner);
    let next = || rest().next();
    let work = || std::iter::from_fn(next).map(&live).fold(Counts::default(), Add::add);
    thread::scope(|scope| {
        let workers = [(); CONCURRENCY].map(|()| scope.spawn(work));
        let lived = workers.into_iter().map(ScopedJoinHandle::join);
        lived.fold(Counts::default(), |all, counts| match counts {
            Ok(counts) => all + counts,
            Err(panic) => {
                rest().by_ref().for_each(drop);
                resume_unwind(panic)
            }
        })
    })
}

/// The counts of a life. If it failed, prints what led to the failure.
pub(crate) fn counts_of(
    seed: u64,
    lived: thread::Result<Counts>,
    log: impl FnOnce() -> String,
) -> Counts {
    lived.unwrap_or_else(|panic| {
        #[expect(clippy::print_stderr, reason = "what led to the failure")]
        {
            eprintln!("seed {seed}, the end of its life:\n{}", log());
        }
        resume_unwind(panic)
    })
}
