//! Validation of requests: all errors are reported at once, each at its field.
//!
//! A route turns the body into an object with [`parse_body`], reads it through [`Fields`], and ends with
//! [`Errors::finish`]. Readers record errors and continue. The first error becomes the `message`, so fields must be
//! read in the order of the API's tables.

mod fields;

use std::borrow::Cow;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use fields::{Field, Fields, INTEGER_MAX, YES};

/// The most messages in one answer. This is our own limit, which keeps the answer to a hostile body smaller than what a
/// Lambda function may return.
const MESSAGES_MAX: usize = 500;

/// The most characters of a client's own name that an answer repeats.
pub const ECHO_MAX: usize = 100;

/// A client's text for an answer, cut if it is too long. The result shows that it was cut.
pub fn echo(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Collects the errors of a request, in the order in which they are found.
#[derive(Debug, Default)]
pub struct Errors {
    found: Vec<(String, String)>,
}

impl Errors {
    /// No errors so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a message, a whole sentence, under a dotted field path.
    pub fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.found.len() < MESSAGES_MAX {
            self.found.push((field.into(), message.into()));
        }
    }

    /// Records the errors of a part that was read on its own.
    pub fn extend(&mut self, part: ValidationError) {
        for (field, message) in part.found {
            self.push(field, message);
        }
    }

    /// Whether there are no errors so far.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The number of messages so far. Readers compare it to find out whether a part was valid.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Ends validation with the value that was read.
    ///
    /// # Errors
    ///
    /// All errors. A request without errors that still could not be read is reported under `body`.
    pub fn finish<T>(mut self, read: Option<T>) -> Result<T, ValidationError> {
        match read {
            Some(read) if self.is_empty() => Ok(read),
            _ => {
                if self.is_empty() {
                    self.push("body", "The request could not be understood.");
                }
                Err(ValidationError { found: self.found })
            }
        }
    }
}

/// A request that is refused with 422. It serializes to the body of that answer, `{message, errors: {field: [message,
/// …]}}`, with the fields in the order in which they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// Never empty.
    found: Vec<(String, String)>,
}

impl ValidationError {
    /// A request with one error.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { found: vec![(field.into(), message.into())] }
    }

    /// The same errors under other paths, where `rename` returns one.
    #[must_use]
    pub fn renamed(mut self, rename: impl Fn(&str) -> Option<String>) -> Self {
        for (field, message) in &mut self.found {
            if let Some(renamed) = rename(field) {
                let named = format!("The {field} field");
                *message = message.replacen(&named, &format!("The {renamed} field"), 1);
                *field = renamed;
            }
        }
        self
    }

    /// The first message, and how many more there are.
    pub fn message(&self) -> String {
        let first = self.found.first().map_or("", |(_, message)| message);
        match self.found.len().saturating_sub(1) {
            0 => first.to_owned(),
            1 => format!("{first} (and 1 more error)"),
            more => format!("{first} (and {more} more errors)"),
        }
    }

    /// All messages, each with its field, in the order in which they were found.
    pub fn errors(&self) -> &[(String, String)] {
        &self.found
    }

    /// The errors of a field, or of the items of a list in it.
    pub fn of_field(&self, field: &str) -> impl Iterator<Item = &str> {
        let concerns = move |found: &str| {
            found.strip_prefix(field).is_some_and(|rest| rest.is_empty() || is_index(rest))
        };
        self.found.iter().filter(move |(found, _)| concerns(found)).map(|(_, text)| text.as_str())
    }

    /// Whether there is an error of a field whose name begins with a path and a dot.
    pub fn concerns_fields_below(&self, path: &str) -> bool {
        let is_below = |(field, _): &(String, String)| {
            field.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
        };
        self.found.iter().any(is_below)
    }

    /// Fields with their messages, each field once.
    fn by_field(&self) -> Vec<(&str, Vec<&str>)> {
        let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
        for (field, message) in &self.found {
            match fields.iter_mut().find(|(name, _)| name == field) {
                Some((_, messages)) => messages.push(message),
                None => fields.push((field, vec![message])),
            }
        }
        fields
    }
}

/// Whether the rest of a path is the index of a list.
fn is_index(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|place| place.bytes().all(|digit| digit.is_ascii_digit()))
}

impl std::fmt::Display for ValidationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for ValidationError {}

