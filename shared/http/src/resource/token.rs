//! Tokens as the API shows them.

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::{Scope, Secret, Token};

use super::{wire_time, wire_time_or_null};

/// A token, without its secret.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Token"))]
pub struct TokenResource<'a> {
    /// The SHA-256 of its secret in hexadecimal, which identifies it.
    hash: &'a str,
    /// Its name.
    name: &'a str,
    /// What it may be used for.
    scopes: &'a [Scope],
    /// When it was last used, to the hour; null if it was never used.
    #[serde(serialize_with = "wire_time_or_null")]
    last_used_at: Option<Timestamp>,
    /// When it stops working.
    #[serde(serialize_with = "wire_time")]
    expires_at: Timestamp,
    /// When it was created.
    #[serde(serialize_with = "wire_time")]
    created_at: Timestamp,
}

impl<'a> TokenResource<'a> {
    /// A token and its last use.
    pub fn new(token: &'a Token, last_used_at: Option<Timestamp>) -> Self {
        Self {
            hash: &token.hash.0,
            name: &token.name,
            scopes: &token.scopes,
            last_used_at,
            expires_at: token.expires_at,
            created_at: token.created_at,
        }
    }
}

/// A new token. It has no `Debug`, so that the secret does not slip into a log.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NewToken"))]
#[expect(missing_debug_implementations, reason = "it has a secret")]
pub struct NewTokenResource<'a> {
    #[serde(flatten)]
    token: TokenResource<'a>,
    /// What clients send. It is shown only this once.
    secret: &'a str,
}

impl<'a> NewTokenResource<'a> {
    /// A token with its secret.
    pub fn new(token: TokenResource<'a>, secret: &'a Secret) -> Self {
        Self { token, secret: secret.reveal() }
    }
}
