use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::User;

use super::{TeamResource, wire_time_or_null};

/// A user.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "User"))]
pub struct UserResource {
    /// Display name.
    name: String,
    /// Their email address.
    email: String,
    /// When they confirmed the address.
    #[serde(serialize_with = "wire_time_or_null")]
    email_verified_at: Option<Timestamp>,
}

/// The owner of a token.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Me"))]
pub struct MeResource {
    /// The token's owner.
    user: UserResource,
    /// Their teams, oldest first.
    teams: Vec<TeamResource>,
}

impl MeResource {
    /// A user and their teams.
    pub fn new(user: &User, teams: Vec<TeamResource>) -> Self {
        Self { user: UserResource::from(user), teams }
    }
}

impl From<&User> for UserResource {
    fn from(user: &User) -> Self {
        Self {
            name: user.name.clone(),
            email: user.email.clone(),
            email_verified_at: user.email_verified_at,
        }
    }
}
