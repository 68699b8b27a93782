//! Signing in and out: with an OpenID provider, or with a link. The link leads to a page with a button that signs in,
//! because email scanners follow links.

use lambda_http::http::StatusCode;
use lambda_http::http::header::{SET_COOKIE, USER_AGENT};
use maud::{Markup, html};
use vedette_actions::mail_sign_in;
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::session::{
    Session, SessionCookie, SessionHash, SessionSecret, SignInLink,
};
use vedette_domain::alerts::link;
use vedette_domain::id::UserId;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::clock::Clock;
use crate::form::FormInput;
use crate::layout::Heading;
use crate::look::Icon;
use crate::{RequestContext, layout, session, setup_link};

/// Says how to sign in, or how to set up a service without an account.
pub(crate) async fn explain(context: RequestContext<'_>) -> Result<Response, ApiError> {
    if setup_link::is_awaited(context).await? {
        return Ok(setup_link::explain(context));
    }
    Ok(how_to(context, StatusCode::OK, "Sign in to Vedette", &html! {}, &FormInput::default()))
}

/// Says how to sign in, after another message.
pub(crate) fn how_to(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    lead: &Markup,
    input: &FormInput,
) -> Response {
    let content = html! {
        (lead)
        @if context.app.service.sign_in_with.is_some() {
            (with_provider(context))
            div.or { "or" }
        }
        @if context.app.service.sends_mail {
            p.quiet { "We’ll email you a sign-in link. No password needed." }
            form.stack.lg.gm method="post" action=(link::SIGN_IN) {
                (input.input("email", "email", "Email address"))
                button.main { "Send sign-in link" }
            }
            p.quiet.small { "The link works once and expires after 15 minutes." }
        } @else {
            p { "You sign in with a link that works once. The operator of this service creates one with:" }
            pre data-copy { "vedette sign-in you@example.com" }
            p.quiet.small { "A service on one machine also prints a link when it starts." }
        }
    };
    layout::own_page(context, status, title, &content)
}

/// Emails a link to the address of an account. The answer is the same if the address has no account.
pub(crate) async fn mail(context: RequestContext<'_>) -> Result<Response, ApiError> {
    if !context.app.service.sends_mail {
        return Err(ApiError::NotFound);
    }
    let input = FormInput::sent(context.body);
    let email = match input.email() {
        Ok(email) => email,
        Err(why) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(how_to(
                context,
                status,
                "Sign in to Vedette",
                &html! {},
                &input.refused(why),
            ));
        }
    };
    mail_sign_in(context.app, email, context.source()).await?;
    let content = html! {
        p { "If " b { bdi { (email) } } " has an account, a sign-in link is on its way." }
        p.quiet { "It works for 15 minutes. If it doesn’t arrive, look in your spam folder, or wait a few minutes and ask again." }
    };
    Ok(layout::own_page(context, StatusCode::OK, "Check your email", &content))
}

/// The link to the OpenID provider, if there is one.
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
            // The page shows the address, because another person may have sent a link of their own.
            let email = user.ok_or(ApiError::NotFound)?.email;
            let question = html! { "Sign in on this browser as " b { bdi { (email) } } "?" };
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
    // A person who follows a link from the mailbox owns the address.
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

/// Redirects the browser to the first page, with the cookie of its session.
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

/// The visitor's link, if it still works.
async fn usable_link(context: RequestContext<'_>) -> Result<Option<SignInLink>, ApiError> {
    let Some(secret) = SessionSecret::parse(context.parameters.value("secret")) else {
        return Ok(None);
    };
    let link = context.app.store.sign_in_link(&secret.hash()).await?;
    Ok(link.filter(|link| link.works(context.app.clock.now())))
}

fn spent(context: RequestContext<'_>) -> Response {
    let lead = html! {
        p { "Sign-in links work once, for 15 minutes. This one has been used, has expired, or wasn’t copied whole. Get a new one below." }
    };
    how_to(
        context,
        StatusCode::NOT_FOUND,
        "This sign-in link has expired",
        &lead,
        &FormInput::default(),
    )
}

/// Ends the session of this browser.
pub(crate) async fn out(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    context.app.store.end_session(own.user, &own.hash).await?;
    let mut response = layout::redirect("/sign-in")?;
    response.headers_mut().insert(SET_COOKIE, session::forget(context.app, context.head)?);
    Ok(response)
}

/// Shows the browsers in which the member is signed in.
pub(crate) async fn sessions(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    let clock = context.clock(None);
    let sessions = context.app.store.sessions(own.user).await?;
    let heading =
        Heading::new("Sessions").lead(html! { p.quiet { "Browsers where you are signed in." } });
    let lasting = sessions.iter().filter(|session| session.lasts(clock.now));
    Ok(layout::own_page(context, StatusCode::OK, heading, &table(lasting, own, clock)))
}

fn table<'a>(
    sessions: impl Iterator<Item = &'a Session>,
    own: &Session,
    clock: Clock<'_>,
) -> Markup {
    html! {
        ul.card.rows {
            @for session in sessions {
                li {
                    div.grow {
                        b { bdi { (session.browser) } } @if session.hash == own.hash { " " span.tag { "This browser" } }
                        p.quiet.small {
                            "Signed in " (clock.instant(session.created_at))
                            ", expires " (clock.instant(session.expires_at))
                        }
                    }
                    form method="post" action={ "/sessions/" (session.hash.0) "/end" } {
                        button.s { "Sign out" }
                    }
                }
            }
        }
    }
}

/// Ends one of the member's sessions.
pub(crate) async fn end(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let own = &context.member()?.session;
    let hash = SessionHash(context.parameters.value("session").to_owned());
    let session = context.app.store.session(own.user, &hash).await?.ok_or(ApiError::NotFound)?;
    context.app.store.end_session(own.user, &session.hash).await?;
    layout::redirect("/sessions")
}
