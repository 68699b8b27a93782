//! The queues of the service, and what each of them carries.

use std::error::Error;

use vedette_domain::checks::tool::Tool;
use vedette_domain::message::Message;

/// A queue of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// Checks of a tool.
    Tool(Tool),
    /// The reconciler's work.
    Reconcile,
    /// The notifier's work.
    Alerts,
    /// Transactional emails, which let people in.
    Mailer,
}

impl Destination {
    /// All queues.
    pub const ALL: [Self; Tool::ALL.len() + 3] = {
        let mut all = [Self::Reconcile; Tool::ALL.len() + 3];
        let mut position = 0;
        while position < Tool::ALL.len() {
            all[position] = Self::Tool(Tool::ALL[position]);
            position += 1;
        }
        all[position + 1] = Self::Alerts;
        all[position + 2] = Self::Mailer;
        all
    };

    /// The queue for a message.
    pub const fn of(message: &Message) -> Self {
        match message {
            Message::Check(check) => Self::Tool(check.tool),
            Message::Reconcile(_) => Self::Reconcile,
            Message::Alert(_) => Self::Alerts,
            Message::Mail(_) => Self::Mailer,
        }
    }

    /// How many messages the event source of the queue's function delivers in a batch. A short check mostly waits for
    /// its target, so many share an invocation. A crawl or an audit takes minutes, and other work needs the processor.
    pub const fn batch(self) -> usize {
        match self {
            Self::Tool(tool) if tool.is_long() => 1,
            Self::Tool(_) => 50,
            Self::Reconcile | Self::Alerts | Self::Mailer => 10,
        }
    }

    /// The queue's name after the deployment's prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tool(tool) => tool.as_str(),
            Self::Reconcile => "reconcile",
            Self::Alerts => "alerts",
            Self::Mailer => "letters",
        }
    }
}

/// A message that could not be sent. Its work is in the table, so it will be sent again.
#[derive(Debug, thiserror::Error)]
#[error("the queue does not accept messages")]
pub struct QueueError(#[source] pub(crate) Box<dyn Error + Send + Sync>);
