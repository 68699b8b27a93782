//! `PUT /sites/{site}/expectations`: replaces what the status checks of a site expect.

use vedette_actions::change_expectations;
use vedette_domain::expectations::Expectations;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::ExpectationsResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Fields, parse_body};

use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let stored = access.stored.site.expectations.post.as_ref();
    let expectations =
        Expectations::read(parse_body(context.body)?, |sent| Fields::body(sent), stored)?;
    change_expectations(context.app, &mut access, expectations, context.caller.by()).await?;
    Ok(ok(&ExpectationsResource::new(&access.stored.site)))
}
