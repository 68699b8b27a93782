//! Simulates lives of the service in a hostile world, each from a seed that repeats it. Nobody must receive false news,
//! everybody must receive all news, and nothing may be outstanding in the end.
//!
//! A life that breaks these rules prints its seed and its last messages. `make simulate` runs long lives, `make
//! simulate ARGS=7` runs the life with seed 7, and `make simulate ARGS=1 SITES=200 DAYS=60 SLOWNESS=60` runs a large
//! and long one, in which each site is checked every five hours. `make simulate ARGS=7 SITES=3 DAYS=0` repeats the short
//! life with seed 7.

mod random;
mod receivers;
mod windows;
mod world;

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use vedette_runtime::config::environment;

use crate::world::{Life, Scale, World};

/// How many lives run at once.
const CONCURRENCY: usize = 2;

async fn live(seed: u64, scale: Scale) -> Life {
    let mut world = World::begin(seed, scale).await;
    let lived = AssertUnwindSafe(Box::pin(world.live())).catch_unwind().await;
    match lived {
        Ok(life) => life,
        Err(panic) => {
            #[expect(clippy::print_stderr, reason = "what led to the failure")]
            {
                eprintln!("seed {seed}, the last messages:\n{}", world.log());
            }
            std::panic::resume_unwind(panic)
        }
    }
}

/// Runs a future on a clock that jumps ahead whenever the process would wait, so that waits before retries cost
/// nothing.
fn without_waiting<T>(living: impl Future<Output = T>) -> T {
    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(living)
}

async fn live_all(seeds: impl Iterator<Item = u64>, scale: Scale) -> Life {
    let mut lives = JoinSet::new();
    let mut all = Life::default();
    let mut add = |life: Life| {
        all.transitions += life.transitions;
        all.received += life.received;
        all.repeated += life.repeated;
        all.deaths += life.deaths;
        all.jumps += life.jumps;
        all.full_disks += life.full_disks;
        all.partial += life.partial;
        all.unexpected += life.unexpected;
        all.confirmed += life.confirmed;
        all.unconfirmed += life.unconfirmed;
        all.held += life.held;
        all.in_windows += life.in_windows;
        all.changed_windows += life.changed_windows;
    };
    for seed in seeds {
        if lives.len() == CONCURRENCY
            && let Some(life) = lives.join_next().await
        {
            add(life.expect("it held"));
        }
        lives.spawn_blocking(move || without_waiting(live(seed, scale)));
    }
    while let Some(life) = lives.join_next().await {
        add(life.expect("it held"));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_short_runs_keep_the_rules() {
    let scale = Scale { sites: 3, hours: 1, slowness: 1 };
    let all = live_all(1..=50, scale).await;
    assert!(all.transitions > 200, "{all:?}");
    assert!(all.deaths > 80, "{all:?}");
    assert!(all.received > 500, "{all:?}");
    assert!(all.repeated > 10, "{all:?}");
    assert!(all.jumps > 20, "{all:?}");
    assert!(all.full_disks > 15, "{all:?}");
    assert!(all.partial > 0 && all.confirmed > 0, "{all:?}");
    assert!(all.unexpected > 10, "{all:?}");
    assert!(all.unconfirmed > 0 && all.held > 0, "{all:?}");
    assert!(all.in_windows > 100 && all.changed_windows > 100, "{all:?}");
}

#[test]
fn a_seed_repeats_its_run() {
    let scale = Scale { sites: 3, hours: 1, slowness: 1 };
    let live = || {
        without_waiting(async {
            let mut world = World::begin(13, scale).await;
            Box::pin(world.live()).await;
            world.log()
        })
    };
    assert_eq!(live(), live());
}

/// `VEDETTE_SIMULATE` says how many lives to run, or `seed-N` for a single one, with how many sites and days, and how
/// slow.
#[ignore = "for hours: make simulate"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_runs_keep_the_rules() {
    let asked = environment("VEDETTE_SIMULATE").unwrap_or_default();
    let words: Vec<&str> = asked.split(' ').collect();
    let [which, sites, days, slowness] = words[..] else {
        panic!("which lives, of how many sites and days, and how slow")
    };
    let days: i64 = days.parse().expect("days");
    let (sites, slowness) = (sites.parse().expect("sites"), slowness.parse().expect("a factor"));
    let scale = Scale { sites, hours: (24 * days).max(1), slowness };
    let all = match which.strip_prefix("seed-").map(str::parse) {
        Some(seed) => live_all(std::iter::once(seed.expect("a seed")), scale).await,
        None => live_all(1..=which.parse().expect("how many"), scale).await,
    };
    #[expect(clippy::print_stderr, reason = "what hours were for")]
    {
        eprintln!("{all:?}");
    }
}
