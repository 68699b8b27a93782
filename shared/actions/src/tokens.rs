//! Access tokens for the API.

use vedette_domain::accounts::account::{NewToken, Secret, Token};
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::id::UserId;
use vedette_runtime::App;
use vedette_store::{Audit, StoreError, budget, retry_on_conflict};

use crate::AccountError;

/// Creates a token for a user, with the token `creator` if a program does it. Show its secret once: it is not stored.
///
/// # Errors
///
/// The refusal, a fault of the table, or no randomness.
pub async fn create_token(
    app: &App,
    user: UserId,
    new: NewToken,
    creator: Option<&Token>,
    by: By,
) -> Result<(Secret, Token), AccountError> {
    let held = app.store.tokens_of(user).await?.len();
    let secret = app.entropy.secret()?;
    let token = new.into_token(secret.hash(), user, (held, creator), by.now)?;
    let (hash, scopes) = (token.hash.short().to_owned(), token.scopes.clone());
    let event = AuditEvent::TokenCreated { user, hash, scopes };
    let entries = entries(app, user, by, &event).await?;
    app.store.create_token(&token, Audit::Entries(&entries)).await?;
    Ok((secret, token))
}

/// Revokes a token, which stops working at once.
///
/// # Errors
///
/// A fault of the table.
pub async fn revoke_token(app: &App, token: &Token, by: By) -> Result<(), StoreError> {
    let (user, hash) = (token.user, token.hash.short().to_owned());
    let event = AuditEvent::TokenRevoked { user, hash };
    let entries = entries(app, user, by, &event).await?;
    let audit = Audit::Entries(&entries);
    retry_on_conflict(budget::WRITE, || app.store.revoke_token(token, audit)).await
}

/// Revokes the token of a user that has a hash, and returns whether the user has one.
///
/// # Errors
///
/// A fault of the table.
pub async fn revoke_own_token(
    app: &App,
    user: UserId,
    hash: &str,
    by: By,
) -> Result<bool, StoreError> {
    let tokens = app.store.tokens_of(user).await?;
    let Some((token, _)) = tokens.iter().find(|(token, _)| token.hash.0 == hash) else {
        return Ok(false);
    };
    revoke_token(app, token, by).await?;
    Ok(true)
}

/// The entries in the audit log of each team of the token's user. Entries that do not fit into the token's transaction
/// are written before it.
async fn entries(
    app: &App,
    user: UserId,
    by: By,
    event: &AuditEvent,
) -> Result<Vec<AuditEntry>, StoreError> {
    let account = app.store.account(user).await?;
    let memberships = account.map_or_else(Vec::new, |account| account.memberships);
    let mut entries: Vec<AuditEntry> =
        memberships.iter().map(|place| AuditEntry::new(place.team, by, event.clone())).collect();
    // A user with very many teams needs more entries than fit into the token's transaction.
    let told_before = entries.len().saturating_sub(TOLD_AT_ONCE);
    for some in entries[..told_before].chunks(TOLD_AT_ONCE) {
        app.store.record(some).await?;
    }
    Ok(entries.split_off(told_before))
}

/// The most teams whose audit logs are written in the token's own transaction, which may have at most 100 items.
const TOLD_AT_ONCE: usize = 90;
