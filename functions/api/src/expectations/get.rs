//! `GET /sites/{site}/expectations`: what the status checks of a site expect.

use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::ExpectationsResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(
    _context: Context<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    Ok(ok(&ExpectationsResource::new(&access.stored.site)))
}
