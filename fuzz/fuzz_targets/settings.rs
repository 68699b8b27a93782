//! What a request sets of monitoring, in JSON: for a team, and for a site.

#![no_main]

use vedette_domain::plan::Plan;
use vedette_domain::settings::Settings;
use vedette_http::settings::{parse_expected_records, parse_site_overrides, parse_team_update};
use vedette_http::validation::Errors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    for plan in [Plan::Starter, Plan::Agency] {
        let current = Settings::defaults(plan);
        let mut errors = Errors::default();
        let update = parse_team_update(&value, plan, &current, &mut errors);
        let merged = current.merge(&update);
        let mut errors = Errors::default();
        let overrides =
            parse_site_overrides(&value, "settings", plan, Some("example.com"), &mut errors);
        let _ = Settings::resolve(&merged, &overrides, plan);
        let _ = parse_expected_records(&value, "records", &mut Errors::default());
    }
});
