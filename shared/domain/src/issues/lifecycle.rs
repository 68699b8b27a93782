//! The life cycle of an issue: open, acknowledged, resolved, and open again.

use jiff::Timestamp;
use jiff::fmt::serde::timestamp::millisecond;
use serde::{Deserialize, Serialize};

use super::{IssueStatus, Responder};
use crate::id::UserId;

/// Who acknowledged an issue, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// When the issue was acknowledged.
    #[serde(with = "millisecond::required")]
    pub at: Timestamp,
    /// Who acknowledged the issue.
    pub by: Responder,
}

/// The state of an issue in its life cycle. Stored as is, with instants in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Lifecycle {
    /// The problem persists, and nobody has acknowledged the issue.
    Open {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
    },
    /// The problem persists, and somebody has acknowledged the issue.
    Acknowledged {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
        /// When the issue was acknowledged.
        #[serde(with = "millisecond::required")]
        at: Timestamp,
        /// Who acknowledged the issue.
        by: Responder,
    },
    /// The problem is over.
    Resolved {
        /// When the threshold was breached.
        #[serde(with = "millisecond::required")]
        opened_at: Timestamp,
        /// Who had acknowledged the issue, if anybody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acknowledged: Option<Acknowledgement>,
        /// When the issue was resolved.
        #[serde(with = "millisecond::required")]
        at: Timestamp,
        /// The member who resolved the issue; `None` if the checks did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
    },
}

/// A transition between the states of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// Somebody acknowledges the issue.
    Acknowledge,
    /// A member withdraws the acknowledgement.
    Unacknowledge,
    /// The problem clears, or a member resolves the issue.
    Resolve,
    /// The problem returns after the issue was resolved.
    Reopen,
    /// Somebody snoozes the issue's reminders.
    Snooze,
}

impl std::fmt::Display for Transition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Acknowledge => "acknowledged",
            Self::Unacknowledge => "unacknowledged",
            Self::Resolve => "resolved",
            Self::Reopen => "reopened",
            Self::Snooze => "snoozed",
        })
    }
}

/// A transition that the issue's state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an issue that is {from} cannot be {transition}")]
pub struct InvalidTransition {
    /// The state of the issue.
    pub from: IssueStatus,
    /// The attempted transition.
    pub transition: Transition,
}

impl Lifecycle {
    /// A new issue.
    pub const fn open(opened_at: Timestamp) -> Self {
        Self::Open { opened_at }
    }

