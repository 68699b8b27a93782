//! Links that sign in, which strangers ask for by an address. What is done then does not depend on whether anybody has
//! the address.

use std::time::Duration;

use jiff::SignedDuration;
use vedette_domain::accounts::mail_limits::{
    SIGN_INS, SIGN_INS_BY_SOURCE, SIGN_INS_OF_SOURCE, counted_as, nobody,
};
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::source::Source;
use vedette_runtime::App;
use vedette_store::{MayConflict, StoreError, Taken, budget, retry_on_conflict};

/// Why no link is sent.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The source has asked for too many, whatever the addresses.
    #[error("the source has asked for too many links")]
    AskedOften {
        /// How long until it may ask again.
        wait: SignedDuration,
    },
    /// The table does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MayConflict for SignInError {
    fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_conflict())
    }
}

/// Has a link that signs in sent to an address, if it has an account and was not sent too many. Whoever
/// asks learns neither: the reads and writes are the same, and a message is sent in any case.
///
/// # Errors
///
/// When the source has asked for too many, or a fault of the table.
pub async fn mail_sign_in(app: &App, email: &str, source: Source) -> Result<(), SignInError> {
    retry_on_conflict(budget::WRITE, || ask(app, email, source)).await
}

async fn ask(app: &App, email: &str, source: Source) -> Result<(), SignInError> {
    let (store, now) = (&app.store, app.clock.now());
    let address = counted_as(email);
    let subjects = [
        format!("sign-in#{source}"),
        format!("sign-in#{address}#{source}"),
        format!("sign-in#{address}"),
    ];
    let limits = [SIGN_INS_OF_SOURCE, SIGN_INS_BY_SOURCE, SIGN_INS];
    let (user, full_at) =
        store.user_and_buckets(email, subjects.each_ref().map(String::as_str)).await?;
    let [of_source, others @ ..] = [0, 1, 2].map(|place| limits[place].take(full_at[place], now));
    let of_source = of_source.map_err(|wait| SignInError::AskedOften { wait })?;
    let [Ok(by_source), Ok(of_address)] = others else { return Ok(()) };
    let after = [of_source, by_source, of_address];
    let taken = subjects.into_iter().zip(full_at).zip(after);
    let taken = taken.map(|((subject, before), after)| Taken { subject, before, after });
    store.take(&taken.collect::<Vec<_>>()).await?;
    // Where nobody has the address the mail is to a user that there is not, and none is written.
    let user = user.unwrap_or_else(|| nobody(email));
    let message = MailRequest::SignIn { user, asked_at: now };
    app.enqueue_or_leave(Message::Mail(message), Duration::ZERO).await;
    Ok(())
}
