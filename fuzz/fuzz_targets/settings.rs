//! What a request sets of monitoring, in JSON: for a team, and for a site.

#![no_main]

use vedette_domain::accounts::plan::Plan;
use vedette_domain::sites::settings::Settings;
use vedette_http::settings::{parse_expected_records, parse_site_overrides, parse_team_update};
use vedette_http::validation::{Errors, Field};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    for plan in [Plan::Starter, Plan::Agency] {
        let current = Settings::defaults(plan);
        let mut errors = Errors::new();
        let update = parse_team_update(&Field::at("settings", &value), plan, &current, &mut errors);
        let team = if errors.is_empty() { current.merge(&update) } else { current };
        let mut errors = Errors::new();
        let domain = Some("example.com");
        let site = parse_site_overrides(&Field::at("settings", &value), &team, plan, domain, &mut errors);
        if errors.is_empty() {
            let _ = Settings::resolve(&team, &site, plan);
        }
        let _ = parse_expected_records(&Field::at("records", &value), &mut Errors::new());
    }
});
