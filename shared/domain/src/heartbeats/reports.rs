//! What is known of a job from its pings, and what follows from it: what a ping means, and when the next deadline is.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::heartbeat::Heartbeat;
use super::ping::{PING_LIMIT, Ping, PingKind};
use crate::checks::check::{HeartbeatResult, RunOutcome};
use crate::checks::schedule::TimeScale;
use crate::clock::{Pause, is_ahead};

pub use self::recent::{RecentRun, RecentRuns};

mod recent;

/// The most runs that are known to be in progress at a time. A job seldom overlaps with itself more often.
const RUNNING_MAX: usize = 4;
/// How many pings with the id of a run are remembered, so that a repeated one is recognized.
const SEEN_MAX: usize = 8;

/// The state of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatState {
    /// The job has never pinged.
    New,
    /// The job reports as expected.
    OnTime,
    /// A run takes longer than its owner allows.
    RunningLong,
    /// The deadline has passed without a ping.
    Late,
    /// The job reported that it failed.
    Failed,
    /// No ping is expected.
    Paused,
}

impl HeartbeatState {
    /// All of them, in the order in which a job gets into them.
    pub const ALL: [Self; 6] =
        [Self::New, Self::OnTime, Self::RunningLong, Self::Late, Self::Failed, Self::Paused];

    /// Whether pings are expected: not before the first one, nor while the heartbeat is paused.
    pub const fn is_monitored(self) -> bool {
        !matches!(self, Self::New | Self::Paused)
    }

    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::OnTime => "on_time",
            Self::RunningLong => "running_long",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::Paused => "paused",
        }
    }
}

impl std::fmt::Display for HeartbeatState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the last end of a run, or its absence, says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Standing {
    /// Nothing is wrong.
    #[default]
    #[serde(rename = "o")]
    Fine,
    /// A deadline has passed.
    #[serde(rename = "l")]
    Late,
    /// The last run failed.
    #[serde(rename = "f")]
    Failed,
}

/// What is known of a job. Every ping rewrites it, so it stays small.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reports {
    /// The last ping that ended a run.
    #[serde(
        rename = "l",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    pub last: Option<Timestamp>,
    /// The instant after which the schedule says when the next ping is expected: the last ping, the time at which a
    /// missed one was expected, or when Vedette began to listen again. `None` before the first ping.
    #[serde(
        rename = "f",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    from: Option<Timestamp>,
    #[serde(rename = "s", default)]
    standing: Standing,
    /// Runs that have begun and not ended, oldest first.
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    running: Vec<Started>,
    /// Digests of the newest pings that had the id of a run.
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<u64>,
    /// The newest runs.
    #[serde(rename = "h", default, skip_serializing_if = "RecentRuns::is_empty")]
    pub recent: RecentRuns,
    /// When Vedette did not listen to a ping that was expected since the last one.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub excused: Option<Pause>,
    /// Whether no ping is expected.
    #[serde(rename = "p", default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// When the bucket of [`PING_LIMIT`] will be full.
    #[serde(
        rename = "b",
        default,
        skip_serializing_if = "Option::is_none",
        with = "millisecond::optional"
    )]
    full_at: Option<Timestamp>,
}

/// A run that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Started {
    #[serde(rename = "t", with = "millisecond::required")]
    at: Timestamp,
    /// Its id, if the job has given it one.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    run: Option<Uuid>,
    /// Whether it has passed its deadline.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    is_overdue: bool,
}

/// What a ping does.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    /// Nothing: it repeats an earlier one.
    Known,
    /// It changes what is known, without being a check.
    Noted(Reports),
    /// It is a check: a run has ended, or there is something to keep.
    Checked(Reports, HeartbeatResult),
}

/// A ping that is refused because there are too many. It may come again after this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOften(pub SignedDuration);

/// When a heartbeat must be looked at, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The instant.
    pub at: Timestamp,
    /// What must have happened by then.
    pub awaited: Awaited,
}

/// What must happen before a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// A ping, which is expected at this instant.
    Ping(Timestamp),
    /// The end of the run that began at this instant.
    End(Timestamp),
}

impl Reports {
    /// What is known of a job that is to report from now on, after a pause.
    #[must_use]
    pub fn resumed(&self, now: Timestamp) -> Self {
        let from = self.from.map(|_| now);
        // Otherwise a run that began in the pause could be too long at once.
        let running = Vec::new();
        Self { from, paused: false, standing: Standing::Fine, running, ..self.clone() }
    }

