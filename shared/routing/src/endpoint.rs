//! What a route works on.

use std::fmt;

use vedette_domain::accounts::account::Permission;
use vedette_domain::id::{CheckId, IssueId, SiteId, TeamId};
use vedette_http::access::{Caller, CheckAccess, IssueAccess, SiteAccess};
use vedette_http::error::ApiError;
use vedette_store::{Store, TeamWithSettings};

use crate::resource::{
    ChannelAccess, HeartbeatAccess, IncidentAccess, InvitationAccess, MemberAccess,
    StatusPageAccess, TeamsAccess, WindowAccess,
};
use crate::{Handler, HandlerOutcome, Request, Surface};

/// A handler of an `R`.
type Of<S, R> = &'static dyn Handler<S, (R,)>;

/// A handler with the resource that it works on. The resource that the path names is loaded, and the caller authorized
/// for it, before the handler is called. A refusal is 404 if the resource does not exist or belongs to another team,
/// 402 for a team without an active plan, and 403 for a role that lacks the permission.
pub enum Endpoint<S: Surface> {
    /// Nothing: no client is served.
    None,
    /// The request and its sender; no resource.
    Request(&'static dyn Handler<S, ()>),
    /// The team that the query names as `team`, or all of the caller's teams in which they have the permission. If the
    /// query names a `site`, the caller needs the permission for it, too.
    Teams(Permission, Of<S, TeamsAccess>),
    /// The caller's only team, if they belong to just one.
    OnlyTeam(Permission, Of<S, Option<TeamWithSettings>>),
    /// `{team}`.
    Team(Permission, Of<S, TeamWithSettings>),
    /// The `{user}` of `{team}`.
    TeamMember(Permission, Of<S, MemberAccess>),
    /// The `{user}` of `{team}`. A user needs neither a permission nor a plan for actions on themselves.
    TeamMemberOrSelf(Permission, Of<S, MemberAccess>),
    /// The pending `{invitation}` to `{team}`.
    Invitation(Permission, Of<S, InvitationAccess>),
    /// The `{channel}` of `{team}`.
    Channel(Permission, Of<S, ChannelAccess>),
    /// The maintenance `{window}` of `{team}`, unless it is over.
    Window(Permission, Of<S, WindowAccess>),
    /// The `{status_page}` of `{team}`.
    StatusPage(Permission, Of<S, StatusPageAccess>),
    /// The `{heartbeat}` of `{team}`.
    Heartbeat(Permission, Of<S, HeartbeatAccess>),
    /// The `{incident}` on `{status_page}` of `{team}`.
    Incident(Permission, Of<S, IncidentAccess>),
    /// `{site}`.
    Site(Permission, Of<S, SiteAccess>),
    /// `{check}`.
    Check(Permission, Of<S, CheckAccess>),
    /// `{issue}`.
    Issue(Permission, Of<S, IssueAccess>),
    /// `{issue}` if a user is signed in; otherwise, nothing is read.
    IssueIfSignedIn(Permission, Of<S, Option<IssueAccess>>),
}

impl<S: Surface> Endpoint<S> {
    /// The permission that the caller needs in the team that the resource belongs to.
    pub const fn permission(&self) -> Option<Permission> {
        match self {
            Self::None | Self::Request(_) => None,
            Self::Teams(permission, _)
            | Self::OnlyTeam(permission, _)
            | Self::Team(permission, _)
            | Self::TeamMember(permission, _)
            | Self::TeamMemberOrSelf(permission, _)
            | Self::Invitation(permission, _)
            | Self::Channel(permission, _)
            | Self::Window(permission, _)
            | Self::StatusPage(permission, _)
            | Self::Heartbeat(permission, _)
            | Self::Incident(permission, _)
            | Self::Site(permission, _)
            | Self::Check(permission, _)
            | Self::Issue(permission, _)
            | Self::IssueIfSignedIn(permission, _) => Some(*permission),
        }
    }

