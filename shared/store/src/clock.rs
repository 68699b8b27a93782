//! What is remembered of the clock of the machine that the table is on. On AWS there is no such item.

use vedette_domain::clock::ClockRecord;

use crate::item::{Stored, item, stored};
use crate::table::{Condition, Store};
use crate::{Audit, StoreError, keys};

stored!(attributes: ClockRecord);

impl Store {
    /// What is remembered of the clock; `None` if nobody has looked at it yet.
    pub async fn clock(&self) -> Result<Option<ClockRecord>, StoreError> {
        self.get(&keys::clock()).await?.map(Stored::read).transpose()
    }

    /// Writes what is remembered of the clock, and returns it as it was written.
    ///
    /// # Errors
    ///
    /// A conflict when somebody else wrote it meanwhile.
    pub async fn put_clock(&self, record: &ClockRecord) -> Result<ClockRecord, StoreError> {
        let next = ClockRecord { rev: record.rev + 1, ..*record };
        let stored = item(&keys::clock(), &next)?;
        self.transaction().put(stored, Condition::after(record.rev)).commit(Audit::None).await?;
        Ok(next)
    }
}
