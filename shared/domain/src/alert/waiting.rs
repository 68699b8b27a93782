//! What waits to be told to people of an issue, and when it is due.

use jiff::Timestamp;

use super::delivery::Cursor;
use super::due::{Due, News, Policy, due};
use crate::issue::record::Issue;
use crate::settings::QuietTime;

/// News that people have not been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What they would be told now.
    pub news: News,
    /// When they are; none where nothing is sent to the channel until somebody enables it.
    pub due: Option<Timestamp>,
}

impl Cursor {
    /// What waits to be told of an issue; none where people know all that there is. A reminder waits from
    /// when it is due.
    pub fn waiting(&self, issue: &Issue, policy: &Policy<'_>, now: Timestamp) -> Option<Waiting> {
        let awake = QuietTime { enabled: false, ..*policy.quiet_time };
        let awake = Policy { quiet_time: &awake, ..*policy };
        let Due::Tell { news, .. } = due(issue, self.told, self.from, &awake, now) else {
            return None;
        };
        let due = self.due.map(|due| due.max(policy.quiet_time.until(due.max(now)).unwrap_or(due)));
        Some(Waiting { news, due })
    }
}
