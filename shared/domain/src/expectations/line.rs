//! Expectations as lines of text, as forms and the command line take them, and what cannot be expected.

use std::borrow::Cow;

use serde_json::Value;

use super::json::NotAPointer;
use super::{
    CheckMethod, EXPECTED_TEXT_MAX, Expectation, ExpectationKind, Expectations, JsonPointer,
    RESPONSE_TIME_MAX,
};
use crate::sites::settings::is_header_name;
use crate::text::{disrupts_line, escaped_json};

/// Why something cannot be expected; continues "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotExpectable {
    /// A text or a value is empty.
    #[error("must not be empty")]
    Empty,
    /// A text or a value is too long.
    #[error("must not be longer than {EXPECTED_TEXT_MAX} characters")]
    TooLong,
    /// A line has no value of a header.
    #[error("must be a name and a value, such as x-cache: HIT")]
    NoHeader,
    /// A header cannot have this name.
    #[error("must begin with the name of a header")]
    HeaderName,
    /// A line has no value after its pointer.
    #[error("must be a JSON pointer and a value, such as /status = \"ok\"")]
    NoValue,
    /// A pointer is not one.
    #[error(transparent)]
    Pointer(#[from] NotAPointer),
    /// A value is an array or an object.
    #[error("must be a string, a number, true, false or null")]
    NotScalar,
    /// A response time is not within its bounds.
    #[error("must be a number of milliseconds from 1 to {RESPONSE_TIME_MAX}")]
    Milliseconds,
    /// The method gets no body.
    #[error("needs the method GET or POST, because a response to HEAD has no body")]
    NeedsBody,
    /// There is another limit for the response time, and only the lower of the two would have an effect.
    #[error("must not be a second response_time; one is enough")]
    SecondLimit,
}

/// A name in lower case, if a header can have it.
pub fn header_name(text: &str) -> Option<String> {
    is_header_name(text).then(|| text.to_ascii_lowercase())
}

impl Expectation {
    /// The expectation as a line, without its kind: `Welcome`, `x-cache: HIT`, `/status = "ok"` or `2000`.
    pub fn to_line(&self) -> String {
        match self {
            Self::BodyContains { text } | Self::BodyLacks { text } => spelled(text).into_owned(),
            Self::HeaderEquals { name, value } | Self::HeaderContains { name, value } => {
                format!("{name}: {}", spelled(value))
            }
            Self::JsonEquals { pointer, value } => {
                format!("{pointer} = {}", escaped_json(&value.to_string()))
            }
            Self::ResponseTime { max_ms } => max_ms.to_string(),
        }
    }

    /// Reads a line. A value that is not JSON is a string.
    ///
    /// # Errors
    ///
    /// Why this cannot be expected.
    pub fn from_line(kind: ExpectationKind, line: &str) -> Result<Self, NotExpectable> {
        let line = line.trim();
        Ok(match kind {
            ExpectationKind::BodyContains => Self::BodyContains { text: text(line)? },
            ExpectationKind::BodyLacks => Self::BodyLacks { text: text(line)? },
            ExpectationKind::HeaderEquals => {
                let (name, value) = header(line)?;
                Self::HeaderEquals { name, value }
            }
            ExpectationKind::HeaderContains => {
                let (name, value) = header(line)?;
                Self::HeaderContains { name, value }
            }
            ExpectationKind::JsonEquals => {
                let parted = line.split_once(" = ").or_else(|| line.split_once('='));
                let (pointer, value) = parted.ok_or(NotExpectable::NoValue)?;
                let pointer = JsonPointer::parse(pointer.trim())?;
                let value = value.trim();
                let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
                let length = value.as_str().map_or(0, |text| text.chars().count());
                match value {
                    Value::Array(_) | Value::Object(_) => return Err(NotExpectable::NotScalar),
                    _ if length.max(pointer.as_str().chars().count()) > EXPECTED_TEXT_MAX => {
                        return Err(NotExpectable::TooLong);
                    }
                    value => Self::JsonEquals { pointer, value },
                }
            }
            ExpectationKind::ResponseTime => {
                let max_ms = line.parse().ok().filter(|ms| (1..=RESPONSE_TIME_MAX).contains(ms));
                Self::ResponseTime { max_ms: max_ms.ok_or(NotExpectable::Milliseconds)? }
            }
        })
    }
}

impl Expectations {
    /// The places of expectations that cannot be had together with the method or with those before them, and why.
    pub fn refused(&self) -> Vec<(usize, NotExpectable)> {
        let is_limit = |expected: &Expectation| expected.kind() == ExpectationKind::ResponseTime;
        let first_limit = self.expectations.iter().position(is_limit);
        let refused = |(place, expected): (usize, &Expectation)| {
            if expected.kind().needs_body() && self.method == CheckMethod::Head {
                Some((place, NotExpectable::NeedsBody))
            } else if is_limit(expected) && first_limit != Some(place) {
                Some((place, NotExpectable::SecondLimit))
            } else {
                None
            }
        };
        self.expectations.iter().enumerate().filter_map(refused).collect()
    }
}

