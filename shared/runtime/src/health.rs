//! What keeps a running process from working: problems that its parts report, and later report as over; and when it did
//! not run at all.
//!
//! A service with such a problem is *degraded*. It says so on every page, in `vedette doctor` and in the
//! log, since the table may be what does not work.

use std::fmt;
use std::mem::discriminant;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tracing::{error, info};
use vedette_domain::clock::{Jump, Pause};

/// What is wrong with the service. To add a problem, add a variant here and its words below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceProblem {
    /// Nothing can be saved in the table.
    NotWritable {
        /// The table's error.
        why: String,
    },
    /// Saved data does not reach the disk.
    NotSynced {
        /// The system's error.
        why: String,
    },
    /// The machine's clock has jumped, and nobody has confirmed it yet.
    ClockJumped {
        /// How it jumped.
        jump: Jump,
    },
    /// The files of the data folder are not those that the service has open, or have changed.
    DataFolder {
        /// Which files have which problems.
        what: String,
        /// What to do about each problem.
        remedy: String,
    },
    /// Agents that have connected before are silent.
    AgentsSilent {
        /// Their names, separated by commas.
        agents: String,
    },
    /// This machine has no connection to the internet.
    NoConnection,
    /// No mail can be sent, to any recipient.
    MailHeld {
        /// The mail server's answer.
        why: String,
    },
}

impl ServiceProblem {
    /// Whether both are the same kind of problem, whatever their details.
    fn is_same(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other)
    }

    /// What is wrong and what the consequences are, in one sentence.
    pub fn what(&self) -> String {
        match self {
            Self::NotWritable { why } => format!(
                "Nothing can be saved ({why}): results of checks are missing, outages go unreported, and what \
                 is shown may be out of date."
            ),
            Self::NotSynced { why } => format!(
                "Changes do not reach the disk ({why}): a power cut would lose what was saved since."
            ),
            Self::ClockJumped { jump } => {
                format!("{jump}. No history expires until the clock is confirmed.")
            }
            Self::DataFolder { what, .. } => what.clone(),
            Self::AgentsSilent { agents } => format!(
                "Agents have been silent for more than 90 seconds ({agents}): outages are confirmed without them."
            ),
            Self::NoConnection => {
                "This machine has no connection to the internet, because no DNS resolver answers: checks of public \
                 sites that fail count neither as up nor as down."
                    .to_owned()
            }
            Self::MailHeld { why } => {
                format!("No mail can be sent ({why}): alerts and other emails are waiting.")
            }
        }
    }

    /// What the operator can do about it, in one sentence.
    pub fn remedy(&self) -> &str {
        match self {
            Self::NotWritable { .. } => {
                "Free space on the disk that holds the data folder, or make the folder writable again; the \
                 service then continues by itself."
            }
            Self::NotSynced { .. } => "Look for disk errors in the system's log.",
            Self::ClockJumped { .. } => {
                "Check the machine's time. If it is right, run `vedette doctor --accept-clock`. \
                 Otherwise, Vedette trusts the clock again when it has not jumped for 24 hours."
            }
            Self::DataFolder { remedy, .. } => remedy,
            Self::AgentsSilent { .. } => {
                "Check that the agents run and can reach this service. `vedette agent revoke NAME` removes one that \
                 is no longer needed."
            }
            Self::NoConnection => {
                "Check the machine's network, and whether it can reach the resolvers in VEDETTE_DOH; Vedette continues \
                 by itself when one of them answers."
            }
            Self::MailHeld { .. } => {
                "Check the mail server, its credentials and the address of the sender; waiting emails are \
                 sent once it accepts mail again."
            }
        }
    }
}

/// A problem that persists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ongoing {
    /// When it was first reported.
    pub since: Timestamp,
    /// What is wrong.
    pub problem: ServiceProblem,
}

impl Ongoing {
    /// Whether both are the same kind of problem, whatever their details.
    pub fn is_same(&self, other: &Self) -> bool {
        self.problem.is_same(&other.problem)
    }
}

/// A problem in words, for another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// When it was first reported.
    pub since: Timestamp,
    /// [`ServiceProblem::what`].
    pub what: String,
    /// [`ServiceProblem::remedy`].
    pub remedy: String,
}

impl From<&Ongoing> for Notice {
    fn from(Ongoing { since, problem }: &Ongoing) -> Self {
        Self { since: *since, what: problem.what(), remedy: problem.remedy().to_owned() }
    }
}

/// The problems of this process. Clones share them.
#[derive(Clone, Default)]
pub struct Health {
    ongoing: watch::Sender<Vec<Ongoing>>,
    pauses: watch::Sender<Vec<Pause>>,
    listening: watch::Sender<Listening>,
}

/// Since when, and with which gaps, a process listens to pings.
#[derive(Debug, Clone, Default)]
struct Listening {
    /// Until when it is known whether it did; `None` if that is always known.
    until: Option<Timestamp>,
    deaf: Vec<Pause>,
}

