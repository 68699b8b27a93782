//! Status pages, what is outstanding for them, and what is published.
//!
//! A page is published at its address: its slug or, if it is unlisted, the key in its link. The item at an address
//! belongs to one page, so that no two pages have the same address. Its document is what readers are served.

use std::io::{Read as _, Write as _};

use aws_sdk_dynamodb::types::AttributeValue;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{StatusPageId, TeamId};
use vedette_domain::status_pages::{
    PAGES_MAX, PUBLICATION_GRACE, PageAddress, Publication, PublishedPage, StatusPage, VERSION,
};

use crate::item::{Stored, item, number, outstanding, stored, string};
use crate::keys::{self, Key};
use crate::table::{Change, Condition, Range, Sort, Store};
use crate::transaction::Transaction;
use crate::{Audit, StoreError, unless_conflict};

stored!(attributes: StatusPage, Publication, StoredAddress);

/// More than this is not decompressed. The largest page has less.
const INFLATE_MAX: u64 = 1024 * 1024;
/// The place, in the transaction that creates a status page, of the condition that the team has room for it.
const ROOM: usize = 0;
/// The place of the condition that its slug is free.
const SLUG: usize = 1;

/// What is at an address.
#[derive(Debug, Serialize, Deserialize)]
struct StoredAddress {
    /// The page that the address belongs to.
    page: StatusPageId,
    /// The page's team.
    team: TeamId,
    /// Whether readers find the page here. The slug of an unlisted page only remains taken.
    live: bool,
    /// The attempt that published the document.
    #[serde(default)]
    attempt: u64,
    /// The published page: MessagePack, compressed with deflate.
    #[serde(rename = "doc", default, skip_serializing_if = "Option::is_none")]
    document: Option<ByteBuf>,
}

/// Why a status page was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageConflict {
    /// The team has as many as it may have.
    TooMany,
    /// Another page has the slug.
    SlugTaken,
}

/// Whether a write failed because a slug is taken, or because the team has too many pages. Both places are those of
/// [`Store::create_status_page`].
pub fn page_conflict(error: &StoreError) -> Option<PageConflict> {
    if error.has_failed(ROOM) {
        return Some(PageConflict::TooMany);
    }
    error.has_failed(SLUG).then_some(PageConflict::SlugTaken)
}

impl Store {
    /// What readers find at an address; `None` if no page is published there.
    pub async fn published(
        &self,
        address: &PageAddress,
    ) -> Result<Option<PublishedPage>, StoreError> {
        Ok(self.published_by(address).await?.map(|(_, page)| page))
    }

    /// What readers find at an address, with the team and the page that have published it.
    pub async fn published_by(
        &self,
        address: &PageAddress,
    ) -> Result<Option<((TeamId, StatusPageId), PublishedPage)>, StoreError> {
        let Some(found) = self.get(&keys::published(address)).await? else { return Ok(None) };
        let StoredAddress { page, team, live, document, .. } = Stored::read(found)?;
        let Some(document) = document.filter(|_| live) else { return Ok(None) };
        Ok(Some(((team, page), inflated(&document)?)))
    }

    /// Publishes a page at its address, unless a later attempt has done so already, or the page is no longer there.
    /// Returns whether it was published.
    pub async fn put_published(
        &self,
        page: &StatusPage,
        attempt: u64,
        published: &PublishedPage,
    ) -> Result<bool, StoreError> {
        let (team, page, address) = (page.team, page.id, page.address());
        let document = Some(ByteBuf::from(deflated(published)?));
        let stored = StoredAddress { page, team, live: true, attempt, document };
        let unless_newer = Condition::When(
            "page = :page AND live = :live AND attempt < :attempt",
            vec![
                (":page", string(page.to_string())),
                (":live", AttributeValue::Bool(true)),
                (":attempt", number(attempt)),
            ],
        );
        let put = self.put(item(&keys::published(&address), &stored)?, unless_newer).await;
        unless_conflict(put)
    }

    /// A team's status pages, in the order of their ids.
    pub async fn status_pages(&self, team: TeamId) -> Result<Vec<StatusPage>, StoreError> {
        let pk = keys::status_page_partition(team);
        let pages = Range::new(&pk, Sort::Prefix(keys::STATUS_PAGE.to_owned()));
        self.query(pages).await?.into_iter().map(Stored::read).collect()
    }

    /// A status page of a team.
    pub async fn status_page(
        &self,
        team: TeamId,
        page: StatusPageId,
    ) -> Result<Option<StatusPage>, StoreError> {
        self.get(&keys::status_page(team, page)).await?.map(Stored::read).transpose()
    }

