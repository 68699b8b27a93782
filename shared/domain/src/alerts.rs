//! Alerts: what people and programs are notified of about the issues of a team's sites.
//!
//! Start with [`channel::Channel`], the stored record, then follow a change of an issue:
//!
//! 1. [`fan_out`] decides what each channel needs to learn about it, and stores that in a [`delivery::DeliveryState`].
//! 2. [`due`](mod@due) compares the current state with what the channel was notified of. [`storm`] limits how much is
//!    sent at once, and [`reminder`] and [`retry`] say when to look again.
//! 3. [`delivery_run`] plans what is sent to one channel, step by step, and what follows from each outcome.
//! 4. [`compose`] creates an [`Alert`], which contains the words without markup. The module of each kind of [`channel`]
//!    turns it into a request; [`mail`] writes an email.

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
pub mod forecast;
pub mod handle;
pub mod host_limit;
pub mod latency;
pub mod link;
pub mod mail;
pub mod missed;
pub mod notification;
pub mod outgoing_message;
pub mod reader_link;
pub mod refusal;
pub mod reminder;
pub mod retry;
pub mod send_outcome;
mod snapshot;
pub mod standing;
pub mod storm;
mod text;
mod unlinked;
pub mod waiting;

#[cfg(test)]
mod tests;

/// What follows the URL of [`Alert::respond`] in a POST that acknowledges the issue.
pub(crate) const ACKNOWLEDGES: &str = "&respond=acknowledge";

/// News for a reader who knows nothing yet: the current state comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What kind of news it is.
    pub kind: AlertKind,
    /// The current state, in capitals: `DOWN`, `STILL DOWN 1 h`, `RESOLVED`.
    pub state: String,
    /// What it is about: the name of a site, or a number of sites. It is the same in all alerts of a thread.
    pub name: String,
    /// Sentences, the most important one first.
    pub lines: Vec<String>,
    /// Details by label.
    pub facts: Vec<Fact>,
    /// How severe it is; `None` if nothing is wrong.
    pub severity: Option<Severity>,
    /// The monitored URL.
    pub site_url: Option<String>,
    /// Where to read more.
    pub link: Option<Link>,
    /// Where its readers respond to the issue without signing in.
    pub respond: Option<Link>,
    /// The beginning of the site's notes, for the person who has to act.
    pub runbook: Option<String>,
    /// The thread that it belongs to, for channels that group messages; `None` for an alert about several issues.
    pub thread: Option<Thread>,
    /// When it happened.
    pub at: Timestamp,
}

/// What kind of news an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertKind {
    /// An issue opened, or opened again.
    Opened,
    /// An issue was resolved.
    Resolved,
    /// An issue is still active.
    Reminder,
    /// An issue opened and was resolved before anybody could be notified.
    Missed,
    /// News about the channels themselves, or about a site that cannot be checked.
    Notice,
    /// A test of the channel.
    Test,
}

impl AlertKind {
    /// Whether it reports that something is over.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Resolved | Self::Missed)
    }
}

/// A detail of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What the value is: `Since`.
    pub label: &'static str,
    /// The value.
    pub value: String,
}

/// Where to read more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The text of the link: `Open issue`.
    pub text: &'static str,
    /// An absolute URL.
    pub url: String,
}

/// One opening of an issue. All alerts about it belong together.
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
    /// How it looks in color.
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

/// How an alert looks in color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    /// Something is broken for visitors.
    Critical,
    /// Something is wrong.
    Warning,
    /// Information.
    Info,
    /// A problem is over.
    Good,
    /// Nothing has happened.
    Neutral,
}
