//! JSON that a page has a say in, read within bounds.

use serde_json::Value;

/// Objects in a report; real ones have some ten thousand. One takes up to seven hundred bytes of
/// memory, a hundred times what it is written in.
const OBJECTS: usize = 100_000;

/// What is set apart by commas in a report; real ones have less than a hundred thousand.
const VALUES: usize = 1_000_000;

/// Reads JSON; none where it is not that, or beyond the bounds.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    // Those within texts count, too: they are few.
    let count = |wanted| bytes.iter().filter(|byte| **byte == wanted).count();
    if count(b'{') > OBJECTS || count(b',') > VALUES {
        return None;
    }
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_take_much_memory_is_not_read() {
        for (unit, most) in [("{}", OBJECTS), ("0", VALUES + 1)] {
            let list = |count: usize| format!("[{}]", vec![unit; count].join(","));
            assert!(parse(list(most).as_bytes()).is_some(), "{unit}");
            assert!(parse(list(most + 1).as_bytes()).is_none(), "{unit}");
        }
        assert_eq!(parse(b"{\"a\":[1,2]}"), Some(serde_json::json!({ "a": [1, 2] })));
        assert_eq!(parse(b"{"), None);
    }
}
