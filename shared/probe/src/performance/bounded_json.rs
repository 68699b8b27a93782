//! Parses JSON that a page has influenced, within limits.

use serde_json::Value;

/// The most objects in a report; real ones have about ten thousand. One takes up to seven hundred bytes of memory, a
/// hundred times its text.
const MAX_OBJECTS: usize = 100_000;

/// The most commas in a report; real ones have fewer than a hundred thousand.
const MAX_VALUES: usize = 1_000_000;

/// Parses JSON; `None` if it is invalid or exceeds the limits.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    // Those inside strings count, too; they are few.
    let count = |wanted| bytes.iter().filter(|byte| **byte == wanted).count();
    if count(b'{') > MAX_OBJECTS || count(b',') > MAX_VALUES {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_beyond_the_limits_is_not_read() {
        for (unit, most) in [("{}", MAX_OBJECTS), ("0", MAX_VALUES + 1)] {
            let list = |count: usize| format!("[{}]", vec![unit; count].join(","));
            assert!(parse(list(most).as_bytes()).is_some(), "{unit}");
            assert!(parse(list(most + 1).as_bytes()).is_none(), "{unit}");
        }
        assert_eq!(parse(b"{\"a\":[1,2]}"), Some(serde_json::json!({ "a": [1, 2] })));
        assert_eq!(parse(b"{"), None);
    }
}
