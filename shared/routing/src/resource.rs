//! Resources that only one route needs, or only pages.

use std::collections::BTreeMap;

use futures::future::try_join;
use vedette_domain::accounts::account::{Permission, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::session::SessionHash;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::{
    ChannelId, HeartbeatId, IncidentId, SiteId, StatusPageId, TeamId, UserId, WindowId,
};
use vedette_domain::maintenance::MaintenanceWindow;
use vedette_domain::status_pages::{PageIncident, StatusPage};
use vedette_http::access::Caller;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::validation::Errors;
use vedette_store::{ChannelRef, StoredHeartbeat, TeamWithSettings};

use crate::Request;

/// Teams that the caller may work with.
#[derive(Debug)]
pub struct TeamsAccess {
    /// The teams.
    pub teams: BTreeMap<TeamId, TeamWithSettings>,
}

impl TeamsAccess {
    /// The team that the query names, or all teams in which the caller has the permission. Invalid values in the query
    /// count as absent: the handler refuses them.
    pub(crate) async fn load(
        request: Request<'_>,
        caller: &Caller,
        permission: Permission,
    ) -> Result<Self, ApiError> {
        let store = &request.app.store;
        let query = Query::parse(request.head.uri.query());
        let mut unread = Errors::new();
        let teams = match query.uuid("team", TeamId::parse, &mut unread) {
            Some(team) => {
                let team = caller.team(store, team, permission).await?;
                [(team.id(), team)].into()
            }
            None => {
                let all = caller.memberships.iter().map(|membership| membership.team);
                let mut teams = store.teams(all, caller.now).await?;
                teams.retain(|&id, team| {
                    let role = caller.role_in(id);
                    role.is_ok_and(|role| team.team.authorize(role, permission).is_ok())
                });
                teams
            }
        };
        if let Some(site) = query.uuid("site", SiteId::parse, &mut unread) {
            caller.site(store, site, permission).await?;
        }
        Ok(Self { teams })
    }
}

/// A user, as somebody whose team the caller may change. The handler checks whether they are a member.
#[derive(Debug)]
pub struct MemberAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The user.
    pub user: User,
}

impl MemberAccess {
    /// The user that the path names.
    pub(crate) async fn user(request: Request<'_>) -> Result<User, ApiError> {
        let id = request.parameters.id("user", UserId::parse)?;
        request.app.store.user(id).await?.ok_or(ApiError::NotFound)
    }

    /// Allowed to the users themselves, and to callers with the permission.
    pub(crate) async fn or_self(
        request: Request<'_>,
        caller: &Caller,
        permission: Permission,
    ) -> Result<Self, ApiError> {
        let store = &request.app.store;
        let user = Self::user(request).await?;
        let id = request.parameters.id("team", TeamId::parse)?;
        let team = if user.id == caller.user.id {
            caller.role_in(id)?;
            store.team(id, caller.now).await?.ok_or(ApiError::NotFound)?
        } else {
            caller.team(store, id, permission).await?
        };
        Ok(Self { team, user })
    }
}

/// A pending invitation to one of the caller's teams.
#[derive(Debug)]
pub struct InvitationAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The invitation.
    pub invitation: Invitation,
}

impl InvitationAccess {
    pub(crate) fn of(team: TeamWithSettings, request: Request<'_>) -> Result<Self, ApiError> {
        let hash = SessionHash(request.parameters.value("invitation").to_owned());
        let invitation = team.team.invitation(&hash).cloned().ok_or(ApiError::NotFound)?;
        Ok(Self { team, invitation })
    }
}

/// A channel of one of the caller's teams.
#[derive(Debug)]
pub struct ChannelAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The channel, without its secrets.
    pub channel: Channel,
}

impl ChannelAccess {
    pub(crate) async fn load(
        team: TeamWithSettings,
        request: Request<'_>,
    ) -> Result<Self, ApiError> {
        let id = request.parameters.id("channel", ChannelId::parse)?;
        let place = ChannelRef { team: team.id(), id };
        let channel = request.app.store.channel(place).await?.ok_or(ApiError::NotFound)?;
        Ok(Self { team, channel })
    }
}

/// A maintenance window of one of the caller's teams that is not over.
#[derive(Debug)]
pub struct WindowAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The window.
    pub window: MaintenanceWindow,
}

impl WindowAccess {
    pub(crate) fn of(
        team: TeamWithSettings,
        request: Request<'_>,
        caller: &Caller,
    ) -> Result<Self, ApiError> {
        let id = request.parameters.id("window", WindowId::parse)?;
        let window =
            team.team.windows.current(id, caller.now).cloned().ok_or(ApiError::NotFound)?;
        Ok(Self { team, window })
    }
}

/// A status page of one of the caller's teams.
#[derive(Debug)]
pub struct StatusPageAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The page.
    pub page: StatusPage,
}

impl StatusPageAccess {
    pub(crate) async fn load(
        team: TeamWithSettings,
        request: Request<'_>,
    ) -> Result<Self, ApiError> {
        let id = request.parameters.id("status_page", StatusPageId::parse)?;
        let page = request.app.store.status_page(team.id(), id).await?;
        Ok(Self { page: page.ok_or(ApiError::NotFound)?, team })
    }
}

/// A heartbeat of one of the caller's teams.
#[derive(Debug)]
pub struct HeartbeatAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The heartbeat with its state.
    pub stored: StoredHeartbeat,
}

impl HeartbeatAccess {
    pub(crate) async fn load(
        team: TeamWithSettings,
        request: Request<'_>,
    ) -> Result<Self, ApiError> {
        let id = request.parameters.id("heartbeat", HeartbeatId::parse)?;
        let found = request.app.store.heartbeat(id.partition()).await?;
        let is_meant =
            |found: &StoredHeartbeat| (found.heartbeat.id, found.heartbeat.team) == (id, team.id());
        Ok(Self { stored: found.filter(is_meant).ok_or(ApiError::NotFound)?, team })
    }
}

/// An incident on a status page of one of the caller's teams.
#[derive(Debug)]
pub struct IncidentAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The page.
    pub page: StatusPage,
    /// The incident.
    pub incident: PageIncident,
}

impl IncidentAccess {
    pub(crate) async fn load(
        team: TeamWithSettings,
        request: Request<'_>,
    ) -> Result<Self, ApiError> {
        let store = &request.app.store;
        let page = request.parameters.id("status_page", StatusPageId::parse)?;
        let incident = request.parameters.id("incident", IncidentId::parse)?;
        let found =
            try_join(store.status_page(team.id(), page), store.incident(team.id(), page, incident));
        let (Some(page), Some(incident)) = found.await? else { return Err(ApiError::NotFound) };
        Ok(Self { team, page, incident })
    }
}
