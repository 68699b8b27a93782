//! Compares expectations with a response.

use std::fmt;

use super::json::{self, Document};
use super::quote::{named, quoted, value};
use super::{BODY_SEARCHED, BodyReader, Expectation, Expectations, Unmet};
use crate::checks::evidence::{REDACTED, Redaction};

/// A response, as far as expectations are about it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    /// The time from the start of the first request to the head of the response, in milliseconds.
    pub response_time: f64,
    /// The values of a header, given by its name in lower case.
    pub header: &'a dyn Fn(&str) -> Vec<String>,
    /// What was read of the body, without content coding and in UTF-8.
    pub body: &'a BodyReader<'a>,
    /// Finds the value of the site's request header, which the response may repeat.
    pub redaction: &'a Redaction,
}

impl Expectations {
    /// The expectations that a response does not meet, in their order.
    pub fn judge(&self, seen: &Seen<'_>) -> Vec<Unmet> {
        let document = seen.body.document();
        let unmet = |expected: &Expectation| {
            let message = expected.unmet(seen, document.as_ref())?;
            Some(Unmet { fingerprint: expected.kind().fingerprint(), message })
        };
        self.expectations.iter().filter_map(unmet).collect()
    }
}

impl Expectation {
    /// What was expected and came differently; `None` if the response meets the expectation.
    fn unmet(
        &self,
        seen: &Seen<'_>,
        document: Option<&Result<Document, String>>,
    ) -> Option<String> {
        let body = seen.body;
        match self {
            Self::BodyContains { text } if body.has(text) => None,
            Self::BodyContains { .. } => {
                let within = if body.is_long() {
                    format!(" (its first {} KB)", BODY_SEARCHED / 1024)
                } else {
                    String::new()
                };
                let got = body.why_cut().map_or("did not find it".to_owned(), got);
                Some(format!("expected {self}{within}, {got}"))
            }
            Self::BodyLacks { text } => {
                let got = match body.has(text) {
                    true => "found it".to_owned(),
                    false => got(body.why_cut()?),
                };
                Some(format!("expected {self}, {got}"))
            }
            Self::HeaderEquals { name, value } => {
                let got = (seen.header)(name);
                let is_met = got.iter().any(|got| got == value);
                (!is_met).then(|| format!("expected {self}, got {}", seen.header_got(name, &got)))
            }
            Self::HeaderContains { name, value } => {
                let got = (seen.header)(name);
                let is_met = got.iter().any(|got| got.contains(value));
                (!is_met).then(|| format!("expected {self}, got {}", seen.header_got(name, &got)))
            }
            Self::JsonEquals { pointer, value: expected } => {
                let shown = |text: &str| seen.redaction.apply(text);
                let got = match document? {
                    Err(instead) => instead.clone(),
                    Ok(document) => match document.find(pointer) {
                        Some(Ok(got)) if json::is_same(expected, &got) => return None,
                        Some(Ok(got)) => value(&got, shown),
                        Some(Err(instead)) => instead.to_string(),
                        None => "no value".to_owned(),
                    },
                };
                Some(format!("expected {self}, got {got}"))
            }
            Self::ResponseTime { max_ms } => (seen.response_time > f64::from(*max_ms)).then(|| {
                format!("expected {self}, got it after {:.0} ms", seen.response_time.ceil())
            }),
        }
    }
}

/// In words, as in `"ok" at /status`.
impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BodyContains { text } => write!(f, "{} in the body", quoted(text)),
            Self::BodyLacks { text } => write!(f, "no {} in the body", quoted(text)),
            Self::HeaderEquals { name, value } => {
                write!(f, "{} in the header {name}", quoted(value))
            }
            Self::HeaderContains { name, value } => {
                write!(f, "a header {name} with {}", quoted(value))
            }
            Self::JsonEquals { pointer, value: expected } => {
                let expected = value(expected, str::to_owned);
                match pointer.as_str() {
                    "" => write!(f, "{expected} as the body"),
                    path => write!(f, "{expected} at {}", named(path)),
                }
            }
            Self::ResponseTime { max_ms } => write!(f, "an answer within {max_ms} ms"),
        }
    }
}

