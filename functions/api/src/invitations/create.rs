//! `POST /teams/{team}/invitations`: invites somebody to a team.

use vedette_actions::{ActionError, invite, mail_invitation};
use vedette_domain::accounts::invitation::NewInvitation;
use vedette_domain::alerts::link;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::resource::NewInvitationResource;
use vedette_http::response::{Response, created};
use vedette_http::wording::sentence;
use vedette_store::TeamWithSettings;

use crate::Context;

/// If email is configured, emails the link to the recipient of the address, and to nobody else. Otherwise the answer has
/// it.
pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let new = NewInvitation::from_json(context.body)?;
    let (app, caller) = (context.app, context.caller);
    let inviter = caller.membership_in(team.id())?;
    let (secret, invitation) = invite(app, &team, inviter, new.invited(), caller.by()).await?;
    let shown = if app.service.sends_mail {
        // The invitation remains valid, and the answer says why its email was not sent.
        let not_sent = match mail_invitation(app, &invitation).await {
            Ok(()) => None,
            Err(ActionError::Refused(why)) => Some(sentence(&why.to_string())),
            Err(ActionError::Failed(fault)) => return Err(fault.into()),
        };
        NewInvitationResource::by_mail(&invitation, not_sent)
    } else {
        let base = app.service.pages_base().unwrap_or_else(|| context.links.pages());
        NewInvitationResource::with_link(&invitation, link::invitation(base, &secret))
    };
    let path = format!("/teams/{}/invitations/{}", team.id(), invitation.hash.0);
    Ok(created(&shown, &context.links.to(&path)))
}
