//! What people choose for a heartbeat.

use jiff::Timestamp;

use super::heartbeat::{
    DEFAULT_GRACE_MINUTES, DEFAULT_PERIOD_MINUTES, Heartbeat, LONGEST_MINUTES, SLUG_MAX, is_slug,
    slug_of,
};
use super::ping::{KEYWORDS_MAX, Keywords};
use super::schedule::{CronExpression, JobSchedule};
use crate::id::{HeartbeatId, PingKey, TeamId};
use crate::input::{FlagRule, MinutesRule, TextKind, TextRule, input, line};
use crate::name::NAME_MAX;
use crate::sites::input::{NOTES, TAGS};
use crate::sites::tag::Tags;
use crate::time_zone::NamedZone;
use crate::validation::ValidationError;

input! {
    /// A new heartbeat. It has either a period or a cron expression; without both, its period is a day.
    NewHeartbeat,
    /// A change of a heartbeat. A period replaces a cron expression, and a cron expression replaces a period.
    HeartbeatEdit {
        /// Display name: one line of visible text.
        #[form("Name", "For example, Nightly backup.")]
        name: Required<String> = line(NAME_MAX);
        /// What stands for the heartbeat in addresses with the team's ping key: lowercase letters, digits, hyphens and
        /// underscores, unique in the team. The default comes from the name, and is empty if another heartbeat has that
        /// slug.
        #[form("Slug", "The end of its address with the ping key of the team. If you leave it empty, a new heartbeat takes it from its name, unless that slug is taken.")]
        slug: Nullable<String> = SLUG;
        /// Free text.
        #[form("Notes, sent with notifications")]
        notes: Clearable<String> = NOTES;
        /// What the heartbeat has in common with other heartbeats and sites, as tags of sites are.
        tags: Optional<Tags> = TAGS;
        /// How much time passes between two pings, in minutes.
        #[form("Period, in minutes", "How much time passes between two runs.")]
        #[option("every", "DURATION")]
        period_minutes: Nullable<u32> = MinutesRule(LONGEST_MINUTES);
        /// When the job runs: five fields, as in a crontab, or a nickname such as @daily.
        #[form("Cron expression", "The five fields of the crontab, such as 30 2 * * *.")]
        #[option("cron", "EXPRESSION")]
        cron: Nullable<CronExpression> = CronExpression::RULE;
        /// The time zone of the cron expression: an IANA name, such as `Europe/Berlin`. The default is the team's. A period
        /// has none.
        #[form("Time zone", "That of the machine that runs the job.")]
        time_zone: Nullable<NamedZone> = NamedZone::RULE;
        /// How many minutes after the expected time a ping may still come. An issue opens after that.
        #[form("Grace period, in minutes", "How long to wait for a late ping before you are notified.")]
        #[option("grace", "DURATION")]
        grace_minutes: Optional<u32> = MinutesRule(LONGEST_MINUTES), or DEFAULT_GRACE_MINUTES;
        /// After how many minutes a run takes too long, which opens a warning. Without it, a run whose start was pinged
        /// must end within the grace period.
        #[form("Longest run, in minutes", "You get a warning if a run takes longer. Leave it empty if a run must end within the grace period.")]
        #[option("longest-run", "DURATION")]
        longest_run_minutes: Clearable<u32> = MinutesRule(LONGEST_MINUTES);
        /// Words in the body of a ping that say that the run failed, separated by commas. If there are any keywords, a
        /// ping without one of them is only logged.
        #[form("Words of a failure", "If the body of a ping contains one of these words, the run failed. Separate words by commas.")]
        failure_keywords: Clearable<String> = KEYWORDS;
        /// Words in the body of a ping that say that the run succeeded, separated by commas.
        #[form("Words of a success")]
        success_keywords: Clearable<String> = KEYWORDS;
        /// Words in the body of a ping that say that a run began, separated by commas.
        #[form("Words of a start")]
        start_keywords: Clearable<String> = KEYWORDS;
        /// The UUID in the ping address of a new heartbeat, if a job has one already, such as that of a check at
        /// Healthchecks. It must be random, that is, of version 4, because whoever knows it can ping the heartbeat.
        #[option("-")]
        ping_uuid: Nullable<PingKey> = PingKey::RULE;
        /// Whether no ping is expected. The end of a run resumes the heartbeat.
        #[form("Paused")]
        paused: ChangeOnly<bool> = FlagRule;
    }
}

