//! The checks of a site: its history, and single checks.

pub(crate) mod list;
mod openings;
pub(crate) mod outcome;
pub(crate) mod show;
mod summary;
mod value;

use vedette_domain::checks::tool::RunReason;
use vedette_domain::id::{CheckId, Trigger};

pub(crate) use summary::{NO_CERTIFICATE, NOT_NEEDED, summary, summary_of, without_need};

/// What caused a check.
const fn cause(check: CheckId) -> &'static str {
    match check.trigger() {
        Trigger::OnDemand => "On demand",
        Trigger::Automatic(RunReason::Scheduled) => "Scheduled",
        Trigger::Automatic(RunReason::ConfirmationRetry) => "Confirmation retry",
        Trigger::Automatic(RunReason::IncidentFollowUp) => "Issue follow-up",
    }
}