    /// The same without any expectation.
    #[must_use]
    pub fn paused(&self) -> Self {
        let (standing, running) = (Standing::Fine, Vec::new());
        Self { paused: true, standing, running, excused: None, ..self.clone() }
    }

    /// The same after the clock was set back: what lies in the future has happened now. Otherwise, no deadline would come
    /// until the clock has caught up. Only the end of a maintenance window may lie in the future.
    #[must_use]
    pub fn without_future(&self, now: Timestamp) -> Self {
        let known = |at| if is_ahead(at, now) { now } else { at };
        let mut next = self.clone();
        if self.from != self.excused.map(|pause| pause.to) {
            next.from = self.from.map(known);
        }
        next.running.iter_mut().for_each(|run| run.at = known(run.at));
        next
    }

    /// The state of the heartbeat.
    pub fn state(&self) -> HeartbeatState {
        match self.standing {
            _ if self.paused => HeartbeatState::Paused,
            Standing::Late => HeartbeatState::Late,
            Standing::Failed => HeartbeatState::Failed,
            Standing::Fine if self.running.iter().any(|run| run.is_overdue) => {
                HeartbeatState::RunningLong
            }
            Standing::Fine if self.from.is_none() && self.running.is_empty() => HeartbeatState::New,
            Standing::Fine => HeartbeatState::OnTime,
        }
    }

    /// When the newest run began that has not ended.
    pub fn running_since(&self) -> Option<Timestamp> {
        self.running.last().map(|run| run.at)
    }

    /// What a ping does.
    ///
    /// # Errors
    ///
    /// When there are too many pings. A failure is never refused.
    pub fn receive(&self, heartbeat: &Heartbeat, ping: &Ping) -> Result<Received, TooOften> {
        let kind = ping.kind_by(&heartbeat.keywords);
        let digest = ping.run.map(|run| digest(run, ping.kind));
        if digest.is_some_and(|digest| self.seen.contains(&digest)) {
            return Ok(Received::Known);
        }
        let is_failure = matches!(kind, PingKind::Failure | PingKind::Exit(1..));
        let mut next = self.clone();
        next.full_at = match PING_LIMIT.take(self.full_at, ping.at) {
            Ok(full_at) => Some(full_at),
            Err(wait) if !is_failure => return Err(TooOften(wait)),
            Err(_) => self.full_at,
        };
        next.seen.extend(digest);
        let forgotten = next.seen.len().saturating_sub(SEEN_MAX);
        next.seen.drain(..forgotten);
        let output = ping.output();
        let outcome = match kind {
            PingKind::Start => {
                next.running.retain(|run| run.run != ping.run);
                next.running.push(Started { at: ping.at, run: ping.run, is_overdue: false });
                let forgotten = next.running.len().saturating_sub(RUNNING_MAX);
                next.running.drain(..forgotten);
                return Ok(Received::Noted(next));
            }
            PingKind::Log if output.is_none() => return Ok(Received::Noted(next)),
            PingKind::Log => {
                let result = HeartbeatResult { output, ..HeartbeatResult::new(RunOutcome::Log) };
                return Ok(Received::Checked(next, result));
            }
            _ if kind.is_success() => RunOutcome::Success,
            _ => RunOutcome::Failure,
        };
        let lasted = next.end(ping);
        next.standing = match outcome {
            RunOutcome::Success => Standing::Fine,
            _ => Standing::Failed,
        };
        // A newer ping may have been saved first.
        let at = self.last.filter(|last| !is_ahead(*last, ping.at)).max(Some(ping.at));
        (next.last, next.from, next.excused, next.paused) = (at, at, None, false);
        next.recent.push(RecentRun { outcome, lasted });
        let duration = lasted.map(|lasted| lasted.as_millis() as f64);
        let exit_status = kind.exit_status();
        let result =
            HeartbeatResult { exit_status, duration, output, ..HeartbeatResult::new(outcome) };
        Ok(Received::Checked(next, result))
    }

    /// Ends the run that a ping is about, and returns how long it has taken, if that is known. A ping without the id of a
    /// run ends all runs.
    fn end(&mut self, ping: &Ping) -> Option<SignedDuration> {
        let began_at = self.running.iter().rfind(|run| run.run == ping.run).map(|run| run.at);
        self.running.retain(|run| ping.run.is_some() && run.run != ping.run);
        Some(ping.at.duration_since(began_at?).max(SignedDuration::ZERO))
    }

