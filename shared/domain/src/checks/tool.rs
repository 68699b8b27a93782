//! The table of tools, and the API's other enumerations of checks: states and run reasons.

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::accounts::plan::Plan;
use crate::checks::limits::ToolLimits;

/// Declares the tools and their table. All code that has to know every tool is derived from it, so none can be missing.
macro_rules! tools {
    ($($(#[$meta:meta])+ $tool:ident = $code:literal $definition:tt)+) => {
        /// A check tool.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        #[repr(u8)]
        pub enum Tool {
            $($(#[$meta])+ $tool = $code,)+
        }

        impl Tool {
            /// All tools: those of sites, then that of heartbeats.
            pub const WITH_HEARTBEAT: [Self; [$(Self::$tool),+].len()] = [$(Self::$tool),+];

            /// The tool's row of the table.
            pub const fn definition(self) -> &'static ToolDefinition {
                match self {
                    $(Self::$tool => const { &ToolDefinition $definition },)+
                }
            }
        }
    };
}

/// The definition of a tool, apart from the parts whose types differ from tool to tool: its settings, its result, its
/// judgment and its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolDefinition {
    /// The value in the API, in keys, in fingerprints and in the name of its queue.
    pub name: &'static str,
    /// The name shown to people.
    pub label: &'static str,
    /// The plans that include it.
    pub plans: &'static [Plan],
    /// Minutes between two automatic checks, unless a team changes it.
    pub default_cadence_minutes: u32,
    /// The fastest automatic cadence that it allows on any plan, in minutes.
    pub cadence_floor_minutes: u32,
    /// The shortest time between two on-demand checks of one site, in minutes.
    pub on_demand_cadence_minutes: u32,
    /// How long its work may take.
    pub limits: ToolLimits,
    /// How its messages are taken from their queue.
    pub queue: ToolQueue,
    /// What a deployment must have so that it can run.
    pub needs: Option<Need>,
    /// What lists show of its results.
    pub list_form: ListForm,
}

/// How a tool's messages are taken from their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolQueue {
    /// Runs take seconds. Many of them run at a time, and they are received together.
    Short,
    /// Runs take minutes (crawls and audits). Few of them run at a time, and each is received alone.
    Long,
}

/// Something that a tool needs and a deployment may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// DNS resolvers that answer over HTTPS.
    Resolvers,
    /// An auditor of pages: Lighthouse or PageSpeed Insights.
    Auditor,
}

/// What the short form of a tool's results leaves out. Places are JSON pointers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListForm {
    /// A part that is always long, and its replacement.
    pub left_out: Option<(&'static str, Empty)>,
    /// A list of which only the first entries are shown.
    pub first: Option<(&'static str, usize)>,
    /// Arrays or maps whose length the target chooses.
    pub lists: &'static [&'static str],
}

/// The replacement of a part that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// `null`.
    Null,
    /// `{}`.
    Object,
    /// `[]`.
    Array,
}

impl ListForm {
    /// Nothing is left out, and no part has a length that the target chooses.
    pub(crate) const WHOLE: Self = Self { left_out: None, first: None, lists: &[] };
}

const ALL_PLANS: &[Plan] = &Plan::ALL;

