//! Resources within a team that only pages work on.

use vedette_domain::accounts::account::{Permission, User};
use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::session::SessionHash;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::id::{ChannelId, TeamId, UserId};
use vedette_http::access::Caller;
use vedette_http::error::ApiError;
use vedette_store::{ChannelRef, TeamWithSettings};

use crate::Request;

/// A user, as somebody whose team the caller may change. Whether they are a member is for the handler to see.
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

    /// For the caller themself as for who has the permission.
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

/// A pending invitation to a team of the caller's.
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

/// A channel of a team of the caller's.
#[derive(Debug)]
pub struct ChannelAccess {
    /// The team.
    pub team: TeamWithSettings,
    /// The channel, without what is secret of it.
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
