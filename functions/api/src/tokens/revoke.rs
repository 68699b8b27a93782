//! `DELETE /me/tokens/{token}`: revokes a token, which stops working at once.

use vedette_actions::revoke_own_token;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let (caller, hash) = (context.caller, context.parameters.value("token"));
    match revoke_own_token(context.app, caller.user.id, hash, caller.by()).await? {
        true => Ok(no_content()),
        false => Err(ApiError::NotFound),
    }
}
