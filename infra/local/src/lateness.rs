//! Log lines about checks that start late.

use std::time::Duration;

use tracing::{info, warn};
use vedette_runtime::{Backlog, Destination};

/// How often a queue is checked.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How late checks of a tool may start before this is logged. Crawls and audits take minutes each, so those of many new
/// sites wait for hours.
const fn tolerance(destination: Destination) -> Option<Duration> {
    match destination {
        Destination::Tool(tool) if tool.is_long() => Some(Duration::from_hours(6)),
        Destination::Tool(_) => Some(Duration::from_secs(2)),
        Destination::Reconcile | Destination::Alerts | Destination::Mailer => None,
    }
}

/// How late the checks of one queue start, as last logged: one line when they are late, another each time that the
/// delay has doubled, and one when they are on time again.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    /// The delay in the last line; `None` if checks are on time.
    reported: Option<Duration>,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Late,
    OnTime,
}

impl Lateness {
    /// Checks a queue, and logs any news.
    pub(crate) fn look(&mut self, destination: Destination, backlog: Backlog) {
        let Some(tolerance) = tolerance(destination) else { return };
        let (queue, Backlog { waiting, behind, sender, slow }) = (destination.name(), backlog);
        match self.note(tolerance, behind) {
            Some(Line::Late) => warn!(
                queue,
                ?behind,
                waiting,
                slow,
                team = sender.map(tracing::field::display),
                "checks start late; those of this team wait the longest"
            ),
            Some(Line::OnTime) => info!(queue, slow, "checks start on time again"),
            None => {}
        }
    }

    fn note(&mut self, tolerance: Duration, behind: Duration) -> Option<Line> {
        let is_late = behind > tolerance;
        match self.reported {
            None if is_late => {
                self.reported = Some(behind);
                Some(Line::Late)
            }
            Some(reported) if behind >= 2 * reported => {
                self.reported = Some(behind);
                Some(Line::Late)
            }
            Some(_) if !is_late => {
                self.reported = None;
                Some(Line::OnTime)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_checks_are_logged_once_and_again_when_they_are_twice_as_late() {
        let mut lateness = Lateness::default();
        let mut lines = Vec::new();
        for behind in [0, 2, 3, 4, 5, 6, 7, 11, 12, 5, 3, 2, 0, 3] {
            let line = lateness.note(Duration::from_secs(2), Duration::from_secs(behind));
            lines.extend(line.map(|line| (behind, line)));
        }
        use Line::{Late, OnTime};
        assert_eq!(lines, [(3, Late), (6, Late), (12, Late), (2, OnTime), (3, Late)]);
    }
}
