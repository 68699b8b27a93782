//! `vedette channel add`: a new channel.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use vedette_actions::{ActionError, add_channel};
use vedette_domain::accounts::audit::Actor;
use vedette_domain::alerts::channel::discord::Discord;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::teams::Teams;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{EventKind, Filter, SecretUrl, SigningKeys, Target};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
use vedette_domain::issues::Severity;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use super::shown::{Added, Shown};
use crate::{Failure, args, team};

/// Where a channel leads.
#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    /// One mail address, which gets a link to confirm it first
    Email {
        /// The address
        #[arg(value_parser = args::mailbox)]
        address: Target,
        #[command(flatten)]
        common: Common,
    },
    /// An incoming webhook of Slack
    Slack(Posted),
    /// A webhook of a Discord channel
    Discord(Posted),
    /// A workflow of Microsoft Teams that starts when a webhook request is received
    Teams(Posted),
    /// A program, by Standard Webhooks (www.standardwebhooks.com); prints its signing key, this once
    Webhook(Posted),
}

/// What a channel has that is reached by a URL.
#[derive(Debug, Args)]
pub(crate) struct Posted {
    /// File with the URL, which is a password; `-` for a line of standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    url_file: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// What all channels have.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// What the team calls it; the address or the kind when left out
    #[arg(long, value_parser = args::name)]
    name: Option<String>,
    /// News that it wants, repeated or separated by commas; all when left out
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = args::event())]
    events: Vec<EventKind>,
    /// Tools whose issues it wants; all when left out
    #[arg(long, value_name = "TOOL", value_delimiter = ',', value_parser = args::tool())]
    tools: Vec<Tool>,
    /// Severities that it wants; all when left out
    #[arg(long, value_name = "SEVERITY", value_delimiter = ',', value_parser = args::severity())]
    severities: Vec<Severity>,
}

/// More than a URL may have, so that one that is too long is refused and not cut.
const READ_MAX: u64 = 16 * 1024;

impl Kind {
    const fn common(&self) -> &Common {
        match self {
            Self::Email { common, .. } => common,
            Self::Slack(posted)
            | Self::Discord(posted)
            | Self::Teams(posted)
            | Self::Webhook(posted) => &posted.common,
        }
    }

    fn target(&self, app: &App) -> Result<Target, Failure> {
        Ok(match self {
            Self::Email { address, .. } => address.clone(),
            Self::Slack(posted) => Target::Slack(Slack { url: posted.url()? }),
            Self::Discord(posted) => Target::Discord(Discord { url: posted.url()? }),
            Self::Teams(posted) => Target::Teams(Teams { url: posted.url()? }),
            Self::Webhook(posted) => {
                let key = app.entropy.signing_key().map_err(Failure::because)?;
                Target::Webhook(Webhook { url: posted.url()?, keys: SigningKeys::new(key) })
            }
        })
    }
}

impl Posted {
    fn url(&self) -> Result<SecretUrl, Failure> {
        let text = if self.url_file == Path::new("-") {
            first_line()
        } else {
            File::open(&self.url_file).and_then(read)
        };
        let unreadable = |error: io::Error| {
            Failure::Usage(format!(
                "the URL cannot be read from {}: {error}",
                self.url_file.display()
            ))
        };
        SecretUrl::parse(&text.map_err(unreadable)?)
            .map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// The first line of standard input, for which somebody at a terminal is asked.
fn first_line() -> io::Result<String> {
    let input = io::stdin();
    if input.is_terminal() {
        writeln!(io::stderr(), "Paste the URL and press Enter.")?;
    }
    let mut line = String::new();
    io::BufRead::read_line(&mut input.lock().take(READ_MAX), &mut line)?;
    Ok(line)
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(READ_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Gives a team a channel.
pub(super) async fn add(app: &App, team: TeamId, kind: &Kind) -> Result<Added, Failure> {
    team::find(app, team).await?;
    let target = kind.target(app)?;
    let Common { name, events, tools, severities } = kind.common();
    let filter = Filter { events: set(events), tools: set(tools), severities: set(severities) };
    // Somebody may add a channel to the same URL at the same time.
    let channel = retry_on_conflict(budget::WRITE, || {
        let (target, filter) = (target.clone(), filter.clone());
        add_channel(app, team, name.as_deref(), target, filter, Actor::Operator)
    });
    let channel = channel.await;
    let channel = channel.map_err(|error| match error {
        ActionError::Refused(ChannelRefusal::NameTaken(_)) => {
            Failure::refused(format!("{error}; --name gives this one another name"))
        }
        other => other.into(),
    })?;
    Ok(Added::new(&channel, Shown::read(app, &channel).await?))
}

fn set<T: Ord + Copy>(values: &[T]) -> BTreeSet<T> {
    values.iter().copied().collect()
}
