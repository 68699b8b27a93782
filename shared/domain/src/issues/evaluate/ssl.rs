//! What a check of a certificate means.

use std::num::NonZeroU32;

use jiff::Timestamp;
use serde_json::json;

use super::{Evaluation, clipped};
use crate::checks::check::{FirstToExpire, SslFailure, SslResult};
use crate::issues::{Fingerprint, Outcome};

const DAY_SECONDS: i64 = 86_400;

/// Evaluates a certificate check `now`; `expiry_days` is how many days before expiry to alert.
///
/// `ssl:invalid` is down when the certificate is not valid. `ssl:expiring` is down when the certificate is valid and
/// `days_left` is at most `expiry_days`, both as clients see them: with 14 days it is reported on the day that shows 14
/// days left, up to a day before exactly 14 days remain. It is also down if the chain ends earlier, so that no path is
/// valid `expiry_days` from now. An invalid certificate says nothing about expiry, so an issue about expiry stays as it
/// is.
pub(super) fn ssl(result: &SslResult, expiry_days: NonZeroU32, now: Timestamp) -> Vec<Evaluation> {
    let mut evaluations = vec![invalid(result, expiry_days)];
    if result.is_valid {
        evaluations.push(expiring(result, expiry_days, now));
    }
    evaluations
}

/// The evaluations of a check of a site that needs no certificate. A fault is none there, and ends both issues, which
/// may be from when the site needed one. A valid certificate says nothing about expiry.
pub(crate) fn without_need(evaluations: Vec<Evaluation>, domain: &str) -> Vec<Evaluation> {
    let invalid = evaluations.into_iter().find(|one| one.fingerprint == Fingerprint::SslInvalid);
    let unneeded = |invalid: &Evaluation, fingerprint| Evaluation {
        fingerprint,
        outcome: Outcome::Up,
        summary: format!("{} uses http and needs no certificate", clipped(domain)),
        measured: invalid.measured.clone(),
    };
    match invalid {
        Some(invalid) if invalid.outcome == Outcome::Down => {
            let both = [Fingerprint::SslInvalid, Fingerprint::SslExpiring];
            both.map(|fingerprint| unneeded(&invalid, fingerprint)).into()
        }
        invalid => Vec::from_iter(invalid),
    }
}

fn invalid(result: &SslResult, expiry_days: NonZeroU32) -> Evaluation {
    let subject = subject(result);
    let (summary, outcome) = if result.is_valid {
        (format!("{subject} has a valid certificate"), Outcome::Up)
    } else {
        (format!("{subject} has no valid certificate: {}", cause(result)), Outcome::Down)
    };
    let measured = measured(result, expiry_days);
    Evaluation { fingerprint: Fingerprint::SslInvalid, outcome, summary, measured }
}

fn expiring(result: &SslResult, expiry_days: NonZeroU32, now: Timestamp) -> Evaluation {
    let days = i64::from(expiry_days.get());
    let chain_ends = result.first_to_expire.as_ref().and_then(FirstToExpire::ends_at);
    let chain_ends_soon =
        chain_ends.is_some_and(|end| end.as_second() - now.as_second() < DAY_SECONDS * days);
    let down = result.days_left <= days || chain_ends_soon;
    // No number of days left, since people also read the issue on later days.
    let end = match (&result.first_to_expire, &result.valid_to) {
        (Some(first), _) => {
            let (subject, end) = (clipped(&first.subject), clipped(&first.valid_to));
            match down {
                true => format!("\"{subject}\" in its chain expires on {end} UTC"),
                false => format!("its chain ends on {end} UTC, with \"{subject}\""),
            }
        }
        (None, Some(end)) => format!("{} UTC", clipped(end)),
        (None, None) => "its end is unknown".to_owned(),
    };
    let state = if down { "expires soon" } else { "does not expire soon" };
    Evaluation {
        fingerprint: Fingerprint::SslExpiring,
        summary: format!("the certificate of {} {state}: {end}", subject(result)),
        measured: measured(result, expiry_days),
        outcome: Outcome::of(down),
    }
}

/// What was checked: the host, and the port if it is not the usual one.
fn subject(result: &SslResult) -> String {
    let domain = clipped(&result.domain);
    result.port.map_or_else(|| domain.clone(), |port| format!("{domain} on port {port}"))
}

/// What is wrong: the result's own words, or else the kind of failure.
fn cause(result: &SslResult) -> String {
    match result.failure_message.as_deref().map(str::trim) {
        Some(message) if !message.is_empty() => clipped(message),
        Some(_) | None => result.failure_type.map_or("not valid", SslFailure::phrase).to_owned(),
    }
}

