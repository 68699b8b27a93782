//! Letters that somebody asks for: each is counted, and the notifier writes it.

use std::time::Duration;

use vedette_domain::id::TeamId;
use vedette_domain::invitation::Invitation;
use vedette_domain::letters::{REQUESTS, REQUESTS_OF_TEAM, SIGN_INS};
use vedette_domain::message::{AlertMessage, Message};
use vedette_runtime::App;
use vedette_store::StoreError;

use crate::AccountError;

/// Has a link that signs in sent to an address, if it has an account and was not sent too many. Whoever
/// asks does not learn whether.
///
/// # Errors
///
/// A fault of the table.
pub async fn mail_sign_in(app: &App, email: &str) -> Result<(), StoreError> {
    let Some(user) = app.store.user_by_email(email).await? else { return Ok(()) };
    let now = app.clock.now();
    let sent = app.store.count(&format!("sign-in#{}", user.id), SIGN_INS.window, now).await?;
    if sent <= SIGN_INS.times {
        let message = AlertMessage::SignIn { user: user.id, asked_at: now };
        app.enqueue_or_leave(Message::Alert(message), Duration::ZERO).await;
    }
    Ok(())
}

/// Has a pending invitation sent to the address that it is for.
///
/// # Errors
///
/// When the team has asked the address, or anybody, often enough, when the queue takes no message, or a
/// fault of the table.
pub async fn mail_invitation(app: &App, invitation: &Invitation) -> Result<(), AccountError> {
    let Invitation { team, email, hash, .. } = invitation;
    if !may_ask(app, *team, email).await? {
        return Err(AccountError::AskedOften(email.clone()));
    }
    let message = AlertMessage::Invitation { team: *team, invitation: hash.clone() };
    let sent = app.queue.send(&Message::Alert(message), Duration::ZERO).await;
    sent.map_err(|_| AccountError::NotSent(email.clone()))
}

/// Counts a request of a team to an address, and says whether it may be made.
pub(crate) async fn may_ask(app: &App, team: TeamId, email: &str) -> Result<bool, StoreError> {
    let (store, now) = (&app.store, app.clock.now());
    let address = format!("asked#{team}#{}", email.to_lowercase());
    if store.count(&address, REQUESTS.window, now).await? > REQUESTS.times {
        return Ok(false);
    }
    let asked = store.count(&format!("asked#{team}"), REQUESTS_OF_TEAM.window, now).await?;
    Ok(asked <= REQUESTS_OF_TEAM.times)
}
