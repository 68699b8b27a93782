//! Requests transactional emails. Each one is counted, and a separate function writes and sends it.

use std::time::Duration;

use vedette_domain::accounts::invitation::Invitation;
use vedette_domain::accounts::mail_limits::{
    CONFIRMATIONS_OF_TEAM, INVITATIONS_OF_TEAM, Limit, REQUESTS_TO_MAILBOX,
};
use vedette_domain::accounts::mailbox::Mailbox;
use vedette_domain::accounts::refusal::AccountRefusal;
use vedette_domain::id::TeamId;
use vedette_domain::message::{MailRequest, Message};
use vedette_runtime::App;
use vedette_store::StoreError;

use crate::AccountError;

/// Emails a pending invitation to its address.
///
/// # Errors
///
/// When the sender can no longer invite, when the mailbox or the team has reached its limit, when the queue accepts no
/// message, or a fault of the table.
pub async fn mail_invitation(app: &App, invitation: &Invitation) -> Result<(), AccountError> {
    let Invitation { team, email, hash, .. } = invitation;
    let inviter = app.store.membership(invitation.by, *team).await?;
    if !invitation.is_backed_by(inviter.map(|inviter| inviter.role)) {
        return Err(AccountRefusal::NotBacked(email.clone()).into());
    }
    match ask(app, *team, email, Question::Join).await? {
        Allowance::Free => {}
        Allowance::MailboxIsFull => return Err(AccountRefusal::AskedOften(email.clone()).into()),
        Allowance::TeamIsDone => return Err(AccountRefusal::InvitedMany(email.clone()).into()),
    }
    let message = MailRequest::Invitation { team: *team, invitation: hash.clone() };
    let sent = app.queue.send(&Message::Mail(message), Duration::ZERO).await;
    sent.map_err(|_| AccountRefusal::NotSent(email.clone()).into())
}

/// What a team asks of a stranger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// To confirm an address for alerts.
    Confirm,
    /// To join the team.
    Join,
}

/// Whether a team may ask a stranger for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// They may be asked.
    Free,
    /// The mailbox has reached its limit, for this team or for all teams.
    MailboxIsFull,
    /// The team has reached its limit for all addresses together.
    TeamIsDone,
}

/// Counts a team's request to an address, and returns whether it may be sent.
pub(crate) async fn ask(
    app: &App,
    team: TeamId,
    email: &str,
    question: Question,
) -> Result<Allowance, StoreError> {
    let (of_team, limit_of_team) = match question {
        Question::Confirm => (format!("asked#{team}"), CONFIRMATIONS_OF_TEAM),
        Question::Join => (format!("invited#{team}"), INVITATIONS_OF_TEAM),
    };
    let mailbox = format!("mailbox#{}", Mailbox::of(email).as_str());
    let (limit, now) = (REQUESTS_TO_MAILBOX, app.clock.now());
    let used = app.store.count_shared(&mailbox, team, limit, now).await?;
    Ok(if !limit.admits(used) {
        Allowance::MailboxIsFull
    } else if exceeds(app, &of_team, limit_of_team).await? {
        Allowance::TeamIsDone
    } else {
        Allowance::Free
    })
}

/// Counts an event of a subject, and returns whether it exceeds a limit.
pub(crate) async fn exceeds(app: &App, subject: &str, limit: Limit) -> Result<bool, StoreError> {
    Ok(app.store.count(subject, limit.window, app.clock.now()).await? > limit.times)
}
