//! JSON from outside, within limits, and pointers into it.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

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

/// Parses JSON from outside. The depth is counted before anything is parsed, so neither the parser nor the value that it
/// builds can use up the stack.
///
/// # Errors
///
/// When it is not JSON or exceeds the limits.
pub fn parse(bytes: &[u8]) -> Result<Value, NotRead> {
    if bytes.len() > JSON_MAX {
        return Err(NotRead::TooLong);
    }
    if depth(bytes) > JSON_DEPTH_MAX {
        return Err(NotRead::TooDeep);
    }
    // RFC 8259, section 8.1: a parser may ignore a byte order mark.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|_| NotRead::NotJson)
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

    /// The value that it leads to.
    pub fn find<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        document.pointer(&self.0)
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

    #[test]
    fn pointers_are_those_of_the_standard() {
        // The examples of RFC 6901, section 5.
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
            "k\"l": 6, " ": 7, "m~n": 8,
        });
        for (pointer, value) in [
            ("", document.clone()),
            ("/foo", json!(["bar", "baz"])),
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
            let pointer = JsonPointer::parse(pointer).expect("a pointer");
            assert_eq!(pointer.find(&document), Some(&value), "{pointer}");
        }
        for nowhere in ["/foo/2", "/foo/-", "/foo/00", "/foo/+1", "/bar", "/foo/0/x"] {
            let pointer = JsonPointer::parse(nowhere).expect("a pointer");
            assert_eq!(pointer.find(&document), None, "{nowhere}");
        }
        for wrong in ["foo", "$.foo", "#/foo", "/m~n", "/m~", "/~2"] {
            assert_eq!(JsonPointer::parse(wrong), Err(NotAPointer), "{wrong}");
        }
    }

    #[test]
    fn json_is_read_within_its_limits() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(parse(nested(JSON_DEPTH_MAX + 1).as_bytes()), Err(NotRead::TooDeep));
        assert_eq!(parse("[".repeat(JSON_MAX).as_bytes()), Err(NotRead::TooDeep));
        // Brackets in a text are no levels.
        let text = format!("[\"\\\"{}\"]", "[".repeat(100));
        assert!(parse(text.as_bytes()).is_ok());
        let long = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        assert!(parse(long(JSON_MAX).as_bytes()).is_ok());
        assert_eq!(parse(long(JSON_MAX + 1).as_bytes()), Err(NotRead::TooLong));
        assert_eq!(parse("\u{feff}{}".as_bytes()), Ok(json!({})));
        for wrong in ["", "ok", "{\"a\":}", "[1] [2]", "\u{feff}"] {
            assert_eq!(parse(wrong.as_bytes()), Err(NotRead::NotJson), "{wrong}");
        }
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
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = parse(&bytes) {
                prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).expect("json"), value);
            }
        }

        #[test]
        fn what_json_has_is_found(path in "(/[a-z~/]{0,3}){0,4}", text in "\\PC{0,8}") {
            let _ = JsonPointer::parse(&text).map(|pointer| pointer.find(&json!({ "a": [1] })).cloned());
            if let Ok(pointer) = JsonPointer::parse(&path) {
                prop_assert_eq!(pointer.as_str(), &path);
            }
        }
    }
}
