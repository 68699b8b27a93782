//! The service's pages for browsers, each of them rendered here whole, and nothing from elsewhere. All work
//! without the one script, which makes times local and pages fresh.
//!
//! [`PAGES`] is the table of pages. Three Lambda functions serve them: one what is shown, one what forms
//! do, and one what those do that write users and tokens. One machine's process serves all of them beside the API's routes.

mod assets;
mod audit_log;
mod channels;
mod chart;
mod checks;
mod cross_origin;
mod events;
mod form;
mod grants;
mod issues;
mod layout;
mod members;
mod oidc;
mod plan;
mod reports;
mod serve;
mod session;
mod settings;
mod sign_in;
mod sites;
mod tokens;

use futures::future::BoxFuture;
use lambda_http::http::request::Parts;
use vedette_domain::alert::link;
use vedette_http::error::ApiError;
use vedette_http::path::parameters;
use vedette_http::response::Response;
use vedette_store::Grant;

use self::serve::{Visit, account_error};

pub use self::grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};
pub use self::oidc::{Provider, ProviderConfig};
pub use self::serve::{Dashboard, misdirected, not_found};

/// All pages. GET shows one and changes nothing, since mail scanners follow links; POST acts. Only the answer
/// of an OpenID provider comes by GET and signs in, but in no browser that has not asked for it.
pub const PAGES: &[Page] = &[
    page("GET", link::CONFIRM, For::Linked, |visit| Box::pin(channels::ask_to_confirm(visit))),
    page("POST", link::CONFIRM, For::Linked, |visit| Box::pin(channels::confirm(visit))),
    page("GET", link::UNSUBSCRIBE, For::Linked, |visit| {
        Box::pin(channels::ask_to_unsubscribe(visit))
    }),
    page("POST", link::UNSUBSCRIBE, For::Linked, |visit| Box::pin(channels::unsubscribe(visit))),
    page("GET", "/assets/{asset}", For::Linked, |visit| Box::pin(assets::show(visit))),
    page("GET", link::SIGN_IN, For::Anybody, |visit| Box::pin(sign_in::explain(visit))),
    account_form(link::SIGN_IN, For::Anybody, |visit| Box::pin(sign_in::mail(visit))),
    page("GET", link::SIGN_IN_LINK, For::Anybody, |visit| Box::pin(sign_in::ask(visit))),
    account_form(link::SIGN_IN_LINK, For::Anybody, |visit| Box::pin(sign_in::confirm(visit))),
    provider_page(link::SIGN_IN_WITH_PROVIDER, |visit| Box::pin(oidc::begin(visit))),
    provider_page(link::PROVIDER_ANSWER, |visit| Box::pin(oidc::answer(visit))),
    page("POST", "/sign-out", For::Member, |visit| Box::pin(sign_in::out(visit))),
    page("GET", "/sessions", For::Member, |visit| Box::pin(sign_in::sessions(visit))),
    page("POST", "/sessions/{session}/end", For::Member, |visit| Box::pin(sign_in::end(visit))),
    page("GET", "/", For::Member, |visit| Box::pin(sites::list::home(visit))),
    page("GET", "/teams/{team}", For::Member, |visit| Box::pin(sites::list::team(visit))),
    page("GET", link::EVENTS, For::Member, |visit| Box::pin(events::show(visit))),
    page("GET", "/teams/{team}/sites/new", For::Member, |visit| Box::pin(sites::new::ask(visit))),
    page("POST", "/teams/{team}/sites", For::Member, |visit| Box::pin(sites::new::add(visit))),
    page("GET", "/teams/{team}/settings", For::Member, |visit| {
        Box::pin(settings::show::show(visit))
    }),
    page("POST", "/teams/{team}/settings/{section}", For::Member, |visit| {
        Box::pin(settings::update::update(visit))
    }),
    page("GET", link::CHANNELS, For::Member, |visit| Box::pin(channels::list::list(visit))),
    page("POST", link::CHANNELS, For::Member, |visit| Box::pin(channels::add::add(visit))),
    page("POST", "/teams/{team}/channels/{channel}/test", For::Member, |visit| {
        Box::pin(channels::change::test(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/enable", For::Member, |visit| {
        Box::pin(channels::change::enable(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/disable", For::Member, |visit| {
        Box::pin(channels::change::disable(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/resend", For::Member, |visit| {
        Box::pin(channels::change::resend(visit))
    }),
    page("POST", "/teams/{team}/channels/{channel}/remove", For::Member, |visit| {
        Box::pin(channels::change::remove(visit))
    }),
    page("GET", "/teams/{team}/members", For::Member, |visit| Box::pin(members::list::list(visit))),
    account_form("/teams/{team}/members", For::Member, |visit| Box::pin(members::add::add(visit))),
    account_form("/teams/{team}/members/{user}/role", For::Member, |visit| {
        Box::pin(members::change::role(visit))
    }),
    account_form("/teams/{team}/members/{user}/remove", For::Member, |visit| {
        Box::pin(members::change::remove(visit))
    }),
    account_form("/teams/{team}/invitations/{invitation}/mail", For::Member, |visit| {
        Box::pin(members::change::mail(visit))
    }),
    account_form("/teams/{team}/invitations/{invitation}/withdraw", For::Member, |visit| {
        Box::pin(members::change::withdraw(visit))
    }),
    account_form("/teams/{team}/invitations/{invitation}/renew", For::Member, |visit| {
        Box::pin(members::add::renew(visit))
    }),
    page("GET", link::INVITATION, For::Anybody, |visit| Box::pin(members::join::ask(visit))),
    account_form(link::INVITATION, For::Anybody, |visit| Box::pin(members::join::accept(visit))),
    account_form(link::DECLINED_INVITATION, For::Anybody, |visit| {
        Box::pin(members::join::decline(visit))
    }),
    page("GET", "/teams/{team}/audit-log", For::Member, |visit| Box::pin(audit_log::show(visit))),
    page("GET", "/teams/{team}/plan", For::Member, |visit| Box::pin(plan::show(visit))),
    page("GET", "/tokens", For::Member, |visit| Box::pin(tokens::list(visit))),
    account_form("/tokens", For::Member, |visit| Box::pin(tokens::create(visit))),
    account_form("/tokens/{token}/revoke", For::Member, |visit| Box::pin(tokens::revoke(visit))),
    page("GET", "/sites/{site}", For::Member, |visit| Box::pin(sites::show::show(visit))),
    page("GET", "/sites/{site}/checks", For::Member, |visit| Box::pin(checks::list::show(visit))),
    page("GET", "/checks/{check}", For::Member, |visit| Box::pin(checks::show::show(visit))),
    check_run("/sites/{site}/checks", |visit| Box::pin(sites::show::run(visit))),
    page("GET", "/sites/{site}/report", For::Member, |visit| Box::pin(reports::show(visit))),
    page("GET", "/sites/{site}/report.csv", For::Member, |visit| Box::pin(reports::csv(visit))),
    page("GET", "/sites/{site}/edit", For::Member, |visit| Box::pin(sites::edit::ask(visit))),
    page("POST", "/sites/{site}/edit", For::Member, |visit| Box::pin(sites::edit::save(visit))),
    page("POST", "/sites/{site}/pause", For::Member, |visit| Box::pin(sites::edit::pause(visit))),
    page("POST", "/sites/{site}/resume", For::Member, |visit| Box::pin(sites::edit::resume(visit))),
    page("GET", "/sites/{site}/delete", For::Member, |visit| Box::pin(sites::delete::ask(visit))),
    page("POST", "/sites/{site}/delete", For::Member, |visit| {
        Box::pin(sites::delete::delete(visit))
    }),
    page("GET", link::ISSUE, For::Anybody, |visit| Box::pin(issues::show(visit))),
    page("POST", "/issues/{issue}/acknowledge", For::Member, |visit| {
        Box::pin(issues::acknowledge(visit))
    }),
    page("POST", "/issues/{issue}/resolve", For::Member, |visit| Box::pin(issues::resolve(visit))),
    page("POST", "/issues/{issue}/snooze", For::Member, |visit| Box::pin(issues::snooze(visit))),
    page("POST", "/issues/{issue}/note", For::Member, |visit| Box::pin(issues::note(visit))),
];

/// A page, or what its form does.
#[derive(Debug)]
pub struct Page {
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    audience: For,
    /// Whether it writes users, members or tokens, lets somebody in, or asks the OpenID provider.
    writes_accounts: bool,
    /// Whether it counts among the runs of checks, which a user may order so many of in a minute.
    runs_checks: bool,
    handler: Handler,
}

/// Whom a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    /// Who has the link, be it a mail program. Nobody is signed in, and the body is not looked at.
    Linked,
    /// Whoever has a browser, signed in or not.
    Anybody,
    /// Who is signed in.
    Member,
}

type Handler = for<'a> fn(Visit<'a>) -> BoxFuture<'a, Result<Response, ApiError>>;

const fn page(method: &'static str, path: &'static str, audience: For, handler: Handler) -> Page {
    Page { method, path, audience, writes_accounts: false, runs_checks: false, handler }
}

/// What a form does that writes users, members or tokens: one function alone may.
const fn account_form(path: &'static str, audience: For, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("POST", path, audience, handler) }
}

/// What a form does that orders checks.
const fn check_run(path: &'static str, handler: Handler) -> Page {
    Page { runs_checks: true, ..page("POST", path, For::Member, handler) }
}

/// What asks the OpenID provider. That knows who has an address, which is written with the user; and no other
/// function knows the secret by which the provider knows this service.
const fn provider_page(path: &'static str, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("GET", path, For::Anybody, handler) }
}

impl Page {
    /// The `Handler` of the Lambda function that serves the page.
    pub fn function(&self) -> &'static str {
        match self.method {
            _ if self.writes_accounts => ACCOUNTS,
            "GET" => READ,
            _ => WRITE,
        }
    }

    /// What serving it may do with the table.
    pub fn grant(&self) -> &'static Grant {
        match self.method {
            _ if self.writes_accounts => &ACCOUNTS_GRANT,
            "GET" => &READ_GRANT,
            _ => &WRITE_GRANT,
        }
    }
}

/// The `Handler` of the Lambda function that shows pages.
pub const READ: &str = "pages.read";
/// The `Handler` of the Lambda function that does what forms ask for.
pub const WRITE: &str = "pages.write";
/// The `Handler` of the Lambda function that does what forms ask for that write users, members or
/// tokens, and asks the OpenID provider.
pub const ACCOUNTS: &str = "pages.accounts";

/// The page that a request is for, by its method and path; none where it is for no page.
pub fn find(head: &Parts) -> Option<&'static Page> {
    let path = head.uri.path();
    let mut pages = PAGES.iter().filter(|page| page.method == head.method.as_str());
    pages.find(|page| parameters(page.path, path).is_some())
}

#[cfg(test)]
mod tests {
    use lambda_http::http::{Method, Request, Uri};

    use super::*;

    fn head(method: &str, path: &str) -> Parts {
        let (mut head, ()) = Request::new(()).into_parts();
        head.method = Method::from_bytes(method.as_bytes()).expect("a method");
        head.uri = Uri::builder().path_and_query(path).build().expect("a path");
        head
    }

    #[test]
    fn a_page_is_found_by_its_method_and_path_alone() {
        for page in PAGES {
            if page.path == "/" {
                continue;
            }
            let path = page.path.replace(['{', '}'], "");
            let found = find(&head(page.method, &format!("{path}?key=x"))).expect("a page");
            assert_eq!((found.method, found.path), (page.method, page.path));
            for (method, path) in [(page.method, format!("{path}/")), ("PUT", path)] {
                assert!(find(&head(method, &path)).is_none(), "{method} {path}");
            }
        }
        for path in ["/index.html", "/channels/a/b", "/issues/", "/api/v1/issues/a"] {
            assert!(find(&head("GET", path)).is_none(), "{path}");
        }
    }
}
