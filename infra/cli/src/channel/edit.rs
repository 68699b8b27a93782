//! `vedette channel edit`: changes a channel.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use vedette_domain::alerts::channel::{ChannelEdit, ChannelKind};
use vedette_domain::input::{Input as _, InputField};

use crate::Failure;
use crate::given::{all_given, options, read_secrets, typed_object};

/// What changes about a channel. It has the options of all kinds, because the command does not say which kind it is.
#[derive(Debug)]
pub(crate) struct Edit {
    texts: Map<String, Value>,
}

/// The fields of all channels, and those of any kind.
fn fields() -> impl Iterator<Item = &'static InputField> {
    let mut fields: Vec<&InputField> = ChannelEdit::FIELDS.iter().collect();
    for field in ChannelKind::ALL.into_iter().flat_map(ChannelKind::target_fields) {
        if fields.iter().all(|known| known.name != field.name) {
            fields.push(field);
        }
    }
    fields.into_iter()
}

impl Args for Edit {
    fn augment_args(command: Command) -> Command {
        command.args(fields().flat_map(|field| options(field, false)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Edit {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { texts: all_given(fields(), false, matches) })
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
        read_secrets(fields(), &mut texts)?;
        let body = typed_object(ChannelEdit::FIELDS, &texts);
        let kinds = ChannelKind::ALL.into_iter();
        Ok(kinds.fold(body, |body, kind| typed_object(kind.target_fields(), &body)))
    }
}
