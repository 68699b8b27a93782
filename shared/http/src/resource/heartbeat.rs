//! Heartbeats as the API shows them.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::check::{HeartbeatResult, RunOutcome};
use vedette_domain::checks::schedule::TimeScale;
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::heartbeats::reports::{Awaited, HeartbeatState};
use vedette_domain::heartbeats::schedule::JobSchedule;
use vedette_domain::heartbeats::team_key::TeamPingKey;
use vedette_domain::id::{CheckId, HeartbeatId, PingKey, TeamId};
use vedette_domain::sites::tag::Tags;
use vedette_store::StoredHeartbeat;

use super::{wire_time, wire_time_or_null};

/// A heartbeat in short.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeartbeatSummary {
    /// Its unique ID.
    uuid: HeartbeatId,
    /// Display name.
    name: String,
}

impl From<&Heartbeat> for HeartbeatSummary {
    fn from(heartbeat: &Heartbeat) -> Self {
        Self { uuid: heartbeat.id, name: heartbeat.name.clone() }
    }
}

/// A heartbeat: a job that must report.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Heartbeat"))]
pub struct HeartbeatResource {
    /// Its unique ID.
    uuid: HeartbeatId,
    /// The team that owns it.
    team_uuid: TeamId,
    /// Display name.
    name: String,
    /// What stands for it in addresses with the ping key of the team; may be empty.
    slug: String,
    /// The address that the job pings. Whoever knows it can ping.
    ping_url: String,
    /// The state of the job.
    state: HeartbeatState,
    /// Free text.
    notes: Option<String>,
    /// What it has in common with other heartbeats and sites.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    tags: Tags,
    /// How many minutes pass between two pings; null if there is a cron expression.
    period_minutes: Option<u32>,
    /// When the job runs, as in a crontab; null if there is a period.
    cron: Option<String>,
    /// The time zone of the cron expression; null if there is a period.
    time_zone: Option<String>,
    /// How many minutes after the expected time a ping may still come.
    grace_minutes: u32,
    /// After how many minutes a run takes too long; null if a run must end within the grace period.
    longest_run_minutes: Option<u32>,
    /// Words of a failed run; null if there are none.
    failure_keywords: Option<String>,
    /// Words of a run that succeeded; null if there are none.
    success_keywords: Option<String>,
    /// Words of a run that began; null if there are none.
    start_keywords: Option<String>,
    /// Whether no ping is expected.
    paused: bool,
    /// When the last ping came that ended a run; null if there was none.
    #[serde(serialize_with = "wire_time_or_null")]
    last_ping_at: Option<Timestamp>,
    /// When the run began that is in progress; null if none is known to be.
    #[serde(serialize_with = "wire_time_or_null")]
    running_since: Option<Timestamp>,
    /// When the next ping is expected; null if none is, or if the end of a run is awaited first.
    #[serde(serialize_with = "wire_time_or_null")]
    expected_at: Option<Timestamp>,
    /// When the next issue opens unless the job reports; null if nothing is awaited.
    #[serde(serialize_with = "wire_time_or_null")]
    deadline: Option<Timestamp>,
    /// Until when the service did not listen, if a ping was expected meanwhile. Pings count again since then. Null
    /// after the next ping.
    #[serde(serialize_with = "wire_time_or_null")]
    listening_since: Option<Timestamp>,
    /// The median duration of the last 30 runs that succeeded, in seconds; null if no start was pinged.
    median_seconds: Option<f64>,
    /// Creation.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
    /// Last change.
    #[serde(serialize_with = "wire_time")]
    updated_at: Timestamp,
}

