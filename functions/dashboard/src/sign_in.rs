//! Coming in and going out: an OpenID provider, or a link. That is shown with a button, since mail
//! scanners follow links, and the button signs in.

use lambda_http::http::StatusCode;
use lambda_http::http::header::{SET_COOKIE, USER_AGENT};
use maud::{Markup, html};
use vedette_actions::mail_sign_in;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::email::parse_email;
use vedette_domain::accounts::session::{
    Session, SessionCookie, SessionHash, SessionSecret, SignInLink,
};
use vedette_domain::alerts::link;
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;

use crate::form::{FormInput, sentence};
use crate::look::Icon;
use crate::{RequestContext, layout, session};

/// Says how to sign in.
pub(crate) async fn explain(context: RequestContext<'_>) -> Result<Response, ApiError> {
    Ok(how_to(context, StatusCode::OK, "Sign in", &html! {}, &FormInput::default()))
}

/// Says how to sign in, after something else.
pub(crate) fn how_to(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    lead: &Markup,
    input: &FormInput,
) -> Response {
    let content = html! {
        (lead)
        (with_provider(context))
        @if context.app.service.sends_mail {
            p { "A link signs you in, once. It is sent to the address of your account." }
            form method="post" action=(link::SIGN_IN) {
                (input.input("email", "email", "Your address"))
                p { button { "Send a link" } }
            }
        } @else {
            p { "A link signs you in, once. Who operates this service makes one with:" }
            p { code { "vedette sign-in you@example.com" } }
            p { "Where the service runs on one machine, it also prints a link when it starts." }
        }
    };
    layout::own_page(context, status, title, &content)
}

/// Has a link sent to the address of an account. The answer is the same for an address that has none.
pub(crate) async fn mail(context: RequestContext<'_>) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let input = FormInput::sent(context.body);
    let email = match parse_email(input.text("email")) {
        Ok(email) => email,
        Err(error) => {
            let why = ValidationError::new("email", sentence(&error.to_string()));
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(how_to(context, status, "Sign in", &html! {}, &input.refused(why)));
        }
    };
    mail_sign_in(context.app, email, context.source()).await?;
    let content = html! {
        p { "If " b { bdi { (email) } } " is the address of an account, a link is on its way to it." }
        p { "It works for 15 minutes. An address is sent a few links at a time, and after those one every few minutes." }
    };
    Ok(layout::own_page(context, StatusCode::OK, "Look into your mail", &content))
}

/// The way to the OpenID provider, if there is one.
pub(crate) fn with_provider(context: RequestContext<'_>) -> Markup {
    html! {
        @if let Some(with) = &context.app.service.sign_in_with {
            a.btn.tall href=(link::SIGN_IN_WITH_PROVIDER) { (Icon::Key.shape()) "Sign in with " (with) }
        }
    }
}

/// Asks whether to sign in.
pub(crate) async fn ask(context: RequestContext<'_>) -> Result<Response, ApiError> {
    Ok(match usable_link(context).await? {
        Some(link) => {
            let user = context.app.store.user(link.user).await?;
            // Somebody may have sent a link of their own.
            let email = user.ok_or(ApiError::NotFound)?.email;
            let question =
                html! { "Sign in to Vedette in this browser as " b { bdi { (email) } } "?" };
            layout::form(context, "Sign in", &question, "Sign in")
        }
        None => spent(context),
    })
}

/// Signs in, once.
pub(crate) async fn confirm(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let Some(link) = usable_link(context).await? else { return Ok(spent(context)) };
    let (cookie, session) = new_session(context, link.user)?;
    let store = &context.app.store;
    // Who follows a link from the mailbox has the address.
    let verifies = match link.by_mail {
        true => store.user(link.user).await?.filter(User::is_unverified),
        false => None,
    };
    match store.begin_session(&link, &session, verifies.is_some()).await {
        Err(error) if error.has_failed(LINK) => return Ok(spent(context)),
        begun => begun?,
    }
    entered(context, &cookie)
}

/// A session of this browser, with the cookie for it.
pub(crate) fn new_session(
    context: RequestContext<'_>,
    user: UserId,
) -> Result<(SessionCookie, Session), ApiError> {
    let secret = context.app.entropy.session_secret().map_err(ApiError::internal)?;
    let browser = context.head.headers.get(USER_AGENT).and_then(|name| name.to_str().ok());
    let now = context.app.clock.now();
    let session = Session::new(&secret, user, browser.unwrap_or_default(), now);
    Ok((SessionCookie { user, secret }, session))
}

/// Sends the browser to the first page, with the cookie of its session.
pub(crate) fn entered(
    context: RequestContext<'_>,
    cookie: &SessionCookie,
) -> Result<Response, ApiError> {
    let mut response = layout::redirect("/")?;
    response.headers_mut().insert(SET_COOKIE, session::keep(context.app, context.head, cookie)?);
    Ok(response)
}

/// The place of the link in the transaction of `Store::begin_session`.
const LINK: usize = 0;

/// The link that the visitor has, if it still works.
async fn usable_link(context: RequestContext<'_>) -> Result<Option<SignInLink>, ApiError> {
    let Some(secret) = SessionSecret::parse(context.parameters.value("secret")) else {
        return Ok(None);
    };
    let link = context.app.store.sign_in_link(&secret.hash()).await?;
    Ok(link.filter(|link| link.works(context.app.clock.now())))
}

fn spent(context: RequestContext<'_>) -> Response {
    let lead = html! { p { "It was used, it is older than 15 minutes, or it is not complete." } };
    how_to(context, StatusCode::NOT_FOUND, "This link does not work", &lead, &FormInput::default())
}

/// Ends the session of this browser.
pub(crate) async fn out(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    context.app.store.end_session(own.user, &own.hash).await?;
    let mut response = layout::redirect("/sign-in")?;
    response.headers_mut().insert(SET_COOKIE, session::forget(context.app, context.head)?);
    Ok(response)
}

/// Shows in which browsers the member is signed in.
pub(crate) async fn sessions(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    let now = context.app.clock.now();
    let sessions = context.app.store.sessions(own.user).await?;
    let lasting = sessions.iter().filter(|session| session.lasts(now));
    Ok(layout::own_page(context, StatusCode::OK, "Sessions", &table(lasting, own)))
}

fn table<'a>(sessions: impl Iterator<Item = &'a Session>, own: &Session) -> Markup {
    html! {
        table {
            (layout::columns("Browsers in which you are signed in, the latest first", &["Browser", "Since", "Until", "End"]))
            tbody {
                @for session in sessions {
                    tr {
                        td { bdi { (session.browser) } @if session.hash == own.hash { " (this one)" } }
                        td { (layout::instant(session.created_at)) }
                        td { (layout::instant(session.expires_at)) }
                        td {
                            form method="post" action={ "/sessions/" (session.hash.0) "/end" } {
                                button { "End" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Ends a session of the member's.
pub(crate) async fn end(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    let hash = SessionHash(context.parameters.value("session").to_owned());
    let session = context.app.store.session(own.user, &hash).await?.ok_or(ApiError::NotFound)?;
    context.app.store.end_session(own.user, &session.hash).await?;
    layout::redirect("/sessions")
}
