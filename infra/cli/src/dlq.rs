//! `vedette dlq`: shows messages that were given up, and sends them again.

mod dead_letter;
mod queue;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::Failure;
use crate::output::{Output, Record, Records, Show, moment, table};
use crate::target::Deployed;

use dead_letter::DeadLetter;
pub(crate) use queue::{DeadLetters, is_missing};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the dead-letter queues and what is in them
    List,
    /// Show messages, and leave them in their queues
    Show {
        #[command(flatten)]
        which: Which,
        /// The maximum number of messages to show for each queue
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// Send messages again; each takes effect only once
    Redrive {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The queue: a tool, `reconcile`, `alerts`, `letters` or `schedules`; all queues if omitted
    #[arg(value_parser = queue::NAMES)]
    queue: Option<String>,
}

impl Which {
    fn queues(&self, deployed: &Deployed) -> impl Iterator<Item = DeadLetters> {
        let is_meant =
            |queue: &DeadLetters| self.queue.as_ref().is_none_or(|name| *name == queue.name);
        DeadLetters::of(deployed).filter(is_meant)
    }
}

/// How many messages `list` reads to find the oldest.
const LOOKED_AT: usize = 100;

impl Command {
    pub(crate) async fn run(
        &self,
        deployed: Option<&Deployed>,
        out: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let Some(deployed) = deployed else {
            return Err(Failure::Usage(
                "the queues of a service on this machine are inside its process, and have no \
                 dead letters; --aws is about a deployment's"
                    .to_owned(),
            ));
        };
        match self {
            Self::List => {
                let mut rows = Vec::new();
                for queue in DeadLetters::of(deployed) {
                    let messages = queue.count().await.map_err(|why| queue.failure(&why))?;
                    let dead_letters = match messages {
                        0 => Vec::new(),
                        _ => queue.peek(LOOKED_AT).await.map_err(|why| queue.failure(&why))?,
                    };
                    let oldest =
                        dead_letters.iter().filter_map(|dead_letter| dead_letter.sent_at).min();
                    let row = Record::default().with("queue", "queue", queue.name);
                    let row = row.with("messages", "messages", messages);
                    rows.push(row.at("oldest", "oldest", oldest));
                }
                Ok(out.show(&Records::new("", &["queue", "messages", "oldest"], rows))?)
            }
            Self::Show { which, limit } => {
                let mut dead_letters = Vec::new();
                for queue in which.queues(deployed) {
                    dead_letters
                        .extend(queue.peek(*limit).await.map_err(|why| queue.failure(&why))?);
                }
                Ok(out.show(&dead_letters)?)
            }
            Self::Redrive { which } => {
                let mut rows = Vec::new();
                // A problem with one queue must not stop the others.
                for queue in which.queues(deployed) {
                    let (sent, error) = match queue.redrive().await {
                        Ok(sent) => (Some(sent), None),
                        Err(failure) => (None, Some(failure.to_string())),
                    };
                    rows.push(Redriven { queue: queue.name, sent, error });
                }
                out.show(&rows)?;
                let errors: Vec<_> = rows.into_iter().filter_map(|row| row.error).collect();
                match errors.is_empty() {
                    true => Ok(()),
                    false => Err(Failure::refused(errors.join("; "))),
                }
            }
        }
    }
}

impl Show for Vec<DeadLetter> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "There are no dead letters.\n".to_owned();
        }
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let rows = self.iter().map(|dead_letter| {
            [
                dead_letter.queue.to_owned(),
                dead_letter.sent_at.map_or_else(|| "-".to_owned(), moment),
                dead_letter.received.to_string(),
                dead_letter.what.clone(),
                dash(&dead_letter.site),
                dash(&dead_letter.check),
                dash(&dead_letter.why),
                dead_letter.message.clone(),
            ]
        });
        let headings = ["QUEUE", "SENT", "RECEIVED", "WHAT", "SITE", "CHECK", "WHY", "MESSAGE"];
        table(headings, rows)
    }
}

#[derive(Serialize)]
struct Redriven {
    queue: &'static str,
    /// How many messages there are. `None` if there is an `error`.
    sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Show for Vec<Redriven> {
    fn text(&self) -> String {
        let sent =
            self.iter().filter_map(|row| Some((row.queue, row.sent.filter(|&sent| sent > 0)?)));
        let lines: String =
            sent.map(|(queue, sent)| format!("{queue}: {sent} sent again\n")).collect();
        let has_failed = self.iter().any(|row| row.error.is_some());
        if lines.is_empty() && !has_failed {
            "There are no dead letters.\n".to_owned()
        } else {
            lines
        }
    }
}

#[cfg(test)]
mod tests;