    /// Adds a status page to a team.
    ///
    /// # Errors
    ///
    /// A conflict; see [`page_conflict`].
    pub async fn create_status_page(
        &self,
        page: &StatusPage,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let room = Condition::When(
            "attribute_exists(pk) AND (attribute_not_exists(status_pages) \
             OR size(status_pages) < :most)",
            vec![(":most", number(PAGES_MAX))],
        );
        let added = Change {
            expression: "SET status_pages = \
                         list_append(if_not_exists(status_pages, :none), :added)"
                .into(),
            values: vec![
                (":none", AttributeValue::L(Vec::new())),
                (":added", AttributeValue::L(vec![string(page.id.to_string())])),
            ],
            ..Change::default()
        };
        let transaction = self.transaction().update(&keys::team(page.team), added, room);
        let transaction = move_addresses(transaction, None, Some(page))?;
        let publication = Publication::of_new_page(page.team, page.id);
        let due = page.updated_at.saturating_add(PUBLICATION_GRACE).unwrap_or(page.updated_at);
        let place = keys::publication(page.team, page.id);
        let outstanding =
            outstanding(item(&place, &publication)?, keys::team_shard(page.team), Some(due));
        transaction
            .put(item(&keys::status_page(page.team, page.id), page)?, Condition::Absent)
            .put(outstanding, Condition::Absent)
            .commit(audit)
            .await
    }

    /// Saves a status page, and requests that it is published.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was `read`, or another page has its slug; see [`is_taken_slug`].
    pub async fn save_status_page(
        &self,
        read: &StatusPage,
        next: &StatusPage,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let stored = item(&keys::status_page(next.team, next.id), next)?;
        let transaction = self.transaction().put(stored, Condition::Rev(read.rev));
        let transaction = move_addresses(transaction, Some(read), Some(next))?;
        want(transaction, next.team, next.id, next.updated_at).commit(audit).await
    }

    /// Deletes a status page. `pages` are those of the team as they were read. What is left of the page is removed
    /// when its publication is handled.
    ///
    /// # Errors
    ///
    /// A conflict when the page, or the list of the team's pages, has changed since.
    pub async fn delete_status_page(
        &self,
        team: &Team,
        page: &StatusPage,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let list = |pages: &[StatusPageId]| {
            let pages = pages.iter().map(|page| string(page.to_string()));
            AttributeValue::L(pages.collect())
        };
        let left: Vec<_> = team.status_pages.iter().copied().filter(|id| *id != page.id).collect();
        let mut removed = Change { expression: "REMOVE status_pages".into(), ..Change::default() };
        if !left.is_empty() {
            removed.expression = "SET status_pages = :left".into();
            removed.values.push((":left", list(&left)));
        }
        let unchanged =
            Condition::When("status_pages = :seen", vec![(":seen", list(&team.status_pages))]);
        let transaction = self
            .transaction()
            .update(&keys::team(page.team), removed, unchanged)
            .delete(&keys::status_page(page.team, page.id), Condition::Rev(page.rev));
        let transaction = move_addresses(transaction, Some(page), None)?;
        let due = now.saturating_add(PUBLICATION_GRACE).unwrap_or(now);
        let gone = Change {
            expression: "SET is_deleted = :yes, w = :w, due = :due".into(),
            values: vec![
                (":yes", AttributeValue::Bool(true)),
                (":w", string(keys::team_shard(page.team))),
                (":due", number(due.as_millisecond())),
            ],
            ..Change::default()
        };
        let place = keys::publication(page.team, page.id);
        transaction.update(&place, gone, Condition::Present).commit(audit).await
    }

    /// Requests that all status pages of a team are published, for a change that is stored already. Returns these pages.
    pub async fn want_publications(
        &self,
        team: TeamId,
        now: Timestamp,
    ) -> Result<Vec<StatusPageId>, StoreError> {
        let pk = keys::publication_partition(team);
        let mut pages = Vec::new();
        for found in self.query(Range::new(&pk, Sort::All)).await? {
            let Publication { page, .. } = Stored::read(found)?;
            let place = keys::publication(team, page);
            let wanted = self.update(&place, wanted(team, now, 0), Some(Condition::Present)).await;
            match wanted {
                // The page was deleted meanwhile.
                Err(error) if error.has_failed(0) => {}
                wanted => {
                    wanted?;
                    pages.push(page);
                }
            }
        }
        Ok(pages)
    }

    /// What is outstanding for a status page.
    pub async fn publication(
        &self,
        team: TeamId,
        page: StatusPageId,
    ) -> Result<Option<Publication>, StoreError> {
        self.get(&keys::publication(team, page)).await?.map(Stored::read).transpose()
    }

    /// Begins an attempt to publish a page. What the attempt reads afterwards is at least as new as what the one before
    /// has read. `None` if the page is gone.
    pub async fn begin_publication(
        &self,
        team: TeamId,
        page: StatusPageId,
    ) -> Result<Option<Publication>, StoreError> {
        let place = keys::publication(team, page);
        let change = Change {
            expression: "ADD attempts :one".into(),
            values: vec![(":one", number(1))],
            ..Change::default()
        };
        match self.update(&place, change, Some(Condition::Present)).await {
            Err(error) if error.has_failed(0) => Ok(None),
            begun => begun.and_then(Stored::read).map(Some),
        }
    }