impl Health {
    /// Reports a problem. If a problem of the same kind is already reported, its details are updated.
    pub fn report(&self, problem: ServiceProblem, now: Timestamp) {
        self.ongoing.send_if_modified(|ongoing| {
            let mut known = ongoing.iter_mut().map(|known| &mut known.problem);
            match known.find(|known| known.is_same(&problem)) {
                Some(known) if *known == problem => return false,
                Some(known) => *known = problem,
                None => {
                    error!("degraded: {} {}", problem.what(), problem.remedy());
                    ongoing.push(Ongoing { since: now, problem });
                }
            }
            true
        });
    }

    /// Reports the end of problems for which `is_over` holds.
    pub fn report_over(&self, is_over: impl Fn(&ServiceProblem) -> bool) {
        // Parts report much more often that everything is fine than that something is wrong.
        if self.is_well() {
            return;
        }
        self.ongoing.send_if_modified(|ongoing| {
            let before = ongoing.len();
            ongoing.retain(|Ongoing { since, problem }| {
                let ends = is_over(problem);
                if ends {
                    info!(%since, "resolved: {}", problem.what());
                }
                !ends
            });
            ongoing.len() != before
        });
    }

    /// Whether it is reported that nothing can be saved. Then everything that writes fails, which need not be logged
    /// each time.
    pub fn cannot_save(&self) -> bool {
        let is_unwritable =
            |ongoing: &Ongoing| matches!(ongoing.problem, ServiceProblem::NotWritable { .. });
        self.ongoing.borrow().iter().any(is_unwritable)
    }

    /// Whether no problem is reported.
    pub fn is_well(&self) -> bool {
        self.ongoing.borrow().is_empty()
    }

    /// The problems that persist, in the order in which they were first reported.
    pub fn ongoing(&self) -> Vec<Ongoing> {
        self.ongoing.borrow().clone()
    }

    /// The same problems in words.
    pub fn notices(&self) -> Vec<Notice> {
        self.ongoing.borrow().iter().map(Notice::from).collect()
    }

    /// Records when this process, or an earlier one, did not run.
    pub fn record_pauses(&self, pauses: Vec<Pause>) {
        self.pauses.send_replace(pauses);
    }

    /// When this process, or an earlier one, did not run: oldest first.
    pub fn pauses(&self) -> Vec<Pause> {
        self.pauses.borrow().clone()
    }

    /// Records until when it is known whether this process listens to pings, and when it did not.
    pub fn record_listening(&self, until: Timestamp, deaf: Vec<Pause>) {
        self.listening.send_replace(Listening { until: Some(until), deaf });
    }

    /// Until when it is known whether pings could arrive.
    pub fn listening_until(&self) -> Timestamp {
        self.listening.borrow().until.unwrap_or(Timestamp::MAX)
    }

    /// When pings could not arrive, or not be saved: oldest first.
    pub fn deaf_times(&self) -> Vec<Pause> {
        self.listening.borrow().deaf.clone()
    }

    /// Receives every change of the problems from now on.
    pub fn watch(&self) -> watch::Receiver<Vec<Ongoing>> {
        self.ongoing.subscribe()
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Health").field(&*self.ongoing.borrow()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: Timestamp = Timestamp::UNIX_EPOCH;
    const LATE: Timestamp = Timestamp::MAX;

    fn full(why: &str) -> ServiceProblem {
        ServiceProblem::NotWritable { why: why.to_owned() }
    }

    #[test]
    fn a_problem_is_kept_from_its_first_report_until_it_is_over() {
        let health = Health::default();
        let mut changes = health.watch();
        assert!(health.is_well());
        health.report_over(|_| true);
        assert!(!changes.has_changed().expect("watched"), "nothing was wrong");

        health.report(full("disk full"), EARLY);
        assert!(changes.has_changed().expect("watched"));
        changes.mark_unchanged();
        health.clone().report(full("disk full"), LATE);
        assert!(!changes.has_changed().expect("watched"), "nothing new");
        health.report(full("input/output error"), LATE);
        health.report(ServiceProblem::NotSynced { why: "input/output error".to_owned() }, LATE);
        let expected = [
            Ongoing { since: EARLY, problem: full("input/output error") },
            Ongoing {
                since: LATE,
                problem: ServiceProblem::NotSynced { why: "input/output error".to_owned() },
            },
        ];
        assert_eq!(health.ongoing(), expected);
        assert!(health.cannot_save());

        health.report_over(|problem| matches!(problem, ServiceProblem::NotWritable { .. }));
        assert_eq!(health.ongoing(), expected[1..]);
        assert!(!health.cannot_save());
        health.report(full("disk full"), LATE);
        assert_eq!(health.ongoing()[1].since, LATE, "it is reported again");
    }

    #[test]
    fn another_process_reads_the_same_words() {
        let health = Health::default();
        health.report(full("disk full"), EARLY);
        let told = serde_json::to_string(&health.notices()).expect("a document");
        let read: Vec<Notice> = serde_json::from_str(&told).expect("notices");
        assert_eq!(read, health.notices());
        assert!(read[0].what.starts_with("Nothing can be saved (disk full): "), "{read:?}");
    }
}