const SLUG: TextRule<String> = TextRule {
    min: 0,
    max: SLUG_MAX,
    kind: TextKind::Pattern("^[a-z0-9_-]*$"),
    parse: |text| match is_slug(text) {
        true => Ok(text.to_owned()),
        false => {
            Err("must consist of lowercase letters, digits, hyphens and underscores".to_owned())
        }
    },
};

const KEYWORDS: TextRule<String> = TextRule {
    min: 0,
    max: KEYWORDS_MAX,
    kind: TextKind::NotBlank,
    parse: |text| Ok(text.to_owned()),
};

/// What was chosen of a schedule, and the rest as it is kept.
fn schedule(
    cron: Option<CronExpression>,
    period_minutes: Option<u32>,
    zone: Option<NamedZone>,
    kept: JobSchedule,
    team_zone: &NamedZone,
) -> Result<JobSchedule, ValidationError> {
    match (cron, period_minutes, kept) {
        (Some(_), Some(_), _) => {
            let message = "The cron field cannot be combined with period_minutes.";
            Err(ValidationError::new("cron", message))
        }
        (None, Some(minutes), _) | (None, None, JobSchedule::Every { minutes }) => match zone {
            None => Ok(JobSchedule::Every { minutes }),
            Some(_) => {
                let message = "The time_zone field can be chosen only with a cron expression.";
                Err(ValidationError::new("time_zone", message))
            }
        },
        (Some(expression), None, JobSchedule::Every { .. }) => {
            let zone = zone.unwrap_or_else(|| team_zone.clone());
            Ok(JobSchedule::Cron { expression, zone })
        }
        (Some(expression), None, JobSchedule::Cron { zone: kept, .. })
        | (None, None, JobSchedule::Cron { expression, zone: kept }) => {
            Ok(JobSchedule::Cron { expression, zone: zone.unwrap_or(kept) })
        }
    }
}

impl NewHeartbeat {
    /// The new heartbeat. Its cron expression has the zone of its team unless it has another.
    ///
    /// # Errors
    ///
    /// When it has both a period and a cron expression, or a time zone without the latter.
    pub fn into_heartbeat(
        self,
        id: HeartbeatId,
        ping_key: PingKey,
        team: TeamId,
        team_zone: &NamedZone,
        now: Timestamp,
    ) -> Result<Heartbeat, ValidationError> {
        let usual = JobSchedule::Every { minutes: DEFAULT_PERIOD_MINUTES };
        let schedule = schedule(self.cron, self.period_minutes, self.time_zone, usual, team_zone)?;
        let slug = self.slug.unwrap_or_else(|| slug_of(&self.name));
        Ok(Heartbeat {
            slug,
            ping_key: Some(ping_key),
            notes: self.notes,
            tags: self.tags.unwrap_or_default(),
            schedule,
            grace_minutes: self.grace_minutes,
            longest_run_minutes: self.longest_run_minutes,
            keywords: Keywords {
                failure: self.failure_keywords.unwrap_or_default(),
                success: self.success_keywords.unwrap_or_default(),
                start: self.start_keywords.unwrap_or_default(),
            },
            ..Heartbeat::new(id, team, self.name, now)
        })
    }
}

impl HeartbeatEdit {
    /// The heartbeat with what was chosen.
    ///
    /// # Errors
    ///
    /// When both a period and a cron expression were chosen, a time zone for a period, or a ping address.
    pub fn apply_to(
        self,
        heartbeat: &Heartbeat,
        team_zone: &NamedZone,
    ) -> Result<Heartbeat, ValidationError> {
        if self.ping_uuid.is_some() {
            let message = "The ping_uuid field can be chosen only for a new heartbeat.";
            return Err(ValidationError::new("ping_uuid", message));
        }
        let kept = heartbeat.clone();
        let schedule =
            schedule(self.cron, self.period_minutes, self.time_zone, kept.schedule, team_zone)?;
        let word =
            |chosen: Option<Option<String>>, kept| chosen.map_or(kept, Option::unwrap_or_default);
        Ok(Heartbeat {
            name: self.name.unwrap_or(kept.name),
            slug: self.slug.unwrap_or(kept.slug),
            notes: self.notes.unwrap_or(kept.notes),
            tags: self.tags.unwrap_or(kept.tags),
            schedule,
            grace_minutes: self.grace_minutes.unwrap_or(kept.grace_minutes),
            longest_run_minutes: self.longest_run_minutes.unwrap_or(kept.longest_run_minutes),
            keywords: Keywords {
                failure: word(self.failure_keywords, kept.keywords.failure),
                success: word(self.success_keywords, kept.keywords.success),
                start: word(self.start_keywords, kept.keywords.start),
            },
            ..heartbeat.clone()
        })
    }
}