impl Seen<'_> {
    /// The values of a header, in words.
    fn header_got(&self, name: &str, values: &[String]) -> String {
        match values {
            [] => "no such header".to_owned(),
            // A cookie may contain the session of our check, so it is not shown.
            _ if name == "set-cookie" => REDACTED.to_owned(),
            values => quoted(&self.redaction.apply(&values.join(", "))),
        }
    }
}

fn got(what: &str) -> String {
    format!("got {what}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::expectations::{JSON_DEPTH_MAX, JSON_MAX, JsonPointer};
    use crate::issues::Fingerprint;
    use crate::text::disrupts_line;

    fn pointer(text: &str) -> JsonPointer {
        JsonPointer::parse(text).expect("a pointer")
    }

    fn json_at(path: &str, value: serde_json::Value) -> Expectation {
        Expectation::JsonEquals { pointer: pointer(path), value }
    }

    fn contains(text: &str) -> Expectation {
        Expectation::BodyContains { text: text.to_owned() }
    }

    fn lacks(text: &str) -> Expectation {
        Expectation::BodyLacks { text: text.to_owned() }
    }

    fn header(name: &str) -> Vec<String> {
        match name {
            "x-cache" => vec!["MISS".to_owned(), "HIT from edge".to_owned()],
            "set-cookie" => vec!["session=of-a-stranger".to_owned()],
            "x-echo" => vec!["Bearer of-the-site".to_owned()],
            _ => Vec::new(),
        }
    }

    /// What is said about one expectation of a body; empty if it is met.
    fn said_of(expected: Expectation, body: &[u8], cut: Option<&str>) -> String {
        let redaction = Redaction::of("Bearer of-the-site");
        let expectations = Expectations { expectations: vec![expected], ..Expectations::default() };
        let mut reader = BodyReader::new(&expectations);
        reader.push(body);
        cut.into_iter().for_each(|why| reader.cut(why.to_owned()));
        let (response_time, redaction) = (1_200.4, &redaction);
        let seen = Seen { response_time, header: &header, body: &reader, redaction };
        let mut unmet = expectations.judge(&seen).into_iter();
        unmet.next().map(|unmet| unmet.message).unwrap_or_default()
    }

    fn said(expected: Expectation, body: &str) -> String {
        said_of(expected, body.as_bytes(), None)
    }

    #[test]
    fn texts_are_found_or_missed() {
        assert_eq!(said(contains("Welcome"), "<h1>Welcome</h1>"), "");
        assert_eq!(
            said(contains("Welcome"), "<h1>welcome</h1>"),
            "expected \"Welcome\" in the body, did not find it"
        );
        assert_eq!(said(lacks("Fatal error"), "fine"), "");
        assert_eq!(
            said(lacks("Fatal error"), "PHP Fatal error: x"),
            "expected no \"Fatal error\" in the body, found it"
        );
        assert_eq!(
            said(contains("x"), &"y".repeat(BODY_SEARCHED)),
            "expected \"x\" in the body (its first 512 KB), did not find it"
        );
    }

    #[test]
    fn a_part_of_a_body_proves_what_it_contains_and_nothing_else() {
        let said = |expected| {
            said_of(
                expected,
                b"{\"status\":\"ok\", \"text",
                Some("a body that did not end within 10 s"),
            )
        };
        assert_eq!(said(contains("status")), "");
        assert_eq!(
            said(contains("Welcome")),
            "expected \"Welcome\" in the body, got a body that did not end within 10 s"
        );
        assert_eq!(
            said(lacks("Fatal")),
            "expected no \"Fatal\" in the body, got a body that did not end within 10 s"
        );
        assert_eq!(said(lacks("status")), "expected no \"status\" in the body, found it");
        assert_eq!(
            said(json_at("/status", json!("ok"))),
            "expected \"ok\" at /status, got a body that did not end within 10 s"
        );
    }

    #[test]
    fn headers_have_values() {
        let equals = |name: &str, value: &str| Expectation::HeaderEquals {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        let contains = |name: &str, value: &str| Expectation::HeaderContains {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        for (expected, said_of_it) in [
            (equals("x-cache", "MISS"), ""),
            (contains("x-cache", "HIT"), ""),
            (
                equals("x-cache", "HIT"),
                "expected \"HIT\" in the header x-cache, got \"MISS, HIT from edge\"",
            ),
            (
                contains("x-cache", "STALE"),
                "expected a header x-cache with \"STALE\", got \"MISS, HIT from edge\"",
            ),
            (equals("server", "x"), "expected \"x\" in the header server, got no such header"),
            (
                contains("set-cookie", "theme"),
                "expected a header set-cookie with \"theme\", got [redacted]",
            ),
            (
                equals("x-echo", "none"),
                "expected \"none\" in the header x-echo, got \"[redacted]\"",
            ),
        ] {
            assert_eq!(said(expected, ""), said_of_it);
        }
    }

    #[test]
    fn values_of_json_are_compared() {
        let body = r#"{"status": "degraded", "n": 1.0, "list": [1e400], "secret": "x of-the-site",
            "a\"b": 1, "big": 1e400, "half": "\ud83d"}"#;
        for (expected, said_of_it) in [
            (json_at("/n", json!(1)), ""),
            (json_at("/status", json!("degraded")), ""),
            (json_at("/status", json!("ok")), "expected \"ok\" at /status, got \"degraded\""),
            (json_at("/status", json!(true)), "expected true at /status, got \"degraded\""),
            (json_at("/list", json!(null)), "expected null at /list, got an array"),
            (json_at("/missing", json!("ok")), "expected \"ok\" at /missing, got no value"),
            (json_at("", json!("ok")), "expected \"ok\" as the body, got an object"),
            (json_at("/secret", json!("y")), "expected \"y\" at /secret, got \"x [redacted]\""),
            (json_at("/a\"b", json!(2)), "expected 2 at /a\\\"b, got 1"),
            (json_at("/big", json!(1)), "expected 1 at /big, got a number that is too large"),
            (
                json_at("/half", json!("")),
                "expected \"\" at /half, got a string with an incomplete Unicode escape",
            ),
        ] {
            assert_eq!(said(expected, body), said_of_it);
        }
        let deep = "[".repeat(JSON_DEPTH_MAX + 1);
        let long = format!("\"{}\"", "x".repeat(JSON_MAX));
        for (body, got) in [
            ("<html>", "a body that is not JSON"),
            ("", "a body that is not JSON"),
            (&*deep, "more than 32 levels of JSON"),
            (&*long, "more than 64 KB"),
        ] {
            let said = said(json_at("/status", json!("ok")), body);
            assert_eq!(said, format!("expected \"ok\" at /status, got {got}"));
        }
    }

    #[test]
    fn a_slow_answer_is_another_issue() {
        let slow = |max_ms| Expectation::ResponseTime { max_ms };
        assert_eq!(said(slow(1_201), ""), "");
        assert_eq!(
            said(slow(1_200), ""),
            "expected an answer within 1200 ms, got it after 1201 ms"
        );
        let both = vec![slow(1), contains("x"), slow(4)];
        let expectations = Expectations { expectations: both, ..Expectations::default() };
        let (body, redaction) = (&BodyReader::new(&expectations), &Redaction::default());
        let seen = Seen { response_time: 3.0, header: &header, body, redaction };
        let unmet = expectations.judge(&seen);
        let fingerprints: Vec<_> = unmet.iter().map(|unmet| unmet.fingerprint).collect();
        assert_eq!(fingerprints, [Fingerprint::StatusSlow, Fingerprint::StatusExpectation]);
    }

    proptest! {
        /// Whatever a target sends, a message stays short and shows neither control characters nor the secret.
        #[test]
        fn any_body_is_judged(
            body in proptest::collection::vec(any::<u8>(), 0..300),
            text in "\\PC{1,200}",
            is_cut in any::<bool>(),
        ) {
            let cut = is_cut.then_some("a body that broke off");
            for expected in [contains(&text), lacks(&text), json_at("", json!(text))] {
                let said = said_of(expected, &body, cut);
                prop_assert!(said.chars().count() <= 300, "{said}");
                prop_assert!(!said.contains(disrupts_line), "{said:?}");
            }
        }

        #[test]
        fn no_secret_is_quoted(before in "\\PC{0,120}", after in "\\PC{0,20}") {
            let body = json!({ "a": format!("{before}of-the-site{after}") }).to_string();
            let said = said(json_at("/a", json!(1)), &body);
            prop_assert!(!said.contains("of-the-site"), "{said}");
        }
    }
}
