//! `vedette channel add`: adds a channel.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};
use vedette_actions::{ActionError, add_channel};
use vedette_domain::accounts::audit::Actor;
use vedette_domain::alerts::channel::{
    ChannelField, ChannelKind, EventKind, FieldShape, FieldValues, FieldsError, Filter, Target,
};
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::TeamId;
use vedette_domain::issues::Severity;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use super::shown::{Added, Shown};
use crate::{Failure, args, team};

/// A channel to add: a subcommand for each kind, with an argument for each of its fields.
#[derive(Debug)]
pub(crate) struct NewChannel {
    kind: ChannelKind,
    destination: Given,
    options: Vec<(&'static ChannelField, Given)>,
    common: Common,
}

/// The argument for a field.
#[derive(Debug)]
enum Given {
    /// The value.
    Text(String),
    /// A file with the value; `-` is a line of standard input.
    File(PathBuf),
}

/// The options of all channels.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Its name; by default the address or the kind
    #[arg(long, value_parser = args::name)]
    name: Option<String>,
    /// Events that it gets, repeated or separated by commas; all if left out
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = args::event())]
    events: Vec<EventKind>,
    /// Tools whose issues it gets; all if left out
    #[arg(long, value_name = "TOOL", value_delimiter = ',', value_parser = args::tool())]
    tools: Vec<Tool>,
    /// Severities that it gets; all if left out
    #[arg(long, value_name = "SEVERITY", value_delimiter = ',', value_parser = args::severity())]
    severities: Vec<Severity>,
}

impl Subcommand for NewChannel {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(ChannelKind::ALL.map(subcommand))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        ChannelKind::parse(name).is_some()
    }
}

impl FromArgMatches for NewChannel {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (name, matches) =
            matches.subcommand().ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let kind = ChannelKind::parse(name)
            .ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))?;
        let description = kind.description();
        let destination = given(&description.destination, matches)
            .ok_or_else(|| clap::Error::new(ErrorKind::MissingRequiredArgument))?;
        let options = description.options.iter();
        let options = options.filter_map(|field| Some((field, given(field, matches)?)));
        let options = options.collect();
        Ok(Self { kind, destination, options, common: Common::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(kind: ChannelKind) -> Command {
    let description = kind.description();
    let destination = argument(&description.destination);
    let destination = match description.destination.shape {
        FieldShape::MailAddress => destination.required(true),
        FieldShape::Secret => destination.default_value("-"),
    };
    let command = Command::new(kind.as_str()).arg(destination);
    let command = command.args(description.options.iter().map(argument));
    // The descriptions of the common options do not depend on the kind.
    Common::augment_args(command).about(description.about)
}

fn argument(field: &'static ChannelField) -> Arg {
    match field.shape {
        FieldShape::MailAddress => Arg::new(field.name)
            .value_name(field.name.to_uppercase())
            .help(capitalized(field.help))
            .value_parser(args::mailbox),
        FieldShape::Secret => Arg::new(field.name)
            .long(format!("{}-file", field.name))
            .value_name("FILE")
            .help(format!("File with {}; `-` for a line of standard input", field.help))
            .value_parser(value_parser!(PathBuf)),
    }
}

fn given(field: &ChannelField, matches: &ArgMatches) -> Option<Given> {
    match field.shape {
        FieldShape::MailAddress => matches.get_one(field.name).cloned().map(Given::Text),
        FieldShape::Secret => matches.get_one(field.name).cloned().map(Given::File),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

impl NewChannel {
    fn target(&self, app: &App) -> Result<Target, Failure> {
        let destination = self.destination.read(&self.kind.description().destination)?;
        let mut values = FieldValues { destination, ..FieldValues::default() };
        for (field, given) in &self.options {
            values.options.insert(field.name, given.read(field)?);
        }
        let target = self.kind.read(&values, || app.entropy.signing_key());
        target.map_err(|error| match error {
            FieldsError::Field(error) => Failure::Usage(error.to_string()),
            FieldsError::Key(error) => Failure::because(error),
        })
    }
}

impl Given {
    fn read(&self, field: &ChannelField) -> Result<String, Failure> {
        let path = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::File(path) => path,
        };
        let text = match path == Path::new("-") {
            true => line(field.noun),
            false => args::read_secret(path),
        };
        text.map_err(|error| {
            let (noun, path) = (field.noun, path.display());
            Failure::Usage(format!("{noun} cannot be read from {path}: {error}"))
        })
    }
}

/// Reads a line of standard input. At a terminal, it asks for the line.
fn line(noun: &str) -> io::Result<String> {
    let input = io::stdin();
    if input.is_terminal() {
        writeln!(io::stderr(), "Paste {noun} and press Enter.")?;
    }
    let mut line = String::new();
    io::BufRead::read_line(&mut input.lock().take(args::READ_MAX), &mut line)?;
    Ok(line)
}

/// Adds a channel to a team.
pub(super) async fn add(app: &App, team: TeamId, new: &NewChannel) -> Result<Added, Failure> {
    team::find(app, team).await?;
    let target = new.target(app)?;
    let Common { name, events, tools, severities } = &new.common;
    let filter = Filter { events: set(events), tools: set(tools), severities: set(severities) };
    // Another person may add a channel with the same URL at the same time.
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
