//! Packed checks. A tool's item contains its open block. A closed block is an item of its own, which never changes.

use std::collections::{BTreeMap, HashMap};

use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::history::block::Block;
use vedette_domain::checks::history::{RowWindow, day_of, day_start};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{BlockPlace, ClosedBlock, ToolState};
use vedette_domain::id::{CheckId, Partition};

use crate::StoreError;
use crate::item::{
    Item, Stored, expiring, expiry, item, key_of, number, outstanding, readable, size, stored,
};
use crate::keys::{self, Key};
use crate::site::tool_item;
use crate::table::{Condition, Range, Sort, Store};

stored!(attributes: StoredBlock);

/// The size that one write unit pays for, in bytes as DynamoDB counts them.
const WRITE_UNIT: usize = 1_024;
/// The smallest number of checks that fill a block, for a URL of a hundred bytes.
const FULL_BLOCK: usize = 24;

#[derive(Serialize, Deserialize)]
struct StoredBlock {
    #[serde(rename = "b")]
    bytes: ByteBuf,
    /// The `rev` of the state that no longer has the block; 0 if an earlier version closed it.
    #[serde(rename = "v", default)]
    rev: u64,
}

/// Whether a tool's item takes one write unit.
pub fn fits_a_unit(partition: Partition, tool: Tool, state: &ToolState, now: Timestamp) -> bool {
    tool_item(partition, tool, state, now).is_ok_and(|item| size(&item) <= WRITE_UNIT)
}

/// The item of a block that is full or whose day is over, and its condition. `rev` is that of the state that no longer
/// has the block.
pub(crate) fn closed_item(
    partition: Partition,
    tool: Tool,
    ClosedBlock { place, bytes, expires_at }: &ClosedBlock,
    rev: u64,
) -> Result<(Item, Condition), StoreError> {
    let stored = StoredBlock { bytes: ByteBuf::from(bytes.as_slice()), rev };
    let stored = |key| Ok::<_, StoreError>(expiring(item(&key, &stored)?, *expires_at));
    Ok(match place {
        // A block may be written before the state, and has more checks if it is closed once more.
        BlockPlace::First(slot) => {
            let expression = "attribute_not_exists(pk) OR v <= :rev";
            let is_newer = Condition::When(expression, vec![(":rev", number(rev))]);
            (stored(keys::block(partition, tool, *slot))?, is_newer)
        }
        // A block that cannot be read is set aside, so that new checks can be saved.
        BlockPlace::Unreadable(at) => {
            let aside = stored(keys::unreadable_block(partition, tool, *at))?;
            (outstanding(aside, keys::unreadable_shard(), Some(*at)), Condition::Always)
        }
    })
}

/// A closed block, and when its checks expire.
fn read(item: Item) -> Result<(Block, Timestamp), StoreError> {
    let expires_at = expiry(&item)?;
    let StoredBlock { bytes, .. } = Stored::read(item)?;
    Ok((Block::read(&bytes).map_err(StoreError::corrupt)?, expires_at))
}

/// A check in a tool's open block, and when it expires.
pub(crate) fn open_check(state: &ToolState, id: CheckId) -> Option<(Check, Timestamp)> {
    let check = state.open_block()?.ok()?.check(id)?;
    Some((check, state.day.as_ref()?.rows_expire_at()))
}

impl Store {
    /// How many blocks were set aside because they could not be read, up to a limit.
    pub async fn unreadable_blocks(&self, limit: usize) -> Result<usize, StoreError> {
        Ok(self.query_work(keys::unreadable_shard(), i64::MAX, limit).await?.len())
    }

    /// A check and when it expires, if a closed block contains it.
    pub(crate) async fn check_in_closed_block(
        &self,
        id: CheckId,
    ) -> Result<Option<(Check, Timestamp)>, StoreError> {
        let pk = keys::site_partition(id.partition());
        let place = |at| keys::block_sort(id.tool(), at);
        let (slot, day) = (id.created_at(), day_start(day_of(id.created_at())));
        let sort = Sort::Between(place(day), place(slot));
        let last = Range { newest_first: true, limit: Some(1), ..Range::new(&pk, sort) };
        let block = self.query(last).await?.into_iter().find_map(|item| readable(item, read));
        Ok(block.and_then(|(block, expires_at)| Some((block.check(id)?, expires_at))))
    }

