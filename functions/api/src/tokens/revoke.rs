//! `DELETE /me/tokens/{token}`: revokes a token, which stops working at once.

use vedette_actions::revoke_token;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let tokens = context.app.store.tokens_of(context.caller.user.id).await?;
    let found = tokens.iter().find(|(token, _)| token.hash.0 == context.parameters.value("token"));
    let (token, _) = found.ok_or(ApiError::NotFound)?;
    revoke_token(context.app, token, context.caller.by()).await?;
    Ok(no_content())
}
