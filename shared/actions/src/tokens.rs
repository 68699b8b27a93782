//! Access tokens of the API.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use vedette_domain::account::{Scope, Secret, Token};
use vedette_domain::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::id::UserId;
use vedette_runtime::App;
use vedette_store::{Store, StoreError, budget, retry_on_conflict};

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
    by: Actor,
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
    let event = |hash| AuditEvent::TokenCreated { user, hash, scopes: token.scopes.clone() };
    recording(app, &token, by, event).await?.create_token(&token).await?;
    Ok((secret, token))
}

/// Makes a token stop working at once.
///
/// # Errors
///
/// A fault of the table.
pub async fn revoke_token(app: &App, token: &Token, by: Actor) -> Result<(), StoreError> {
    let event = |hash| AuditEvent::TokenRevoked { user: token.user, hash };
    let store = recording(app, token, by, event).await?;
    retry_on_conflict(budget::WRITE, || store.revoke_token(token)).await
}

/// The table, whose transactions tell each team of the token's user what becomes of it.
async fn recording(
    app: &App,
    token: &Token,
    by: Actor,
    event: impl Fn(String) -> AuditEvent + Send,
) -> Result<Store, StoreError> {
    let account = app.store.account(token.user).await?;
    let memberships = account.map_or_else(Vec::new, |account| account.memberships);
    let now = app.clock.now();
    let entries: Vec<AuditEntry> = memberships
        .iter()
        .map(|place| AuditEntry::new(place.team, by, event(token.hash.short().to_owned()), now))
        .collect();
    // A user of very many teams has not all of them told with the token, but before.
    let told_before = entries.len().saturating_sub(TOLD_AT_ONCE);
    for some in entries[..told_before].chunks(TOLD_AT_ONCE) {
        app.store.recording(some.to_vec()).record().await?;
    }
    Ok(app.store.recording(entries[told_before..].to_vec()))
}

/// The most teams that are told in the token's own transaction, which may have a hundred items.
const TOLD_AT_ONCE: usize = 90;
