//! What a receiver answers to a message, so that later messages can refer to it.

use serde::{Deserialize, Serialize};

/// The most bytes of a handle.
const HANDLE_MAX: usize = 256;

/// Digits of a digest that distinguish the target from those before.
const DIGITS: usize = 8;

/// What a receiver answered to a message, such as the id under which it keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Handle {
    text: String,
    /// The beginning of the digest of the URL that answered. Elsewhere, the handle means nothing, or something else.
    #[serde(default, rename = "of", skip_serializing_if = "String::is_empty")]
    target: String,
}

impl Handle {
    /// A handle; `None` if it is empty or too long to be kept.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let (text, target) = (text.into(), String::new());
        (1..=HANDLE_MAX).contains(&text.len()).then_some(Self { text, target })
    }

    /// The text of the receiver.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The handle as it is kept: together with the target that answered, by the digest of its URL.
    #[must_use]
    pub fn from_target(self, digest: &str) -> Self {
        Self { target: beginning(digest).to_owned(), ..self }
    }

    /// Whether the target with this digest answered.
    pub fn is_of(&self, digest: &str) -> bool {
        self.target == beginning(digest)
    }
}

fn beginning(digest: &str) -> &str {
    digest.get(..DIGITS).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_has_at_most_256_bytes() {
        assert_eq!(Handle::new("$1").as_ref().map(Handle::as_str), Some("$1"));
        assert!(Handle::new("x".repeat(256)).is_some());
        for text in [String::new(), "x".repeat(257), "é".repeat(129)] {
            assert_eq!(Handle::new(text), None);
        }
    }

    #[test]
    fn a_handle_is_that_of_one_target() {
        let (old, new) = ("0123456789abcdef", "fedcba9876543210");
        let handle = Handle::new("$1").expect("a handle").from_target(old);
        assert_eq!([handle.is_of(old), handle.is_of(new)], [true, false]);
        let stored = serde_json::to_string(&handle).expect("JSON");
        assert_eq!(stored, r#"{"text":"$1","of":"01234567"}"#);
    }
}