impl HeartbeatResource {
    /// A heartbeat. `pings` is the address below which all keys are.
    pub fn new(
        StoredHeartbeat { heartbeat, state }: &StoredHeartbeat,
        pings: &str,
        time_scale: TimeScale,
        now: Timestamp,
    ) -> Self {
        let reports = state.reports();
        let deadline = reports.deadline(heartbeat, time_scale, now);
        let (period_minutes, cron, time_zone) = match &heartbeat.schedule {
            JobSchedule::Every { minutes } => (Some(*minutes), None, None),
            JobSchedule::Cron { expression, zone } => {
                (None, Some(expression.as_str().to_owned()), Some(zone.name().to_owned()))
            }
        };
        let words = |words: &str| (!words.is_empty()).then(|| words.to_owned());
        let key = heartbeat.ping_key.map_or_else(String::new, PingKey::reveal);
        Self {
            uuid: heartbeat.id,
            team_uuid: heartbeat.team,
            name: heartbeat.name.clone(),
            slug: heartbeat.slug.clone(),
            ping_url: format!("{pings}/{key}"),
            state: reports.state(),
            notes: heartbeat.notes.clone(),
            tags: heartbeat.tags.clone(),
            period_minutes,
            cron,
            time_zone,
            grace_minutes: heartbeat.grace_minutes,
            longest_run_minutes: heartbeat.longest_run_minutes,
            failure_keywords: words(&heartbeat.keywords.failure),
            success_keywords: words(&heartbeat.keywords.success),
            start_keywords: words(&heartbeat.keywords.start),
            paused: reports.paused,
            last_ping_at: reports.last,
            running_since: reports.running_since(),
            expected_at: deadline.and_then(|deadline| match deadline.awaited {
                Awaited::Ping(expected) => Some(expected),
                Awaited::End(_) => None,
            }),
            deadline: deadline.map(|deadline| deadline.at),
            listening_since: reports.excused.map(|pause| pause.to),
            median_seconds: reports.recent.median().map(seconds),
            created_at: heartbeat.created_at,
            updated_at: heartbeat.updated_at,
        }
    }

    /// Its id.
    pub const fn id(&self) -> HeartbeatId {
        self.uuid
    }
}

/// A duration in seconds, to the millisecond.
fn seconds(duration: SignedDuration) -> f64 {
    duration.as_millis() as f64 / 1_000.0
}

/// What a job has reported, or that it has not.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HeartbeatRun"))]
pub struct RunResource {
    /// Its unique ID.
    uuid: CheckId,
    /// How the run ended.
    outcome: RunOutcome,
    /// When it ended, or when it should have.
    #[serde(serialize_with = "wire_time")]
    timestamp: Timestamp,
    /// How long it took, in seconds; null if the job has not reported its start.
    duration_seconds: Option<f64>,
    /// The exit status that the job reported; null if it reported none.
    exit_status: Option<u8>,
    /// The end of the job's output: at most 10,000 bytes. Null if there was none.
    output: Option<String>,
    /// True if the heartbeat was in a maintenance window; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    in_maintenance: bool,
}

impl RunResource {
    /// A run, from the check that stores it.
    pub fn of(check: &Check) -> Option<Self> {
        let result = HeartbeatResult::of(check)?;
        Some(Self {
            uuid: check.id,
            outcome: result.outcome,
            timestamp: check.id.created_at(),
            duration_seconds: result.duration.map(|millis| millis / 1_000.0),
            exit_status: result.exit_status,
            output: result.output,
            in_maintenance: check.in_maintenance,
        })
    }
}

/// The ping key of a team.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PingKey"))]
pub struct PingKeyResource {
    /// The key. Whoever knows it can ping all heartbeats of the team that have a slug. Null if the team has none.
    ping_key: Option<String>,
    /// The address below which each slug is; null if the team has no key.
    ping_url: Option<String>,
}

impl PingKeyResource {
    /// The key of a team. `pings` is the address below which all keys are.
    pub fn new(key: Option<&TeamPingKey>, pings: &str) -> Self {
        let key = key.map(TeamPingKey::reveal);
        Self { ping_key: key.map(str::to_owned), ping_url: key.map(|key| format!("{pings}/{key}")) }
    }
}
