//! The enumerations of the API: tools, check states, run reasons.

use serde::{Deserialize, Serialize};

/// A check tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// HTTP reachability.
    Status,
    /// TLS certificate on port 443.
    Ssl,
    /// DNS records.
    Dns,
    /// Site crawl.
    BrokenLinks,
    /// Lab performance audit.
    Performance,
}

impl Tool {
    /// All tools, in the order of the API's enumeration.
    pub const ALL: [Self; 5] =
        [Self::Status, Self::Ssl, Self::Dns, Self::BrokenLinks, Self::Performance];

    /// The value used on the wire, in keys and in fingerprints.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Ssl => "ssl",
            Self::Dns => "dns",
            Self::BrokenLinks => "broken-links",
            Self::Performance => "performance",
        }
    }

    /// The name shown to people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Status => "Status",
            Self::Ssl => "SSL",
            Self::Dns => "DNS",
            Self::BrokenLinks => "Broken links",
            Self::Performance => "Performance",
        }
    }

    /// The tool with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == value)
    }

    /// The fastest automatic cadence the tool allows on any plan, in minutes.
    pub const fn cadence_floor_minutes(self) -> u32 {
        match self {
            Self::BrokenLinks | Self::Performance => 720,
            Self::Status | Self::Ssl | Self::Dns => 1,
        }
    }

    /// Whether a run takes minutes: crawls and audits, of which few run at a time.
    pub const fn is_long(self) -> bool {
        match self {
            Self::BrokenLinks | Self::Performance => true,
            Self::Status | Self::Ssl | Self::Dns => false,
        }
    }

    /// The smallest time between two on-demand runs of the tool on one site, in minutes.
    pub const fn on_demand_cadence_minutes(self) -> u32 {
        match self {
            Self::Status | Self::Ssl | Self::Dns => 1,
            Self::BrokenLinks | Self::Performance => 5,
        }
    }
}

impl std::fmt::Display for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Queued or running.
    Pending,
    /// Finished; the result is filled.
    Completed,
    /// Finished with an error.
    Failed,
    /// Not run: plan or configuration forbade it.
    Skipped,
}

impl CheckStatus {
    /// All states, in the order of the API's enumeration.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Completed, Self::Failed, Self::Skipped];

    /// The value used on the wire and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The state with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == value)
    }
}

/// Why an automatic check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunReason {
    /// The tool's cadence.
    Scheduled,
    /// A failure below the issue threshold is looked at again soon.
    ConfirmationRetry,
    /// An active issue is followed.
    IncidentFollowUp,
}

impl RunReason {
    /// All reasons, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Scheduled, Self::ConfirmationRetry, Self::IncidentFollowUp];

    /// The value used on the wire and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::ConfirmationRetry => "confirmation_retry",
            Self::IncidentFollowUp => "incident_follow_up",
        }
    }

    /// The reason with this wire value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == value)
    }
}
