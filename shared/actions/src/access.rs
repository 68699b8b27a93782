//! The caller, and the teams that they may work with.

use futures::try_join;
use jiff::Timestamp;
use vedette_domain::accounts::access::AccessRefusal;
use vedette_domain::accounts::account::{Membership, Permission, Role, User};
use vedette_domain::accounts::audit::{Actor, By};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{CheckId, IssueId, Partition, SiteId, TeamId};
use vedette_domain::sites::settings::Settings;
use vedette_store::{
    HistoryAccess, IssueWithMonitor, SiteWithTools, Store, StoreError, StoredCheck,
    TeamWithSettings,
};

use crate::AccessError;

/// A user who has authenticated with a token or a session, or in whose name the operator works.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who the audit log names: the user, or the operator.
    pub actor: Actor,
    /// The user.
    pub user: User,
    /// The teams they belong to.
    pub memberships: Vec<Membership>,
    /// When the request came in. Every decision about the request uses this instant.
    pub now: Timestamp,
}

impl Caller {
    /// A user who has authenticated.
    pub const fn new(user: User, memberships: Vec<Membership>, now: Timestamp) -> Self {
        Self { actor: Actor::User(user.id), user, memberships, now }
    }

    /// The caller as the audit log names them.
    pub const fn by(&self) -> By {
        By { actor: self.actor, now: self.now }
    }

    /// The caller's role in a team.
    ///
    /// # Errors
    ///
    /// When the team is not one of theirs. The error is the same as for a team that does not exist, so it reveals
    /// nothing.
    pub fn role_in(&self, team: TeamId) -> Result<Role, AccessRefusal> {
        self.membership_in(team).map(|membership| membership.role)
    }

    /// The caller's membership of a team.
    ///
    /// # Errors
    ///
    /// As for [`Caller::role_in`].
    pub fn membership_in(&self, team: TeamId) -> Result<&Membership, AccessRefusal> {
        let mut of_caller = self.memberships.iter();
        of_caller.find(|membership| membership.team == team).ok_or(AccessRefusal::NotFound)
    }

    /// One of the caller's teams.
    ///
    /// # Errors
    ///
    /// When the team is not one of theirs, when its plan is inactive, when the caller's role lacks the permission, or a
    /// fault of the table.
    pub async fn team(
        &self,
        store: &Store,
        team: TeamId,
        permission: Permission,
    ) -> Result<TeamWithSettings, AccessError> {
        let role = self.role_in(team)?;
        let team = store.team(team, self.now).await?.ok_or(AccessRefusal::NotFound)?;
        team.team.authorize(role, permission)?;
        Ok(team)
    }

    /// A site of one of the caller's teams.
    ///
    /// # Errors
    ///
    /// See [`Caller::team`].
    pub async fn site(
        &self,
        store: &Store,
        site: SiteId,
        permission: Permission,
    ) -> Result<SiteAccess, AccessError> {
        let access = self.partition(store, site.partition(), permission).await?;
        // A partition holds only 62 bits of the id.
        if access.stored.site.id == site { Ok(access) } else { Err(AccessRefusal::NotFound.into()) }
    }

    /// A check of a site of one of the caller's teams. A check older than the team's retention counts as gone, even if
    /// its row still exists.
    ///
    /// # Errors
    ///
    /// See [`Caller::team`].
    pub async fn check(
        &self,
        store: &Store,
        check: CheckId,
        permission: Permission,
    ) -> Result<CheckAccess, AccessError> {
        let stored = store.check(check).await?.ok_or(AccessRefusal::NotFound)?;
        // A check that does not exist is reported as missing before any lack of permission.
        let site = self.partition(store, check.partition(), Permission::View).await?;
        if !site.team.retention(self.now).shows_row(check.created_at(), stored.expires_at) {
            return Err(AccessRefusal::NotFound.into());
        }
        site.team.team.authorize(self.role_in(site.team.id())?, permission)?;
        Ok(CheckAccess { stored, site })
    }

    /// An issue of a site of one of the caller's teams.
    ///
    /// # Errors
    ///
    /// See [`Caller::team`].
    pub async fn issue(
        &self,
        store: &Store,
        issue: IssueId,
        permission: Permission,
    ) -> Result<IssueAccess, AccessError> {
        let stored = store.issue_with_monitor(issue).await?.ok_or(AccessRefusal::NotFound)?;
        let team = self.team(store, stored.monitor.team(), permission).await?;
        Ok(IssueAccess { stored, team })
    }

    async fn partition(
        &self,
        store: &Store,
        partition: Partition,
        permission: Permission,
    ) -> Result<SiteAccess, AccessError> {
        // For a caller with a single team, both can be read at the same time.
        let only = match self.memberships[..] {
            [Membership { team, .. }] => Some(team),
            _ => None,
        };
        let (stored, known) = try_join!(store.site(partition), async {
            match only {
                Some(team) => store.team(team, self.now).await,
                None => Ok(None),
            }
        })?;
        let stored = stored.ok_or(AccessRefusal::NotFound)?;
        let team = match known.filter(|team| team.id() == stored.site.team) {
            Some(team) => {
                team.team.authorize(self.role_in(team.id())?, permission)?;
                team
            }
            None => self.team(store, stored.site.team, permission).await?,
        };
        Ok(SiteAccess { stored, team })
    }
}

/// A site that the caller may work with, and its team.
#[derive(Debug, Clone)]
pub struct SiteAccess {
    /// The site with its tools, as the table has it.
    pub stored: SiteWithTools,
    /// The team.
    pub team: TeamWithSettings,
}

impl SiteAccess {
    /// The settings in force for the site.
    pub fn settings(&self) -> Settings {
        self.team.settings_for(&self.stored.site)
    }

    /// Whether DNS checks have learned the site's records.
    ///
    /// # Errors
    ///
    /// A fault of the table: the site's DNS tool is missing.
    pub fn has_learnt_records(&self) -> Result<bool, StoreError> {
        Ok(self.stored.tool(Tool::Dns)?.learnt.is_some())
    }
}

/// A check that the caller may work with, and its site.
#[derive(Debug, Clone)]
pub struct CheckAccess {
    /// The check, as the table has it.
    pub stored: StoredCheck,
    /// The site.
    pub site: SiteAccess,
}

/// An issue that the caller may work with, and its team.
#[derive(Debug, Clone)]
pub struct IssueAccess {
    /// The issue with its site, as the table has it.
    pub stored: IssueWithMonitor,
    /// The team.
    pub team: TeamWithSettings,
}

impl<'a> From<&'a SiteAccess> for HistoryAccess<'a> {
    fn from(SiteAccess { stored, team }: &'a SiteAccess) -> Self {
        Self { partition: stored.site.id.partition(), tools: &stored.tools, team }
    }
}
