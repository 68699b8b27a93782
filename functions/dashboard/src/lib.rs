//! The dashboard: pages for browsers, rendered completely on the server. They load nothing from elsewhere, and work
//! without the one script, which shows local times and refreshes pages.
//!
//! [`PAGES`] is the table of pages. Three Lambda functions serve them: one shows pages, one handles forms, and one
//! handles the forms that write users and tokens. [`PUBLIC_PAGES`] is the table of status pages, which a function of its
//! own serves to readers. On one machine, a single process serves all of them and the API's routes.

mod assets;
mod audit_log;
mod channels;
mod chart;
mod checks;
mod clock;
mod cross_origin;
mod events;
mod form;
mod grants;
mod heartbeats;
mod issues;
mod layout;
mod look;
mod maintenance;
mod members;
mod names;
mod objectives;
mod oidc;
mod outages;
mod pages;
mod paging;
mod plan;
mod public;
mod reports;
mod request_context;
mod session;
mod settings;
mod setup;
mod setup_link;
mod sign_in;
mod site_groups;
mod sites;
mod status_pages;
mod subscriptions;
mod surface;
mod team_reports;
mod time_zone;
mod tokens;
mod user_time_zone;
mod words;

use self::request_context::RequestContext;

pub use self::grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};
pub use self::oidc::{Provider, ProviderConfig};
pub use self::pages::{PAGES, SETUP_PAGES, find_page};
pub use self::public::{
    BELOW_STATUS, PUBLIC_PAGES, PublicFunction, PublicPage, StatusPages, find_public, not_published,
};
pub use self::request_context::Dashboard;
pub use self::surface::{Audience, Function, Page, is_for_people, misdirected, not_found};

#[cfg(test)]
mod tests {
    use lambda_http::http::request::Parts;
    use lambda_http::http::{Method, Request, Uri};

    use super::*;

    fn head(method: &str, path: &str) -> Parts {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).expect("a method");
        head.uri = Uri::builder().path_and_query(path).build().expect("a path");
        head
    }

    #[test]
    fn a_page_is_named_after_its_module_and_its_handler() {
        for page in PAGES.iter().chain(SETUP_PAGES) {
            let handler = page.endpoint.handler().expect("a handler");
            let parts: Vec<&str> = handler.split("::").collect();
            let name = format!("{}.{}", parts[1], parts[parts.len() - 1]).replace('_', "-");
            assert_eq!(page.name, name, "{handler}");
            let pages = PAGES.iter().chain(SETUP_PAGES);
            let same = pages.filter(|other| other.name == page.name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }

    #[test]
    fn a_page_is_found_by_its_method_and_path_alone() {
        for page in PAGES {
            if page.path == "/" {
                continue;
            }
            let path = page.path.replace(['{', '}'], "");
            let found =
                find_page(PAGES, &head(page.method, &format!("{path}?key=x"))).expect("a page");
            assert_eq!((found.route.method, found.route.path), (page.method, page.path));
            for (method, path) in [(page.method, format!("{path}/")), ("PUT", path)] {
                assert!(find_page(PAGES, &head(method, &path)).is_none(), "{method} {path}");
            }
        }
        for path in ["/index.html", "/channels/a/b", "/issues/", "/api/v1/issues/a"] {
            assert!(find_page(PAGES, &head("GET", path)).is_none(), "{path}");
        }
    }
}
