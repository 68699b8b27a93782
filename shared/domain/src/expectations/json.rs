//! JSON from outside, within limits, and pointers into it.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::{ByteBuf, Bytes};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The longest JSON that is read, in bytes.
pub const JSON_MAX: usize = 64 * 1024;
/// The most arrays and objects that may be inside each other.
pub const JSON_DEPTH_MAX: usize = 32;

/// Why a body is not read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRead {
    /// It is longer than [`JSON_MAX`].
    #[error("more than {} KB", JSON_MAX / 1024)]
    TooLong,
    /// It has more levels than [`JSON_DEPTH_MAX`].
    #[error("more than {JSON_DEPTH_MAX} levels of JSON")]
    TooDeep,
    /// It is not JSON.
    #[error("a body that is not JSON")]
    NotJson,
}

/// JSON from outside, of which only the values that a pointer leads to are read. So a number that is too large, or a
/// text that is not Unicode, does no harm elsewhere.
#[derive(Debug)]
pub struct Document(Box<RawValue>);

/// Checks JSON from outside. The depth is counted before anything is parsed, so the parser cannot use up the stack. Like
/// in browsers, bytes that are not UTF-8 are replaced.
///
/// # Errors
///
/// When it is not JSON or exceeds the limits.
pub fn parse(bytes: &[u8]) -> Result<Document, NotRead> {
    if bytes.len() > JSON_MAX {
        return Err(NotRead::TooLong);
    }
    if depth(bytes) > JSON_DEPTH_MAX {
        return Err(NotRead::TooDeep);
    }
    // RFC 8259, section 8.1: a parser may ignore a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map(Document).map_err(|_| NotRead::NotJson)
}

/// Why a value in JSON cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// Only a few numbers do not fit into 64 bits, such as `1e400`.
    #[error("a number that is too large")]
    Number,
    /// An escape such as `\ud83d`, which is one half of a character.
    #[error("a string with an incomplete Unicode escape")]
    Text,
}

impl Document {
    /// The value that a pointer leads to. An array or object comes without its content: expectations are not about it.
    pub fn find(&self, pointer: &JsonPointer) -> Option<Result<Value, NotComparable>> {
        let mut found = &*self.0;
        for part in pointer.parts() {
            found = member(found, &part)?;
        }
        let text = found.get();
        Some(match text.as_bytes().first() {
            Some(b'[') => Ok(Value::Array(Vec::new())),
            Some(b'{') => Ok(Value::Object(Map::new())),
            Some(b'"') => serde_json::from_str(text).map_err(|_| NotComparable::Text),
            _ => serde_json::from_str(text).map_err(|_| NotComparable::Number),
        })
    }
}

/// The member of an array or object that one part of a pointer names. The last of several with the same name counts.
fn member<'a>(of: &'a RawValue, part: &str) -> Option<&'a RawValue> {
    match of.get().as_bytes().first()? {
        b'{' => {
            // Names may be odd, too: as bytes, every one can be read.
            let members: HashMap<ByteBuf, &RawValue> = serde_json::from_str(of.get()).ok()?;
            members.get(Bytes::new(part.as_bytes())).copied()
        }
        b'[' => {
            let is_index = part == "0" || !part.starts_with(['0', '+']);
            let index: usize = part.parse().ok().filter(|_| is_index)?;
            let members: Vec<&RawValue> = serde_json::from_str(of.get()).ok()?;
            members.get(index).copied()
        }
        _ => None,
    }
}

