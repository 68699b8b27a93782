//! The declaration of what people enter. Each field is declared once, with its name, its type, its rule, its default,
//! its description, its label in forms, and its option on the command line.
//!
//! [`input!`] generates a type for a new resource and a type for a change. Both are read from JSON, from forms and
//! from command lines alike, with all errors at once. [`Input::FIELDS`] describes the fields: the API's
//! schemas, the forms and the options of commands are generated from it.

mod rule;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::validation::{Errors, Field, Fields, ValidationError, parse_body};

pub use rule::{
    FieldRule, FlagRule, InputShape, InputVariant, IntegerRule, ListRule, MinutesRule, NumberRule,
    ObjectRule, TextKind, TextRule, VerbatimRule, instant, line, lines,
};

/// What people enter about a resource.
pub trait Input: Sized + 'static {
    /// The fields, in the order in which they are validated and shown.
    const FIELDS: &'static [InputField];
    /// Whether it is a new resource, not a change of one: required fields must be there, and defaults apply.
    const IS_NEW: bool;

    /// Reads the fields; `None` if a required one is missing or wrong.
    fn read(fields: &Fields<'_>, errors: &mut Errors) -> Option<Self>;

    /// Reads an input from the body of a request.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    fn from_json(body: &[u8]) -> Result<Self, ValidationError> {
        parse(&Fields::body(&parse_body(body)?))
    }

    /// Reads an input from the body of a request, and ignores fields that are not known.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    fn from_open_json(body: &[u8]) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let read = Self::read(&Fields::body(&parse_body(body)?), &mut errors);
        errors.finish(read)
    }

    /// Reads an input from what was typed into a form or on a command line.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    fn from_texts(fields: &Map<String, Value>) -> Result<Self, ValidationError> {
        parse(&Fields::texts(fields))
    }
}

fn parse<T: Input>(fields: &Fields<'_>) -> Result<T, ValidationError> {
    let mut errors = Errors::new();
    let read = read_object(fields, &mut errors);
    errors.finish(read)
}

/// Reads an input with its rules about several fields.
pub(crate) fn read_object<T: Input>(fields: &Fields<'_>, errors: &mut Errors) -> Option<T> {
    read_beside(&[], fields, errors)
}

/// Reads an object of a kind, which its field `kind` names.
pub(crate) fn read_variant<T: Input>(fields: &Fields<'_>, errors: &mut Errors) -> Option<T> {
    read_beside(&["kind"], fields, errors)
}

/// Reads an input whose object also has `others`, which are read elsewhere.
pub(crate) fn read_beside<T: Input>(
    others: &[&str],
    fields: &Fields<'_>,
    errors: &mut Errors,
) -> Option<T> {
    for InputField { name, needs, .. } in T::FIELDS.iter().filter(|_| !T::IS_NEW) {
        if !needs.is_empty() && fields.field(name).is_sent() && !fields.field(needs).is_sent() {
            fields.field(needs).refuse(errors, format_args!("is required with a {name}"));
        }
    }
    let read = T::read(fields, errors);
    let own = T::FIELDS.iter().filter(|field| field.is_part_of(T::IS_NEW));
    let names = own.flat_map(|field| [field.name, field.former.0]);
    let names = names.filter(|name| !name.is_empty()).chain(others.iter().copied());
    fields.only(&names.collect::<Vec<_>>(), errors);
    read
}

/// What it means if a field is omitted or null. In forms and on the command line, an empty field is null. Without it, a
/// change leaves what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldPresence {
    /// A new resource must have it.
    Required,
    /// A new resource and each change must have it.
    Always,
    /// It must be there, and may be null.
    Sent,
    /// It may be omitted, and is not null.
    Optional,
    /// It may be omitted or null, which means the same.
    Nullable,
    /// It may be omitted or null. In a change, null removes what there is.
    Clearable,
    /// Only a change may have it, and it is not null.
    ChangeOnly,
}

/// A field of an input, for those who describe it.
#[derive(Debug)]
pub struct InputField {
    /// Its name in the API and in forms.
    pub name: &'static str,
    /// See [`InputField::description`].
    pub about: &'static str,
    /// Its label in forms; empty if the name is the label.
    pub label: &'static str,
    /// What a form says below it.
    pub help: &'static str,
    /// Its option on the command line and the name of the option's value; empty if they are called like the field, `-`
    /// if there is no option.
    pub option: (&'static str, &'static str),
    /// The option that turns it off; empty if it is `no-` and the option.
    pub off: &'static str,
    /// The field that a change must have together with it; empty if there is none.
    pub needs: &'static str,
    /// An older name that requests may use instead and its description; empty if there is none.
    pub former: (&'static str, &'static str),
    /// What it means if it is omitted or null.
    pub presence: FieldPresence,
    /// What a new resource has if it is omitted, as a text.
    pub default: fn() -> Option<String>,
    /// Which values it has.
    pub shape: fn() -> InputShape,
    /// The limit in words, if it is not part of the shape.
    pub limit: fn() -> String,
    /// Records what is wrong with a value.
    pub check: fn(&Field<'_>, &mut Errors),
}

impl InputField {
    /// Whether it may be null.
    pub const fn is_nullable(&self) -> bool {
        use FieldPresence::{Clearable, Nullable, Sent};
        matches!(self.presence, Sent | Nullable | Clearable)
    }

