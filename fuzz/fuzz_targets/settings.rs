//! What a request sets of monitoring, in JSON: for a team, and for a site with the records that it expects.

#![no_main]

use vedette_domain::accounts::plan::Plan;
use vedette_domain::input::Input;
use vedette_domain::sites::input::SiteEdit;
use vedette_domain::sites::settings::{Settings, parse_site_overrides, parse_team_update};
use vedette_domain::validation::{Errors, Field};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    for plan in [Plan::Starter, Plan::Agency] {
        let current = Settings::defaults(plan);
        let mut errors = Errors::new();
        let update = parse_team_update(&Field::at("settings", &value), true, plan, &current, &mut errors);
        let team = if errors.is_empty() { current.merge(&update) } else { current };
        let mut errors = Errors::new();
        let domain = Some("example.com");
        let site = parse_site_overrides(&Field::at("settings", &value), &team, plan, domain, &mut errors);
        if errors.is_empty() {
            let _ = Settings::resolve(&team, &site, plan);
        }
    }
    let records = serde_json::json!({ "dns_expected_records": value });
    let _ = SiteEdit::from_json(records.to_string().as_bytes());
});