    /// Acknowledges the issue.
    ///
    /// # Errors
    ///
    /// When the issue is not open.
    pub fn acknowledge(
        self,
        at: Timestamp,
        by: impl Into<Responder>,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::Open { opened_at } => Ok(Self::Acknowledged { opened_at, at, by: by.into() }),
            Self::Acknowledged { .. } | Self::Resolved { .. } => {
                Err(self.refuse(Transition::Acknowledge))
            }
        }
    }

    /// Withdraws the acknowledgement.
    ///
    /// # Errors
    ///
    /// When the issue is not acknowledged.
    pub const fn unacknowledge(self) -> Result<Self, InvalidTransition> {
        match self {
            Self::Acknowledged { opened_at, .. } => Ok(Self::Open { opened_at }),
            Self::Open { .. } | Self::Resolved { .. } => {
                Err(self.refuse(Transition::Unacknowledge))
            }
        }
    }

    /// Resolves the issue: the problem clears (`by` is `None`), or a member resolves it. Keeps an acknowledgement.
    ///
    /// # Errors
    ///
    /// When the issue is already resolved.
    pub const fn resolve(
        self,
        at: Timestamp,
        by: Option<UserId>,
    ) -> Result<Self, InvalidTransition> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => Ok(Self::Resolved {
                opened_at: self.opened_at(),
                acknowledged: self.acknowledgement(),
                at,
                by,
            }),
            Self::Resolved { .. } => Err(self.refuse(Transition::Resolve)),
        }
    }

    /// Opens the issue again when the problem is back. The record is the same, without its acknowledgement and
    /// resolution, which remain in the timeline.
    ///
    /// # Errors
    ///
    /// When the issue is not resolved.
    pub(crate) const fn reopen(self, at: Timestamp) -> Result<Self, InvalidTransition> {
        match self {
            Self::Resolved { .. } => Ok(Self::Open { opened_at: at }),
            Self::Open { .. } | Self::Acknowledged { .. } => Err(self.refuse(Transition::Reopen)),
        }
    }

    const fn refuse(self, transition: Transition) -> InvalidTransition {
        InvalidTransition { from: self.status(), transition }
    }

    /// The state's name.
    pub const fn status(self) -> IssueStatus {
        match self {
            Self::Open { .. } => IssueStatus::Open,
            Self::Acknowledged { .. } => IssueStatus::Acknowledged,
            Self::Resolved { .. } => IssueStatus::Resolved,
        }
    }

    /// Whether the issue is active: open or acknowledged.
    pub const fn is_active(self) -> bool {
        self.status().is_active()
    }

    /// When the threshold was last breached.
    pub const fn opened_at(self) -> Timestamp {
        match self {
            Self::Open { opened_at }
            | Self::Acknowledged { opened_at, .. }
            | Self::Resolved { opened_at, .. } => opened_at,
        }
    }

    /// Who acknowledged the issue, and when, if anybody did.
    pub const fn acknowledgement(self) -> Option<Acknowledgement> {
        match self {
            Self::Open { .. } => None,
            Self::Acknowledged { at, by, .. } => Some(Acknowledgement { at, by }),
            Self::Resolved { acknowledged, .. } => acknowledged,
        }
    }

    /// When the issue was resolved, if it is resolved.
    pub const fn resolved_at(self) -> Option<Timestamp> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => None,
            Self::Resolved { at, .. } => Some(at),
        }
    }

    /// The member who resolved the issue, if a member did.
    pub const fn resolved_by(self) -> Option<UserId> {
        match self {
            Self::Open { .. } | Self::Acknowledged { .. } => None,
            Self::Resolved { by, .. } => by,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::id::ChannelId;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    /// One issue in each state.
    fn one_of_each() -> [Lifecycle; 4] {
        let open = Lifecycle::open(at(10));
        let taken = open.acknowledge(at(20), user(1)).expect("open");
        [
            open,
            taken,
            open.resolve(at(30), None).expect("active"),
            taken.resolve(at(30), Some(user(2))).expect("active"),
        ]
    }

    #[test]
    fn an_issue_is_opened_taken_resolved_and_reopened() {
        let issue = Lifecycle::open(at(10));
        assert_eq!((issue.status(), issue.is_active()), (IssueStatus::Open, true));
        assert_eq!((issue.acknowledgement(), issue.resolved_at()), (None, None));

        let issue = issue.acknowledge(at(20), user(1)).expect("open");
        assert_eq!((issue.status(), issue.is_active()), (IssueStatus::Acknowledged, true));
        assert_eq!(
            issue.acknowledgement(),
            Some(Acknowledgement { at: at(20), by: user(1).into() })
        );
        assert_eq!(issue.opened_at(), at(10));

        let issue = issue.resolve(at(30), Some(user(2))).expect("active");
        assert_eq!((issue.status(), issue.is_active()), (IssueStatus::Resolved, false));
        assert_eq!((issue.resolved_at(), issue.resolved_by()), (Some(at(30)), Some(user(2))));
        assert_eq!(
            issue.acknowledgement(),
            Some(Acknowledgement { at: at(20), by: user(1).into() })
        );
        assert_eq!(issue.opened_at(), at(10));

        let issue = issue.reopen(at(40)).expect("resolved");
        assert_eq!(issue, Lifecycle::open(at(40)), "acknowledgement and resolution are cleared");
    }

    #[test]
    fn only_the_moves_of_the_api_exist() {
        let [open, taken, resolved, taken_and_resolved] = one_of_each();
        let refused = |from, transition| Err(InvalidTransition { from, transition });

        for issue in [taken, resolved, taken_and_resolved] {
            let result = issue.acknowledge(at(50), user(3));
            assert_eq!(result, refused(issue.status(), Transition::Acknowledge));
        }
        assert_eq!(taken.unacknowledge(), Ok(open));
        for issue in [open, resolved, taken_and_resolved] {
            let result = issue.unacknowledge();
            assert_eq!(result, refused(issue.status(), Transition::Unacknowledge));
        }
        for issue in [resolved, taken_and_resolved] {
            let result = issue.resolve(at(50), None);
            assert_eq!(result, refused(IssueStatus::Resolved, Transition::Resolve));
        }
        for issue in [open, taken] {
            assert_eq!(issue.reopen(at(50)), refused(issue.status(), Transition::Reopen));
        }

        let error = taken.acknowledge(at(50), user(3)).expect_err("taken already");
        assert_eq!(error.to_string(), "an issue that is acknowledged cannot be acknowledged");
        let error = open.reopen(at(50)).expect_err("open");
        assert_eq!(error.to_string(), "an issue that is open cannot be reopened");
    }

    #[test]
    fn the_stored_form_is_plain() {
        let [open, taken, resolved, taken_and_resolved] = one_of_each();
        let one = "00000000-0000-0000-0000-000000000001";
        let two = "00000000-0000-0000-0000-000000000002";
        let stored = [
            (open, json!({"status": "open", "opened_at": 10_000})),
            (
                taken,
                json!({"status": "acknowledged", "opened_at": 10_000, "at": 20_000, "by": one}),
            ),
            (resolved, json!({"status": "resolved", "opened_at": 10_000, "at": 30_000})),
            (
                taken_and_resolved,
                json!({
                    "status": "resolved", "opened_at": 10_000, "at": 30_000, "by": two,
                    "acknowledged": {"at": 20_000, "by": one},
                }),
            ),
        ];
        let channel = ChannelId(Uuid::from_u128(2));
        let read = open.acknowledge(at(20), Responder::Reader { channel }).expect("open");
        let by = json!({ "channel": two });
        let of_reader =
            json!({"status": "acknowledged", "opened_at": 10_000, "at": 20_000, "by": by});
        for (issue, json) in stored.into_iter().chain([(read, of_reader)]) {
            assert_eq!(serde_json::to_value(issue).expect("json"), json);
            assert_eq!(serde_json::from_value::<Lifecycle>(json).expect("readable"), issue);
        }
    }

    proptest! {
        /// Tries transitions in any order: a transition succeeds exactly where it should, an error names the state, and
        /// the opening stays the same until the issue is reopened.
        #[test]
        fn any_row_of_moves_keeps_the_rules(moves in prop::collection::vec(0_u8..5, 0..40)) {
            let mut issue = Lifecycle::open(at(0));
            for (step, which) in moves.into_iter().enumerate() {
                let now = at(i64::try_from(step).expect("small") + 1);
                let before = issue.status();
                let result = match which {
                    0 => issue.acknowledge(now, user(7)),
                    1 => issue.resolve(now, None),
                    2 => issue.resolve(now, Some(user(8))),
                    4 => issue.unacknowledge(),
                    _ => issue.reopen(now),
                };
                let allowed = match which {
                    0 => before == IssueStatus::Open,
                    1 | 2 => before.is_active(),
                    4 => before == IssueStatus::Acknowledged,
                    _ => before == IssueStatus::Resolved,
                };
                prop_assert_eq!(result.is_ok(), allowed);
                match result {
                    Ok(next) => {
                        let opened = if which == 3 { now } else { issue.opened_at() };
                        prop_assert_eq!(next.opened_at(), opened);
                        prop_assert_eq!(next.is_active(), next.resolved_at().is_none());
                        issue = next;
                    }
                    Err(error) => prop_assert_eq!(error.from, before),
                }
            }
        }
    }
}
