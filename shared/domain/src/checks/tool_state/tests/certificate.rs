//! Which faults of a certificate count.

use super::*;
use crate::checks::check::{SslFailure, SslResult};

fn found(is_valid: bool) -> Finish {
    Finish::Completed(ToolResult::Ssl(Box::new(SslResult {
        domain: "example.com".to_owned(),
        ip: None,
        port: None,
        is_valid,
        failure_type: (!is_valid).then_some(SslFailure::NoCertificate),
        failure_message: None,
        issuer: None,
        issued_to: None,
        valid_from: None,
        valid_to: None,
        days_left: 80,
        first_to_expire: None,
        subject: None,
        serial_number: None,
        fingerprint: None,
        verified: is_valid,
        info: None,
    })))
}

/// The state after a scheduled check of a URL, and whether the check was a failure. `enabled` is the site's own.
fn checked(
    state: &ToolState,
    url: &str,
    enabled: Option<bool>,
    is_valid: bool,
) -> (ToolState, bool) {
    let slot = after(60 * i64::try_from(state.rev).expect("small"));
    let scenario = Scenario::scheduled(slot, 200);
    let mut run = scenario.run();
    run.check = CheckId::automatic(site(), Tool::Ssl, RunReason::Scheduled, slot);
    run.site.url = url.parse().expect("a URL");
    run.site.overrides.tools.ssl.enabled = enabled;
    let (finish, now) = (found(is_valid), scenario.now);
    let evaluations = run.evaluate(&finish, None, now);
    let change = state.apply_run(&run, &finish, evaluations, &Votes::NoLocation, None, now);
    let state = change.expect("it counts").state;
    let tracker = state.trackers[&Fingerprint::SslInvalid].tracker;
    (state, tracker.is_failing_below_threshold())
}

#[test]
fn a_site_with_http_fails_only_if_it_had_or_wants_a_certificate() {
    for (url, enabled, had, fails) in [
        ("https://example.com", None, false, true),
        ("http://example.com", None, false, false),
        ("http://example.com", Some(false), false, false),
        ("http://example.com", Some(true), false, true),
        ("http://example.com", None, true, true),
    ] {
        let state = ToolState { had_certificate: had, ..ToolState::new() };
        let (next, failed) = checked(&state, url, enabled, false);
        assert_eq!(failed, fails, "{url} {enabled:?} {had}");
        assert_eq!(next.timer.is_some(), fails, "only a failure is retried");
        assert_eq!(next.had_certificate, had, "an invalid certificate changes nothing");
        assert!(!next.on_another_host().had_certificate);
        let (next, failed) = checked(&state, url, enabled, true);
        assert_eq!((next.had_certificate, failed), (true, false), "{url}");
    }
}

#[test]
fn a_failure_ends_when_the_site_no_longer_needs_a_certificate() {
    let (state, failed) = checked(&ToolState::new(), "https://example.com", None, false);
    assert!(failed);
    let (state, failed) = checked(&state, "http://example.com", None, false);
    assert!(!failed && state.timer.is_none(), "{state:?}");
}

#[test]
fn a_stored_state_without_the_flag_had_no_certificate() {
    let state = ToolState::new();
    let stored = serde_json::to_value(&state).expect("serialize");
    assert_eq!(stored.get("vc"), None);
    assert_eq!(serde_json::from_value::<ToolState>(stored).expect("readable"), state);
}
