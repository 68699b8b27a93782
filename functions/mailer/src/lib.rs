//! Transactional emails let their reader in: sign-in links and invitations. Others confirm a subscription to a status
//! page or to reports, or go to its subscribers. A separate function sends them all, which reads nothing from strangers'
//! sites and receivers. The notifier does read those, so an attacker who breaks into it cannot sign in as somebody else.

mod grants;
mod mailing;
mod report;
mod write;

use vedette_domain::message::MailRequest;
use vedette_notifier::Transport;
use vedette_runtime::{App, EntropyError, QueueError};
use vedette_store::{MayConflict, StoreError};

pub use grants::LETTERS;

/// Why a transactional email is not sent now.
#[derive(Debug, thiserror::Error)]
pub enum MailerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue did not accept the request to send an email again.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The dashboard's address, which the link needs, is not configured.
    #[error("the service's own address is not configured")]
    NoBase,
    /// The system has no random bytes for secrets.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The message does not request an email.
    #[error("not a message of this queue")]
    Message(#[source] serde_json::Error),
}

impl MayConflict for MailerError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Sends the emails that a message requests.
///
/// # Errors
///
/// When the table does not answer, or the link cannot be created.
pub async fn handle(
    app: &App,
    transport: &impl Transport,
    message: &MailRequest,
) -> Result<(), MailerError> {
    match message {
        MailRequest::SignIn { user, asked_at } => {
            write::sign_in(app, transport, *user, *asked_at).await
        }
        MailRequest::Invitation { team, invitation } => {
            write::invitation(app, transport, *team, invitation).await
        }
        MailRequest::Subscription { list, subscription, .. } => {
            write::subscription(app, transport, *list, *subscription).await
        }
        MailRequest::Mailing { list, topic, .. } => {
            mailing::mailing(app, transport, *list, *topic).await
        }
        MailRequest::Report { team, period, group, user, asked_at } => {
            let report = (*team, *period, group.as_deref());
            write::report(app, transport, report, *user, *asked_at).await
        }
    }
}

/// Sends the email that the text of a message requests.
///
/// # Errors
///
/// When the text is not such a message, or the table does not answer.
pub async fn handle_body(
    app: &App,
    transport: &impl Transport,
    body: &str,
) -> Result<(), MailerError> {
    let message = serde_json::from_str(body).map_err(MailerError::Message)?;
    handle(app, transport, &message).await
}