tools! {
    /// HTTP reachability.
    Status = 0 {
        name: "status",
        label: "Status",
        plans: ALL_PLANS,
        default_cadence_minutes: 5,
        cadence_floor_minutes: 1,
        on_demand_cadence_minutes: 1,
        limits: ToolLimits {
            deadline: Duration::from_secs(30),
            // Includes the time for asking other locations.
            run: SignedDuration::from_secs(55),
            function_timeout: Duration::from_secs(120),
            pending: SignedDuration::from_mins(10),
        },
        queue: ToolQueue::Short,
        needs: None,
        list_form: ListForm { lists: &["/redirects"], ..ListForm::WHOLE },
    }
    /// TLS certificate on port 443.
    Ssl = 1 {
        name: "ssl",
        label: "SSL",
        plans: ALL_PLANS,
        default_cadence_minutes: 1_440,
        cadence_floor_minutes: 1,
        on_demand_cadence_minutes: 1,
        limits: ToolLimits {
            deadline: Duration::from_secs(20),
            run: SignedDuration::from_secs(40),
            function_timeout: Duration::from_secs(120),
            pending: SignedDuration::from_mins(10),
        },
        queue: ToolQueue::Short,
        needs: None,
        list_form: ListForm { left_out: Some(("/info", Empty::Null)), ..ListForm::WHOLE },
    }
    /// DNS records.
    Dns = 2 {
        name: "dns",
        label: "DNS",
        plans: ALL_PLANS,
        default_cadence_minutes: 60,
        cadence_floor_minutes: 1,
        on_demand_cadence_minutes: 1,
        limits: ToolLimits {
            deadline: Duration::from_secs(15),
            run: SignedDuration::from_secs(40),
            function_timeout: Duration::from_secs(120),
            pending: SignedDuration::from_mins(10),
        },
        queue: ToolQueue::Short,
        needs: Some(Need::Resolvers),
        list_form: ListForm {
            left_out: Some(("/resolver_observations", Empty::Object)),
            lists: &[
                "/records/A",
                "/records/AAAA",
                "/records/CNAME",
                "/records/MX",
                "/records/NS",
                "/records/TXT",
                "/ip_enrichment",
            ],
            ..ListForm::WHOLE
        },
    }
    /// Site crawl.
    BrokenLinks = 3 {
        name: "broken-links",
        label: "Broken links",
        plans: ALL_PLANS,
        default_cadence_minutes: 10_080,
        cadence_floor_minutes: 720,
        on_demand_cadence_minutes: 5,
        limits: ToolLimits {
            deadline: Duration::from_secs(240),
            run: SignedDuration::from_secs(300),
            function_timeout: Duration::from_secs(300),
            pending: SignedDuration::from_mins(30),
        },
        queue: ToolQueue::Long,
        needs: None,
        list_form: ListForm { first: Some(("/urls", 20)), lists: &["/urls"], ..ListForm::WHOLE },
    }
    /// Lab performance audit.
    Performance = 4 {
        name: "performance",
        label: "Performance",
        plans: ALL_PLANS,
        default_cadence_minutes: 1_440,
        cadence_floor_minutes: 720,
        on_demand_cadence_minutes: 5,
        limits: ToolLimits {
            deadline: Duration::from_secs(150),
            run: SignedDuration::from_secs(180),
            function_timeout: Duration::from_secs(240),
            pending: SignedDuration::from_mins(30),
        },
        queue: ToolQueue::Long,
        needs: Some(Need::Auditor),
        list_form: ListForm {
            left_out: Some(("/speed_metrics/opportunities", Empty::Array)),
            lists: &[
                "/speed_metrics/real_user_metrics/metrics",
                "/speed_metrics/origin_metrics/metrics",
            ],
            ..ListForm::WHOLE
        },
    }
    /// The reports of a job. Nobody chooses this tool: each heartbeat has it, and no site does.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Heartbeat = 5 {
        name: "heartbeat",
        label: "Heartbeat",
        plans: ALL_PLANS,
        default_cadence_minutes: 0,
        cadence_floor_minutes: 0,
        on_demand_cadence_minutes: 0,
        limits: ToolLimits {
            deadline: Duration::from_secs(10),
            // A deadline whose message was lost is looked at this long after it.
            run: SignedDuration::from_secs(20),
            function_timeout: Duration::from_secs(120),
            pending: SignedDuration::from_mins(10),
        },
        queue: ToolQueue::Short,
        needs: None,
        list_form: ListForm::WHOLE,
    }
}

// The three bits have no room for a ninth tool. If one is added, it can use the highest of the 48 bits of time in an
// id, which is 0 until the year 6429: `id` has to set that bit for codes from 8 on, and to mask it when it reads the
// time. Stored ids keep their meaning.
const _: () = {
    let mut position = 0;
    while position < Tool::WITH_HEARTBEAT.len() {
        assert!(
            (Tool::WITH_HEARTBEAT[position].code() as usize) < Tool::CODES,
            "an id of a check has no room for it"
        );
        position += 1;
    }
};

impl Tool {
    /// The tools that check sites, in the order of the API's enumeration.
    pub const ALL: [Self; 5] =
        [Self::Status, Self::Ssl, Self::Dns, Self::BrokenLinks, Self::Performance];

