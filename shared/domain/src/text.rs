//! Characters that change how the text around them is displayed, and texts without them.

use std::fmt::Write as _;

/// Whether a character breaks a line or changes the direction of the text after it: a control character, U+2028,
/// U+2029, or an embedding, override or isolate of the [Unicode bidirectional
/// algorithm](https://www.unicode.org/reports/tr9/). Direction marks such as U+200F are not among them: names in Hebrew
/// and Arabic contain them, and they do not reach beyond their place.
pub fn disrupts_line(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text from outside, for a terminal. U+FFFD is in the place of each character that [`disrupts_line`].
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if disrupts_line(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A JSON document in which each character that [`disrupts_line`] is an escape sequence, except for the line breaks
/// between its parts.
pub fn escaped_json(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for c in document.chars() {
        if c != '\n' && disrupts_line(c) {
            // None of these characters needs a surrogate pair.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn control_and_direction_characters_are_replaced() {
        for (text, shown) in [
            ("Shop", "Shop"),
            ("\u{1b}[2JShop\n", "\u{fffd}[2JShop\u{fffd}"),
            ("a\u{9b}b\u{7f}c", "a\u{fffd}b\u{fffd}c"),
            ("a\u{2028}b\u{2029}c", "a\u{fffd}b\u{fffd}c"),
            (
                "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}",
                "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("\u{2066}\u{2067}\u{2068}\u{2069}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            (
                "\u{200f}\u{5d0}\u{1f468}\u{200d}\u{1f469}",
                "\u{200f}\u{5d0}\u{1f468}\u{200d}\u{1f469}",
            ),
        ] {
            assert_eq!(printable(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_escaped_document_means_the_same(
            texts in prop::collection::vec("[\\PC\\x00-\\x9f\u{2028}-\u{202e}\u{2066}-\u{2069}]{0,9}", 0..4),
        ) {
            let document = serde_json::to_string_pretty(&texts).expect("JSON");
            let escaped = escaped_json(&document);
            prop_assert!(!escaped.contains(|c| c != '\n' && disrupts_line(c)), "{escaped:?}");
            prop_assert_eq!(serde_json::from_str::<Value>(&escaped).expect("JSON"), Value::from(texts));
        }
    }
}
