//! Options of commands, generated from the declarations of inputs.

use std::convert::Infallible;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::marker::PhantomData;
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use vedette_domain::input::{FieldPresence, Input, InputField, InputShape, TextKind};
use vedette_domain::validation::{Errors, Field, YES};
use vedette_domain::wording::capitalized;

use crate::{Failure, args};

/// What a command has options for.
pub(crate) trait Offer {
    /// The input that is read from them.
    type Input: Input;
    /// The fields that the command offers; empty for all that have an option.
    const NAMES: &'static [&'static str] = &[];

    /// These fields.
    fn fields() -> impl Iterator<Item = &'static InputField> {
        Self::Input::FIELDS.iter().filter(|field| {
            let is_offered = Self::NAMES.is_empty() || Self::NAMES.contains(&field.name);
            is_offered && field.is_part_of(Self::Input::IS_NEW) && !is_without_option(field)
        })
    }
}

impl<T: Input> Offer for T {
    type Input = T;
}

/// An input, as the options of a command gave it.
#[derive(Debug)]
pub(crate) struct Given<T> {
    texts: Map<String, Value>,
    of: PhantomData<fn() -> T>,
}

impl<T: Offer> Given<T> {
    /// The body of a request, with fields that have no option.
    pub(crate) fn body(
        &self,
        others: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<Map<String, Value>, Failure> {
        let mut texts = self.texts.clone();
        read_secrets(T::fields(), &mut texts)?;
        let mut body = typed_object(T::Input::FIELDS, &texts);
        for (name, value) in others {
            texts.insert(name.to_owned(), value.clone());
            body.insert(name.to_owned(), value);
        }
        let read = T::Input::from_texts(&texts).map(drop);
        read.map_err(|error| Failure::Usage(error.message()))?;
        Ok(body)
    }

    /// What was given.
    pub(crate) const fn texts(&self) -> &Map<String, Value> {
        &self.texts
    }
}

impl<T: Offer> Args for Given<T> {
    fn augment_args(command: Command) -> Command {
        T::fields().fold(command, |command, field| command.args(options(field, T::Input::IS_NEW)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Offer> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let texts = all_given(T::fields(), T::Input::IS_NEW, matches);
        Ok(Self { texts, of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether a field has no option, because it lists objects or a command names its values in another way.
fn is_without_option(field: &InputField) -> bool {
    let lists_objects = match (field.shape)() {
        InputShape::List { items, .. } => {
            matches!(*items, InputShape::Object(_) | InputShape::Variants(_))
        }
        _ => false,
    };
    lists_objects || field.option.0 == "-"
}

/// Whether a field is a secret, which no command contains: its option names a file.
fn is_secret(field: &InputField) -> bool {
    matches!((field.shape)(), InputShape::Text { kind: TextKind::Secret, .. })
}

/// The name of a field's option.
fn name_of(field: &InputField) -> String {
    match field.option.0 {
        "" if is_secret(field) => format!("{}-file", field.name),
        "" => field.name.replace('_', "-"),
        name => name.to_owned(),
    }
}

/// The name of the option that turns a field off.
fn off(field: &InputField) -> String {
    match field.off {
        "" => format!("no-{}", name_of(field)),
        name => name.to_owned(),
    }
}

/// The option of a field and, if a change may turn it off, the option that does so. An object has the options of its
/// fields.
pub(crate) fn options(field: &'static InputField, is_new: bool) -> Vec<Arg> {
    let name = name_of(field);
    let shape = (field.shape)();
    if let InputShape::Object(fields) = shape {
        let fields = fields.iter().filter(|field| !is_without_option(field));
        return fields.flat_map(|field| options(field, is_new)).collect();
    }
    if is_secret(field) {
        return vec![file(field, is_new)];
    }
    // The default is shown by itself.
    let description = field.description(false).replace('`', "");
    // This matters only to clients of the API.
    let own = description.strip_prefix("An addition to the specification: ").map(capitalized);
    let mut description = own.unwrap_or(description);
    if matches!(shape, InputShape::Minutes(_)) {
        description = description.replacen('.', ": 30m, 2h, 3d.", 1);
    }
    let (first, more) = description.split_once(". ").unwrap_or((&description, ""));
    let arg = Arg::new(name.clone()).long(name.clone());
    let arg = arg.help(first.trim_end_matches('.').to_owned());
    let arg = if more.is_empty() { arg } else { arg.long_help(description.clone()) };
    if matches!(shape, InputShape::Flag) {
        let arg = arg.action(ArgAction::SetTrue);
        let help = format!("Turn off --{name}");
        let off = Arg::new(off(field)).long(off(field)).help(help).action(ArgAction::SetTrue);
        return match is_new {
            true => vec![arg],
            false => vec![arg.conflicts_with(off.get_id()), off],
        };
    }
    let value = match field.option.1 {
        "" => field.name.to_uppercase(),
        value => value.to_owned(),
    };
    let arg = arg.value_name(value).required(field.is_required(is_new));
    let arg = if field.needs.is_empty() || is_new { arg } else { arg.requires(field.needs) };
    let arg = match (field.default)().filter(|_| is_new) {
        Some(default) if matches!(shape, InputShape::Minutes(_)) => {
            arg.default_value(format!("{default}m"))
        }
        Some(default) => arg.default_value(default),
        None => arg,
    };
    let is_list = matches!(shape, InputShape::List { .. });
    let arg = arg.action(if is_list { ArgAction::Append } else { ArgAction::Set });
    let one = match shape {
        InputShape::List { items, .. } => *items,
        shape => shape,
    };
    vec![match one {
        InputShape::Choice(values) => {
            let arg = arg.value_parser(PossibleValuesParser::new(values).map(Value::String));
            if is_list { arg.value_delimiter(',') } else { arg }
        }
        InputShape::Minutes(_) => arg.value_parser(move |text: &str| minutes(field, text)),
        _ => arg.value_parser(move |text: &str| checked(field, text.into())),
    }]
}

/// The option for the file with a secret.
fn file(field: &InputField, is_new: bool) -> Arg {
    let mut what = field.about.trim().trim_end_matches('.').to_owned();
    what[..1].make_ascii_lowercase();
    let arg = Arg::new(name_of(field)).long(name_of(field)).value_name("FILE");
    let arg = arg.help(format!("File with {what}; `-` for a line of standard input"));
    let arg = arg.value_parser(|path: &str| Ok::<_, Infallible>(Value::from(path)));
    let is_required = is_new && field.presence == FieldPresence::Required;
    if is_required { arg.default_value("-") } else { arg }
}

/// Replaces the names of files with the secrets in them.
pub(crate) fn read_secrets<'f>(
    fields: impl Iterator<Item = &'f InputField>,
    texts: &mut Map<String, Value>,
) -> Result<(), Failure> {
    for field in fields.filter(|field| is_secret(field)) {
        if let Some(Value::String(text)) = texts.get_mut(field.name) {
            *text = secret(field.name, text).map_err(|error| {
                let name = field.name;
                Failure::Usage(format!("the {name} cannot be read from {text}: {error}"))
            })?;
        }
    }
    Ok(())
}

/// Reads a file, or a line of standard input.
fn secret(name: &str, path: &str) -> io::Result<String> {
    if path == "-" { read_line(name) } else { args::read_secret(Path::new(path)) }
}

/// Reads a line of standard input. At a terminal, it asks for it.
pub(crate) fn read_line(name: &str) -> io::Result<String> {
    let (input, mut text) = (io::stdin(), String::new());
    if input.is_terminal() {
        writeln!(io::stderr(), "Paste the {name} and press Enter.")?;
    }
    input.lock().take(args::READ_MAX).read_line(&mut text)?;
    Ok(text)
}

/// Texts as the values of an object's fields.
pub(crate) fn typed_object<'f>(
    fields: impl IntoIterator<Item = &'f InputField> + Clone,
    texts: &Map<String, Value>,
) -> Map<String, Value> {
    let known = texts.iter().map(|(name, text)| {
        let field = fields.clone().into_iter().find(|field| field.name == name);
        (name.clone(), field.map_or_else(|| text.clone(), |field| typed(&(field.shape)(), text)))
    });
    known.collect()
}

/// A text as a value of this shape.
fn typed(shape: &InputShape, text: &Value) -> Value {
    match (shape, text) {
        (InputShape::Flag, _) => (text == YES).into(),
        (_, Value::String(text)) if text.is_empty() => Value::Null,
        (
            InputShape::Minutes(_) | InputShape::Integer(..) | InputShape::Number(_),
            Value::String(digits),
        ) => digits.trim().parse::<u32>().map_or_else(|_| text.clone(), Value::from),
        (InputShape::Decimal(..), Value::String(number)) => {
            number.trim().parse::<f64>().map_or_else(|_| text.clone(), Value::from)
        }
        (InputShape::List { items, .. }, Value::Array(texts)) => {
            texts.iter().map(|text| typed(items, text)).collect()
        }
        (InputShape::Object(fields), Value::Object(texts)) => typed_object(*fields, texts).into(),
        _ => text.clone(),
    }
}

/// A duration as minutes, rounded up. An empty one is null.
fn minutes(field: &'static InputField, text: &str) -> Result<Value, String> {
    if text.is_empty() && field.is_nullable() {
        return Ok(text.into());
    }
    let seconds = args::duration(text)?.as_secs();
    checked(field, (seconds.saturating_add(59) / 60).max(1).to_string().into())
        .map_err(|_| (field.limit)().trim_end_matches('.').to_lowercase())
}

/// A value, if the field accepts it.
fn checked(field: &'static InputField, text: Value) -> Result<Value, String> {
    let mut errors = Errors::new();
    let sent = match (field.shape)() {
        InputShape::List { .. } => vec![text.clone()].into(),
        _ => text.clone(),
    };
    (field.check)(&Field::text(field.name, &sent), &mut errors);
    errors.finish(Some(text)).map_err(|error| {
        let message = error.message();
        // The option is named anyway.
        let predicate = message.split_once(" field ").map_or(&*message, |(_, predicate)| predicate);
        predicate.trim_end_matches('.').to_owned()
    })
}

/// What was given for these fields.
pub(crate) fn all_given<'f>(
    fields: impl Iterator<Item = &'f InputField>,
    is_new: bool,
    matches: &ArgMatches,
) -> Map<String, Value> {
    let given = |field: &InputField| Some((field.name.to_owned(), given(field, is_new, matches)?));
    fields.filter_map(given).collect()
}

/// What was given for a field, if anything.
fn given(field: &InputField, is_new: bool, matches: &ArgMatches) -> Option<Value> {
    let name = name_of(field);
    match (field.shape)() {
        InputShape::Object(fields) => {
            let fields = fields.iter().filter(|field| !is_without_option(field));
            let given = all_given(fields, is_new, matches);
            (!given.is_empty()).then(|| given.into())
        }
        InputShape::Flag if matches.get_flag(&name) => Some(YES.into()),
        InputShape::Flag => (!is_new && matches.get_flag(&off(field))).then(|| "".into()),
        InputShape::List { .. } => {
            let given: Vec<Value> = matches.get_many(&name)?.cloned().collect();
            Some(given.into())
        }
        _ => matches.get_one(&name).cloned(),
    }
}
