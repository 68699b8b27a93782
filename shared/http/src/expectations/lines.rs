//! Expectations as lines of text, as forms and the command line take them.

use std::borrow::Cow;

use serde_json::{Value, json};
use vedette_domain::expectations::{Expectation, ExpectationKind};

/// The line of an expectation, without its kind: `Welcome`, `x-cache: HIT`, `/status = "ok"` or `2000`.
pub fn to_line(expected: &Expectation) -> String {
    match expected {
        Expectation::BodyContains { text } | Expectation::BodyLacks { text } => {
            spelled(text).into_owned()
        }
        Expectation::HeaderEquals { name, value } | Expectation::HeaderContains { name, value } => {
            format!("{name}: {}", spelled(value))
        }
        Expectation::JsonEquals { pointer, value } => format!("{pointer} = {value}"),
        Expectation::ResponseTime { max_ms } => max_ms.to_string(),
    }
}

/// The expectation that a line describes, as a request of the API has it. What is wrong with the line is found when
/// the request is read.
pub fn from_line(kind: ExpectationKind, line: &str) -> Value {
    let line = line.trim();
    match kind {
        ExpectationKind::BodyContains | ExpectationKind::BodyLacks => {
            json!({ "kind": kind.as_str(), "text": unspelled(line) })
        }
        ExpectationKind::HeaderEquals | ExpectationKind::HeaderContains => {
            let (name, value) = parted(line, &[":"]);
            let mut expected = json!({ "kind": kind.as_str(), "name": name });
            if let Some(value) = value {
                expected["value"] = json!(unspelled(value));
            }
            expected
        }
        ExpectationKind::JsonEquals => {
            let (pointer, value) = parted(line, &[" = ", "="]);
            let mut expected = json!({ "kind": kind.as_str(), "pointer": pointer });
            if let Some(value) = value {
                let parsed = serde_json::from_str(value);
                expected["value"] = parsed.unwrap_or_else(|_| Value::from(value));
            }
            expected
        }
        ExpectationKind::ResponseTime => {
            let max_ms = line.parse::<u32>().map_or_else(|_| json!(line), Value::from);
            json!({ "kind": kind.as_str(), "max_ms": max_ms })
        }
    }
}

/// What is before and after the first of the separators that the line contains.
fn parted<'a>(line: &'a str, separators: &[&str]) -> (&'a str, Option<&'a str>) {
    let found = separators.iter().find_map(|separator| line.split_once(separator));
    found.map_or((line, None), |(name, value)| (name.trim(), Some(value.trim())))
}

/// A text as it is, or as a JSON string if it would be read as something else.
fn spelled(text: &str) -> Cow<'_, str> {
    let is_plain = !text.starts_with('"') && !text.contains(char::is_control);
    if is_plain { Cow::Borrowed(text) } else { Cow::Owned(Value::from(text).to_string()) }
}

fn unspelled(text: &str) -> Cow<'_, str> {
    let quoted = text.strip_prefix('"').and_then(|_| serde_json::from_str::<String>(text).ok());
    quoted.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::expectations::parse_expectations;

    fn parsed(kind: ExpectationKind, line: &str) -> Result<Expectation, String> {
        let body = Map::from_iter([("expectations".to_owned(), json!([from_line(kind, line)]))]);
        let parsed = parse_expectations(&body).map_err(|error| error.message());
        parsed.map(|mut parsed| parsed.expectations.remove(0))
    }

    #[test]
    fn lines_read_back() {
        use ExpectationKind::{
            BodyContains, BodyLacks, HeaderContains, HeaderEquals, JsonEquals, ResponseTime,
        };
        for (kind, line, written) in [
            (BodyContains, "Welcome to \"us\"", "Welcome to \"us\""),
            (BodyContains, "\"two\\nlines\"", "\"two\\nlines\""),
            (BodyLacks, "\"quoted", "\"\\\"quoted\""),
            (HeaderEquals, "X-Cache:HIT", "x-cache: HIT"),
            (HeaderContains, "server: a: b", "server: a: b"),
            (JsonEquals, "/status=ok", "/status = \"ok\""),
            (JsonEquals, "/status = \"ok\"", "/status = \"ok\""),
            (JsonEquals, "/a=b = 5", "/a=b = 5"),
            (JsonEquals, "= null", " = null"),
            (JsonEquals, "/ready = true", "/ready = true"),
            (ResponseTime, " 2000 ", "2000"),
        ] {
            let expected = parsed(kind, line).expect("an expectation");
            assert_eq!(expected.kind(), kind);
            assert_eq!(to_line(&expected), written);
            assert_eq!(parsed(kind, &to_line(&expected)), Ok(expected));
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        use ExpectationKind::{HeaderEquals, JsonEquals, ResponseTime};
        for (kind, line, message) in [
            (HeaderEquals, "x-cache", "The expectations.0.value field is required."),
            (
                JsonEquals,
                "status = 1",
                "The expectations.0.pointer field must be a JSON pointer, such as /status or /checks/0/state.",
            ),
            (JsonEquals, "/status", "The expectations.0.value field is required."),
            (
                JsonEquals,
                "/status = []",
                "The expectations.0.value field must be a string, a number, true, false or null.",
            ),
            (ResponseTime, "soon", "The expectations.0.max_ms field must be an integer."),
        ] {
            assert_eq!(parsed(kind, line), Err(message.to_owned()), "{line}");
        }
    }
}
