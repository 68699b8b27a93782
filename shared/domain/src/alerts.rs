//! Alerts: what people and programs are notified of about the issues of a team's sites.
//!
//! Start with [`channel::Channel`], the stored record, then follow a change of an issue:
//!
//! 1. [`fan_out`] says what each channel is to learn of it, and keeps that in a [`delivery::DeliveryState`].
//! 2. [`due`](mod@due) compares the current state with what the channel was notified of. [`storm`] says how much goes
//!    out at once, [`reminder`] and [`retry`] when to look again.
//! 3. [`delivery_run`] plans what is sent to one channel, step by step, and what follows of each outcome.
//! 4. [`compose`] makes an [`Alert`], which says it once, without markup. The module of each kind of [`channel`] makes a
//!    request of it; a mail is written by [`mail`].

use jiff::Timestamp;

use crate::id::IssueId;
use crate::issues::Severity;

pub mod channel;
pub mod channel_state;
mod collection;
pub mod compose;
pub mod delivery;
pub mod delivery_run;
pub mod due;
pub mod ended;
pub mod fan_out;
pub mod host_limit;
pub mod link;
pub mod mail;
pub mod missed;
pub mod refusal;
pub mod reminder;
pub mod retry;
pub mod send_outcome;
pub mod storm;
mod text;
mod unlinked;
pub mod waiting;

#[cfg(test)]
mod tests;

/// News for a reader who knows nothing yet: the current state comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What kind of news it is.
    pub kind: AlertKind,
    /// What is the case, in capitals: `DOWN`, `STILL DOWN 1 h`, `RESOLVED`.
    pub state: String,
    /// What it is about: the name of a site, or a count of sites. It stays the same for all alerts
    /// of a thread.
    pub name: String,
    /// Sentences, the most important one first.
    pub lines: Vec<String>,
    /// Details by label.
    pub facts: Vec<Fact>,
    /// How grave it is; none where nothing is wrong.
    pub severity: Option<Severity>,
    /// The monitored URL.
    pub site_url: Option<String>,
    /// Where more can be seen.
    pub link: Option<Link>,
    /// What the team noted for whoever has to act, as far as there is room for it.
    pub runbook: Option<String>,
    /// What it belongs to, for channels that group messages; none for a collection.
    pub thread: Option<Thread>,
    /// When what it tells of happened.
    pub at: Timestamp,
}

/// What kind of news an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertKind {
    /// An issue opened, or opened again.
    Opened,
    /// An issue is over.
    Resolved,
    /// An issue is still active.
    Reminder,
    /// An issue opened and was over before anybody could be notified.
    Missed,
    /// Something about the channels themselves.
    Notice,
    /// Somebody tries whether the channel works.
    Test,
}

impl AlertKind {
    /// Whether it says that something is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Resolved | Self::Missed)
    }
}

/// A detail of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it says something about: `Since`.
    pub label: &'static str,
    /// What it says.
    pub value: String,
}

/// Where more can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What a reader clicks on: `Open issue`.
    pub text: &'static str,
    /// An absolute URL.
    pub url: String,
}

/// One opening of an issue, to which all alerts about it belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// The issue.
    pub issue: IssueId,
    /// When it opened.
    pub opened_at: Timestamp,
}

impl Alert {
    /// State and name: `DOWN: Example Shop`.
    pub fn title(&self) -> String {
        format!("{}: {}", self.state, self.name)
    }
    /// How it looks where there are colors.
    fn tone(&self) -> Tone {
        match (self.kind, self.severity) {
            (AlertKind::Resolved, _) => Tone::Good,
            (AlertKind::Test, _) => Tone::Neutral,
            (AlertKind::Missed, _) | (_, None | Some(Severity::Info)) => Tone::Info,
            (_, Some(Severity::Critical)) => Tone::Critical,
            (_, Some(Severity::Warning)) => Tone::Warning,
        }
    }
}

/// How an alert looks where there are colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    /// Something is wrong, and people notice.
    Critical,
    /// Something is wrong.
    Warning,
    /// Something to know.
    Info,
    /// Something is well again.
    Good,
    /// Nothing has happened.
    Neutral,
}