    /// The checks that pointers say are in blocks, and when they expire. `found` contains the closed blocks that were
    /// read already; a missing block was open at that time.
    pub(crate) async fn checks_in_blocks(
        &self,
        pointers: &[(CheckId, Timestamp)],
        mut found: HashMap<Key, Item>,
    ) -> Result<Vec<(Check, Timestamp)>, StoreError> {
        let mut checks = Vec::new();
        let block =
            |(id, first): (CheckId, Timestamp)| keys::block(id.partition(), id.tool(), first);
        let is_open = |pointer: &&(CheckId, Timestamp)| !found.contains_key(&block(**pointer));
        let open: Vec<_> = pointers.iter().filter(is_open).copied().collect();
        if !open.is_empty() {
            let tools = open.iter().map(|(id, _)| keys::tool(id.partition(), id.tool()));
            let tools = self.batch_get(tools.collect::<Vec<_>>()).await?;
            let states: BTreeMap<Key, ToolState> = tools
                .into_iter()
                .filter_map(|(key, item)| Some((key, readable(item, Stored::read)?)))
                .collect();
            let mut closed = Vec::new();
            for pointer in open {
                let (id, _) = pointer;
                let state = states.get(&keys::tool(id.partition(), id.tool()));
                match state.and_then(|state| open_check(state, id)) {
                    Some(check) => checks.push(check),
                    // It was closed in the meantime.
                    None => closed.push(block(pointer)),
                }
            }
            found.extend(self.batch_get(closed).await?);
        }
        let mut ids: HashMap<Key, Vec<CheckId>> = HashMap::new();
        for pointer in pointers {
            ids.entry(block(*pointer)).or_default().push(pointer.0);
        }
        for (key, ids) in ids {
            let block = found.remove(&key).and_then(|item| readable(item, read));
            let Some((block, expires_at)) = block else { continue };
            checks.extend(ids.iter().filter_map(|id| Some((block.check(*id)?, expires_at))));
        }
        Ok(checks)
    }

    /// The packed checks of a window: those in the state, which was read before, and those in closed blocks.
    pub(crate) async fn packed_checks(
        &self,
        partition: Partition,
        tool: Tool,
        state: &ToolState,
        window: &RowWindow,
    ) -> Result<Vec<Check>, StoreError> {
        let open = state.open_block().and_then(Result::ok);
        // Closed blocks only contain older checks.
        let before = open.as_ref().map_or(window.before, Block::first_slot);
        let closed = self.closed_blocks(partition, tool, window, before.min(window.before)).await?;
        let blocks = closed.into_iter().filter_map(|item| readable(item, read));
        let blocks = blocks.map(|(block, _)| block).chain(open);
        let checks = blocks.flat_map(|block| block.checks_of(partition, tool));
        let is_inside = |check: &Check| {
            let at = check.id.created_at();
            window.from <= at && at < window.before
        };
        Ok(checks.filter(is_inside).collect())
    }

    /// The closed blocks with checks of a window from before an instant: those that begin in the window, and the one
    /// below it.
    async fn closed_blocks(
        &self,
        partition: Partition,
        tool: Tool,
        window: &RowWindow,
        before: Timestamp,
    ) -> Result<Vec<Item>, StoreError> {
        if before <= window.from {
            return Ok(Vec::new());
        }
        let pk = keys::site_partition(partition);
        let place = |at| keys::block_sort(tool, at);
        // A block ends with its day.
        let day = day_start(day_of(window.from));
        let end = before.saturating_sub(1.millisecond()).unwrap_or(before);
        let sort = Sort::Between(place(day), place(end));
        let range = Range { newest_first: true, ..Range::new(&pk, sort) };
        // One query usually reads all of them, and a second query would cost more than a block that is not needed.
        let checks = window.newer.saturating_add(window.count).saturating_add(window.older);
        let expected = checks.div_ceil(FULL_BLOCK).saturating_add(1);
        let (mut blocks, mut start) = (Vec::new(), None);
        loop {
            let (page, last) = self.query_page(&range, Some(expected), start).await?;
            blocks.extend(page);
            let Some(last) = last else { return Ok(blocks) };
            if key_of(&last)?.sk <= place(window.from) {
                return Ok(blocks);
            }
            start = Some(last);
        }
    }
}