fn header(line: &str) -> Result<(String, String), NotExpectable> {
    let (name, value) = line.split_once(':').ok_or(NotExpectable::NoHeader)?;
    let name = header_name(name.trim()).ok_or(NotExpectable::HeaderName)?;
    Ok((name, text(value.trim())?))
}

/// A text as it is, or as a JSON string if it would be read as something else.
fn spelled(text: &str) -> Cow<'_, str> {
    let is_plain = !text.starts_with('"') && !text.contains(disrupts_line);
    if is_plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(escaped_json(&Value::from(text).to_string()))
    }
}

fn text(spelled: &str) -> Result<String, NotExpectable> {
    let quoted = spelled.strip_prefix('"').and_then(|_| serde_json::from_str(spelled).ok());
    let text: String = quoted.unwrap_or_else(|| spelled.to_owned());
    match text.chars().count() {
        _ if text.trim().is_empty() => Err(NotExpectable::Empty),
        0..=EXPECTED_TEXT_MAX => Ok(text),
        _ => Err(NotExpectable::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        use ExpectationKind::{
            BodyContains, BodyLacks, HeaderContains, HeaderEquals, JsonEquals, ResponseTime,
        };
        for (kind, line, written) in [
            (BodyContains, "Welcome to \"us\"", "Welcome to \"us\""),
            (BodyContains, "\"two\\nlines\"", "\"two\\nlines\""),
            (BodyLacks, "\"quoted", "\"\\\"quoted\""),
            (BodyLacks, "\u{202e}live\u{9b}", "\"\\u202elive\\u009b\""),
            (HeaderEquals, "X-Cache:HIT", "x-cache: HIT"),
            (HeaderContains, "server: a: b", "server: a: b"),
            (JsonEquals, "/status=ok", "/status = \"ok\""),
            (JsonEquals, "/status = \"ok\"", "/status = \"ok\""),
            (JsonEquals, "/a=b = 5", "/a=b = 5"),
            (JsonEquals, "/a = b\u{2028}c", "/a = \"b\\u2028c\""),
            (JsonEquals, "= null", " = null"),
            (JsonEquals, "/ready = true", "/ready = true"),
            (ResponseTime, " 2000 ", "2000"),
        ] {
            let expected = Expectation::from_line(kind, line).expect("an expectation");
            assert_eq!(expected.kind(), kind);
            assert_eq!(expected.to_line(), written);
            assert_eq!(Expectation::from_line(kind, &expected.to_line()), Ok(expected));
        }
    }

    #[test]
    fn invalid_lines_are_refused_with_the_reason() {
        use ExpectationKind::{BodyContains, HeaderEquals, JsonEquals, ResponseTime};
        let long = "x".repeat(EXPECTED_TEXT_MAX + 1);
        for (kind, line, why) in [
            (BodyContains, " ", NotExpectable::Empty),
            (BodyContains, &*long, NotExpectable::TooLong),
            (HeaderEquals, "x-cache", NotExpectable::NoHeader),
            (HeaderEquals, "a b: c", NotExpectable::HeaderName),
            (HeaderEquals, "x-cache:", NotExpectable::Empty),
            (JsonEquals, "/status", NotExpectable::NoValue),
            (JsonEquals, "status = 1", NotExpectable::Pointer(NotAPointer)),
            (JsonEquals, "/status = []", NotExpectable::NotScalar),
            (JsonEquals, &*format!("/status = {long}"), NotExpectable::TooLong),
            (ResponseTime, "soon", NotExpectable::Milliseconds),
            (ResponseTime, "0", NotExpectable::Milliseconds),
            (ResponseTime, "30001", NotExpectable::Milliseconds),
        ] {
            assert_eq!(Expectation::from_line(kind, line), Err(why), "{line}");
        }
    }

    #[test]
    fn expectations_of_bodies_need_get_and_a_second_limit_is_refused() {
        let limit = || Expectation::ResponseTime { max_ms: 5 };
        let text = Expectation::BodyLacks { text: "x".to_owned() };
        let expectations = vec![limit(), text, limit()];
        let get = Expectations { expectations, ..Expectations::default() };
        assert_eq!(get.refused(), [(2, NotExpectable::SecondLimit)]);
        let head = Expectations { method: CheckMethod::Head, ..get };
        let both = [(1, NotExpectable::NeedsBody), (2, NotExpectable::SecondLimit)];
        assert_eq!(head.refused(), both);
    }
}
