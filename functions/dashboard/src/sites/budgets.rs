//! The budgets of groups, which are computed once an hour: they need all outages of a team in up to 90 days.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use vedette_domain::id::TeamId;
use vedette_domain::sites::group::SiteGroups;
use vedette_http::objectives::BudgetOf;
use vedette_store::{Directory, IndexRow, Store, StoreError, TeamWithSettings};

/// How long budgets are cached.
const LAST: SignedDuration = SignedDuration::from_hours(1);
/// How many teams' budgets are cached.
const KEPT: usize = 100;

/// The budgets that were computed recently.
#[derive(Debug, Default)]
pub(crate) struct GroupBudgets(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    team: TeamId,
    /// The `rev` of the groups.
    rev: u64,
    computed_at: Timestamp,
    budgets: Arc<BTreeMap<String, BudgetOf>>,
}

impl GroupBudgets {
    /// The budgets of a team's groups by their names, as they are now or were within the last hour. If the groups have
    /// changed, they are computed again.
    pub(crate) async fn read(
        &self,
        store: &Store,
        team: &TeamWithSettings,
        groups: &SiteGroups,
        (directory, active): (&Directory, &[IndexRow]),
        now: Timestamp,
    ) -> Result<Arc<BTreeMap<String, BudgetOf>>, StoreError> {
        if groups.groups.iter().all(|group| group.objective.is_none()) {
            return Ok(Arc::default());
        }
        let is_current = |kept: &&Kept| {
            (kept.team, kept.rev) == (team.id(), groups.rev)
                && now.duration_since(kept.computed_at).abs() < LAST
        };
        if let Some(kept) = self.kept().iter().find(is_current) {
            return Ok(Arc::clone(&kept.budgets));
        }
        let budgets = BudgetOf::groups(store, team, groups, directory, active, now).await?;
        let budgets = Arc::new(budgets);
        let mut kept = self.kept();
        kept.retain(|kept| kept.team != team.id());
        let (team, rev, copy) = (team.id(), groups.rev, Arc::clone(&budgets));
        kept.insert(0, Kept { team, rev, computed_at: now, budgets: copy });
        kept.truncate(KEPT);
        Ok(budgets)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
