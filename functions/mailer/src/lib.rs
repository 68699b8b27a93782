//! Transactional mails let their reader in: sign-in links and invitations. A function of their own sends them, which
//! reads nothing from strangers' sites and receivers. The notifier does read those, so whoever breaks into it cannot
//! sign in as anybody.

mod grants;
mod write;

use jiff::Timestamp;
use vedette_domain::alerts::mail::TransactionalMail;
use vedette_domain::message::MailRequest;
use vedette_notifier::send::{MailConfig, SendOutcome, Sender};
use vedette_runtime::{App, EntropyError, QueueError};
use vedette_store::{MayConflict, StoreError};

pub use grants::LETTERS;

/// What carries transactional mails to addresses.
pub trait Mailer: Sync {
    /// Sends a transactional mail to an address once, and says what became of it. It takes 30 seconds at most. `id` is the
    /// identity of the message.
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

/// Why a transactional mail is not written now.
#[derive(Debug, thiserror::Error)]
pub enum MailerError {
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A transactional mail that did not arrive cannot be requested again.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The service's own address, which the link needs, is not known.
    #[error("the service's own address is not configured")]
    NoBase,
    /// The system has no random bytes for secrets.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// A message requests no mail.
    #[error("not a message of this queue")]
    Message(#[source] serde_json::Error),
}

impl MayConflict for MailerError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Writes the mail that a message requests.
///
/// # Errors
///
/// When the table does not answer, or there is no link to put into it.
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
    }
}

/// Writes the mail that the text of a message requests.
///
/// # Errors
///
/// When it requests none, or the table does not answer.
pub async fn handle_body(app: &App, mailer: &impl Mailer, body: &str) -> Result<(), MailerError> {
    let message = serde_json::from_str(body).map_err(MailerError::Message)?;
    handle(app, mailer, &message).await
}
