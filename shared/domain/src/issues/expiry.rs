//! When what an issue is about expires, in words that are right at the time at which somebody reads them.

use jiff::Timestamp;

use super::Fingerprint;
use super::record::Issue;

const DAY_SECONDS: i64 = 86_400;

/// The summary of an active issue about an expiry, with the time that is left `now` instead of an instant: `the
/// certificate of example.com expires in 5 days`. `None` for other issues, and if the end is unknown.
pub fn countdown(issue: &Issue, now: Timestamp) -> Option<String> {
    let (before, is_of_chain) = match issue.id.fingerprint() {
        Fingerprint::SslExpiring => (
            " expires soon: ",
            issue.context["measured"]["first_to_expire"]["valid_to"].is_string(),
        ),
        Fingerprint::DnsDomainExpiring => (" expires on ", false),
        _ => return None,
    };
    let (what, _) = issue.summary.split_once(before)?;
    let what = match is_of_chain {
        true => what.replacen("the certificate of", "a certificate in the chain of", 1),
        false => what.to_owned(),
    };
    Some(format!("{what} {}", left(issue.ends_at()?, now)))
}

/// `expires in 5 days`, rounded down.
fn left(end: Timestamp, now: Timestamp) -> String {
    let seconds = end.as_second() - now.as_second();
    let counted = |number: i64, unit: &str| {
        format!("expires in {number} {unit}{}", if number == 1 { "" } else { "s" })
    };
    match seconds {
        ..=0 => "has expired".to_owned(),
        1..3_600 => "expires within the hour".to_owned(),
        3_600..DAY_SECONDS => counted(seconds / 3_600, "hour"),
        _ => counted(seconds / DAY_SECONDS, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left_is_rounded_down() {
        let end: Timestamp = "2026-12-30T08:00:00Z".parse().expect("a timestamp");
        for (now, words) in [
            ("2026-12-25T08:00:00Z", "expires in 5 days"),
            ("2026-12-25T08:00:01Z", "expires in 4 days"),
            ("2026-12-29T07:59:59Z", "expires in 1 day"),
            ("2026-12-29T08:00:01Z", "expires in 23 hours"),
            ("2026-12-30T07:00:00Z", "expires in 1 hour"),
            ("2026-12-30T07:00:01Z", "expires within the hour"),
            ("2026-12-30T08:00:00Z", "has expired"),
        ] {
            assert_eq!(left(end, now.parse().expect("a timestamp")), words, "{now}");
        }
    }
}
