//! What a receiver answers to a message, so that later messages can refer to it.

use serde::{Deserialize, Serialize};

/// The most bytes of a handle.
const HANDLE_MAX: usize = 256;

/// What a receiver answered to a message, such as the id under which it keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Handle(String);

impl Handle {
    /// A handle; `None` if it is empty or too long to be kept.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (1..=HANDLE_MAX).contains(&text.len()).then_some(Self(text))
    }

    /// The text of the receiver.
    pub fn as_str(&self) -> &str {
        &self.0
    }
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
}
