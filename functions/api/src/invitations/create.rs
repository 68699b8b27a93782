//! `POST /teams/{team}/invitations`: invites an address. If the service sends no email, the answer has the link.

use vedette_actions::{ActionError, hand_over, invite};
use vedette_domain::accounts::invitation::NewInvitation;
use vedette_domain::alerts::link;
use vedette_domain::input::Input as _;
use vedette_domain::wording::sentence;
use vedette_http::error::ApiError;
use vedette_http::resource::{InvitationResource, NewInvitationResource};
use vedette_http::response::{Response, created};
use vedette_store::TeamWithSettings;

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let new = NewInvitation::from_json(context.body)?;
    let caller = context.caller;
    let inviter = caller.membership_in(team.id())?;
    let (secret, invitation) = invite(context.app, &team, inviter, new, caller.by()).await?;
    let (url, unsent) = match hand_over(context.app, secret, &invitation).await {
        Ok(secret) => (secret.map(|secret| link::invitation(context.pages(), &secret)), None),
        // The invitation exists, so this is no refusal: a client that tried again would be told that it exists.
        Err(ActionError::Refused(why)) => (None, Some(sentence(&why.to_string()))),
        Err(ActionError::Failed(fault)) => return Err(fault.into()),
    };
    let path = format!("/teams/{}/invitations/{}", team.id(), invitation.hash.0);
    let shown = InvitationResource::new(&invitation, true);
    Ok(created(&NewInvitationResource::new(shown, url, unsent), &context.links.to(&path)))
}
