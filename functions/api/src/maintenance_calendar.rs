//! `/teams/{team}/maintenance-calendar`.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;

use vedette_domain::accounts::team::Team;
use vedette_http::resource::CalendarResource;

use crate::Context;

fn resource(context: Context<'_>, team: &Team) -> CalendarResource {
    CalendarResource::new(team, context.pages())
}
