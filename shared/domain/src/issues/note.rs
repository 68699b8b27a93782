//! What members write about an issue.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// The longest note, in characters.
const NOTE_MAX: usize = 500;
/// How many notes an issue keeps, the newest ones: every read of the issue loads them.
pub(crate) const NOTES_KEPT: usize = 10;

/// A member's note about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When the member wrote the note.
    pub at: Timestamp,
    /// The member who wrote the note.
    pub by: UserId,
    /// The text, which may have several lines.
    pub text: String,
}

/// Why a text is not a valid note; the messages continue "The note field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text is longer than [`NOTE_MAX`] characters.
    #[error("must not be longer than {NOTE_MAX} characters")]
    TooLong,
}

impl Note {
    /// Reads a member's text, without surrounding white space.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text.
    pub fn parse(text: &str, by: UserId, at: Timestamp) -> Result<Self, NoteError> {
        let text = text.trim().replace("\r\n", "\n");
        if text.is_empty() {
            Err(NoteError::Empty)
        } else if text.chars().nth(NOTE_MAX).is_some() {
            Err(NoteError::TooLong)
        } else {
            Ok(Self { at, by, text })
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_note_has_something_to_say_and_not_too_much() {
        let (by, at) = (UserId(Uuid::from_u128(7)), Timestamp::UNIX_EPOCH);
        let parse = |text: &str| Note::parse(text, by, at).map(|note| note.text);
        assert_eq!(parse(" a\r\nb \n"), Ok("a\nb".to_owned()));
        assert_eq!(parse(" \r\n\t"), Err(NoteError::Empty));
        assert!(parse(&"ü".repeat(NOTE_MAX)).is_ok());
        assert_eq!(parse(&"ü".repeat(NOTE_MAX + 1)), Err(NoteError::TooLong));
    }
}
