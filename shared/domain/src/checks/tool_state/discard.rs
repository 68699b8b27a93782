//! Why a run does not count.

/// Why a run does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Discard {
    /// A run at this slot or a later one was already counted.
    #[error("a run for this slot or a later one has already been counted")]
    Stale,
    /// The retry or follow-up is no longer wanted.
    #[error("the retry or follow-up is no longer wanted")]
    TimerGone,
    /// The check is no longer pending: it has ended or was deleted.
    #[error("the check is no longer pending")]
    NotPending,
    /// The URL or the monitoring changed while it ran.
    #[error("the site's configuration changed while it ran")]
    Superseded,
    /// The slot is further in the future than clocks may differ.
    #[error("the slot is in the future")]
    Early,
    /// A check already has this slot: it ran before the clock was set back.
    #[error("a check ran at this slot before the clock was set back")]
    Used,
}