    /// Ends an attempt that has published the page: the page is outstanding again at `next`.
    ///
    /// # Errors
    ///
    /// A conflict when something has changed since the attempt began.
    pub async fn end_publication(
        &self,
        publication: &Publication,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        let place = keys::publication(publication.team, publication.page);
        let change = Change {
            expression:
                "SET done = :wanted, #at = :next, w = :w, due = :next, selected = :selected".into(),
            names: vec![("#at", "at".to_owned())],
            values: vec![
                (":selected", serde_dynamo::to_attribute_value(publication.selected)?),
                (":wanted", number(publication.wanted)),
                (":next", number(next.as_millisecond())),
                (":w", string(keys::team_shard(publication.team))),
            ],
        };
        let unchanged =
            Condition::When("wanted = :wanted AND attribute_not_exists(is_deleted)", Vec::new());
        self.update(&place, change, Some(unchanged)).await.map(drop)
    }

    /// Removes what is left of a deleted status page, the note of its deletion last.
    pub async fn purge_status_page(
        &self,
        team: TeamId,
        page: StatusPageId,
    ) -> Result<(), StoreError> {
        let pk = keys::status_page_partition(team);
        let sort = Sort::Prefix(keys::incident_prefix(page));
        self.delete_range(Range::new(&pk, sort)).await?;
        let pk = keys::subscription_partition(page.into());
        self.delete_range(Range::new(&pk, Sort::All)).await?;
        self.batch_delete(&[keys::publication(team, page)]).await
    }
}

/// Whether a status page was not saved because another page has its slug.
pub fn is_taken_slug(error: &StoreError) -> bool {
    error.has_failed(SLUG)
}

/// Requests that a page is published, in the transaction that changes what is published.
pub(crate) fn want(
    transaction: Transaction<'_>,
    team: TeamId,
    page: StatusPageId,
    now: Timestamp,
) -> Transaction<'_> {
    transaction.update(&keys::publication(team, page), wanted(team, now, 0), Condition::Present)
}

/// Requests that pages of a team are published, in the transaction that changes what is published.
pub(crate) fn want_all<'a>(
    transaction: Transaction<'a>,
    team: TeamId,
    pages: &[StatusPageId],
    now: Timestamp,
) -> Transaction<'a> {
    pages.iter().fold(transaction, |transaction, page| want(transaction, team, *page, now))
}

/// The change of a publication after something has changed, and after so many more incidents.
pub(crate) fn wanted(team: TeamId, now: Timestamp, incidents: i32) -> Change {
    let due = now.saturating_add(PUBLICATION_GRACE).unwrap_or(now);
    Change {
        expression: "SET w = :w, due = :due ADD wanted :one, incidents :more".into(),
        values: vec![
            (":w", string(keys::team_shard(team))),
            (":due", number(due.as_millisecond())),
            (":one", number(1)),
            (":more", number(incidents)),
        ],
        ..Change::default()
    }
}

/// The addresses that belong to a page: its slug first. Readers find it at the live one.
fn addresses(page: &StatusPage) -> Vec<(PageAddress, bool)> {
    let slug = (PageAddress::from(&page.slug), !page.is_unlisted());
    let link = page.link.as_ref().map(|link| (PageAddress::from(link), true));
    std::iter::once(slug).chain(link).collect()
}

/// The items at the addresses of a page.
pub(crate) fn published_keys(page: &StatusPage) -> Vec<Key> {
    addresses(page).iter().map(|(address, _)| keys::published(address)).collect()
}

/// Takes the addresses of a page after a change, and gives up those that it had before. A new slug is taken at place
/// [`SLUG`], if one write comes before.
fn move_addresses<'a>(
    mut transaction: Transaction<'a>,
    before: Option<&StatusPage>,
    after: Option<&StatusPage>,
) -> Result<Transaction<'a>, StoreError> {
    let [old, new] = [before, after].map(|page| page.map(addresses).unwrap_or_default());
    let Some(page) = after.or(before) else { return Ok(transaction) };
    let own = || Condition::When("page = :page", vec![(":page", string(page.id.to_string()))]);
    for (address, live) in &new {
        let condition = match old.iter().find(|(before, _)| before == address) {
            Some((_, was_live)) if was_live == live => continue,
            Some(_) => own(),
            None => Condition::Absent,
        };
        let (page, team) = (page.id, page.team);
        let stored = StoredAddress { page, team, live: *live, attempt: 0, document: None };
        transaction = transaction.put(item(&keys::published(address), &stored)?, condition);
    }
    for (address, _) in old.iter().filter(|(address, _)| new.iter().all(|(new, _)| new != address))
    {
        transaction = transaction.delete(&keys::published(address), own());
    }
    Ok(transaction)
}

fn deflated(page: &PublishedPage) -> Result<Vec<u8>, StoreError> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&rmp_serde::to_vec_named(page)?).map_err(StoreError::corrupt)?;
    encoder.finish().map_err(StoreError::corrupt)
}

fn inflated(document: &[u8]) -> Result<PublishedPage, StoreError> {
    let mut inflated = Vec::new();
    let mut decoder = DeflateDecoder::new(document).take(INFLATE_MAX);
    decoder.read_to_end(&mut inflated).map_err(StoreError::corrupt)?;
    let page: PublishedPage = rmp_serde::from_slice(&inflated)?;
    if page.version > VERSION {
        return Err(StoreError::corrupt(format!("a published page of version {}", page.version)));
    }
    Ok(page)
}
