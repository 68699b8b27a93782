//! What the fuzz target `settings` starts from.

use std::path::Path;

use super::*;

#[test]
fn the_seeds_of_the_fuzzer_are_accepted() {
    let seeds = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/settings"));
    let mut count = 0;
    for file in std::fs::read_dir(seeds).expect("a folder of seeds") {
        let bytes = std::fs::read(file.expect("a seed").path()).expect("a seed");
        count += 1;
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        for plan in [Plan::Starter, Plan::Agency] {
            let _ = site_on(plan, &value);
            let _ = team(plan, &Settings::defaults(plan), &value);
        }
    }
    assert!(count > 1, "too few seeds");
}
