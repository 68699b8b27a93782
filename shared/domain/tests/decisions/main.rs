//! Simulates lives of the decisions alone, each from a seed that repeats it: without a table or a network, and fast
//! enough for thousands of lives.
//!
//! [`locations`] simulates outages that other locations confirm or deny.
//!
//! [`service`] does what the handlers do, as far as the domain decides it, and [`world`] is hostile to it. [`truth`]
//! and [`readers`] have their own rules about what must happen, and when. A life that breaks them prints its seed and
//! what led to the failure; `make simulate ARGS='decisions 7'` repeats the life with seed 7.

mod fan_out;
mod locations;
mod readers;
mod service;
mod truth;
mod world;

#[path = "../../../../tests/simulation/random.rs"]
mod random;

#[path = "../../../../tests/reading.rs"]
pub mod reading;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ScopedJoinHandle;

use crate::readers::Counts;
use crate::world::World;

/// Seeds in each run of the tests.
const SEEDS: u64 = 2_000;
/// How many lives run at once.
const CONCURRENCY: usize = 2;

fn live(seed: u64, is_notified: bool) -> Counts {
    let mut world = World::begin(seed, is_notified);
    match catch_unwind(AssertUnwindSafe(|| world.live())) {
        Ok(counts) => counts,
        #[expect(clippy::print_stderr, reason = "what led to the failure")]
        Err(panic) if is_notified => {
            eprintln!("seed {seed}, the end of its life:\n{}", world.log());
            resume_unwind(panic)
        }
        // Run again, this time with a log.
        Err(_) => live(seed, true),
    }
}

fn live_all(seeds: u64) -> Counts {
    let next = AtomicU64::new(1);
    let work = || {
        let mut all = Counts::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > seeds {
                return all;
            }
            all = all + live(seed, false);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..CONCURRENCY).map(|_| scope.spawn(work)).collect();
        let lived = workers.into_iter().map(ScopedJoinHandle::join);
        lived.fold(Counts::default(), |all, counts| match counts {
            Ok(counts) => all + counts,
            Err(panic) => {
                next.store(seeds + 1, Ordering::Relaxed);
                resume_unwind(panic)
            }
        })
    })
}

#[test]
fn thousands_of_random_runs_keep_the_rules() {
    let all = live_all(SEEDS);
    for (what, count) in all.of_a_life(SEEDS) {
        assert!(count >= 1, "{what} are too rare to be tested: {all:?}");
    }
}

#[test]
fn a_seed_repeats_its_run() {
    let [one, other] = [(); 2].map(|()| {
        let mut world = World::begin(13, true);
        world.live();
        world.log()
    });
    assert_eq!(one, other);
}

/// `SIMULATE` is `decisions N`.
#[ignore = "on demand: make simulate ARGS='decisions SEED'"]
#[test]
fn a_single_run_by_its_seed() {
    #[expect(clippy::disallowed_methods, reason = "the domain has nobody who reads it")]
    let asked = std::env::var("SIMULATE").unwrap_or_default();
    // Otherwise the name of another simulation.
    if let Some(Ok(seed)) = asked.strip_prefix("decisions ").map(str::parse) {
        let counts = live(seed, false);
        #[expect(clippy::print_stderr, reason = "what it was asked for")]
        {
            eprintln!("{counts:?}");
        }
    }
}
