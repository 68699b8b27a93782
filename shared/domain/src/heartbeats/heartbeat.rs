//! A heartbeat: what a team expects of a job.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::ping::Keywords;
use super::schedule::JobSchedule;
use crate::checks::schedule::TimeScale;
use crate::configuration::ManagedBy;
use crate::id::{HeartbeatId, PingKey, TeamId};
use crate::sites::tag::Tags;

/// The longest period, grace period and run, in minutes: a year.
pub const LONGEST_MINUTES: u32 = 365 * 24 * 60;
/// The grace period of a heartbeat for which nobody chose one, in minutes.
pub const DEFAULT_GRACE_MINUTES: u32 = 60;
/// The period of a heartbeat that a ping creates, in minutes. This and the grace period are those of Healthchecks.
pub const DEFAULT_PERIOD_MINUTES: u32 = 24 * 60;
/// The longest slug, in characters.
pub const SLUG_MAX: usize = 100;

/// A job that must report, and how its team wants to hear of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The heartbeat's id.
    pub id: HeartbeatId,
    /// The team that owns it.
    pub team: TeamId,
    /// Display name; see [`name`](crate::name).
    pub name: String,
    /// What stands for it in addresses with the team's ping key; may be empty. No other heartbeat of
    /// the team has it.
    pub slug: String,
    /// What the job pings. Copies for the receivers of alerts do not have it.
    #[serde(rename = "ping", default, skip_serializing_if = "Option::is_none")]
    pub ping_key: Option<PingKey>,
    /// Free text, at most 5,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What it has in common with other heartbeats and sites.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// When the job runs.
    pub schedule: JobSchedule,
    /// How many minutes after the expected time a ping may still come.
    #[serde(rename = "grace")]
    pub grace_minutes: u32,
    /// After how many minutes a run takes too long; `None` if nobody chose it.
    #[serde(rename = "longest", default, skip_serializing_if = "Option::is_none")]
    pub longest_run_minutes: Option<u32>,
    /// Words in the body of a ping that decide what it means.
    #[serde(rename = "words", default, skip_serializing_if = "Keywords::is_empty")]
    pub keywords: Keywords,
    /// The document that manages it, if there is one.
    #[serde(rename = "by", default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<ManagedBy>,
    /// Increases with every change.
    pub rev: u64,
    /// Version of everything that determines deadlines.
    pub cfg: u64,
    /// Creation.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

impl Heartbeat {
    /// What stands for the job at the beginning of summaries.
    pub const SUBJECT: &'static str = "the job";

    /// A heartbeat with the defaults of Healthchecks.
    pub fn new(id: HeartbeatId, team: TeamId, name: String, now: Timestamp) -> Self {
        Self {
            id,
            team,
            slug: slug_of(&name),
            name,
            ping_key: None,
            notes: None,
            tags: Tags::new(),
            schedule: JobSchedule::Every { minutes: DEFAULT_PERIOD_MINUTES },
            grace_minutes: DEFAULT_GRACE_MINUTES,
            longest_run_minutes: None,
            keywords: Keywords::default(),
            managed_by: None,
            rev: 1,
            cfg: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// How long after the expected time a ping may still come.
    pub fn grace(&self, time_scale: TimeScale) -> Duration {
        time_scale.minutes(self.grace_minutes)
    }

    /// How long a run may take. Unless the owner chose a limit, a run must end within the grace period, as in
    /// Healthchecks.
    pub fn longest_run(&self, time_scale: TimeScale) -> Duration {
        time_scale.minutes(self.longest_run_minutes.unwrap_or(self.grace_minutes))
    }

    /// The heartbeat after a client's change to `changed`, with the versions that follow from the differences. `None` if
    /// nothing differs.
    pub fn change_to(&self, mut changed: Self, now: Timestamp) -> Option<Self> {
        if changed == *self {
            return None;
        }
        let is_expected_alike = changed.schedule == self.schedule
            && changed.grace_minutes == self.grace_minutes
            && changed.longest_run_minutes == self.longest_run_minutes
            && changed.keywords == self.keywords
            && changed.ping_key == self.ping_key;
        if !is_expected_alike {
            changed.cfg += 1;
        }
        changed.rev += 1;
        changed.updated_at = now;
        Some(changed)
    }
}

/// The slug that a name stands for: lowercase letters, digits, hyphens and underscores; other characters become single
/// hyphens.
pub fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' | '_' => slug.push(c),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(SLUG_MAX);
    slug.trim_end_matches('-').to_owned()
}

/// Whether a text is a slug.
pub fn is_slug(text: &str) -> bool {
    text.len() <= SLUG_MAX
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_slug() {
        let long = "a".repeat(SLUG_MAX) + "b";
        for (name, slug) in [
            ("Nightly backup", "nightly-backup"),
            ("  DB_dump: users (EU)", "db_dump-users-eu"),
            ("Übersicht", "bersicht"),
            ("夜", ""),
            (&long, &long[..SLUG_MAX]),
        ] {
            assert_eq!(slug_of(name), slug);
            assert!(is_slug(slug), "{slug}");
        }
        assert!(!is_slug("Upper") && !is_slug("a/b"));
    }
}
