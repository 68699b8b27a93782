//! Packing: an uneventful scheduled check is added to the open block in its tool's state, and needs no row.
//!
//! A block contains checks of one day. It is closed, and gets an item of its own, when it is full or the day ends.

use jiff::Timestamp;

use super::{DayWrite, ToolChange, ToolState};
use crate::checks::check::{Finish, ToolResult};
use crate::checks::history::block::{Block, BlockVersion, PackedCheck, Refused, Unreadable};
use crate::checks::history::{Day, Kind};
use crate::checks::pointer::CheckPointer;
use crate::checks::tool::{CheckStatus, RunReason, Tool};
use crate::id::{CheckId, Trigger};

/// How a change stores its check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// In a row of its own.
    Row,
    /// In the open block of its tool's state.
    Packed,
}

/// A block that is full or whose day is over, to be written on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedBlock {
    /// Where to write it.
    pub place: BlockPlace,
    /// The block.
    pub bytes: Vec<u8>,
    /// When it expires: with the rows of its day.
    pub expires_at: Timestamp,
}

/// Where to write a closed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPlace {
    /// Among the blocks of its tool, under the slot of its first check.
    First(Timestamp),
    /// Set aside, because this version cannot read it, under the slot or creation time of the check that found it.
    Unreadable(Timestamp),
}

/// Whether a check may be in a block: it is a scheduled check of a tool whose results differ in one measured value. For
/// status checks, that is `/response_time`; the results of other tools differ in more.
pub fn may_be_packed(check: CheckId) -> bool {
    keeps_packed(check.tool(), Kind { trigger: check.trigger(), status: CheckStatus::Completed })
}

/// Whether checks of a kind may be in blocks.
pub fn keeps_packed(tool: Tool, kind: Kind) -> bool {
    let scheduled = Trigger::Automatic(RunReason::Scheduled);
    match tool {
        Tool::Status | Tool::Heartbeat => {
            kind == Kind { trigger: scheduled, status: CheckStatus::Completed }
        }
        Tool::Ssl | Tool::Dns | Tool::BrokenLinks | Tool::Performance => false,
    }
}

impl ToolState {
    /// The block that the next check is added to, if there is one.
    pub fn open_block(&self) -> Option<Result<Block, Unreadable>> {
        self.block.as_ref().map(|bytes| Block::read(bytes))
    }

    /// Takes the open block if a check that was created `at` an instant ends it.
    pub(super) fn close_block(&mut self, day: &Day, at: Timestamp) -> Option<ClosedBlock> {
        let bytes = self.block.take()?.into_vec();
        let place = Block::read(&bytes)
            .map_or(BlockPlace::Unreadable(at), |block| BlockPlace::First(block.first_slot()));
        Some(ClosedBlock { place, bytes, expires_at: day.rows_expire_at() })
    }
}

impl ToolChange {
    /// The change with its check packed into a block of this version, if it is uneventful and can be packed. `fits` says
    /// whether a state fits into one write unit.
    #[must_use]
    pub fn packed(
        self,
        finish: &Finish,
        version: BlockVersion,
        fits: impl Fn(&ToolState) -> bool,
    ) -> Self {
        let packed = self.uneventful(finish, version).and_then(|check| {
            let (state, closed_block) = self.packed_state(&check, version, fits)?;
            Some((check, state, closed_block))
        });
        match packed {
            Some((check, state, closed_block)) => Self {
                state,
                keeping: Keeping::Packed,
                closed_block: closed_block.or(self.closed_block),
                check: match version {
                    // A block of this version has no room for everything.
                    BlockVersion::One => check.into_check(self.check.id),
                    BlockVersion::Two => self.check,
                },
                ..self
            },
            None => self,
        }
    }

    fn packed_state(
        &self,
        check: &PackedCheck,
        version: BlockVersion,
        fits: impl Fn(&ToolState) -> bool,
    ) -> Option<(ToolState, Option<ClosedBlock>)> {
        let day = self.state.day.as_ref()?;
        let appended = match self.state.open_block() {
            Some(Ok(mut block)) => match block.push(check) {
                Ok(()) if block.version() == version => Some(block),
                Ok(()) | Err(Refused::Shapes) => None,
                Err(Refused::Order | Refused::Redirects | Refused::ResponseTime) => return None,
            },
            Some(Err(_)) | None => None,
        };
        let appended = appended.map(|block| self.with_block(block)).filter(&fits);
        if let Some(state) = appended {
            return Some((state, None));
        }
        let begun = self.with_block(Block::begin(version, check).ok()?);
        let closed = self.state.clone().close_block(day, check.slot);
        fits(&begun).then_some((begun, closed))
    }

    /// The check in packed form, if it caused no event, met all expectations and its day is open. Blocks do not say
    /// which of their checks were in a maintenance window: windows are rare, and the previous version could not read a
    /// block that stores this.
    fn uneventful(&self, finish: &Finish, version: BlockVersion) -> Option<PackedCheck> {
        let result = match finish {
            Finish::Completed(ToolResult::Status(result)) => result.clone(),
            Finish::Completed(ToolResult::Heartbeat(result)) => result.packed()?,
            _ => return None,
        };
        let is_amended = matches!(self.day, Some(DayWrite::Amend(_)));
        let is_packed = may_be_packed(self.check.id)
            && self.events.is_empty()
            && self.check.unmet.is_empty()
            && !is_amended
            && !self.check.in_maintenance;
        let completed_at = self.check.completed_at.filter(|_| is_packed)?;
        let slot = self.check.id.created_at();
        let (mut has_failed, mut result) = (self.check.has_failed, result);
        if version == BlockVersion::One {
            (has_failed, result.phases) = (None, None);
        }
        Some(PackedCheck { slot, completed_at, has_failed, result })
    }

    /// The state with an open block that contains the check.
    fn with_block(&self, block: Block) -> ToolState {
        let pointer = CheckPointer { id: self.check.id, block: Some(block.first_slot()) };
        let mut state = self.state.clone();
        let latest = state.automatic.as_mut().map(|latest| &mut latest.check);
        for kept in latest.into_iter().chain(&mut state.evaluated) {
            if kept.id == pointer.id {
                *kept = pointer;
            }
        }
        state.block = Some(block.into_bytes().into());
        state
    }
}
