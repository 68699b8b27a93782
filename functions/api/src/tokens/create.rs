//! `POST /me/tokens`: creates a token that may do no more than the caller's, and works no longer.

use vedette_actions::create_token;
use vedette_domain::accounts::account::NewToken;
use vedette_domain::input::Input as _;
use vedette_http::error::ApiError;
use vedette_http::resource::{NewTokenResource, TokenResource};
use vedette_http::response::{Response, created};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let (new, caller) = (NewToken::from_json(context.body)?, context.caller);
    let made = create_token(context.app, caller.user.id, new, context.token, caller.by());
    let (secret, token) = made.await?;
    let path = context.links.to(&format!("/me/tokens/{}", token.hash.0));
    let shown = NewTokenResource::new(TokenResource::new(&token, None), &secret);
    Ok(created(&shown, &path))
}
