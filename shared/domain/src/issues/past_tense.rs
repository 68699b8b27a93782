//! The summary of an issue once the problem is over.

use super::Fingerprint;

/// How the summaries of a fingerprint describe a current problem, and a past one.
const fn tenses(fingerprint: Fingerprint) -> &'static [[&'static str; 2]] {
    match fingerprint {
        Fingerprint::StatusDown => &[[" is down: ", " was down: "]],
        Fingerprint::StatusPartial => {
            &[[" fails from home, answers from ", " failed from home, answered from "]]
        }
        Fingerprint::StatusExpectation => &[[" is not as expected: ", " was not as expected: "]],
        Fingerprint::StatusSlow => &[[" is slow: ", " was slow: "]],
        Fingerprint::SslInvalid => {
            &[[" has no valid certificate: ", " had no valid certificate: "]]
        }
        Fingerprint::SslExpiring => &[[" expires soon: ", " was about to expire: "]],
        Fingerprint::DnsLookupFailed => &[[" cannot be looked up: ", " could not be looked up: "]],
        Fingerprint::DnsRecordsMissing => &[[" records are missing", " records were missing"]],
        Fingerprint::DnsRecordsChanged => &[[" records changed", " records had changed"]],
        Fingerprint::DnsDomainExpiring => &[
            [" expires on ", " was due to expire on "],
            [" expired on ", " had expired on "],
            [" is about to be deleted: ", " was about to be deleted: "],
        ],
        Fingerprint::BrokenLinksThreshold => &[
            [" broken link on ", " broken link was found on "],
            [" broken links on ", " broken links were found on "],
        ],
        Fingerprint::HeartbeatDown => {
            &[[" is late: no ping by ", " was late: no ping by "], [" failed", " had failed"]]
        }
        Fingerprint::HeartbeatRunningLong => &[[" has not ended by ", " had not ended by "]],
        Fingerprint::PerformanceBudget => {
            &[[" exceeds its performance budget: ", " exceeded its performance budget: "]]
        }
    }
}

/// The summary of an issue that is over: `example.com was down: HTTP 503`. A summary that is not in the present tense
/// stays the same.
pub fn past(fingerprint: Fingerprint, summary: &str) -> String {
    // A host has no spaces, so the first match is our own word.
    let found = tenses(fingerprint).iter().find(|[is, _]| summary.contains(is));
    found.map_or_else(|| summary.to_owned(), |[is, was]| summary.replacen(is, was, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_told_in_the_past_tense() {
        for (fingerprint, is, was) in [
            (
                Fingerprint::StatusDown,
                "example.com is down: the proxy is down: no route",
                "example.com was down: the proxy is down: no route",
            ),
            (
                Fingerprint::StatusPartial,
                "example.com fails from home, answers from eu-west-1",
                "example.com failed from home, answered from eu-west-1",
            ),
            (
                Fingerprint::StatusExpectation,
                "example.com is not as expected: expected \"ok\" at /status, got \"degraded\"",
                "example.com was not as expected: expected \"ok\" at /status, got \"degraded\"",
            ),
            (
                Fingerprint::StatusSlow,
                "example.com is slow: expected an answer within 5 ms, got it after 9 ms",
                "example.com was slow: expected an answer within 5 ms, got it after 9 ms",
            ),
            (
                Fingerprint::SslExpiring,
                "the certificate of example.com expires soon: 2026-12-01 00:00:00 UTC",
                "the certificate of example.com was about to expire: 2026-12-01 00:00:00 UTC",
            ),
            (
                Fingerprint::DnsDomainExpiring,
                "the domain example.com expired on 2026-11-20",
                "the domain example.com had expired on 2026-11-20",
            ),
            (
                Fingerprint::BrokenLinksThreshold,
                "7 broken links on 12 pages, such as https://example.com/a (404)",
                "7 broken links were found on 12 pages, such as https://example.com/a (404)",
            ),
            (Fingerprint::StatusDown, "something else", "something else"),
        ] {
            assert_eq!(past(fingerprint, is), was);
        }
    }
}