impl Serialize for ValidationError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// A map that keeps its order.
        struct Ordered<'a>(Vec<(&'a str, Vec<&'a str>)>);

        impl Serialize for Ordered<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(self.0.len()))?;
                for (field, messages) in &self.0 {
                    map.serialize_entry(field, messages)?;
                }
                map.end()
            }
        }

        let mut body = serializer.serialize_struct("ValidationError", 2)?;
        body.serialize_field("message", &self.message())?;
        body.serialize_field("errors", &Ordered(self.by_field()))?;
        body.end()
    }
}

/// Reads a request body as a JSON object, whatever its `Content-Type`; an empty body is `{}`.
///
/// # Errors
///
/// Under `body` when it is not JSON, or JSON but not an object.
pub fn parse_body(body: &[u8]) -> Result<Map<String, Value>, ValidationError> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ValidationError::new("body", "The request body must be a JSON object.")),
        Err(_) => Err(ValidationError::new("body", "The request body must be valid JSON.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(found: &[(&str, &str)]) -> ValidationError {
        let mut errors = Errors::new();
        for (field, message) in found {
            errors.push(*field, *message);
        }
        errors.finish(Some(())).expect_err("refused")
    }

    #[test]
    fn the_message_counts_the_others() {
        for (found, message) in [
            (vec![("b", "B.")], "B."),
            (vec![("b", "B."), ("a", "A.")], "B. (and 1 more error)"),
            // The messages are counted, not the fields.
            (vec![("b", "B."), ("b", "C."), ("a", "A.")], "B. (and 2 more errors)"),
        ] {
            let error = refused(&found);
            assert_eq!(error.message(), message);
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn repeated_input_is_cut_between_characters() {
        for (text, shown) in [("", ""), ("été", "été"), ("étés", "été…"), ("étés!", "été…")]
        {
            assert_eq!(echo(text, 3), shown);
        }
    }

    #[test]
    fn the_body_keeps_the_order_of_the_fields() {
        let error = refused(&[("url", "U."), ("name", "N."), ("url", "V.")]);
        assert_eq!(
            serde_json::to_string(&error).expect("serialize"),
            r#"{"message":"U. (and 2 more errors)","errors":{"url":["U.","V."],"name":["N."]}}"#
        );
        assert_eq!(
            serde_json::to_string(&ValidationError::new("tools.0", "T.")).expect("serialize"),
            r#"{"message":"T.","errors":{"tools.0":["T."]}}"#
        );
    }

    #[test]
    fn a_fields_messages_are_those_of_it_and_of_its_items() {
        let error = refused(&[("a.b", "1."), ("a.b.0", "2."), ("a.b.c", "3."), ("a.bc", "4.")]);
        assert_eq!(error.of_field("a.b").collect::<Vec<_>>(), ["1.", "2."]);
    }

    #[test]
    fn finishing_gives_what_was_read_only_if_nothing_is_wrong() {
        assert_eq!(Errors::new().finish(Some(7)), Ok(7));
        let unread = Errors::new().finish(None::<()>).expect_err("nothing was read");
        assert_eq!(unread.message(), "The request could not be understood.");
        assert_eq!(refused(&[("a", "A.")]).message(), "A.");
    }

    #[test]
    fn a_hostile_body_cannot_grow_the_answer_without_bound() {
        let mut errors = Errors::new();
        for n in 0..10_000 {
            errors.push(format!("f{n}"), "Wrong.");
        }
        assert_eq!(errors.len(), MESSAGES_MAX);
    }

    #[test]
    fn a_body_is_a_json_object_or_nothing() {
        assert_eq!(parse_body(b""), Ok(Map::new()));
        assert_eq!(parse_body(b"{}"), Ok(Map::new()));
        assert_eq!(parse_body(br#" {"a": 1} "#).expect("an object")["a"], 1);
        for (body, message) in [
            (&b"[]"[..], "The request body must be a JSON object."),
            (b"null", "The request body must be a JSON object."),
            (b"\"{}\"", "The request body must be a JSON object."),
            (b" ", "The request body must be valid JSON."),
            (b"{", "The request body must be valid JSON."),
            (b"{} {}", "The request body must be valid JSON."),
            (b"url=https://example.com", "The request body must be valid JSON."),
            (b"{\"a\":\"\xff\"}", "The request body must be valid JSON."),
        ] {
            assert_eq!(parse_body(body), Err(ValidationError::new("body", message)), "{body:?}");
        }
        // Nesting that is deep enough to exhaust the stack is refused.
        assert!(parse_body("[".repeat(100_000).as_bytes()).is_err());
    }
}
