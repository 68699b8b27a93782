//! What all pages have: their frame, and headers that let a browser do no more with them than show them
//! and send their forms.

use jiff::Timestamp;
use lambda_http::Body;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, Method, StatusCode};
use maud::{DOCTYPE, Markup, html};
use vedette_domain::id::TeamId;
use vedette_domain::time;
use vedette_http::error::{ApiError, UNAVAILABLE_FOR};
use vedette_http::query::Query;
use vedette_http::response::Response;

use crate::{RequestContext, assets};

/// Nothing from elsewhere is loaded, nothing within a page is run but our own file, and forms lead back
/// here.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page with one heading, for anybody.
pub(crate) fn page(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    framed(status, title, false, None, &degraded(context), content)
}

/// A part of a team's pages, as their navigation names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavTab {
    Sites,
    Events,
    Settings,
    Channels,
    Tokens,
    Members,
    Plan,
    AuditLog,
}

impl NavTab {
    const ALL: [Self; 8] = [
        Self::Sites,
        Self::Events,
        Self::Settings,
        Self::Channels,
        Self::Tokens,
        Self::Members,
        Self::Plan,
        Self::AuditLog,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Sites => "Sites",
            Self::Events => "Events",
            Self::Settings => "Settings",
            Self::Channels => "Channels",
            Self::Tokens => "Tokens",
            Self::Members => "Members",
            Self::Plan => "Plan",
            Self::AuditLog => "Audit log",
        }
    }

    fn path(self, team: TeamId) -> String {
        match self {
            Self::Sites => format!("/teams/{team}"),
            Self::Events => format!("/teams/{team}/events"),
            Self::Settings => format!("/teams/{team}/settings"),
            Self::Channels => format!("/teams/{team}/channels"),
            // A token belongs to its user, whatever the team.
            Self::Tokens => "/tokens".to_owned(),
            Self::Members => format!("/teams/{team}/members"),
            Self::Plan => format!("/teams/{team}/plan"),
            Self::AuditLog => format!("/teams/{team}/audit-log"),
        }
    }
}

/// A page of a team, with the ways to the team's other pages.
pub(crate) fn team_page(
    context: RequestContext<'_>,
    (team, here): (TeamId, NavTab),
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    let parts = html! {
        nav aria-label="Team" {
            ul.filters {
                @for part in NavTab::ALL {
                    li {
                        a href=(part.path(team)) aria-current=[(part == here).then_some("true")] {
                            (part.word())
                        }
                    }
                }
            }
        }
    };
    member_page(context, Some(&parts), status, title, content)
}

/// A page with one heading, with the ways to the other pages if somebody is signed in.
pub(crate) fn own_page(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    member_page(context, None, status, title, content)
}

fn member_page(
    context: RequestContext<'_>,
    parts: Option<&Markup>,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    let ways = context.signed_in.map(|signed_in| {
        html! {
            nav { a href="/" { "Sites" } " " a href="/sessions" { "Sessions" } }
            form method="post" action="/sign-out" {
                button { "Sign out " (signed_in.caller.user.name) }
            }
            @if let Some(parts) = parts { (parts) }
        }
    });
    // What a form led to cannot be asked for again.
    let is_live = status == StatusCode::OK && context.head.method == Method::GET;
    framed(status, title, is_live, ways.as_ref(), &degraded(context), content)
}

/// What keeps the service from doing its work, if anything does. Strangers are not told what: it may
/// name files of the operator's.
fn degraded(context: RequestContext<'_>) -> Markup {
    let notices = context.app.health.notices();
    html! {
        @if !notices.is_empty() {
            div.degraded role="alert" {
                @if context.signed_in.is_some() {
                    @for notice in notices {
                        p {
                            b { (notice.what) } " " (notice.remedy) " Since " (instant(notice.since)) "."
                        }
                    }
                } @else {
                    p { b { "This service has a problem." } " What it shows may be out of date, and changes may not be saved." }
                }
            }
        }
    }
}

fn framed(
    status: StatusCode,
    title: &str,
    is_live: bool,
    ways: Option<&Markup>,
    degraded: &Markup,
    content: &Markup,
) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) " · Vedette" }
                link rel="icon" href=(assets::icon());
                link rel="stylesheet" href=(assets::style());
                script src=(assets::script()) defer {}
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                @if let Some(ways) = ways {
                    header { (ways) }
                }
                main #main data-live[is_live] { (degraded) h1 { (title) } (content) }
            }
        }
    };
    let mut response = Response::new(Body::Text(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    // Links to pages carry keys. With none at all, browsers would not say where a form comes from.
    headers.insert(REFERRER_POLICY, fixed("same-origin"));
    headers.insert(CONTENT_SECURITY_POLICY, fixed(POLICY));
    response
}

/// A page that asks a question, with the one button that says yes to it.
pub(crate) fn form(
    context: RequestContext<'_>,
    title: &str,
    question: &Markup,
    button: &str,
) -> Response {
    let content = html! {
        p { (question) }
        // Without an address a form is sent to where it was read from, key included.
        form method="post" { button { (button) } }
    };
    page(context, StatusCode::OK, title, &content)
}

/// Sends the browser to another page, so that a form is not sent again when that is reloaded.
pub(crate) fn redirect(path: &str) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::try_from(path).map_err(ApiError::internal)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    Ok(response)
}

/// What a form has just done: the address names it (`notice=`), and `words` has it in words.
pub(crate) fn done(context: RequestContext<'_>, words: &[(&str, &str)]) -> Markup {
    let query = Query::parse(context.head.uri.query());
    let notice = query.search("said").unwrap_or_default();
    let found = words.iter().find(|(name, _)| *name == notice);
    html! { @if let Some((_, words)) = found { p.note role="status" { (words) } } }
}

/// The ways to the pages before and after one of a list.
pub(crate) fn other_pages(number: u64, has_more: bool, address: &dyn Fn(u64) -> String) -> Markup {
    html! {
        nav aria-label="Pages" {
            @if number > 1 { a rel="prev" href=(address(number - 1)) { "Before" } " " }
            @if has_more { a rel="next" href=(address(number + 1)) { "More" } }
        }
    }
}

/// What a table begins with: its caption, and the heads of its columns.
pub(crate) fn columns(caption: &str, heads: &[&str]) -> Markup {
    html! {
        caption { (caption) }
        thead { tr { @for head in heads { th scope="col" { (head) } } } }
    }
}

/// An instant, for people and for programs.
pub(crate) fn instant(at: Timestamp) -> Markup {
    html! { time datetime=(time::wire(at)) { (time::instant(at)) } }
}

/// What is said instead of a page.
pub(crate) fn refusal(context: Option<RequestContext<'_>>, refusal: &ApiError) -> Response {
    let status = refusal.status();
    let (title, text) = if status == StatusCode::NOT_FOUND {
        ("There is nothing here", "The link is not complete, or what it led to is gone.".to_owned())
    } else {
        ("This did not work", refusal.message())
    };
    let content = html! { p { (text) } };
    let mut response = match context {
        Some(context) => own_page(context, status, title, &content),
        None => framed(status, title, false, None, &html! {}, &content),
    };
    let wait = match refusal {
        ApiError::TooManyRequests { retry_after } => Some(*retry_after),
        _ => (status == StatusCode::SERVICE_UNAVAILABLE).then_some(UNAVAILABLE_FOR),
    };
    response.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, HeaderValue::from(wait))));
    response
}