    /// The path of the handler's function, from its crate.
    pub fn handler(&self) -> Option<&'static str> {
        Some(match self {
            Self::None => return None,
            Self::Request(handler) => handler.path(),
            Self::Teams(_, handler) => handler.path(),
            Self::OnlyTeam(_, handler) => handler.path(),
            Self::Team(_, handler) => handler.path(),
            Self::TeamMember(_, handler) | Self::TeamMemberOrSelf(_, handler) => handler.path(),
            Self::Invitation(_, handler) => handler.path(),
            Self::Channel(_, handler) => handler.path(),
            Self::Window(_, handler) => handler.path(),
            Self::StatusPage(_, handler) => handler.path(),
            Self::Heartbeat(_, handler) => handler.path(),
            Self::Incident(_, handler) => handler.path(),
            Self::Site(_, handler) => handler.path(),
            Self::Check(_, handler) => handler.path(),
            Self::Issue(_, handler) => handler.path(),
            Self::IssueIfSignedIn(_, handler) => handler.path(),
        })
    }

    /// Loads what the path names, authorizes the caller, and handles the request.
    pub(crate) async fn handle(
        &self,
        request: Request<'_>,
        client: &S::Client,
        context: S::Context<'_>,
    ) -> HandlerOutcome {
        let store = &request.app.store;
        let caller = || S::caller(client).ok_or(ApiError::Unauthenticated("Nobody is signed in."));
        let team = async |permission: Permission| {
            let id = request.parameters.id("team", TeamId::parse)?;
            team_of(store, caller()?, S::team(client), id, permission).await
        };
        let issue = async |caller: &Caller, permission: Permission| {
            Ok::<_, ApiError>(
                caller
                    .issue(store, request.parameters.id("issue", IssueId::parse)?, permission)
                    .await?,
            )
        };
        match self {
            Self::None => Err(ApiError::NotFound),
            Self::Request(handler) => handler.call(context, ()).await,
            Self::Teams(permission, handler) => {
                let teams = TeamsAccess::load(request, caller()?, *permission).await?;
                handler.call(context, (teams,)).await
            }
            Self::OnlyTeam(permission, handler) => {
                let caller = caller()?;
                let found = match &caller.memberships[..] {
                    [only] => {
                        let read = S::team(client);
                        Some(team_of(store, caller, read, only.team, *permission).await?)
                    }
                    _ => None,
                };
                handler.call(context, (found,)).await
            }
            Self::Team(permission, handler) => {
                handler.call(context, (team(*permission).await?,)).await
            }
            Self::TeamMember(permission, handler) => {
                let team = team(*permission).await?;
                let user = MemberAccess::user(request).await?;
                handler.call(context, (MemberAccess { team, user },)).await
            }
            Self::TeamMemberOrSelf(permission, handler) => {
                let member = MemberAccess::or_self(request, caller()?, *permission).await?;
                handler.call(context, (member,)).await
            }
            Self::Invitation(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (InvitationAccess::of(team, request)?,)).await
            }
            Self::Channel(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (ChannelAccess::load(team, request).await?,)).await
            }
            Self::Window(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (WindowAccess::of(team, request, caller()?)?,)).await
            }
            Self::StatusPage(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (StatusPageAccess::load(team, request).await?,)).await
            }
            Self::Heartbeat(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (HeartbeatAccess::load(team, request).await?,)).await
            }
            Self::Incident(permission, handler) => {
                let team = team(*permission).await?;
                handler.call(context, (IncidentAccess::load(team, request).await?,)).await
            }
            Self::Site(permission, handler) => {
                let id = request.parameters.id("site", SiteId::parse)?;
                handler.call(context, (caller()?.site(store, id, *permission).await?,)).await
            }
            Self::Check(permission, handler) => {
                let id = request.parameters.id("check", CheckId::parse)?;
                handler.call(context, (caller()?.check(store, id, *permission).await?,)).await
            }
            Self::Issue(permission, handler) => {
                handler.call(context, (issue(caller()?, *permission).await?,)).await
            }
            Self::IssueIfSignedIn(permission, handler) => {
                let found = match S::caller(client) {
                    Some(caller) => Some(issue(caller, *permission).await?),
                    None => None,
                };
                handler.call(context, (found,)).await
            }
        }
    }
}

/// One of the caller's teams, which may have been `read` already.
async fn team_of(
    store: &Store,
    caller: &Caller,
    read: Option<&TeamWithSettings>,
    id: TeamId,
    permission: Permission,
) -> Result<TeamWithSettings, ApiError> {
    match read.filter(|team| team.id() == id) {
        Some(team) => {
            team.team.authorize(caller.role_in(id)?, permission)?;
            Ok(team.clone())
        }
        None => Ok(caller.team(store, id, permission).await?),
    }
}

impl<S: Surface> fmt::Debug for Endpoint<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.handler()).field(&self.permission()).finish()
    }
}