    /// The number of possible codes: a check's id has three bits for its tool.
    pub const CODES: usize = 1 << 3;

    /// Whether sites may be older than the tool, and have no item for it until they are next synced. This applies to
    /// every tool that was not in the first version. On an older site, the tool is in its initial state.
    pub const fn joined_later(self) -> bool {
        self.code() > Self::Performance.code()
    }

    /// The number of the tool in the ids of checks. Ids are stored, so a number never changes and is never reused.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The tool with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::WITH_HEARTBEAT.into_iter().find(|tool| tool.code() == code)
    }

    /// The value in the API, in keys and in fingerprints.
    pub const fn as_str(self) -> &'static str {
        self.definition().name
    }

    /// The name shown to people.
    pub const fn label(self) -> &'static str {
        self.definition().label
    }

    /// The tool of sites with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == value)
    }

    /// How long the work of the tool may take.
    pub const fn limits(self) -> ToolLimits {
        self.definition().limits
    }

    /// The fastest automatic cadence that the tool allows on any plan, in minutes.
    pub const fn cadence_floor_minutes(self) -> u32 {
        self.definition().cadence_floor_minutes
    }

    /// Whether a run takes minutes: crawls and audits, few of which run at a time.
    pub const fn is_long(self) -> bool {
        matches!(self.definition().queue, ToolQueue::Long)
    }

    /// The shortest time between two on-demand runs of the tool on one site, in minutes.
    pub(crate) const fn on_demand_cadence_minutes(self) -> u32 {
        self.definition().on_demand_cadence_minutes
    }

    /// The tools that can run with the needs for which `has` is true.
    pub fn runnable(has: impl Fn(Need) -> bool) -> Vec<Self> {
        let can_run = |tool: &Self| tool.definition().needs.is_none_or(&has);
        Self::ALL.into_iter().filter(can_run).collect()
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
    /// Finished with a result.
    Completed,
    /// Finished with an error.
    Failed,
    /// Not run: the plan or the configuration did not allow it.
    Skipped,
}

impl CheckStatus {
    /// All states, in the order of the API's enumeration.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Completed, Self::Failed, Self::Skipped];

    /// The value in the API and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The state with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == value)
    }
}

/// Why an automatic check ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunReason {
    /// The tool's cadence was due.
    Scheduled,
    /// A failure below the issue threshold is checked again soon.
    ConfirmationRetry,
    /// An active issue is followed up.
    IncidentFollowUp,
}

impl RunReason {
    /// All reasons, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Scheduled, Self::ConfirmationRetry, Self::IncidentFollowUp];

    /// The value in the API and in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::ConfirmationRetry => "confirmation_retry",
            Self::IncidentFollowUp => "incident_follow_up",
        }
    }

    /// The reason with this value in the API.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes are part of stored ids.
    #[test]
    fn each_tool_keeps_its_code() {
        let codes = Tool::WITH_HEARTBEAT.map(|tool| (tool.as_str(), tool.code()));
        let expected = [
            ("status", 0),
            ("ssl", 1),
            ("dns", 2),
            ("broken-links", 3),
            ("performance", 4),
            ("heartbeat", 5),
        ];
        assert_eq!(codes, expected);
        for tool in Tool::WITH_HEARTBEAT {
            assert_eq!(Tool::from_code(tool.code()), Some(tool));
            let is_of_sites = tool != Tool::Heartbeat;
            assert_eq!(Tool::parse(tool.as_str()), is_of_sites.then_some(tool));
            assert_eq!(Tool::ALL.contains(&tool), is_of_sites, "{tool}");
            assert_eq!(serde_json::to_value(tool).expect("JSON"), tool.as_str());
        }
        assert_eq!(Tool::from_code(6), None);
    }

    #[test]
    fn a_tool_runs_where_there_is_what_it_needs() {
        assert_eq!(Tool::runnable(|_| true), Tool::ALL);
        let without = [Tool::Status, Tool::Ssl, Tool::BrokenLinks];
        assert_eq!(Tool::runnable(|_| false), without);
        assert!(Tool::runnable(|need| need == Need::Resolvers).contains(&Tool::Dns));
        assert!(Tool::runnable(|need| need == Need::Auditor).contains(&Tool::Performance));
    }
}
