//! What members send when they write a note about an issue, or snooze it.

use jiff::Timestamp;

use super::note::Note;
use crate::id::UserId;
use crate::input::{input, instant, lines};

/// The longest note, in characters.
const NOTE_MAX: usize = 500;

input! {
    /// A new note.
    NewNote {
        /// What the team should know about the issue. An issue keeps its newest 10 notes.
        #[form("Add a note")]
        note: Required<String> = lines(NOTE_MAX);
    }
}

impl NewNote {
    /// The note of a member.
    pub fn written_by(self, by: UserId, at: Timestamp) -> Note {
        Note { at, by, text: self.note }
    }
}

input! {
    /// How long nobody is reminded of an issue.
    Snooze {
        /// When reminders start again. With null, they start again at once.
        until: Sent<Timestamp> = instant();
    }
}