/// How many arrays and objects are inside each other, if the bytes are JSON.
fn depth(bytes: &[u8]) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    for byte in bytes {
        match (is_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_text = !is_text,
            (false, b'[' | b'{') => {
                open += 1;
                deepest = deepest.max(open);
            }
            (false, b']' | b'}') => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A JSON pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer(String);

/// Why a text is not a JSON pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a JSON pointer, such as /status or /checks/0/state")]
pub struct NotAPointer;

impl JsonPointer {
    /// Parses a pointer: empty, or a `/` before each of its parts, in which `~` is written `~0` and `/` is written `~1`.
    ///
    /// # Errors
    ///
    /// When the text is not one.
    pub fn parse(text: &str) -> Result<Self, NotAPointer> {
        let is_rooted = text.is_empty() || text.starts_with('/');
        let is_escaped = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if is_rooted && is_escaped { Ok(Self(text.to_owned())) } else { Err(NotAPointer) }
    }

    /// The pointer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names and indices on the way, unescaped.
    fn parts(&self) -> impl Iterator<Item = String> {
        self.0.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"))
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for JsonPointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JsonPointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for JsonPointer {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JsonPointer".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "json-pointer" })
    }
}

/// Whether two values are the same. Numbers are compared by value, so `1` equals `1.0`.
pub(super) fn is_same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || (one.as_i128().is_none() || other.as_i128().is_none())
                    && one.as_f64() == other.as_f64()
        }
        _ => expected == got,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(document: &str, pointer: &str) -> Option<Result<Value, NotComparable>> {
        let pointer = JsonPointer::parse(pointer).expect("a pointer");
        parse(document.as_bytes()).expect("JSON").find(&pointer)
    }

    #[test]
    fn pointers_are_those_of_the_standard() {
        // The examples of RFC 6901, section 5.
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
            "k\"l": 6, " ": 7, "m~n": 8,
        })
        .to_string();
        for (pointer, value) in [
            ("", json!({})),
            ("/foo", json!([])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
        ] {
            assert_eq!(found(&document, pointer), Some(Ok(value)), "{pointer}");
        }
        for nowhere in ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/bar", "/foo/0/x"] {
            assert_eq!(found(&document, nowhere), None, "{nowhere}");
        }
        for wrong in ["foo", "$.foo", "#/foo", "/m~n", "/m~", "/~2"] {
            assert_eq!(JsonPointer::parse(wrong), Err(NotAPointer), "{wrong}");
        }
    }

    #[test]
    fn json_is_read_within_its_limits() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        let refused = |text: &str| parse(text.as_bytes()).map(drop);
        assert_eq!(refused(&nested(JSON_DEPTH_MAX + 1)), Err(NotRead::TooDeep));
        assert_eq!(refused(&"[".repeat(JSON_MAX)), Err(NotRead::TooDeep));
        // Brackets in a text are no levels.
        let text = format!("[\"\\\"{}\"]", "[".repeat(100));
        assert!(parse(text.as_bytes()).is_ok());
        let long = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(parse(long(JSON_MAX).as_bytes()).is_ok());
        assert_eq!(refused(&long(JSON_MAX + 1)), Err(NotRead::TooLong));
        assert_eq!(found("\u{feff}{}", ""), Some(Ok(json!({}))));
        for wrong in ["", "ok", "{\"a\":}", "[1] [2]", "\u{feff}", "{\"a\":\"\\ud8\"}", "[01]"] {
            assert_eq!(refused(wrong), Err(NotRead::NotJson), "{wrong}");
        }
    }

    #[test]
    fn only_the_value_itself_is_read() {
        let odd = r#"{"a": 1e400, "b": "\ud83d", "\udc00": [1e999], "c": {"d": [-1e400, "\ude00x", 5]},
            "e": 1, "e": 2, "f": 1e-400, "g": "\ud83d\ude00"}"#;
        for (pointer, value) in [
            ("/e", Ok(json!(2))),
            ("/c/d/2", Ok(json!(5))),
            ("/c", Ok(json!({}))),
            ("", Ok(json!({}))),
            ("/f", Ok(json!(0.0))),
            ("/g", Ok(json!("\u{1f600}"))),
            ("/a", Err(NotComparable::Number)),
            ("/c/d/0", Err(NotComparable::Number)),
            ("/b", Err(NotComparable::Text)),
            ("/c/d/1", Err(NotComparable::Text)),
        ] {
            assert_eq!(found(odd, pointer), Some(value), "{pointer}");
        }
        for nowhere in ["/a/0", "/b/0", "/c/d/3", "/h"] {
            assert_eq!(found(odd, nowhere), None, "{nowhere}");
        }
        let latin = parse(b"{\"name\": \"Caf\xe9\", \"ok\": true}").expect("JSON");
        let pointer = JsonPointer::parse("/ok").expect("a pointer");
        assert_eq!(latin.find(&pointer), Some(Ok(json!(true))));
    }

    #[test]
    fn numbers_are_compared_by_their_value() {
        assert!(is_same(&json!(1), &json!(1.0)));
        assert!(is_same(&json!(1.5), &json!(1.5)));
        assert!(!is_same(&json!(1), &json!("1")));
        assert!(!is_same(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(is_same(&json!(null), &json!(null)));
        assert!(!is_same(&json!(false), &json!(null)));
    }

    proptest! {
        #[test]
        fn json_that_serde_accepts_is_accepted(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if serde_json::from_slice::<Value>(&bytes).is_ok() {
                prop_assert!(parse(&bytes).is_ok());
            }
        }

        #[test]
        fn values_of_valid_json_are_found(path in "(/[a-z~/]{0,3}){0,4}", text in "\\PC{0,8}") {
            let document = json!({ "a": [1], "": { "b": true } });
            if let Ok(pointer) = JsonPointer::parse(&path) {
                prop_assert_eq!(pointer.as_str(), &path);
            }
            if let Ok(pointer) = JsonPointer::parse(&text) {
                let found = parse(document.to_string().as_bytes()).expect("JSON").find(&pointer);
                prop_assert_eq!(found.is_some(), document.pointer(&text).is_some());
            }
        }
    }
}
