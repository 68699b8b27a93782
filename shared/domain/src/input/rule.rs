//! Rules for the values of fields. Messages continue "The … field".

use std::fmt::Display;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde_json::Value;

use super::{Input, InputField, read_object};
use crate::name::parse_name;
use crate::text::disrupts_line;
use crate::validation::{Errors, Field};

/// A rule for the values of a field.
pub trait FieldRule<T> {
    /// Reads a value; `None` if it is omitted or if an error was recorded.
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T>;

    /// Reads a value that must be there.
    fn read_required(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        self.read(&field.clone().required(errors), errors)
    }

    /// Which values there are.
    fn shape(&self) -> InputShape;

    /// A limit that the shape does not contain, in a sentence; empty if there is none.
    fn limit(&self) -> String {
        String::new()
    }
}

/// Which values a field has.
#[derive(Debug)]
pub enum InputShape {
    /// A text.
    Text {
        /// The fewest characters.
        min: usize,
        /// The most characters; `usize::MAX` if they are limited in another way.
        max: usize,
        /// What it consists of.
        kind: TextKind,
    },
    /// A number of minutes from 1 to a maximum.
    Minutes(u32),
    /// An integer from a minimum to a maximum.
    Integer(u32, u32),
    /// A number from a minimum to a maximum, which may have decimals.
    Decimal(f64, f64),
    /// Yes or no.
    Flag,
    /// One of some texts.
    Choice(Vec<String>),
    /// One of some numbers.
    Number(Vec<u32>),
    /// A list.
    List {
        /// The fewest items.
        min: usize,
        /// The most items.
        max: usize,
        /// Each item.
        items: Box<InputShape>,
    },
    /// An object with these fields.
    Object(&'static [InputField]),
    /// An object of one of these kinds, which its field `kind` names.
    Variants(Vec<InputVariant>),
    /// A text, a number, true, false or null. A text has at most so many characters.
    Scalar(usize),
}

/// A kind of object.
#[derive(Debug)]
pub struct InputVariant {
    /// Its name.
    pub kind: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Its other fields.
    pub fields: &'static [InputField],
}

/// What a text consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Visible text on one line.
    Line,
    /// Anything but blanks.
    NotBlank,
    /// Visible text on several lines.
    Lines,
    /// What matches a regular expression.
    Pattern(&'static str),
    /// A URL of http or https.
    Url,
    /// A format of JSON Schema.
    Format(&'static str),
    /// A secret. Once saved, it is not shown.
    Secret,
    /// A secret of several lines. Once saved, it is not shown.
    SecretLines,
    /// See the description of the field.
    Other,
}

/// A text. Surrounding whitespace is ignored.
#[derive(Debug, Clone, Copy)]
pub struct TextRule<T> {
    /// The fewest characters. If it is not 0, `parse` checks both limits.
    pub min: usize,
    /// The most characters; `usize::MAX` if `parse` limits them.
    pub max: usize,
    /// What it consists of.
    pub kind: TextKind,
    /// Reads it, or says what is wrong with it.
    pub parse: fn(&str) -> Result<T, String>,
}

impl<T> FieldRule<T> for TextRule<T> {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        // If there is a minimum, one message says both limits.
        let max = if self.min > 0 { usize::MAX } else { self.max };
        let text = field.string(max, errors)?;
        (self.parse)(&text).map_err(|error| field.refuse(errors, error)).ok()
    }

    fn shape(&self) -> InputShape {
        InputShape::Text { min: self.min, max: self.max, kind: self.kind }
    }
}

/// A value that is read as it was sent. Spaces around a text count.
#[derive(Debug, Clone, Copy)]
pub struct VerbatimRule<T> {
    /// Whether a value is as good as none.
    pub is_missing: fn(&Value) -> bool,
    /// Reads a value that is not missing, or says what is wrong with it.
    pub parse: fn(&Value) -> Result<T, String>,
    /// See [`FieldRule::shape`].
    pub shape: fn() -> InputShape,
}

impl<T> FieldRule<T> for VerbatimRule<T> {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        field.value().and_then(|_| self.read_required(field, errors))
    }

    fn read_required(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        let value = field.value().filter(|value| !(self.is_missing)(value));
        let read = value.ok_or_else(|| "is required".to_owned()).and_then(self.parse);
        read.map_err(|error| field.refuse(errors, error)).ok()
    }

    fn shape(&self) -> InputShape {
        (self.shape)()
    }
}

