//! The record of the machine's clock. A table in AWS has no such item.

use vedette_domain::clock::ClockRecord;

use crate::item::{Stored, item, stored};
use crate::table::{Condition, Store};
use crate::{Audit, StoreError, keys};

stored!(attributes: ClockRecord);

impl Store {
    /// The record of the clock; `None` if the clock has not been checked yet.
    pub async fn clock(&self) -> Result<Option<ClockRecord>, StoreError> {
        self.get(&keys::clock()).await?.map(Stored::read).transpose()
    }

    /// Saves the record of the clock, and returns what was written.
    ///
    /// # Errors
    ///
    /// A conflict when another process has changed it since.
    pub async fn put_clock(&self, record: &ClockRecord) -> Result<ClockRecord, StoreError> {
        let next = ClockRecord { rev: record.rev + 1, ..*record };
        let stored = item(&keys::clock(), &next)?;
        self.transaction().put(stored, Condition::after(record.rev)).commit(Audit::None).await?;
        Ok(next)
    }
}
