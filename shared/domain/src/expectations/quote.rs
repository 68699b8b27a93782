//! Quotes texts from outside, so that they are short and cannot pass for our own words.

use serde_json::Value;

/// The most characters of a quoted text.
const QUOTED_MAX: usize = 80;

/// The text in quotation marks, cut if it is long. Characters that would not be shown as they are, or that would end the
/// quotation, are escaped.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    let mut left = QUOTED_MAX;
    for c in text.chars() {
        let escaped = if c == '\'' { c.to_string() } else { c.escape_debug().to_string() };
        let Some(rest) = left.checked_sub(escaped.chars().count()) else {
            quoted.push('…');
            break;
        };
        left = rest;
        quoted.push_str(&escaped);
    }
    quoted.push('"');
    quoted
}

/// A text that a client chose as a path or a name, cut like a quotation but without its marks.
pub(super) fn named(text: &str) -> String {
    let quoted = quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}

/// A JSON value in words, from which `shown` removes what must not be shown.
pub(super) fn value(value: &Value, shown: impl Fn(&str) -> String) -> String {
    match value {
        Value::String(text) => quoted(&shown(text)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => shown(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::text::disrupts_line;

    #[test]
    fn a_quotation_is_short_and_shows_what_is_in_it() {
        for (text, expected) in [
            ("ok", "\"ok\""),
            ("", "\"\""),
            ("it's \"so\"\n", "\"it's \\\"so\\\"\\n\""),
            ("\u{202e}evil\u{7}", "\"\\u{202e}evil\\u{7}\""),
            ("grüße", "\"grüße\""),
        ] {
            assert_eq!(quoted(text), expected);
        }
        assert_eq!(quoted(&"x".repeat(80)), format!("\"{}\"", "x".repeat(80)));
        assert_eq!(quoted(&"x".repeat(81)), format!("\"{}…\"", "x".repeat(80)));
        assert_eq!(named("/a\"b"), "/a\\\"b");
    }

    #[test]
    fn values_are_said_in_words() {
        let said = |of: Value| value(&of, str::to_owned);
        let values = [json!("ok"), json!(5), json!(true), json!(null), json!([1]), json!({})];
        assert_eq!(values.map(said), ["\"ok\"", "5", "true", "null", "an array", "an object"]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_quoted(text in any::<String>()) {
            let quoted = quoted(&text);
            prop_assert!(quoted.chars().count() <= QUOTED_MAX + 3);
            prop_assert!(!quoted.contains(disrupts_line), "{quoted:?}");
        }
    }
}
