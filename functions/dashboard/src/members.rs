//! The members of a team, and its invitations.

pub(crate) mod add;
pub(crate) mod change;
pub(crate) mod join;
pub(crate) mod list;

use vedette_actions::AccountError;
use vedette_domain::accounts::account::Role;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::{RequestContext, layout};

/// A role in words.
pub(crate) const fn role_word(role: Role) -> &'static str {
    match role {
        Role::Viewer => "Viewer",
        Role::Member => "Member",
        Role::Admin => "Admin",
        Role::Owner => "Owner",
    }
}

/// The list of members, with what was done, or why it was refused.
async fn answer(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    done: Result<(), AccountError>,
    notice: &str,
) -> Result<Response, ApiError> {
    match done {
        Ok(()) => layout::redirect(&format!("/teams/{}/members?notice={notice}", team.id())),
        Err(error) => match ApiError::from(error) {
            ApiError::Validation(why) => {
                list::page(context, team, &list::blank(), Some(&why.message())).await
            }
            error => Err(error),
        },
    }
}
