//! Access tokens of the API.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use vedette_domain::account::{Scope, Secret, Token};
use vedette_domain::id::UserId;
use vedette_runtime::App;

use crate::AccountError;

/// Makes a token of a user's for so many days. Its secret is to be shown once: it is not kept.
///
/// # Errors
///
/// A fault of the table, or no randomness.
pub async fn create_token(
    app: &App,
    user: UserId,
    name: &str,
    scopes: &BTreeSet<Scope>,
    days: i64,
) -> Result<(Secret, Token), AccountError> {
    let now = app.clock.now();
    let secret = app.entropy.secret()?;
    let token = Token {
        hash: secret.hash(),
        user,
        name: name.to_owned(),
        scopes: scopes.iter().copied().collect(),
        expires_at: now.saturating_add(SignedDuration::from_hours(24 * days)).unwrap_or(now),
        created_at: now,
    };
    app.store.create_token(&token).await?;
    Ok((secret, token))
}
