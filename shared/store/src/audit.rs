//! The audit logs of teams. An entry is written in the same transaction as the change that it records, and never
//! changes.

use vedette_domain::accounts::audit::AuditEntry;
use vedette_domain::id::TeamId;

use crate::StoreError;
use crate::item::{Item, Stored, expiring, item, key_of, stored};
use crate::keys;
use crate::table::{Range, Sort, Store};

stored!(attributes: AuditEntry);

/// What a write adds to audit logs. Every transaction takes one of these, so no write can forget its audit entry.
#[derive(Debug, Clone, Copy)]
pub enum Audit<'a> {
    /// An entry: what the transaction does in a team, and who does it.
    Entry(&'a AuditEntry),
    /// Entries of several teams.
    Entries(&'a [AuditEntry]),
    /// Nothing: no person caused this write, or audit logs leave out writes of this kind.
    None,
}

impl<'a> Audit<'a> {
    pub(crate) const fn entries(self) -> &'a [AuditEntry] {
        match self {
            Self::Entry(entry) => std::slice::from_ref(entry),
            Self::Entries(entries) => entries,
            Self::None => &[],
        }
    }
}

/// A page of an audit log.
#[derive(Debug)]
pub struct AuditPage {
    /// Entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

impl Store {
    /// Writes entries on their own, before the changes that they record.
    pub async fn record(&self, entries: &[AuditEntry]) -> Result<(), StoreError> {
        self.transaction().commit(Audit::Entries(entries)).await
    }

    /// A page of `count` entries of a team's audit log: the newest entries, or those that follow the page that ended at
    /// `before`.
    pub async fn audit_log(
        &self,
        team: TeamId,
        before: Option<&str>,
        count: usize,
    ) -> Result<AuditPage, StoreError> {
        let pk = keys::audit_partition(team);
        let sort = before.map_or(Sort::All, |place| Sort::Before(place.to_owned()));
        let range = Range {
            newest_first: true,
            limit: Some(count.saturating_add(1)),
            relaxed: true,
            ..Range::new(&pk, sort)
        };
        let mut found = self.query(range).await?;
        let has_more = found.len() > count;
        found.truncate(count);
        let next = found.last().filter(|_| has_more).map(key_of).transpose()?;
        let entries = found.into_iter().map(Stored::read).collect::<Result<_, _>>()?;
        Ok(AuditPage { entries, next: next.map(|key| key.sk) })
    }
}

pub(crate) fn stored(entry: &AuditEntry) -> Result<Item, StoreError> {
    Ok(expiring(item(&keys::audit(entry), entry)?, entry.expires_at()))
}
