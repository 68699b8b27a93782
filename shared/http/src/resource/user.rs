use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::account::User;

use super::wire_time_or_null;

/// A user.
#[derive(Debug, Clone, Serialize)]
pub struct UserResource {
    name: String,
    email: String,
    #[serde(serialize_with = "wire_time_or_null")]
    email_verified_at: Option<Timestamp>,
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
