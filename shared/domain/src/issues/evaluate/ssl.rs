//! What a check of a certificate means.

use std::num::NonZeroU32;

use serde_json::json;

use super::{Evaluation, clipped};
use crate::checks::check::{SslFailure, SslResult};
use crate::issues::{Fingerprint, Outcome};

/// Evaluates a certificate check; `expiry_days` is how many days before expiry to alert.
///
/// `ssl:invalid` is down when the certificate is not valid. `ssl:expiring` is down when the certificate is valid and
/// `days_left` is at most `expiry_days`, both as clients see them: with 14 days it is reported on the day that shows 14
/// days left, up to a day before exactly 14 days remain. An invalid certificate says nothing about expiry, so an issue
/// about expiry stays as it is.
pub(super) fn ssl(result: &SslResult, expiry_days: NonZeroU32) -> Vec<Evaluation> {
    let mut evaluations = vec![invalid(result, expiry_days)];
    if result.is_valid {
        evaluations.push(expiring(result, expiry_days));
    }
    evaluations
}

fn invalid(result: &SslResult, expiry_days: NonZeroU32) -> Evaluation {
    let domain = clipped(&result.domain);
    let (summary, outcome) = if result.is_valid {
        (format!("{domain} has a valid certificate"), Outcome::Up)
    } else {
        (format!("{domain} has no valid certificate: {}", cause(result)), Outcome::Down)
    };
    let measured = measured(result, expiry_days);
    Evaluation { fingerprint: Fingerprint::SslInvalid, outcome, summary, measured }
}

fn expiring(result: &SslResult, expiry_days: NonZeroU32) -> Evaluation {
    // No number of days left, since people also read the issue on later days.
    let end = match &result.valid_to {
        Some(end) => format!("{} UTC", clipped(end)),
        None => "its end is unknown".to_owned(),
    };
    let domain = clipped(&result.domain);
    let down = result.days_left <= i64::from(expiry_days.get());
    let state = if down { "expires soon" } else { "does not expire soon" };
    Evaluation {
        fingerprint: Fingerprint::SslExpiring,
        summary: format!("the certificate of {domain} {state}: {end}"),
        measured: measured(result, expiry_days),
        outcome: Outcome::of(down),
    }
}

/// What is wrong: the result's own words, or else the kind of failure.
fn cause(result: &SslResult) -> String {
    match result.failure_message.as_deref().map(str::trim) {
        Some(message) if !message.is_empty() => clipped(message),
        Some(_) | None => result.failure_type.map_or("not valid", SslFailure::phrase).to_owned(),
    }
}

fn measured(result: &SslResult, expiry_days: NonZeroU32) -> serde_json::Value {
    let clipped = |text: &Option<String>| text.as_deref().map(clipped);
    json!({
        "is_valid": result.is_valid,
        "failure_type": result.failure_type,
        "failure_message": clipped(&result.failure_message),
        "verified": result.verified,
        "valid_to": clipped(&result.valid_to),
        "days_left": result.days_left,
        "issuer": clipped(&result.issuer),
        "fingerprint": clipped(&result.fingerprint),
        "ip": clipped(&result.ip),
        "expiry_days": expiry_days,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::issues::evaluate) fn valid(days_left: i64) -> SslResult {
        SslResult {
            domain: "example.com".to_owned(),
            ip: Some("203.0.113.7".to_owned()),
            is_valid: true,
            failure_type: None,
            failure_message: None,
            issuer: Some("R12".to_owned()),
            issued_to: Some("example.com".to_owned()),
            valid_from: Some("2026-10-01 08:00:00".to_owned()),
            valid_to: Some("2026-12-30 07:59:59".to_owned()),
            days_left,
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
            let evaluations = ssl(&result, days(14));
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
            let evaluations = ssl(&valid(left), days(limit));
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
    fn the_context_says_what_was_measured() {
        let evaluations = ssl(&valid(40), days(14));
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
        let evaluations = ssl(&broken(SslFailure::Expired, Some("expired"), -1), days(14));
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
            for evaluation in ssl(&result, days(14)) {
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
            let evaluations = ssl(&result, days(limit));
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
