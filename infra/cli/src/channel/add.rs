//! `vedette channel add`: adds a channel.

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value};
use vedette_actions::{ActionError, add_channel};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::channel::ChannelKind;
use vedette_domain::alerts::refusal::ChannelRefusal;
use vedette_domain::id::TeamId;
use vedette_domain::validation::Fields;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use super::shown;
use crate::given::{all_given, options, read_secrets};
use crate::output::Record;
use crate::{Failure, team};

/// A channel to add: a subcommand for each kind, with an argument for each of its fields.
#[derive(Debug)]
pub(crate) struct NewChannel {
    kind: ChannelKind,
    texts: Map<String, Value>,
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
        Ok(Self { kind, texts: all_given(kind.fields(), true, matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(kind: ChannelKind) -> Command {
    let arguments = kind.fields().flat_map(|field| options(field, true));
    // An address is given without an option.
    let arguments =
        arguments.map(|arg| if arg.get_id() == "address" { arg.long(None) } else { arg });
    Command::new(kind.as_str()).about(kind.description().about).args(arguments)
}

/// Adds a channel to a team.
pub(super) async fn add(app: &App, team: TeamId, new: &NewChannel) -> Result<Record, Failure> {
    team::find(app, team).await?;
    let mut texts = new.texts.clone();
    read_secrets(new.kind.fields(), &mut texts)?;
    let read = new.kind.read(&Fields::texts(&texts), || app.entropy.signing_key());
    let read = read.map_err(Failure::because)?;
    let (target, input) = read.map_err(|error| Failure::Usage(error.message()))?;
    // Another person may add a channel with the same URL at the same time.
    let channel = retry_on_conflict(budget::WRITE, || {
        let (name, target) = (input.name.as_deref(), target.clone());
        add_channel(app, team, name, target, input.filter(), By::operator(app.clock.now()))
    });
    let channel = channel.await.map_err(|error| match error {
        ActionError::Refused(ChannelRefusal::NameTaken(_)) => {
            Failure::refused(format!("{error}; --name gives this one another name"))
        }
        other => other.into(),
    })?;
    shown::added(app, &channel).await
}
