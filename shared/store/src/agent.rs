//! The agents of a service on one machine. On AWS there are none.

use vedette_domain::locations::{Agent, Location};

use crate::item::{Stored, item, stored};
use crate::table::{Condition, Range, Sort, Store};
use crate::{Audit, StoreError, keys};

stored!(attributes: Agent);

impl Store {
    /// All agents, by name.
    pub async fn agents(&self) -> Result<Vec<Agent>, StoreError> {
        let items = self.query(Range::new(&keys::agents(), Sort::All)).await?;
        items.into_iter().map(Stored::read).collect()
    }

    /// The agent with this name.
    pub async fn agent(&self, location: &Location) -> Result<Option<Agent>, StoreError> {
        self.get(&keys::agent(location)).await?.map(Stored::read).transpose()
    }

    /// Writes an agent whose `rev` is one above the one that was read, or 1 for a new agent.
    ///
    /// # Errors
    ///
    /// A conflict when another writer was faster.
    pub async fn put_agent(&self, agent: &Agent) -> Result<(), StoreError> {
        let stored = item(&keys::agent(&agent.location), agent)?;
        let condition = Condition::after(agent.rev - 1);
        self.transaction().put(stored, condition).commit(Audit::None).await
    }

    /// Removes an agent. Its token no longer works.
    ///
    /// # Errors
    ///
    /// A conflict when another writer was faster.
    pub async fn delete_agent(&self, agent: &Agent) -> Result<(), StoreError> {
        let key = keys::agent(&agent.location);
        self.transaction().delete(&key, Condition::Rev(agent.rev)).commit(Audit::None).await
    }
}
