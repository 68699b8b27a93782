//! What members write about an issue.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::UserId;

/// The longest note, in characters.
const NOTE_MAX: usize = 500;
/// How many notes are kept with an issue, the newest: each read of the issue reads them.
pub(crate) const NOTES_KEPT: usize = 10;

/// What a member wrote about an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: UserId,
    /// What; it may have several lines.
    pub text: String,
}

/// Why a text is no note; the messages continue "The note field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Nothing is there.
    #[error("must not be empty")]
    Empty,
    /// It is longer than [`NOTE_MAX`] characters.
    #[error("must not be longer than {NOTE_MAX} characters")]
    TooLong,
}

impl Note {
    /// Reads what somebody wrote, without the space around it.
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
