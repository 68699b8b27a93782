//! Reads typed values from JSON, and from the texts of forms and command lines. Each value has a dotted path.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::{ECHO_MAX, Errors, echo};
use serde_json::{Map, Number, Value};

/// The largest integer if the API names no bound of its own: the largest signed 32-bit integer, which every client
/// language has.
pub const INTEGER_MAX: u32 = 2_147_483_647;

/// The text of a ticked box.
pub const YES: &str = "yes";

/// The fields of a JSON object, or of a form or a command line, at some path.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
    is_text: bool,
}

/// A field that may or may not have been sent.
///
/// Readers return `None` for an omitted field without an error, and for a wrong field after recording the error. Null
/// is wrong unless the field is read through [`Field::nullable`]; a blank string counts as null.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    value: Option<&'a Value>,
    path: String,
    is_text: bool,
}

impl<'a> Fields<'a> {
    /// The fields of a request body.
    pub const fn body(object: &'a Map<String, Value>) -> Self {
        Self { object, path: String::new(), is_text: false }
    }

    /// The fields of an object at a path.
    pub const fn at(path: String, object: &'a Map<String, Value>) -> Self {
        Self { object, path, is_text: false }
    }

    /// The fields of a form or of a command line. Their values, and those in their lists and objects, are texts: a number
    /// is written in digits, a ticked box is [`YES`], and one that is not ticked is empty.
    pub const fn texts(object: &'a Map<String, Value>) -> Self {
        Self { object, path: String::new(), is_text: true }
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Field<'a> {
        Field { value: self.object.get(name), path: self.path_of(name), is_text: self.is_text }
    }

    /// Whether the object has no fields.
    pub fn is_empty(&self) -> bool {
        self.object.is_empty()
    }

