//! The alert of an issue that each snapshot repeats.

use jiff::fmt::serde::timestamp::millisecond;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::channel::{EventKind, SnapshotAlert};
use crate::clock::is_ahead;

/// For how many periods an alert lives that is not repeated.
const LIFE_PERIODS: i32 = 3;
/// The alert of an issue, as it is in each snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingAlert {
    /// The alert, whose labels never change.
    pub alert: SnapshotAlert,
    /// When it last began or ended.
    #[serde(with = "millisecond::required")]
    pub changed_at: Timestamp,
    /// Whether the receiver has refused it. It is left out of snapshots until it changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
}

impl StandingAlert {
    /// Whether it has no end yet.
    pub(super) const fn is_active(&self) -> bool {
        self.alert.ends_at.is_none()
    }

    /// Whether its end has been repeated for a whole period.
    pub(super) fn is_expired(&self, period: SignedDuration, now: Timestamp) -> bool {
        let is_late = now.duration_since(self.changed_at) >= period;
        !self.is_active() && (is_late || is_ahead(self.changed_at, now))
    }

    /// The alert as it is sent now. If it is active, it ends by itself unless it is repeated.
    pub(super) fn sent(&self, period: SignedDuration, now: Timestamp) -> SnapshotAlert {
        let lives = period.saturating_mul(LIFE_PERIODS);
        let end = || now.saturating_add(lives).unwrap_or(now);
        let ends_at = Some(self.alert.ends_at.unwrap_or_else(end));
        SnapshotAlert { ends_at, ..self.alert.clone() }
    }

    /// What a snapshot with it says about its issue.
    pub(super) const fn event(&self) -> EventKind {
        if self.is_active() { EventKind::Opened } else { EventKind::Resolved }
    }
}
