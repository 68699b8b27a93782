//! Moving whole teams, with their history, from one table into another.

use jiff::Timestamp;
use vedette_domain::id::TeamId;
use vedette_store::{
    Copied, CopyConflict, CopyMark, CopyPart, CopyPlan, CopyRules, MayConflict, Store, StoreError,
};

/// How often both tables are compared while differences are still found.
const COMPARISONS: usize = 3;

/// What is to be copied, and how.
#[derive(Debug, Clone)]
pub struct CopyOrder {
    /// The teams; all of the table where there are none.
    pub teams: Vec<TeamId>,
    /// Whether nothing writes to the table that the copy is from, whether its teams are active or not.
    pub is_stopped: bool,
    /// What disabled channels say about it.
    pub reason: String,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyDone {
    /// The teams.
    pub teams: u64,
    /// Their members.
    pub users: u64,
    /// What both tables have, as it was compared at the end.
    pub compared: Copied,
    /// Items written before that.
    pub written: u64,
    /// Whether a copy was finished that had been cut off.
    pub resumed: bool,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Parts that are done, of teams, sites and users.
    pub done: u64,
    /// All of them.
    pub total: u64,
}

/// Why teams were not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no such team.
    #[error("there is no team {0}")]
    NoTeam(TeamId),
    /// There is nothing to copy.
    #[error("there are no teams to copy")]
    NoTeams,
    /// What is copied could change meanwhile.
    #[error(
        "the team {0} is active: stop the service, or pause the team with `vedette plan deactivate {0}` (and \
         `plan activate` later)"
    )]
    Active(TeamId),
    /// Something would be overwritten.
    #[error("nothing was copied, as this is there already: {}", listed(.0))]
    Conflicts(Vec<CopyConflict>),
    /// A copy of other teams was cut off.
    #[error(
        "a copy that began at {} is unfinished: run it again to finish it, with {}", .0.started_at, teams(.0)
    )]
    Unfinished(CopyMark),
    /// The tables differ after all was copied.
    #[error(
        "the tables still differ in {0} items: somebody writes to one of them. Run the command again"
    )]
    Differs(u64),
    /// A table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MayConflict for CopyError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

fn listed(conflicts: &[CopyConflict]) -> String {
    let words = conflicts.iter().map(|conflict| match conflict {
        CopyConflict::Team(team) => format!("the team {team}"),
        CopyConflict::User(user) => format!("the user {user}"),
        CopyConflict::Email(email) => format!("a user with the address {email}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn teams(mark: &CopyMark) -> String {
    mark.teams.iter().map(|team| format!("--team {team}")).collect::<Vec<_>>().join(" ")
}

/// Copies teams with their members, sites, history and channels. Until everything is there the teams are inactive
/// in the table that the copy goes to; the channels stay disabled. A copy that was cut off is finished by another
/// one with the same teams.
///
/// # Errors
///
/// When nothing may be copied, or a table does not answer.
pub async fn copy_teams(
    from: &Store,
    to: &Store,
    order: &CopyOrder,
    now: Timestamp,
    progress: &(dyn Fn(CopyProgress) + Sync),
) -> Result<CopyDone, CopyError> {
    let mark = to.copy_mark().await?;
    let resumed = mark.is_some();
    let plan = planned(from, order, now).await?;
    let mark = begin(to, &plan, mark, now).await?;
    let rules =
        CopyRules { now, started_at: mark.started_at, reason: &order.reason, inactive: true };
    let total = 2 * plan.parts.len() as u64;
    let mut done = 0;
    let mut written = 0;
    for part in &plan.parts {
        written += to.copy_part(from, part, &rules).await?.written;
        done += 1;
        progress(CopyProgress { done, total });
    }
    let mut compared = Copied::default();
    for part in &plan.parts {
        compared += compare(from, to, part, &rules).await?;
        done += 1;
        progress(CopyProgress { done, total });
    }
    for team in &plan.teams {
        let part = CopyPart::team(team.id());
        to.copy_part(from, &part, &CopyRules { inactive: false, ..rules }).await?;
    }
    to.end_copy().await?;
    Ok(CopyDone {
        teams: plan.teams.len() as u64,
        users: plan.users.len() as u64,
        compared,
        written,
        resumed,
    })
}

async fn planned(from: &Store, order: &CopyOrder, now: Timestamp) -> Result<CopyPlan, CopyError> {
    let teams = if order.teams.is_empty() {
        let listed = from.all_teams().await?;
        if listed.is_empty() {
            return Err(CopyError::NoTeams);
        }
        listed
    } else {
        order.teams.clone()
    };
    let plan = from.copy_plan(&teams, now).await?;
    for team in teams {
        match plan.teams.iter().find(|found| found.id() == team) {
            None => return Err(CopyError::NoTeam(team)),
            Some(found) if found.team.plan_active && !order.is_stopped => {
                return Err(CopyError::Active(team));
            }
            Some(_) => {}
        }
    }
    Ok(plan)
}

/// Begins a copy, or goes on with the one that was cut off.
async fn begin(
    to: &Store,
    plan: &CopyPlan,
    mark: Option<CopyMark>,
    now: Timestamp,
) -> Result<CopyMark, CopyError> {
    let teams: Vec<TeamId> = plan.teams.iter().map(vedette_store::TeamWithSettings::id).collect();
    if let Some(mark) = &mark
        && mark.teams != teams
    {
        return Err(CopyError::Unfinished(mark.clone()));
    }
    let conflicts = to.copy_conflicts(plan, mark.as_ref()).await?;
    if !conflicts.is_empty() {
        return Err(CopyError::Conflicts(conflicts));
    }
    let users = plan.users.iter().map(|user| user.id).collect();
    let started_at = mark.as_ref().map_or(now, |mark| mark.started_at);
    let next = CopyMark { started_at, teams, users };
    to.begin_copy(&next, mark.is_some()).await?;
    Ok(next)
}

/// Compares what both tables answer for a part, item by item, and writes again what differs.
async fn compare(
    from: &Store,
    to: &Store,
    part: &CopyPart,
    rules: &CopyRules<'_>,
) -> Result<Copied, CopyError> {
    let mut differs = 0;
    for _ in 0..COMPARISONS {
        let compared = to.copy_part(from, part, rules).await?;
        differs = compared.written + compared.removed;
        if differs == 0 {
            return Ok(compared);
        }
    }
    Err(CopyError::Differs(differs))
}
