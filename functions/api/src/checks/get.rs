//! `GET /checks/{check}`: a check with its full result.

use vedette_http::access::CheckAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::CheckResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(_: Context<'_>, access: CheckAccess) -> Result<Response, ApiError> {
    Ok(ok(&CheckResource::new(&access.stored.check, Some(&access.site.stored.site))))
}
