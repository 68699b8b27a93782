//! Transactional emails let their reader in: sign-in links and invitations. Others confirm a subscription to a status
//! page, or go to its subscribers. A separate function sends them all, which reads nothing from strangers' sites and
//! receivers. The notifier does read those, so an attacker who breaks into it cannot sign in as somebody else.

mod grants;
mod mailing;
mod write;

use jiff::Timestamp;
use vedette_domain::alerts::mail::TransactionalMail;
use vedette_domain::message::MailRequest;
use vedette_notifier::send::{MailConfig, SendOutcome, Sender};
use vedette_runtime::{App, EntropyError, QueueError};
use vedette_store::{MayConflict, StoreError};

pub use grants::LETTERS;

/// Sends transactional emails.
pub trait Mailer: Sync {
    /// Sends a transactional email to an address once and returns the outcome. It takes at most 30 seconds. `id` is the
    /// id of the message.
    fn write(
        &self,
        to: &str,
        mail: TransactionalMail,
        id: String,
        now: Timestamp,
    ) -> impl Future<Output = SendOutcome> + Send;
}

impl Mailer for MailConfig {
    async fn write(
        &self,
        to: &str,
        mail: TransactionalMail,
        id: String,
        now: Timestamp,
    ) -> SendOutcome {
        Self::write(self, to, mail, id, now).await
    }
}

impl Mailer for Sender {
    async fn write(
        &self,
        to: &str,
        mail: TransactionalMail,
        id: String,
        now: Timestamp,
    ) -> SendOutcome {
        Self::write(self, to, mail, id, now).await
    }
}

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
    mailer: &impl Mailer,
    message: &MailRequest,
) -> Result<(), MailerError> {
    match message {
        MailRequest::SignIn { user, asked_at } => {
            write::sign_in(app, mailer, *user, *asked_at).await
        }
        MailRequest::Invitation { team, invitation } => {
            write::invitation(app, mailer, *team, invitation).await
        }
        MailRequest::Subscription { team, page, subscription } => {
            write::subscription(app, mailer, (*team, *page), *subscription).await
        }
        MailRequest::Mailing { page, incident, .. } => {
            mailing::mailing(app, mailer, *page, *incident).await
        }
    }
}

/// Sends the email that the text of a message requests.
///
/// # Errors
///
/// When the text is not such a message, or the table does not answer.
pub async fn handle_body(app: &App, mailer: &impl Mailer, body: &str) -> Result<(), MailerError> {
    let message = serde_json::from_str(body).map_err(MailerError::Message)?;
    handle(app, mailer, &message).await
}
