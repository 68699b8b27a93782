//! The record of the machine's clock, and when the service did not run. A table in AWS has no such items.

use vedette_domain::clock::{ClockRecord, Pauses};

use crate::item::{Stored, item, stored};
use crate::table::{Condition, Store};
use crate::{Audit, StoreError, keys};

stored!(attributes: ClockRecord, Pauses);

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

    /// When the service did not run.
    pub async fn pauses(&self) -> Result<Pauses, StoreError> {
        let found = self.get(&keys::pauses()).await?.map(Stored::read).transpose()?;
        Ok(found.unwrap_or_default())
    }

    /// Saves when the service did not run, and returns what was written.
    ///
    /// # Errors
    ///
    /// A conflict when another process has changed it since.
    pub async fn put_pauses(&self, pauses: &Pauses) -> Result<Pauses, StoreError> {
        let next = Pauses { rev: pauses.rev + 1, pauses: pauses.pauses.clone() };
        let stored = item(&keys::pauses(), &next)?;
        self.transaction().put(stored, Condition::after(pauses.rev)).commit(Audit::None).await?;
        Ok(next)
    }
}