    /// Whether a new resource, or a change, may have it.
    pub fn is_part_of(&self, is_new: bool) -> bool {
        !is_new || self.presence != FieldPresence::ChangeOnly
    }

    /// Whether a new resource, or a change, must have it.
    pub fn is_required(&self, is_new: bool) -> bool {
        match self.presence {
            FieldPresence::Always | FieldPresence::Sent => true,
            FieldPresence::Required => is_new,
            _ => false,
        }
    }

    /// What it means, in sentences, with its limit and its default.
    pub fn description(&self, is_new: bool) -> String {
        let default = (self.default)().filter(|_| is_new);
        let default = default.map(|value| format!("The default is `{value}`."));
        let parts = [self.about.trim().to_owned(), (self.limit)(), default.unwrap_or_default()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Its name below a path, as errors have it.
    pub fn name_below(&self, path: &str) -> String {
        if path.is_empty() { self.name.to_owned() } else { format!("{path}.{}", self.name) }
    }

    /// The field at a dotted path.
    pub fn find(fields: &'static [Self], path: &str) -> Option<&'static Self> {
        let (name, rest) =
            path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let field = fields.iter().find(|field| field.name == name)?;
        match (rest, (field.shape)()) {
            (None, _) => Some(field),
            (Some(rest), InputShape::Object(fields)) => Self::find(fields, rest),
            (Some(_), _) => None,
        }
    }

    /// Its label in forms.
    pub fn label(&self) -> String {
        if !self.label.is_empty() {
            return self.label.to_owned();
        }
        let (first, rest) = self.name.split_at(1);
        format!("{}{}", first.to_uppercase(), rest.replace('_', " "))
    }
}

/// Declares an input: the type of a new resource, and the type of a change unless there is none. Each field has its
/// description, its [`FieldPresence`], its type, its rule and, perhaps, its default. Other attributes are for where its
/// name is not the best label or option.
macro_rules! input {
    (
        $(#[doc = $new_doc:literal])+ $new:ident,
        $(#[doc = $change_doc:literal])+ $change:ident { $($fields:tt)+ }
    ) => {
        $crate::input::input!($(#[doc = $new_doc])+ $new { $($fields)+ });
        $crate::input::input!(@change $(#[doc = $change_doc])+ $change of $new { $($fields)+ });
    };
    (
        $(#[doc = $new_doc:literal])+ $new:ident { $(
            $(#[doc = $doc:literal])+
            $(#[form($label:literal $(, $help:literal)?)])?
            $(#[option($option:literal $(, $value:literal)?)])?
            $(#[off($off:literal)])?
            $(#[needs($needs:literal)])?
            $field:ident: $presence:ident<$type:ty> = $rule:expr $(, or $default:expr)?;
        )+ }
    ) => {
        $(#[doc = $new_doc])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $new {
            $($(#[doc = $doc])+ pub $field: $crate::input::new_type!($presence $type $(, $default)?),)+
        }

        impl $crate::input::Input for $new {
            const FIELDS: &'static [$crate::input::InputField] = &[$($crate::input::field!(
                $(#[doc = $doc])+
                $(#[form($label $(, $help)?)])?
                $(#[option($option $(, $value)?)])?
                $(#[off($off)])?
                $(#[needs($needs)])?
                $field: $presence<$type> = $rule $(, or $default)?
            ),)+];
            const IS_NEW: bool = true;

            fn read(
                fields: &$crate::validation::Fields<'_>,
                errors: &mut $crate::validation::Errors,
            ) -> Option<Self> {
                $(let $field = $crate::input::read_new!(
                    $presence, fields.field(stringify!($field)), errors, $rule $(, $default)?
                );)+
                Some(Self { $($field: $field?,)+ })
            }
        }
    };
    (
        @change $(#[doc = $change_doc:literal])+ $change:ident of $new:ident { $(
            $(#[doc = $doc:literal])+
            $(#[form $form:tt])?
            $(#[option $option:tt])?
            $(#[off $off:tt])?
            $(#[needs $needs:tt])?
            $field:ident: $presence:ident<$type:ty> = $rule:expr $(, or $default:expr)?;
        )+ }
    ) => {
        $(#[doc = $change_doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct $change {
            $($(#[doc = $doc])+ pub $field: $crate::input::change_type!($presence $type),)+
        }

        impl $crate::input::Input for $change {
            const FIELDS: &'static [$crate::input::InputField] =
                <$new as $crate::input::Input>::FIELDS;
            const IS_NEW: bool = false;

            fn read(
                fields: &$crate::validation::Fields<'_>,
                errors: &mut $crate::validation::Errors,
            ) -> Option<Self> {
                Some(Self { $(
                    $field: $crate::input::read_change!(
                        $presence, fields.field(stringify!($field)), errors, $rule
                    ),
                )+ })
            }
        }
    };
}
pub(crate) use input;

/// Describes a field.
macro_rules! field {
    (
        $(#[doc = $doc:literal])+
        $(#[form($label:literal $(, $help:literal)?)])?
        $(#[option($option:literal $(, $value:literal)?)])?
        $(#[off($off:literal)])?
        $(#[needs($needs:literal)])?
        $(#[formerly($former:literal, $former_doc:literal)])?
        $field:ident: $presence:ident<$type:ty> = $rule:expr $(, or $default:expr)?
    ) => {
        $crate::input::InputField {
            name: stringify!($field),
            about: concat!($($doc),+),
            label: concat!($($label)?),
            help: concat!($($($help)?)?),
            option: (concat!($($option)?), concat!($($($value)?)?)),
            off: concat!($($off)?),
            needs: concat!($($needs)?),
            former: (concat!($($former)?), concat!($($former_doc)?)),
            presence: $crate::input::FieldPresence::$presence,
            default: || Vec::<String>::from([$($default.to_string())?]).pop(),
            shape: || $crate::input::FieldRule::<$type>::shape(&$rule),
            limit: || $crate::input::FieldRule::<$type>::limit(&$rule),
            check: |field, errors| {
                let _: $crate::input::change_type!($presence $type) =
                    $crate::input::read_change!($presence, field, errors, $rule);
            },
        }
    };
}
pub(crate) use field;

macro_rules! new_type {
    (Required $type:ty) => { $type };
    (Always $type:ty) => { $type };
    ($presence:ident $type:ty, $default:expr) => { $type };
    ($presence:ident $type:ty) => { Option<$type> };
}
pub(crate) use new_type;

macro_rules! default_value {
    () => {
        None
    };
    ($default:expr) => {
        $default
    };
}
pub(crate) use default_value;

macro_rules! change_type {
    (Clearable $type:ty) => { Option<Option<$type>> };
    ($presence:ident $type:ty) => { Option<$type> };
}
pub(crate) use change_type;

/// Reads a field of a new resource; `None` if it is required, and missing or wrong.
macro_rules! read_new {
    (Required, $field:expr, $errors:ident, $rule:expr) => {
        $crate::input::FieldRule::read_required(&$rule, &$field, $errors)
    };
    (Always, $field:expr, $errors:ident, $rule:expr) => {
        $crate::input::read_change!(Always, $field, $errors, $rule)
    };
    (Sent, $field:expr, $errors:ident, $rule:expr) => {
        $field.sent($errors).map(|field| $crate::input::read_change!(Nullable, field, $errors, $rule))
    };
    (ChangeOnly, $field:expr, $errors:ident, $rule:expr) => {
        Some(None)
    };
    (Clearable, $field:expr, $errors:ident, $rule:expr) => {
        Some($crate::input::read_change!(Nullable, $field, $errors, $rule))
    };
    ($presence:ident, $field:expr, $errors:ident, $rule:expr $(, $default:expr)?) => {
        Some($crate::input::read_change!($presence, $field, $errors, $rule)$(.unwrap_or($default))?)
    };
}
pub(crate) use read_new;

/// Reads a field of a change.
macro_rules! read_change {
    (Always, $field:expr, $errors:ident, $rule:expr) => {
        $crate::input::FieldRule::read_required(&$rule, &$field, $errors)
    };
    (Clearable, $field:expr, $errors:ident, $rule:expr) => {
        $field.nullable(|field| $crate::input::FieldRule::read(&$rule, field, $errors))
    };
    (Nullable, $field:expr, $errors:ident, $rule:expr) => {
        $crate::input::read_change!(Clearable, $field, $errors, $rule).flatten()
    };
    ($presence:ident, $field:expr, $errors:ident, $rule:expr) => {
        $crate::input::FieldRule::read(&$rule, &$field, $errors)
    };
}
pub(crate) use read_change;
