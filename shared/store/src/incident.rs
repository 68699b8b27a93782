//! Incidents of status pages. Each write requests that the page is published.

use jiff::Timestamp;
use vedette_domain::id::{IncidentId, StatusPageId, TeamId};
use vedette_domain::status_pages::{INCIDENTS_MAX, Mailing, PageIncident, StatusPage};

use crate::item::{Stored, item, number, stored};
use crate::keys;
use crate::status_page::{want, wanted};
use crate::subscription::request_mailing;
use crate::table::{Condition, Range, Sort, Store};
use crate::{Audit, StoreError};

stored!(attributes: PageIncident);

impl Store {
    /// The incidents of a status page, newest first.
    pub async fn incidents(
        &self,
        team: TeamId,
        page: StatusPageId,
    ) -> Result<Vec<PageIncident>, StoreError> {
        let pk = keys::status_page_partition(team);
        let sort = Sort::Prefix(keys::incident_prefix(page));
        let limit = Some(INCIDENTS_MAX as usize);
        let newest = Range { newest_first: true, limit, ..Range::new(&pk, sort) };
        self.query(newest).await?.into_iter().map(Stored::read).collect()
    }

    /// An incident of a status page.
    pub async fn incident(
        &self,
        team: TeamId,
        page: StatusPageId,
        incident: IncidentId,
    ) -> Result<Option<PageIncident>, StoreError> {
        self.get(&keys::incident(team, page, incident)).await?.map(Stored::read).transpose()
    }

    /// Adds an incident to a status page, and requests that the page is published and its subscribers are told.
    ///
    /// # Errors
    ///
    /// A conflict at place 0 when the page has too many incidents or is gone.
    pub async fn create_incident(
        &self,
        page: &StatusPage,
        incident: &PageIncident,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let counted = wanted(page.team, incident.updated_at, 1);
        let room = Condition::When(
            "attribute_exists(pk) AND attribute_not_exists(is_deleted) AND incidents < :most",
            vec![(":most", number(INCIDENTS_MAX))],
        );
        let stored = item(&keys::incident(page.team, page.id, incident.id), incident)?;
        let mut transaction = self
            .transaction()
            .update(&keys::publication(page.team, page.id), counted, room)
            .put(stored, Condition::Absent);
        if page.offers_subscriptions {
            let mailing = Mailing::of(page, incident);
            transaction = request_mailing(transaction, &mailing, incident.updated_at)?;
        }
        transaction.commit(audit).await
    }

    /// Saves an incident, and requests that its page is published and, if there is an update, its subscribers are told.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was `read`.
    pub async fn save_incident(
        &self,
        page: &StatusPage,
        read: &PageIncident,
        next: &PageIncident,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let stored = item(&keys::incident(page.team, page.id, next.id), next)?;
        let transaction = self.transaction().put(stored, Condition::Rev(read.rev));
        let mut transaction = want(transaction, page.team, page.id, next.updated_at);
        if page.offers_subscriptions && next.updates.len() > read.updates.len() {
            let mailing = Mailing::of(page, next);
            transaction = request_mailing(transaction, &mailing, next.updated_at)?;
        }
        transaction.commit(audit).await
    }

    /// Deletes an incident, and requests that its page is published.
    ///
    /// # Errors
    ///
    /// A conflict when it has changed since it was read.
    pub async fn delete_incident(
        &self,
        page: &StatusPage,
        incident: &PageIncident,
        now: Timestamp,
        audit: Audit<'_>,
    ) -> Result<(), StoreError> {
        let counted = wanted(page.team, now, -1);
        self.transaction()
            .update(&keys::publication(page.team, page.id), counted, Condition::Present)
            .delete(&keys::incident(page.team, page.id, incident.id), Condition::Rev(incident.rev))
            .commit(audit)
            .await
    }
}
