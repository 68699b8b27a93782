//! How a tool's results are judged and followed up, according to the settings of a site.

use std::num::NonZeroU32;

use crate::checks::tool::{RunReason, Tool};
use crate::issues::Fingerprint;
use crate::issues::tracker::TrackerPolicy;
use crate::sites::settings::Settings;

/// How a tool's results are judged and followed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPolicy {
    /// When issues open and resolve; see [`Self::thresholds_of`].
    pub thresholds: TrackerPolicy,
    /// Minutes until the retry of a failure below the threshold.
    pub retry_minutes: Option<u32>,
    /// Minutes between two follow-ups of an active issue.
    pub follow_up_minutes: Option<u32>,
}

impl ToolPolicy {
    /// The policy in a site's resolved settings.
    pub fn of(tool: Tool, settings: &Settings) -> Self {
        let tools = &settings.tools;
        let (open_after, resolve_after, retry_minutes, follow_up_minutes) = match tool {
            Tool::Status => {
                let status = &tools.status.settings;
                (
                    status.failures_to_open,
                    status.successes_to_resolve,
                    Some(status.confirmation_retry_minutes),
                    Some(status.incident_follow_up_minutes),
                )
            }
            Tool::Ssl => {
                let ssl = &tools.ssl.settings;
                let retry = Some(ssl.confirmation_retry_minutes);
                (ssl.failures_to_open, NonZeroU32::MIN, retry, None)
            }
            Tool::Dns => {
                let dns = &tools.dns.settings;
                let retry = Some(dns.confirmation_retry_minutes);
                (dns.failures_to_open, NonZeroU32::MIN, retry, None)
            }
            Tool::BrokenLinks => {
                let links = &tools.broken_links.settings;
                (links.consecutive_breaches_to_open, NonZeroU32::MIN, None, None)
            }
            Tool::Performance => {
                let performance = &tools.performance.settings;
                (performance.consecutive_breaches_to_open, NonZeroU32::MIN, None, None)
            }
            // A job itself knows whether it has failed.
            Tool::Heartbeat => (NonZeroU32::MIN, NonZeroU32::MIN, None, None),
        };
        let thresholds = TrackerPolicy { open_after, resolve_after };
        Self { thresholds, retry_minutes, follow_up_minutes }
    }

    /// When issues of a fingerprint open and resolve, unless a site's expectations decide: as the settings say, except
    /// for a domain's registration. A registry does not get a date wrong for a moment and then correct it, and a
    /// confirmation would get the same answer. So the first observation opens the issue.
    pub const fn thresholds_of(&self, fingerprint: Fingerprint) -> TrackerPolicy {
        match fingerprint {
            Fingerprint::DnsDomainExpiring => TrackerPolicy::AT_ONCE,
            // It opens instead of `status:down`, after the same number of failures and two more runs.
            Fingerprint::StatusPartial => {
                TrackerPolicy { open_after: NonZeroU32::MIN, ..self.thresholds }
            }
            Fingerprint::StatusDown
            | Fingerprint::StatusExpectation
            | Fingerprint::StatusSlow
            | Fingerprint::SslInvalid
            | Fingerprint::SslExpiring
            | Fingerprint::DnsLookupFailed
            | Fingerprint::DnsRecordsMissing
            | Fingerprint::DnsRecordsChanged
            | Fingerprint::BrokenLinksThreshold
            | Fingerprint::PerformanceBudget
            | Fingerprint::HeartbeatDown
            | Fingerprint::HeartbeatRunningLong => self.thresholds,
        }
    }

    /// The next run, and in how many monitoring minutes it should come: a follow-up if `status:down` is active (also
    /// while it recovers), or else a retry if something fails without an issue. No other issue is followed up, and no
    /// other issue turns a retry into a follow-up.
    pub const fn next_run(&self, is_down: bool, is_failing: bool) -> Option<(RunReason, u32)> {
        match (self.follow_up_minutes, self.retry_minutes) {
            (Some(minutes), _) if is_down => Some((RunReason::IncidentFollowUp, minutes)),
            (_, Some(minutes)) if is_failing => Some((RunReason::ConfirmationRetry, minutes)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: u32) -> NonZeroU32 {
        NonZeroU32::new(value).expect("not zero")
    }

    #[test]
    fn each_tool_is_judged_by_its_own_settings() {
        let mut settings = Settings::default();
        let tools = &mut settings.tools;
        tools.status.settings.failures_to_open = number(3);
        tools.status.settings.successes_to_resolve = number(4);
        tools.status.settings.confirmation_retry_minutes = 1;
        tools.status.settings.incident_follow_up_minutes = 60;
        tools.ssl.settings.failures_to_open = number(5);
        tools.ssl.settings.confirmation_retry_minutes = 2;
        tools.dns.settings.failures_to_open = number(6);
        tools.dns.settings.confirmation_retry_minutes = 3;
        tools.broken_links.settings.consecutive_breaches_to_open = number(7);
        tools.performance.settings.consecutive_breaches_to_open = number(8);
        let policies = Tool::ALL.map(|tool| {
            let ToolPolicy { thresholds, retry_minutes, follow_up_minutes } =
                ToolPolicy::of(tool, &settings);
            let TrackerPolicy { open_after, resolve_after } = thresholds;
            (open_after.get(), resolve_after.get(), retry_minutes, follow_up_minutes)
        });
        assert_eq!(
            policies,
            [
                (3, 4, Some(1), Some(60)),
                // Only status issues need more than one success, and only they are followed up.
                (5, 1, Some(2), None),
                (6, 1, Some(3), None),
                // A run that takes minutes, at most twice a day, is not retried.
                (7, 1, None, None),
                (8, 1, None, None),
            ]
        );
    }

    #[test]
    fn only_the_end_of_a_registration_and_what_was_confirmed_already_open_at_once() {
        for tool in Tool::ALL {
            let thresholds = TrackerPolicy { open_after: number(3), resolve_after: number(2) };
            let policy = ToolPolicy { thresholds, ..ToolPolicy::of(tool, &Settings::default()) };
            for fingerprint in Fingerprint::ALL {
                let TrackerPolicy { open_after, resolve_after } = policy.thresholds_of(fingerprint);
                let expected = match fingerprint {
                    Fingerprint::DnsDomainExpiring => (1, 1),
                    Fingerprint::StatusPartial => (1, 2),
                    _ => (3, 2),
                };
                assert_eq!((open_after.get(), resolve_after.get()), expected, "{fingerprint}");
            }
        }
    }
}