    /// Records an error for every field that is not among `known`. Call it after reading those that are.
    pub fn only(&self, known: &[&str], errors: &mut Errors) {
        for name in self.object.keys().filter(|name| !known.contains(&name.as_str())) {
            let path = self.path_of(&echo(name, ECHO_MAX));
            let message = format!("The {path} field is not known.");
            errors.push(path, message);
        }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

impl<'a> Field<'a> {
    /// A value at a path.
    pub fn at(path: impl Into<String>, value: &'a Value) -> Self {
        Self { value: Some(value), path: path.into(), is_text: false }
    }

    /// The value of a field of a form or of a command line.
    pub fn text(name: &str, value: &'a Value) -> Self {
        Self { value: Some(value), path: name.to_owned(), is_text: true }
    }

    /// The dotted path, as it appears among the errors.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The JSON value, including null, if the field was sent.
    pub const fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Whether the field was sent, even as null.
    pub const fn is_sent(&self) -> bool {
        self.value.is_some()
    }

    /// Whether the field was omitted or is null.
    pub fn is_absent(&self) -> bool {
        self.value.is_none_or(is_null)
    }

    /// Whether it is a box of a form that is not ticked. A text of a form that is empty looks the same.
    pub fn is_unticked(&self) -> bool {
        self.is_text && self.value.is_some_and(|value| value == "")
    }

    /// Records a message about this field that continues "The … field".
    pub fn refuse(&self, errors: &mut Errors, predicate: impl Display) {
        errors.push(self.path.clone(), format!("The {} field {predicate}.", self.path));
    }

    /// Records an error if the field is omitted or null. What is read from it afterwards is empty.
    #[must_use]
    pub fn required(mut self, errors: &mut Errors) -> Self {
        if self.is_absent() {
            self.refuse(errors, "is required");
            self.value = None;
        }
        self
    }

    /// The field, or an error if it is omitted.
    pub fn sent(&self, errors: &mut Errors) -> Option<&Self> {
        if !self.is_sent() {
            self.refuse(errors, "is required");
        }
        Some(self).filter(|field| field.is_sent())
    }

    /// Reads a field that may be null: `Some(None)` is a null that was sent.
    pub fn nullable<T>(&self, read: impl FnOnce(&Self) -> Option<T>) -> Option<Option<T>> {
        if self.value.is_some_and(is_null) { Some(None) } else { read(self).map(Some) }
    }

    /// A string, trimmed, of at most `max` characters.
    pub fn string(&self, max: usize, errors: &mut Errors) -> Option<String> {
        let Value::String(text) = self.not_null(errors)? else {
            self.refuse(errors, "must be a string");
            return None;
        };
        let text = text.trim();
        if text.chars().count() > max {
            self.refuse(errors, format_args!("must not be longer than {max} characters"));
            return None;
        }
        Some(text.to_owned())
    }

    /// A boolean. Numbers and strings are not accepted.
    pub fn boolean(&self, errors: &mut Errors) -> Option<bool> {
        let value = match self.value {
            Some(Value::String(text)) if self.is_text => {
                Some(text == YES).filter(|is_ticked| *is_ticked || text.is_empty())
            }
            _ => self.not_null(errors)?.as_bool(),
        };
        if value.is_none() {
            self.refuse(errors, "must be true or false");
        }
        value
    }

    /// An integer within bounds. `5.0` is one, `"5"` is not.
    pub fn integer(&self, bounds: RangeInclusive<u32>, errors: &mut Errors) -> Option<u32> {
        let value = self.whole_number(errors)?;
        let (min, max) = bounds.into_inner();
        if value < i128::from(min) {
            self.refuse(errors, format_args!("must be at least {min}"));
            return None;
        }
        match u32::try_from(value) {
            Ok(value) if value <= max => Some(value),
            _ => {
                self.refuse(errors, format_args!("must not be greater than {max}"));
                None
            }
        }
    }

    /// An integer that is one of `options`.
    pub fn integer_of(&self, options: &[u32], errors: &mut Errors) -> Option<u32> {
        let value = self.whole_number(errors)?;
        let found = options.iter().copied().find(|&option| i128::from(option) == value);
        if found.is_none() {
            self.refuse(errors, format_args!("must be one of {}", listed(options)));
        }
        found
    }

    /// A number.
    pub fn number(&self, errors: &mut Errors) -> Option<f64> {
        let value = match self.not_null(errors)? {
            Value::String(text) if self.is_text => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        if value.is_none() {
            self.refuse(errors, "must be a number");
        }
        value
    }

    /// A string that is the text of one of `options`.
    pub fn one_of<T: Display + Copy>(&self, options: &[T], errors: &mut Errors) -> Option<T> {
        let text = self.not_null(errors)?.as_str().map(str::trim);
        let found = options.iter().copied().find(|option| text == Some(&option.to_string()));
        if found.is_none() {
            self.refuse(errors, format_args!("must be one of {}", listed(options)));
        }
        found
    }

    /// The items of an array whose length is within bounds, each at its index.
    pub fn items(
        &self,
        length: RangeInclusive<usize>,
        errors: &mut Errors,
    ) -> Option<Vec<Field<'a>>> {
        let Value::Array(items) = self.not_null(errors)? else {
            self.refuse(errors, "must be an array");
            return None;
        };
        let (min, max) = length.into_inner();
        if items.len() < min {
            self.refuse(errors, format_args!("must have at least {}", counted(min)));
            return None;
        }
        if items.len() > max {
            self.refuse(errors, format_args!("must not have more than {}", counted(max)));
            return None;
        }
        let at = |(index, item)| Field {
            value: Some(item),
            path: format!("{}.{index}", self.path),
            is_text: self.is_text,
        };
        Some(items.iter().enumerate().map(at).collect())
    }

    /// A list whose length is within bounds, of values that are each read on its own; `None` if any of them is wrong.
    /// The collection type decides about order and duplicates.
    pub fn list<T, C: FromIterator<T>>(
        &self,
        length: RangeInclusive<usize>,
        errors: &mut Errors,
        read: impl Fn(&Field<'a>, &mut Errors) -> Option<T>,
    ) -> Option<C> {
        // All items are read before a failure counts, so that every invalid one is reported.
        let values: Vec<Option<T>> =
            self.items(length, errors)?.iter().map(|item| read(item, errors)).collect();
        values.into_iter().collect()
    }

    /// An object.
    pub fn object(&self, errors: &mut Errors) -> Option<Fields<'a>> {
        let Value::Object(object) = self.not_null(errors)? else {
            self.refuse(errors, "must be an object");
            return None;
        };
        Some(Fields { object, path: self.path.clone(), is_text: self.is_text })
    }

    fn not_null(&self, errors: &mut Errors) -> Option<&'a Value> {
        let value = self.value?;
        if is_null(value) {
            self.refuse(errors, "must not be empty");
            return None;
        }
        Some(value)
    }

    fn whole_number(&self, errors: &mut Errors) -> Option<i128> {
        let value = match self.not_null(errors)? {
            Value::String(text) if self.is_text => text.trim().parse().ok(),
            value => value.as_number().and_then(whole),
        };
        if value.is_none() {
            self.refuse(errors, "must be an integer");
        }
        value
    }
}

/// Whether the value is null, as a blank string is.
fn is_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// The number when it has no fraction.
fn whole(number: &Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        // The cast saturates. Numbers that large are above every limit anyway.
        (float.fract() == 0.0).then_some(float as i128)
    })
}

fn listed<T: Display>(options: &[T]) -> String {
    options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn counted(items: usize) -> String {
    if items == 1 { "1 item".to_owned() } else { format!("{items} items") }
}

#[cfg(test)]
mod tests;
