//! Reads a body in the parts in which it arrives, and keeps only what expectations need of it.

use memchr::memmem;

use super::json::{self, Document, JSON_MAX};
use super::{BODY_SEARCHED, Expectation, Expectations};

/// A body, as far as expectations are about it. Texts are looked for while the body arrives. Only if a value in JSON is
/// expected is the whole body kept.
#[derive(Debug)]
pub struct BodyReader<'a> {
    /// The texts that are looked for, and whether they were found.
    texts: Vec<(&'a str, bool)>,
    /// The last bytes that were searched: a text may begin there and end in the next part.
    tail: Vec<u8>,
    /// The length of the longest text.
    longest: usize,
    json: Option<Vec<u8>>,
    received: usize,
    /// Why the body is not complete.
    cut: Option<String>,
}

impl<'a> BodyReader<'a> {
    /// Before anything was read.
    pub fn new(expectations: &'a Expectations) -> Self {
        let mut reader = Self {
            texts: Vec::new(),
            tail: Vec::new(),
            longest: 0,
            json: None,
            received: 0,
            cut: None,
        };
        for expected in &expectations.expectations {
            match expected {
                Expectation::BodyContains { text } | Expectation::BodyLacks { text } => {
                    reader.texts.push((text, false));
                    reader.longest = reader.longest.max(text.len());
                }
                Expectation::JsonEquals { .. } => {
                    reader.json.get_or_insert_default();
                }
                Expectation::HeaderEquals { .. }
                | Expectation::HeaderContains { .. }
                | Expectation::ResponseTime { .. } => {}
            }
        }
        reader
    }

    /// How many bytes of the body matter.
    pub fn wanted(&self) -> usize {
        match (&self.json, self.texts.is_empty()) {
            (_, false) => BODY_SEARCHED,
            // One more byte shows that the body is too long.
            (Some(_), true) => JSON_MAX + 1,
            (None, true) => 0,
        }
    }

    /// Takes the next part. What is longer than the limits is ignored.
    pub fn push(&mut self, part: &[u8]) {
        let part = &part[..part.len().min(self.wanted().saturating_sub(self.received))];
        self.received += part.len();
        if let Some(json) = &mut self.json {
            let room = (JSON_MAX + 1).saturating_sub(json.len());
            json.extend_from_slice(&part[..part.len().min(room)]);
        }
        if self.texts.iter().all(|(_, is_found)| *is_found) {
            return;
        }
        // A text that begins in the tail ends within this many bytes of the new part.
        let seam = part.len().min(self.longest.saturating_sub(1));
        self.tail.extend_from_slice(&part[..seam]);
        for (text, is_found) in &mut self.texts {
            let text = text.as_bytes();
            *is_found = *is_found
                || memmem::find(&self.tail, text).is_some()
                || memmem::find(part, text).is_some();
        }
        if part.len() > seam {
            self.tail.clear();
            self.tail.extend_from_slice(&part[part.len() - seam..]);
        } else {
            let surplus = self.tail.len().saturating_sub(self.longest.saturating_sub(1));
            self.tail.drain(..surplus);
        }
    }

    /// Notes why the rest of the body could not be read, as in "a body that broke off".
    pub fn cut(&mut self, why: String) {
        self.cut = Some(why);
    }

    /// Whether the body contains one of the texts.
    pub(super) fn has(&self, text: &str) -> bool {
        self.texts.iter().any(|(wanted, is_found)| *wanted == text && *is_found)
    }

    /// Why the body was not read as far as it is judged.
    pub(super) fn why_cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }

    /// Whether only the beginning of the body was searched.
    pub(super) const fn is_long(&self) -> bool {
        self.received >= BODY_SEARCHED
    }

    /// The body as JSON, or what it is instead; `None` if no value of it is expected.
    pub(super) fn document(&self) -> Option<Result<Document, String>> {
        let bytes = self.json.as_ref()?;
        Some(match &self.cut {
            Some(why) if bytes.len() <= JSON_MAX => Err(why.clone()),
            _ => json::parse(bytes).map_err(|error| error.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn expecting(texts: &[&str]) -> Expectations {
        let of = |text: &&str| Expectation::BodyContains { text: (*text).to_owned() };
        Expectations { expectations: texts.iter().map(of).collect(), ..Expectations::default() }
    }

    #[test]
    fn a_text_is_found_across_parts_and_only_within_the_limit() {
        let expectations = expecting(&["Welcome", "x", "End"]);
        let mut reader = BodyReader::new(&expectations);
        for part in ["<h1>We", "l", "", "come</h1>"] {
            reader.push(part.as_bytes());
        }
        assert!(reader.has("Welcome") && !reader.has("x"));
        reader.push(&vec![b' '; BODY_SEARCHED]);
        reader.push(b"x End");
        assert!(!reader.has("x") && !reader.has("End"));
        assert!(reader.is_long());
        assert!(reader.tail.len() < 20);
    }

    #[test]
    fn json_is_kept_up_to_its_limit() {
        let pointer = json::JsonPointer::parse("/a").expect("a pointer");
        let expected = Expectation::JsonEquals { pointer: pointer.clone(), value: Value::Null };
        let expectations = Expectations { expectations: vec![expected], ..Expectations::default() };
        let mut reader = BodyReader::new(&expectations);
        assert_eq!(reader.wanted(), JSON_MAX + 1);
        reader.push(b"{\"a\":");
        reader.push(b"1}");
        let found = |reader: &BodyReader<'_>| {
            reader.document().expect("JSON is expected").map(|document| document.find(&pointer))
        };
        assert_eq!(found(&reader), Ok(Some(Ok(json!(1)))));
        reader.push(&vec![b' '; 10 * JSON_MAX]);
        assert_eq!(found(&reader), Err("more than 64 KB".to_owned()));
        assert_eq!(reader.json.map(|json| json.len()), Some(JSON_MAX + 1));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_a_body_is_divided(
            body in "[ab]{0,60}",
            texts in proptest::collection::vec("[ab]{1,6}", 1..4),
            ends in proptest::collection::vec(0_usize..60, 0..8),
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let expectations = expecting(&texts);
            let mut reader = BodyReader::new(&expectations);
            let mut ends: Vec<usize> = ends.into_iter().filter(|end| *end < body.len()).collect();
            ends.sort_unstable();
            ends.push(body.len());
            let mut from = 0;
            for end in ends {
                reader.push(&body.as_bytes()[from..end]);
                from = end;
            }
            for text in texts {
                prop_assert_eq!(reader.has(text), body.contains(text), "{} in {}", text, body);
            }
        }
    }
}
