//! Status pages as their readers see them: the page, Statuspage's JSON, an Atom feed, and badges.
//!
//! [`PUBLIC_PAGES`] is the table of routes. Readers are unknown and need no session. They are served what was published
//! and nothing else, with one read of the table for each request, so status pages work when nothing else does. What
//! they are served depends on nothing but the path and the time, so that caches may keep it.

mod badge;
mod context;
mod document;
mod feed;
mod frame;
mod page;
mod surface;
#[cfg(test)]
mod tests;
mod times;

use lambda_http::http::request::Parts;
use vedette_domain::alerts::link;
use vedette_domain::status_pages::PageAddress;
use vedette_http::path::PathParameters;
use vedette_routing::Endpoint::Request;
use vedette_routing::{RouteMatch, find_with_head};

pub use self::surface::{PublicFunction, PublicPage, StatusPages, not_published};

use self::context::PublicContext;
use self::surface::Endpoint;

/// The beginning of the path of everything that belongs to status pages.
pub const BELOW_STATUS: &str = "/status/";

/// All routes of status pages. HEAD is served like GET.
#[rustfmt::skip]
pub const PUBLIC_PAGES: &[PublicPage] = &[
    get("public.page", link::STATUS_PAGE, Request(&page::page)),
    get("public.document", "/status/{address}/api/v2/{document}", Request(&document::document)),
    get("public.feed", "/status/{address}/history.atom", Request(&feed::feed)),
    get("public.badge", "/status/{address}/badges/{badge}", Request(&badge::badge)),
    get("public.component-badge", "/status/{address}/components/{component}/badges/{badge}", Request(&badge::component_badge)),
];

const fn get(name: &'static str, path: &'static str, endpoint: Endpoint) -> PublicPage {
    PublicPage { name, method: "GET", path, audience: (), endpoint, function: PublicFunction::Read }
}

/// The route that a request is for, if its path is [canonical](canonical_path).
pub fn find_public(head: &Parts) -> Option<RouteMatch<'static, StatusPages>> {
    find_with_head(PUBLIC_PAGES, head).filter(|_| canonical_path(head.uri.path()).is_none())
}

/// The canonical spelling of a path below `/status/`, if the path is another one: the page's address is in lowercase
/// and not percent-encoded, and no segment is empty.
fn canonical_path(path: &str) -> Option<String> {
    let below = path.strip_prefix(BELOW_STATUS)?;
    let mut segments = below.split('/').filter(|segment| !segment.is_empty());
    let address = PathParameters::read("{address}", segments.next()?)?;
    let address = PageAddress::parse(&address.value("address").to_ascii_lowercase())?;
    let canonical = segments
        .fold(link::status_page("", &address), |canonical, segment| canonical + "/" + segment);
    (canonical != path).then_some(canonical)
}
