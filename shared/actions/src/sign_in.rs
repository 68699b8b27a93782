//! Sign-in links that strangers request for an address. The work is the same whether or not anybody has the address.

use std::time::Duration;

use vedette_domain::accounts::mail_limits::{
    SIGN_INS, SIGN_INS_BY_SOURCE, SIGN_INS_OF_SOURCE, counted_as, nobody,
};
use vedette_domain::accounts::refusal::SignInRefusal;
use vedette_domain::message::{MailRequest, Message};
use vedette_domain::source::Source;
use vedette_runtime::App;
use vedette_store::{Taken, budget, retry_on_conflict};

use crate::SignInError;

/// Emails a sign-in link to an address, if it has an account and is below its limit. The caller learns neither: the
/// reads and writes are the same, and a message is sent in every case.
///
/// # Errors
///
/// When the source has requested too many links, or a fault of the table.
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
    let of_source = of_source.map_err(|wait| SignInRefusal::AskedOften { wait })?;
    let [Ok(by_source), Ok(of_address)] = others else { return Ok(()) };
    let after = [of_source, by_source, of_address];
    let taken = subjects.into_iter().zip(full_at).zip(after);
    let taken = taken.map(|((subject, before), after)| Taken { subject, before, after });
    store.take(&taken.collect::<Vec<_>>()).await?;
    // If nobody has the address, the message names a user who does not exist, and no email is written.
    let user = user.unwrap_or_else(|| nobody(email));
    let message = MailRequest::SignIn { user, asked_at: now };
    app.enqueue_or_leave(Message::Mail(message), Duration::ZERO).await;
    Ok(())
}
