//! `vedette channel edit`: changes a channel.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use vedette_domain::alerts::channel::ChannelKind;

use crate::Failure;
use crate::given::{all_given, options, read_secrets, typed_object};

/// What changes about a channel. It has the options of all kinds, because the command does not say which kind it is.
#[derive(Debug)]
pub(crate) struct Edit {
    texts: Map<String, Value>,
}

impl Args for Edit {
    fn augment_args(command: Command) -> Command {
        command.args(ChannelKind::edit_fields().into_iter().flat_map(|field| options(field, false)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Edit {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { texts: all_given(ChannelKind::edit_fields().into_iter(), false, matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Edit {
    /// The body of the request.
    pub(super) fn body(&self) -> Result<Map<String, Value>, Failure> {
        let mut texts = self.texts.clone();
        let fields = ChannelKind::edit_fields();
        read_secrets(fields.iter().copied(), &mut texts)?;
        Ok(typed_object(fields, &texts))
    }
}
