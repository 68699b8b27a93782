//! `GET /me/tokens`: the caller's tokens, newest first.

use vedette_http::error::ApiError;
use vedette_http::resource::TokenResource;
use vedette_http::response::{Response, ok};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let tokens = context.app.store.tokens_of(context.caller.user.id).await?;
    let shown: Vec<_> =
        tokens.iter().map(|(token, last_use)| TokenResource::new(token, *last_use)).collect();
    Ok(ok(&shown))
}
