//! Moving whole teams, with their history, from one table into another.

use jiff::Timestamp;
use vedette_domain::id::TeamId;
use vedette_store::{
    Copied, CopyConflict, CopyMark, CopyPart, CopyPlan, CopyRules, MayConflict, Store, StoreError,
};

/// How many times both tables are compared as long as they still differ.
const COMPARISONS: usize = 3;

/// What to copy, and how.
#[derive(Debug, Clone)]
pub struct CopyOrder {
    /// The teams; if empty, all teams of the table.
    pub teams: Vec<TeamId>,
    /// Whether the source is at rest: nothing writes to its table, even if its teams are active.
    pub is_stopped: bool,
    /// The reason that disabled channels show.
    pub reason: String,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyDone {
    /// The teams.
    pub teams: u64,
    /// Their members.
    pub users: u64,
    /// What both tables have, according to the last comparison.
    pub compared: Copied,
    /// Items written before that.
    pub written: u64,
    /// Whether this finished a copy that was interrupted.
    pub resumed: bool,
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Parts that are done: teams, sites and users.
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
    /// The source could change during the copy.
    #[error(
        "the team {0} is active: stop the service, or pause the team with `vedette plan deactivate {0}` (and \
         `plan activate` later)"
    )]
    Active(TeamId),
    /// Something would be overwritten.
    #[error("nothing was copied, because this already exists: {}", listed(.0))]
    Conflicts(Vec<CopyConflict>),
    /// A copy of other teams was interrupted.
    #[error(
        "a copy that began at {} is unfinished: run it again to finish it, with {}", .0.started_at, teams(.0)
    )]
    Unfinished(CopyMark),
    /// The tables still differ after everything was copied.
    #[error(
        "the tables still differ in {0} items, because one of them is still being written to. Run the command again"
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
        CopyConflict::Slug(slug) => format!("a status page with the slug {slug}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn teams(mark: &CopyMark) -> String {
    mark.teams.iter().map(|team| format!("--team {team}")).collect::<Vec<_>>().join(" ")
}

/// Copies teams with their members, sites, history and channels. In the target table, the teams are inactive until
/// everything is there, and the channels stay disabled. To finish an interrupted copy, copy the same teams again.
///
/// # Errors
///
/// When nothing may be copied, or when a table does not answer.
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

/// Begins a copy, or continues one that was interrupted.
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

/// Compares a part in both tables, item by item, and writes again what differs.
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
