//! Where the checks that a tool's state points to can be read.

use jiff::Timestamp;

use super::ToolState;
use crate::checks::check::Check;
use crate::checks::pointer::{CheckPointer, Latest};

/// Where to read a check.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckSource {
    /// In the tool's state, where it was packed.
    State {
        /// The check.
        check: Check,
        /// When it expires.
        expires_at: Timestamp,
    },
    /// In the table.
    Table(Latest),
}

impl ToolState {
    /// Where to read a check that this state, or one of its issues, points to.
    pub fn source(&self, latest: Latest) -> CheckSource {
        self.open_check(latest.check).unwrap_or(CheckSource::Table(latest))
    }

    /// The check in the open block, if the pointer leads there.
    fn open_check(&self, pointer: CheckPointer) -> Option<CheckSource> {
        let (first, day) = (pointer.block?, self.day.as_ref()?);
        let block = self.open_block()?.ok().filter(|block| block.first_slot() == first)?;
        let check = block.check(pointer.id)?;
        Some(CheckSource::State { check, expires_at: day.rows_expire_at() })
    }
}
