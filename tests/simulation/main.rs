//! Simulates lives of the service in a hostile world, each from a seed that repeats it. Nobody must receive false news,
//! everybody must receive all news, and nothing may be outstanding in the end.
//!
//! A life that breaks these rules prints its seed and its last messages. `make simulate` runs long lives, `make
//! simulate ARGS=7` runs the life with seed 7, and `make simulate ARGS=1 SITES=200 DAYS=60 SLOWNESS=60` runs a large
//! and long one, in which each site is checked every five hours. `make simulate ARGS=7 SITES=3 DAYS=0` repeats the short
//! life with seed 7.

mod jobs;
mod lives;
mod nature;
mod random;
mod receivers;
mod rules;
mod windows;
mod world;

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tokio::runtime::Builder;
use vedette_runtime::config::environment;

use crate::lives::{Counts, counts_of, live_all};
use crate::world::{Scale, World};

const SHORT: Scale = Scale { sites: 3, hours: 1, slowness: 1 };

fn live(seed: u64, scale: Scale) -> Counts {
    without_waiting(async {
        let mut world = World::begin(seed, scale).await;
        let lived = AssertUnwindSafe(Box::pin(world.live())).catch_unwind().await;
        counts_of(seed, lived, || world.log())
    })
}

/// Runs a future on a clock that jumps ahead whenever the process would wait, so that waits before retries cost
/// nothing.
fn without_waiting<T>(living: impl Future<Output = T>) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(living)
}

#[test]
fn fifty_short_runs_keep_the_rules() {
    live_all(1..=50, |seed| live(seed, SHORT)).assert_at_least([
        ("transitions", 201),
        ("deaths", 81),
        ("received", 501),
        ("repeated", 11),
        ("jumps", 21),
        ("full disks", 16),
        ("partial", 1),
        ("confirmed", 1),
        ("unexpected", 11),
        ("unconfirmed", 1),
        ("held", 1),
        ("in windows", 101),
        ("changed windows", 101),
        ("changed tags", 81),
        ("changed rules", 151),
        ("late", 11),
        ("left out", 11),
        ("delayed", 6),
        ("repeats", 6),
        ("links", 11),
        ("pings", 501),
        ("stops", 11),
        ("paused", 21),
        ("missed", 51),
        ("long", 11),
    ]);
}

#[test]
fn a_seed_repeats_its_run() {
    let live = || {
        without_waiting(async {
            let mut world = World::begin(13, SHORT).await;
            Box::pin(world.live()).await;
            world.log()
        })
    };
    assert_eq!(live(), live());
}

/// `VEDETTE_SIMULATE` says how many lives to run, or `seed-N` for a single one, with how many sites and days, and how
/// slow.
#[ignore = "for hours: make simulate"]
#[test]
fn long_runs_keep_the_rules() {
    let asked = environment("VEDETTE_SIMULATE").unwrap_or_default();
    let words: Vec<&str> = asked.split(' ').collect();
    let [which, sites, days, slowness] = words[..] else {
        panic!("which lives, of how many sites and days, and how slow")
    };
    let days: i64 = days.parse().expect("days");
    let (sites, slowness) = (sites.parse().expect("sites"), slowness.parse().expect("a factor"));
    let scale = Scale { sites, hours: (24 * days).max(1), slowness };
    let seeds = match which.strip_prefix("seed-").map(str::parse) {
        Some(seed) => [seed.expect("a seed"); 2],
        None => [1, which.parse().expect("how many")],
    };
    let all = live_all(seeds[0]..=seeds[1], |seed| live(seed, scale));
    #[expect(clippy::print_stderr, reason = "what hours were for")]
    {
        eprintln!("{all:?}");
    }
}
