//! Pure decisions of Vedette: identities, settings, schedules, checks, issues.
//!
//! Nothing here does I/O, reads a clock or draws randomness: shells load, call and save.

pub mod account;
pub mod alert;
pub mod audit;
pub mod browser_job;
mod bytes;
pub mod check;
pub mod clock;
pub mod concurrency;
pub mod config;
pub mod cooldown;
pub mod email;
mod error_chain;
pub mod history;
mod host_name;
pub mod id;
pub mod invitation;
pub mod issue;
pub mod limits;
pub mod mail_limits;
pub mod mailbox;
pub mod message;
pub mod name;
pub mod on_demand;
pub mod plan;
pub mod policy;
pub mod rate_limit;
pub mod report;
pub mod run;
pub mod schedule;
#[cfg(feature = "schema")]
pub mod schema;
pub mod session;
pub mod settings;
pub mod site;
pub mod site_state;
pub mod site_url;
pub mod source;
pub mod time;
pub mod timer;
pub mod tool;
pub mod tool_state;
pub mod work;

pub use error_chain::ErrorChain;