fn measured(result: &SslResult, expiry_days: NonZeroU32) -> serde_json::Value {
    let text = |text: &Option<String>| text.as_deref().map(clipped);
    let mut measured = json!({
        "is_valid": result.is_valid,
        "failure_type": result.failure_type,
        "failure_message": text(&result.failure_message),
        "verified": result.verified,
        "valid_to": text(&result.valid_to),
        "days_left": result.days_left,
        "issuer": text(&result.issuer),
        "fingerprint": text(&result.fingerprint),
        "ip": text(&result.ip),
        "expiry_days": expiry_days,
    });
    if let Some(port) = result.port {
        measured["port"] = port.into();
    }
    if let Some(FirstToExpire { subject, valid_to }) = &result.first_to_expire {
        measured["first_to_expire"] =
            json!({ "subject": clipped(subject), "valid_to": clipped(valid_to) });
    }
    measured
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::issues::evaluate) fn valid(days_left: i64) -> SslResult {
        SslResult {
            domain: "example.com".to_owned(),
            ip: Some("203.0.113.7".to_owned()),
            port: None,
            is_valid: true,
            failure_type: None,
            failure_message: None,
            issuer: Some("R12".to_owned()),
            issued_to: Some("example.com".to_owned()),
            valid_from: Some("2026-10-01 08:00:00".to_owned()),
            valid_to: Some("2026-12-30 07:59:59".to_owned()),
            days_left,
            first_to_expire: None,
            subject: Some("CN=example.com".to_owned()),
            serial_number: Some("0a1b".to_owned()),
            fingerprint: Some("ab12".to_owned()),
            verified: true,
            info: None,
        }
    }

    fn broken(failure: SslFailure, message: Option<&str>, days_left: i64) -> SslResult {
        SslResult {
            is_valid: false,
            failure_type: Some(failure),
            failure_message: message.map(str::to_owned),
            ..valid(days_left)
        }
    }

    fn now() -> Timestamp {
        "2026-11-20T08:00:00Z".parse().expect("a timestamp")
    }

    fn days(days: u32) -> NonZeroU32 {
        NonZeroU32::new(days).expect("not zero")
    }

    #[test]
    fn a_certificate_that_is_not_valid_is_down_and_nothing_is_said_of_its_expiry() {
        use SslFailure::{
            ConnectionFailed, Expired, HostnameMismatch, NoCertificate, UntrustedChain,
        };
        let cases = [
            (broken(Expired, Some("expired on a day"), -3), "expired on a day"),
            // Expiring soon, far from expiry, and unknown: not observed, whatever `days_left` says.
            (broken(HostnameMismatch, Some("for another host"), 3), "for another host"),
            (broken(UntrustedChain, Some("self-signed"), 300), "self-signed"),
            (broken(NoCertificate, Some("no TLS"), 0), "no TLS"),
            (broken(ConnectionFailed, Some(" refused\n"), 0), "refused"),
            // Without its own words.
            (broken(Expired, None, -3), "the certificate is not valid today"),
            (broken(HostnameMismatch, None, 3), "the certificate is for another host"),
            (broken(UntrustedChain, Some(" "), 3), "the certificate is not trusted"),
            (broken(NoCertificate, None, 0), "the server presents no certificate"),
            (broken(ConnectionFailed, None, 0), "no connection"),
            (SslResult { failure_type: None, ..broken(Expired, None, 0) }, "not valid"),
        ];
        for (result, cause) in cases {
            let evaluations = ssl(&result, days(14), now());
            let [evaluation] = &evaluations[..] else { panic!("{evaluations:?}") };
            assert_eq!(evaluation.fingerprint, Fingerprint::SslInvalid);
            assert_eq!(evaluation.outcome, Outcome::Down);
            let summary = format!("example.com has no valid certificate: {cause}");
            assert_eq!(evaluation.summary, summary);
            assert!(evaluation.has_past(), "{summary}");
        }
    }

    #[test]
    fn a_valid_certificate_expires_from_the_given_day_on() {
        let cases = [
            (300, 14, None),
            (15, 14, None),
            (14, 14, Some("2026-12-30 07:59:59 UTC")),
            (13, 14, Some("2026-12-30 07:59:59 UTC")),
            (1, 1, Some("2026-12-30 07:59:59 UTC")),
            (2, 1, None),
            (0, 1, Some("2026-12-30 07:59:59 UTC")),
            (2_000, u32::MAX, Some("2026-12-30 07:59:59 UTC")),
            (i64::MAX, u32::MAX, None),
        ];
        for (left, limit, cause) in cases {
            let evaluations = ssl(&valid(left), days(limit), now());
            let [invalid, expiring] = &evaluations[..] else { panic!("{evaluations:?}") };
            assert_eq!(invalid.fingerprint, Fingerprint::SslInvalid);
            assert_eq!(invalid.outcome, Outcome::Up);
            assert_eq!(invalid.summary, "example.com has a valid certificate");
            assert_eq!(expiring.fingerprint, Fingerprint::SslExpiring);
            assert_eq!(expiring.outcome, Outcome::of(cause.is_some()), "{left} {limit}");
            assert!(expiring.summary.ends_with(cause.unwrap_or_default()), "{}", expiring.summary);
            let state = if cause.is_some() { "expires soon" } else { "does not expire soon" };
            let beginning = format!("the certificate of example.com {state}: ");
            assert!(expiring.summary.starts_with(&beginning), "{}", expiring.summary);
            assert!(expiring.has_past(), "{}", expiring.summary);
            assert_eq!(invalid.measured, expiring.measured);
        }
    }

    #[test]
    fn a_chain_that_ends_before_the_alert_is_due_expires_soon() {
        for (valid_to, limit, is_soon) in [
            ("2026-12-04 08:00:00", 14, false),
            ("2026-12-04 07:59:59", 14, true),
            ("2026-12-04 07:59:59", 13, false),
            ("2026-11-20 08:00:00", 1, true),
            ("9000-01-01 00:00:00", u32::MAX, true),
            ("soon", u32::MAX, false),
        ] {
            let first = FirstToExpire { subject: "CN=R12".into(), valid_to: valid_to.into() };
            let result = SslResult { first_to_expire: Some(first), ..valid(i64::MAX) };
            let evaluations = ssl(&result, days(limit), now());
            let [invalid, expiring] = &evaluations[..] else { panic!("{evaluations:?}") };
            assert_eq!((invalid.outcome, expiring.outcome), (Outcome::Up, Outcome::of(is_soon)));
            let state = match is_soon {
                true => format!("expires soon: \"CN=R12\" in its chain expires on {valid_to} UTC"),
                false => {
                    format!(
                        "does not expire soon: its chain ends on {valid_to} UTC, with \"CN=R12\""
                    )
                }
            };
            let summary = format!("the certificate of example.com {state}");
            assert_eq!(expiring.summary, summary);
            assert!(expiring.has_past(), "{summary}");
            let measured = json!({ "subject": "CN=R12", "valid_to": valid_to });
            assert_eq!(expiring.measured["first_to_expire"], measured);
        }
    }

    #[test]
    fn another_port_is_named() {
        let result = SslResult { port: Some(8443), ..broken(SslFailure::Expired, None, -1) };
        let evaluation = &ssl(&result, days(14), now())[0];
        let summary =
            "example.com on port 8443 has no valid certificate: the certificate is not valid today";
        assert_eq!((evaluation.summary.as_str(), evaluation.has_past()), (summary, true));
        assert_eq!(evaluation.measured["port"], json!(8443));
    }

    #[test]
    fn a_site_without_need_of_a_certificate_has_no_fault() {
        let cases = [
            (valid(300), vec![Fingerprint::SslInvalid]),
            (valid(3), vec![Fingerprint::SslInvalid]),
            (
                broken(SslFailure::NoCertificate, None, 0),
                vec![Fingerprint::SslInvalid, Fingerprint::SslExpiring],
            ),
        ];
        for (result, expected) in cases {
            let evaluations = without_need(ssl(&result, days(14), now()), "example.com");
            let judged: Vec<_> = evaluations.iter().map(|one| one.fingerprint).collect();
            assert_eq!(judged, expected);
            assert!(evaluations.iter().all(|one| one.outcome == Outcome::Up), "{evaluations:?}");
        }
        assert_eq!(without_need(Vec::new(), "example.com"), []);
    }

    #[test]
    fn the_context_says_what_was_measured() {
        let evaluations = ssl(&valid(40), days(14), now());
        let expected = json!({
            "is_valid": true,
            "failure_type": null,
            "failure_message": null,
            "verified": true,
            "valid_to": "2026-12-30 07:59:59",
            "days_left": 40,
            "issuer": "R12",
            "fingerprint": "ab12",
            "ip": "203.0.113.7",
            "expiry_days": 14,
        });
        assert_eq!(evaluations[0].measured, expected);
        let evaluations = ssl(&broken(SslFailure::Expired, Some("expired"), -1), days(14), now());
        assert_eq!(evaluations[0].measured["failure_type"], json!("expired"));
        assert_eq!(evaluations[0].measured["failure_message"], json!("expired"));
    }

    #[test]
    fn long_texts_are_cut() {
        let long = "é".repeat(5000);
        let result = SslResult {
            domain: long.clone(),
            issuer: Some(long.clone()),
            valid_to: Some(long.clone()),
            ..broken(SslFailure::UntrustedChain, Some(&long), 3)
        };
        let cut = format!("{}…", "é".repeat(199));
        for result in [result.clone(), SslResult { is_valid: true, ..result }] {
            for evaluation in ssl(&result, days(14), now()) {
                assert!(evaluation.summary.chars().count() < 500);
                assert_eq!(evaluation.measured["issuer"], json!(cut));
                assert!(evaluation.measured.to_string().len() < 2000);
            }
        }
    }

    proptest! {
        /// Expiry is reported for every valid certificate, and for no other.
        #[test]
        fn only_a_valid_certificate_expires(is_valid: bool, left: i64, limit in 1..=u32::MAX) {
            let result = SslResult { is_valid, ..valid(left) };
            let evaluations = ssl(&result, days(limit), now());
            let down: Vec<_> = evaluations
                .iter()
                .map(|evaluation| (evaluation.fingerprint, evaluation.outcome == Outcome::Down))
                .collect();
            let mut expected = vec![(Fingerprint::SslInvalid, !is_valid)];
            if is_valid {
                expected.push((Fingerprint::SslExpiring, left <= i64::from(limit)));
            }
            prop_assert_eq!(down, expected);
        }
    }
}