/// A name of at most so many characters.
pub const fn line(max: usize) -> TextRule<String> {
    let parse = |text: &str| parse_name(text).map(str::to_owned).map_err(|error| error.to_string());
    TextRule { min: 0, max, kind: TextKind::Line, parse }
}

/// A text of several lines, of at most so many characters.
pub const fn lines(max: usize) -> TextRule<String> {
    let parse = |text: &str| {
        let text = text.replace("\r\n", "\n");
        match text.chars().all(|c| c == '\n' || !disrupts_line(c)) {
            true => Ok(text),
            false => Err("must not contain control characters other than line breaks, or characters that change the \
                          direction of text"
                .to_owned()),
        }
    };
    TextRule { min: 0, max, kind: TextKind::Lines, parse }
}

/// An instant.
pub const fn instant() -> TextRule<Timestamp> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            "must be a date and time with a UTC offset, such as 2026-11-24T02:46:00+01:00"
                .to_owned()
        })
    };
    TextRule { min: 0, max: usize::MAX, kind: TextKind::Format("date-time"), parse }
}

/// A number of minutes from 1 to a maximum, which is a number of days.
#[derive(Debug, Clone, Copy)]
pub struct MinutesRule(pub u32);

impl<T: TryFrom<u32>> FieldRule<T> for MinutesRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        field.integer(1..=self.0, errors)?.try_into().ok()
    }

    fn shape(&self) -> InputShape {
        InputShape::Minutes(self.0)
    }

    fn limit(&self) -> String {
        match self.0 / (24 * 60) {
            1 => "At most a day.".to_owned(),
            days => format!("At most {days} days."),
        }
    }
}

/// An integer within bounds.
#[derive(Debug, Clone, Copy)]
pub struct IntegerRule {
    /// The smallest.
    pub min: u32,
    /// The largest.
    pub max: u32,
}

impl<T: TryFrom<u32>> FieldRule<T> for IntegerRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        field.integer(self.min..=self.max, errors)?.try_into().ok()
    }

    fn shape(&self) -> InputShape {
        InputShape::Integer(self.min, self.max)
    }
}

/// One of these numbers.
#[derive(Debug, Clone, Copy)]
pub struct NumberRule<const N: usize>(pub [u32; N]);

impl<T: TryFrom<u32>, const N: usize> FieldRule<T> for NumberRule<N> {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        field.integer_of(&self.0, errors)?.try_into().ok()
    }

    fn shape(&self) -> InputShape {
        InputShape::Number(self.0.into())
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy)]
pub struct FlagRule;

impl FieldRule<bool> for FlagRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<bool> {
        field.boolean(errors)
    }

    fn read_required(&self, field: &Field<'_>, errors: &mut Errors) -> Option<bool> {
        match field.is_unticked() {
            true => Some(false),
            false => self.read(&field.clone().required(errors), errors),
        }
    }

    fn shape(&self) -> InputShape {
        InputShape::Flag
    }
}

/// One of these values.
impl<T: Display + Copy, const N: usize> FieldRule<T> for [T; N] {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        field.one_of(self, errors)
    }

    fn shape(&self) -> InputShape {
        InputShape::Choice(self.iter().map(ToString::to_string).collect())
    }
}

/// A list. The collection `C` decides about order and duplicates.
#[derive(Debug, Clone, Copy)]
pub struct ListRule<R, T> {
    min: usize,
    max: usize,
    items: R,
    of: PhantomData<fn() -> T>,
}

impl<R, T> ListRule<R, T> {
    /// A list of `min` to `max` items.
    pub const fn new(min: usize, max: usize, items: R) -> Self {
        Self { min, max, items, of: PhantomData }
    }
}

impl<T, C: FromIterator<T>, R: FieldRule<T>> FieldRule<C> for ListRule<R, T> {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<C> {
        field.list(self.min..=self.max, errors, |item, errors| self.items.read(item, errors))
    }

    fn shape(&self) -> InputShape {
        InputShape::List { min: self.min, max: self.max, items: Box::new(self.items.shape()) }
    }
}

/// An object with the fields of an input.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRule;

impl<T: Input> FieldRule<T> for ObjectRule {
    fn read(&self, field: &Field<'_>, errors: &mut Errors) -> Option<T> {
        read_object(&field.object(errors)?, errors)
    }

    fn shape(&self) -> InputShape {
        InputShape::Object(T::FIELDS)
    }
}