    /// The next deadline; `None` if nothing is expected.
    pub fn deadline(
        &self,
        heartbeat: &Heartbeat,
        time_scale: TimeScale,
        now: Timestamp,
    ) -> Option<Deadline> {
        if self.paused {
            return None;
        }
        // After the clock was set back, an instant in the future would hold up what is due now.
        let known = |at: Timestamp| if is_ahead(at, now) { now } else { at };
        let expected = self.from.and_then(|from| {
            let expected = heartbeat.schedule.next_after(known(from), time_scale)?;
            let at = expected.checked_add(heartbeat.grace(time_scale)).ok()?;
            Some(Deadline { at, awaited: Awaited::Ping(expected) })
        });
        let longest = heartbeat.longest_run(time_scale);
        let ends = self.running.iter().filter(|run| !run.is_overdue).filter_map(|run| {
            let at = known(run.at).checked_add(longest).ok()?;
            Some(Deadline { at, awaited: Awaited::End(run.at) })
        });
        ends.chain(expected).min_by_key(|deadline| deadline.at)
    }

    /// What is known after a deadline has passed, and the check that says so.
    pub fn missed(&self, heartbeat: &Heartbeat, deadline: Deadline) -> (Self, HeartbeatResult) {
        let mut next = self.clone();
        let outcome = match deadline.awaited {
            Awaited::Ping(expected) => {
                next.from = Some(expected);
                RunOutcome::Missed
            }
            Awaited::End(began_at) => {
                // Several runs may have begun at once.
                let mut awaited = next.running.iter_mut().filter(|run| !run.is_overdue);
                let run = awaited.find(|run| run.at == began_at);
                run.into_iter().for_each(|run| run.is_overdue = true);
                match heartbeat.longest_run_minutes {
                    Some(_) => RunOutcome::RunningLong,
                    None => RunOutcome::Missed,
                }
            }
        };
        if outcome == RunOutcome::Missed {
            next.standing = Standing::Late;
            next.recent.push(RecentRun { outcome, lasted: None });
        }
        let expected_at = match deadline.awaited {
            Awaited::Ping(expected) => Some(expected),
            Awaited::End(_) => None,
        };
        let deadline = Some(deadline.at);
        (next, HeartbeatResult { expected_at, deadline, ..HeartbeatResult::new(outcome) })
    }

    /// What is known after a deadline that does not count, because Vedette did not listen when the ping was expected, or
    /// the heartbeat was in maintenance; `None` if it counts. Pings count again after the end of that pause. A run that
    /// began before may have ended meanwhile.
    pub fn excused(
        &self,
        heartbeat: &Heartbeat,
        deadline: Deadline,
        pauses: &[Pause],
        time_scale: TimeScale,
    ) -> Option<Self> {
        let from = match deadline.awaited {
            // A job may be a little earlier than usual.
            Awaited::Ping(expected) => expected
                .checked_sub(heartbeat.grace(time_scale))
                .unwrap_or(expected)
                .max(self.from.unwrap_or(expected)),
            Awaited::End(began_at) => began_at,
        };
        let within = |pause: &Pause| pause.within(from, deadline.at);
        let touching = pauses.iter().filter(|pause| within(pause) > SignedDuration::ZERO);
        let pause = *touching.max_by_key(|pause| pause.to)?;
        // A service that is restarted again and again must still find a job that is gone.
        let missed: SignedDuration = pauses.iter().map(within).sum();
        if self.excused.is_some() && missed * 2 < deadline.at.duration_since(from) {
            return None;
        }
        let mut next = Self { excused: Some(pause), ..self.clone() };
        next.running.retain(|run| run.at >= pause.to);
        // If the pause ended before the ping was expected, the next one after the pause would be the same again.
        let until = match deadline.awaited {
            Awaited::Ping(expected) => pause.to.max(expected),
            Awaited::End(_) => pause.to,
        };
        next.from = self.from.map(|from| from.max(until));
        Some(next)
    }
}

/// Distinguishes pings that have the id of a run.
fn digest(run: Uuid, kind: PingKind) -> u64 {
    let digest = Sha256::digest(format!("{run} {kind}"));
    digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}

#[cfg(test)]
mod tests;
