//! A client's change of a site.

use jiff::Timestamp;
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::checks::limits::ALERT_GRACE;
use vedette_domain::id::StatusPageId;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag_dictionary::TagDictionary;

use super::{SiteWithTools, put_state, site_item};
use crate::channel::put_outbox;
use crate::directory::{put_newest, write_tags};
use crate::item::number;
use crate::keys;
use crate::status_page::want_all;
use crate::table::{Condition, Store};
use crate::transaction::Transaction;
use crate::{Audit, DirectoryRow, StoreError};

/// The place of the site in the transaction of [`Store::update_site`].
const SITE: usize = 0;
/// The place of the directory row there, if it is a new one.
const DIRECTORY: usize = 1;

/// A change of a site by a client, with everything else that changes.
#[derive(Debug)]
pub struct SiteUpdate<'a> {
    /// The site afterwards.
    pub next: &'a Site,
    /// The team's tags afterwards, if the site's tags or its URL change and it has any.
    pub tags: Option<&'a TagDictionary>,
    /// What channels have to learn about its issues.
    pub outbox: &'a [OutboxEntry],
    /// The team's status pages, if they are published again.
    pub pages: &'a [StatusPageId],
}

impl Store {
    /// Saves what a client changed on a site, with its directory row. If it has another `cfg`, its tools get it too, and
    /// runs in progress no longer count.
    ///
    /// # Errors
    ///
    /// A conflict when any part of the site has changed since, or when the team already has the new URL; see
    /// [`is_taken_url`].
    pub async fn update_site(
        &self,
        stored: &SiteWithTools,
        update: SiteUpdate<'_>,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let SiteUpdate { next, tags, outbox, pages } = update;
        let site = &stored.site;
        // The reconciler writes `synced` without raising `rev`.
        let unchanged = Condition::When(
            "rev = :rev AND synced = :synced",
            vec![(":rev", number(site.rev)), (":synced", number(site.synced))],
        );
        let transaction = self.transaction().put(site_item(next)?, unchanged);
        let mut transaction = write_directory(transaction, stored, next, tags)?;
        if next.cfg != site.cfg {
            for (&tool, state) in &stored.tools {
                let mut changed = state.under(next.cfg);
                if next.records != site.records {
                    changed = changed.forgetting_records();
                }
                if next.url.domain() != site.url.domain() {
                    changed = changed.on_another_host();
                }
                transaction = put_state(transaction, site.id.partition(), tool, &changed, now)?;
            }
        }
        if next.url != site.url {
            // The newest checks in a row of version 0.1 move with it.
            let newest =
                stored.tools.iter().filter_map(|(&tool, state)| Some((tool, state.newest()?)));
            transaction = put_newest(transaction, site, newest)?;
        }
        let look_at = now.saturating_add(ALERT_GRACE).unwrap_or(now);
        for entry in outbox {
            transaction = put_outbox(transaction, entry, look_at)?;
        }
        transaction = want_all(transaction, site.team, pages, now);
        transaction.commit(audit).await
    }
}

/// Moves the directory row to a new URL, or updates it if it has changed, with the team's tags.
fn write_directory<'a>(
    transaction: Transaction<'a>,
    stored: &SiteWithTools,
    next: &Site,
    tags: Option<&TagDictionary>,
) -> Result<Transaction<'a>, StoreError> {
    let site = &stored.site;
    let changes_tags = next.tags != site.tags;
    let numbers = tags.map(|tags| tags.numbers(&next.tags)).unwrap_or_default();
    let old = DirectoryRow::of(site);
    let new = DirectoryRow { tags: numbers, ..DirectoryRow::of(next) };
    let [old_key, new_key] = [site, next].map(|site| keys::directory(site.team, &site.url));
    if old_key != new_key {
        // The tools' states are written under conditions too.
        let is_checked = stored.tools.values().any(|state| state.latest_completed().is_some());
        let moved = DirectoryRow { is_checked, ..new };
        let transaction = transaction
            .put(moved.item(&new_key)?, Condition::Absent)
            .delete(&old_key, Condition::Present);
        return write_tags(transaction, site.team, tags.filter(|_| changes_tags));
    }
    if old == new && !changes_tags {
        return Ok(transaction);
    }
    let transaction = transaction.update(&old_key, new.change(changes_tags)?, Condition::Present);
    write_tags(transaction, site.team, tags.filter(|_| changes_tags))
}

/// Whether a conflict of [`Store::update_site`] that moves a site to another URL means that the team already has this
/// URL.
pub fn is_taken_url(error: &StoreError) -> bool {
    // If the site itself has changed since, it may have taken the URL. Read it again first.
    error.has_failed(DIRECTORY) && !error.has_failed(SITE)
}
