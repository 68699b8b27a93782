//! Signing in at an OpenID provider (the authorization code flow with PKCE). Vedette sends the browser there, and it
//! comes back with a code. The browser itself keeps the attempt that it has begun, so strangers who begin one write
//! nothing.
//!
//! This creates no account. The user is found by the email address that the provider confirms.

mod config;
mod http_client;
mod limits;
mod provider;

use lambda_http::http::header::{RETRY_AFTER, SET_COOKIE};
use lambda_http::http::{HeaderValue, StatusCode};
use maud::{Markup, html};
use openidconnect::RedirectUrl;
use tracing::warn;
use vedette_domain::accounts::email::parse_email;
use vedette_domain::accounts::session::SignInAttempt;
use vedette_domain::alerts::link;
use vedette_domain::rate_limit::retry_after;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_ops::ErrorChain;

pub use self::config::ProviderConfig;
pub use self::provider::Provider;

use self::limits::REST;
use self::provider::{Exchange, Failure};
use crate::form::{FormInput, field};
use crate::{RequestContext, layout, session, sign_in};

/// Redirects the browser to the provider. This is a link rather than a form, because the pages' own policy applies to
/// the target of a form, even after redirects.
pub(crate) async fn begin(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let provider = context.dashboard.provider.as_ref().ok_or(ApiError::NotFound)?;
    let now = context.app.clock.now();
    let secret = context.app.entropy.session_secret().map_err(ApiError::internal)?;
    let attempt = SignInAttempt::new(secret, now);
    let redirect = redirect(context)?;
    let of = Exchange { attempt: &attempt, redirect: &redirect, now, clock: &context.app.clock };
    let address = provider.address(of).await;
    let address = match address {
        Ok(address) => address,
        Err(failure) => return Ok(failed(context, &failure)),
    };
    let mut response = layout::redirect(address.as_str())?;
    let kept = session::keep_attempt(context.app, context.head, &attempt)?;
    response.headers_mut().insert(SET_COOKIE, kept);
    Ok(response)
}

/// Takes the provider's answer and signs the user in, once.
pub(crate) async fn answer(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let provider = context.dashboard.provider.as_ref().ok_or(ApiError::NotFound)?;
    let now = context.app.clock.now();
    let sent = context.head.uri.query().unwrap_or_default().as_bytes();
    let attempt = session::attempt(context.app, context.head)
        .filter(|attempt| attempt.is_open(now) && field(sent, "state") == attempt.state());
    // The browser must have begun this attempt: another person may have made up the answer.
    let Some(attempt) = attempt else { return Ok(spent(context)) };
    let mut response = match &*field(sent, "error") {
        "" => {
            let redirect = redirect(context)?;
            // Without this limit, anyone could make us call the provider with made-up cookies and codes.
            provider
                .count_answer(context.source(), now)
                .map_err(|wait| ApiError::TooManyRequests { retry_after: retry_after(wait) })?;
            let clock = &context.app.clock;
            let of = Exchange { attempt: &attempt, redirect: &redirect, now, clock };
            match provider.email(of, &field(sent, "code")).await {
                Ok(email) => enter(context, &attempt, &email).await?,
                // The provider was not called, so the answer is still valid.
                Err(failure @ Failure::Resting) => return Ok(failed(context, &failure)),
                Err(failure) => failed(context, &failure),
            }
        }
        "access_denied" => declined(context),
        _ => failed(context, &Failure::Unusable("answer to the browser")),
    };
    let over = session::forget_attempt(context.app, context.head)?;
    response.headers_mut().append(SET_COOKIE, over);
    Ok(response)
}

/// Signs in the user with this address.
async fn enter(
    context: RequestContext<'_>,
    attempt: &SignInAttempt,
    email: &str,
) -> Result<Response, ApiError> {
    let Ok(email) = parse_email(email) else { return Ok(failed(context, &Failure::NoAddress)) };
    let Some(user) = context.app.store.user_by_email(email).await? else {
        return Ok(stranger(context, email));
    };
    let (cookie, session) = sign_in::new_session(context, user.id)?;
    match context.app.store.begin_session_by_provider(attempt, &user, &session).await {
        // The code is used up, so repeating this cannot help.
        Err(error) if error.is_conflict() => return Ok(spent(context)),
        begun => begun?,
    }
    sign_in::entered(context, &cookie)
}

/// The URL that the provider sends people back to, as registered there.
fn redirect(context: RequestContext<'_>) -> Result<RedirectUrl, ApiError> {
    let address = session::address(context.app, context.head);
    RedirectUrl::new(format!("{address}{}", link::PROVIDER_ANSWER))
        .map_err(|_| ApiError::BadRequest("The request does not say where the pages are."))
}

fn refused(context: RequestContext<'_>, status: StatusCode, title: &str, why: &Markup) -> Response {
    sign_in::how_to(context, status, title, &html! { p { (why) } }, &FormInput::default())
}

fn spent(context: RequestContext<'_>) -> Response {
    let why = html! {
        "It was not started in this browser, it has already ended, or it took more than 15 minutes. Start again."
    };
    refused(context, StatusCode::BAD_REQUEST, "This sign-in is not valid", &why)
}

fn declined(context: RequestContext<'_>) -> Response {
    let why = html! { "You declined, or the provider does not let you use this service." };
    refused(context, StatusCode::FORBIDDEN, "You are not signed in", &why)
}

fn stranger(context: RequestContext<'_>, email: &str) -> Response {
    let why = html! {
        b { bdi { (email) } } " has no account here. An owner or admin of a team can invite that address, and \
        the operator of this service can create an account."
    };
    refused(context, StatusCode::FORBIDDEN, "You have no account", &why)
}

fn failed(context: RequestContext<'_>, failure: &Failure) -> Response {
    warn!(error = %ErrorChain(failure), "a sign-in at the OpenID provider failed");
    match failure {
        Failure::UnknownCode => spent(context),
        Failure::NoAddress => {
            let why = html! {
                "The provider did not give a verified email address for you."
            };
            refused(context, StatusCode::FORBIDDEN, "Your email address is unknown", &why)
        }
        Failure::Resting => {
            let why = html! {
                "The provider did not answer a moment ago. Try again in a few seconds."
            };
            let mut response = refused(
                context,
                StatusCode::SERVICE_UNAVAILABLE,
                "Sign-in is not available right now",
                &why,
            );
            let wait = HeaderValue::from(retry_after(REST));
            response.headers_mut().insert(RETRY_AFTER, wait);
            response
        }
        Failure::NoAnswer(_) | Failure::Unusable(_) | Failure::Untrusted(_) => {
            let why = html! {
                "The provider did not answer, or gave an invalid answer. The operator of this service can find the reason \
                in the log."
            };
            refused(context, StatusCode::BAD_GATEWAY, "The sign-in failed", &why)
        }
    }
}
