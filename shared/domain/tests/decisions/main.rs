//! Simulates lives of the decisions alone, each from a seed that repeats it: without a table or a network, and fast
//! enough for thousands of lives.
//!
//! [`locations`] simulates outages that other locations confirm or deny.
//!
//! [`service`] does what the handlers do, as far as the domain decides it, and [`world`] is hostile to it. [`truth`]
//! and [`readers`] have their own rules about what must happen, and when. A life that breaks them prints its seed and
//! what led to the failure; `make simulate ARGS='decisions 7'` repeats the life with seed 7.

mod locations;
mod readers;
mod service;
mod truth;
mod world;

#[path = "../../../../tests/simulation/lives.rs"]
mod lives;
#[path = "../../../../tests/simulation/nature.rs"]
mod nature;
#[path = "../../../../tests/simulation/random.rs"]
mod random;

#[path = "../../../../tests/reading.rs"]
pub mod reading;

use std::panic::{AssertUnwindSafe, catch_unwind};

use vedette_domain::checks::check::{Finish, StatusResult, ToolResult};

use crate::lives::{Counts, counts_of, live_all};
use crate::world::World;

/// Seeds in each run of the tests.
const SEEDS: u64 = 1_200;

fn live(seed: u64) -> Counts {
    let mut world = World::begin(seed);
    let lived = catch_unwind(AssertUnwindSafe(|| world.live()));
    counts_of(seed, lived, || world.log())
}

/// The end of a status check of a URL that answers with this code.
fn status_finish(url: &str, code: u16) -> Finish {
    Finish::Completed(ToolResult::Status(StatusResult {
        up: code == 200,
        code,
        url: url.to_owned(),
        effective_url: url.to_owned(),
        response_time: 1.0,
        redirected: false,
        redirect_count: 0,
        redirects: Vec::new(),
        error: None,
        phases: None,
        judged: None,
    }))
}

#[test]
fn random_runs_keep_the_rules() {
    live_all(1..=SEEDS, live).assert_at_least([
        ("transitions", SEEDS),
        ("alerts", SEEDS),
        ("collections", SEEDS / 10),
        ("reminders", SEEDS),
        ("missed outages", SEEDS),
        ("events", SEEDS),
        ("failures", SEEDS),
        ("deaths", SEEDS),
        ("repetitions", SEEDS / 2),
        ("changes of tags", SEEDS),
        ("changes of selectors", SEEDS / 4),
        ("disabled channels", SEEDS),
        ("late openings", SEEDS / 20),
    ]);
}

#[test]
fn a_seed_repeats_its_run() {
    let [one, other] = [(); 2].map(|()| {
        let mut world = World::begin(13);
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
        let counts = live(seed);
        #[expect(clippy::print_stderr, reason = "what it was asked for")]
        {
            eprintln!("{counts:?}");
        }
    }
}
