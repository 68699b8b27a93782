//! `vedette channel add`: adds a channel.

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value};
use vedette_domain::alerts::channel::{ChannelInput, ChannelKind};
use vedette_domain::id::TeamId;
use vedette_domain::input::Input as _;

use super::shown;
use crate::Failure;
use crate::api::{Api, Call};
use crate::given::{all_given, options, read_secrets, typed_object};
use crate::output::Record;

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
pub(super) async fn add(
    api: &Api<'_>,
    team: TeamId,
    new: &NewChannel,
) -> Result<Record<Value>, Failure> {
    let mut texts = new.texts.clone();
    read_secrets(new.kind.fields(), &mut texts)?;
    let own = typed_object(new.kind.description().fields, &texts);
    let mut body = typed_object(ChannelInput::FIELDS, &own);
    body.insert("kind".to_owned(), new.kind.as_str().into());
    let create = Call::to("channels.create").of("team", team).sending(body);
    Ok(shown::added(api.call(&create).await?))
}
