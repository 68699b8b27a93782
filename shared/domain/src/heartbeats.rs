//! Heartbeats: jobs that must report. A job pings an address when it has run; if no ping comes in time, an issue opens.
//!
//! - [`heartbeat::Heartbeat`] is what a team chooses: a [`schedule::JobSchedule`], how much grace a run has, and what the
//!   job pings.
//! - [`ping::Ping`] is a request of the job. Its paths and answers are those of Healthchecks.
//! - [`reports::Reports`] is what is known of the job. It decides what a ping means, and when the next deadline is.

pub mod heartbeat;
pub mod input;
pub mod ping;
pub mod refusal;
pub mod reports;
pub mod schedule;
pub mod team_key;
