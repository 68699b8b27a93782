//! What the page of an issue loads in addition to the issue: evidence, openings, notifications, and the checks to
//! compare.

use std::collections::BTreeMap;

use jiff::Timestamp;
use vedette_domain::alerts::notification::Notification;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::pointer::Latest;
use vedette_domain::id::CheckId;
use vedette_domain::issues::opening::Opening;
use vedette_http::access::IssueAccess;
use vedette_http::resource::IssueResource;
use vedette_store::{IssueEvidence, IssueWithMonitor, Store, StoreError};

/// What belongs to an issue.
pub(super) struct Found {
    pub(super) evidence: IssueEvidence,
    /// The openings, newest first.
    openings: Vec<Opening>,
    /// The notifications, newest first.
    pub(super) notifications: Vec<Notification>,
    pub(super) checks: ComparedChecks,
}

/// The checks to compare.
#[derive(Default)]
pub(super) struct ComparedChecks {
    /// The last successful check before the issue opened.
    pub(super) last_good: Option<CheckId>,
    /// The check that opened the issue.
    pub(super) opening: Option<CheckId>,
    /// The check that the issue was last evaluated with.
    pub(super) now: Option<CheckId>,
    /// The checks that are still kept.
    pub(super) read: BTreeMap<CheckId, Check>,
}

impl Found {
    pub(super) async fn load(
        store: &Store,
        access: &IssueAccess,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let found = &access.stored;
        let IssueWithMonitor { issue, state, .. } = found;
        let (evidence, openings, notifications) = futures::try_join!(
            store.evidence(issue.id),
            store.openings(issue.id),
            store.notifications(issue.id),
        )?;
        let opened_at = issue.lifecycle.opened_at();
        let opening = openings.iter().find(|opening| opening.opened_at == opened_at);
        let last_good = opening.and_then(|opening| opening.last_good);
        let judged_by = IssueResource::checks(found).next();
        let retention = access.team.retention(now);
        let sources = judged_by
            .into_iter()
            .chain(last_good.map(|check| state.source(Latest::completed(check))))
            .map(|source| (source, retention));
        let read = store.checks(sources.collect::<Vec<_>>()).await?;
        let checks = ComparedChecks {
            last_good: last_good.map(|check| check.id),
            opening: opening.map(|opening| opening.check),
            now: IssueResource::judged_by(found),
            read,
        };
        Ok(Self { evidence, openings, notifications, checks })
    }

    /// What an issue said at an opening, if it is kept.
    pub(super) fn opening(&self, opened_at: Timestamp) -> Option<&Opening> {
        self.openings.iter().find(|opening| opening.opened_at == opened_at)
    }
}
