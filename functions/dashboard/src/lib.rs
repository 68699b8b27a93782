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
use vedette_domain::alerts::link;
use vedette_http::error::ApiError;
use vedette_http::path::parameters;
use vedette_http::response::Response;
use vedette_store::Grant;

use self::serve::RequestContext;

pub use self::grants::{ACCOUNTS_GRANT, READ_GRANT, WRITE_GRANT};
pub use self::oidc::{Provider, ProviderConfig};
pub use self::serve::{Dashboard, misdirected, not_found};

/// All pages. GET shows one and changes nothing, since mail scanners follow links; POST acts. Only the answer
/// of an OpenID provider comes by GET and signs in, but in no browser that has not asked for it.
pub const PAGES: &[Page] = &[
    page("GET", link::CONFIRM, Audience::Linked, |context| {
        Box::pin(channels::ask_to_confirm(context))
    }),
    page("POST", link::CONFIRM, Audience::Linked, |context| Box::pin(channels::confirm(context))),
    page("GET", link::UNSUBSCRIBE, Audience::Linked, |context| {
        Box::pin(channels::ask_to_unsubscribe(context))
    }),
    page("POST", link::UNSUBSCRIBE, Audience::Linked, |context| {
        Box::pin(channels::unsubscribe(context))
    }),
    page("GET", "/assets/{asset}", Audience::Linked, |context| Box::pin(assets::show(context))),
    page("GET", link::SIGN_IN, Audience::Anybody, |context| Box::pin(sign_in::explain(context))),
    account_form(link::SIGN_IN, Audience::Anybody, |context| Box::pin(sign_in::mail(context))),
    page("GET", link::SIGN_IN_LINK, Audience::Anybody, |context| Box::pin(sign_in::ask(context))),
    account_form(link::SIGN_IN_LINK, Audience::Anybody, |context| {
        Box::pin(sign_in::confirm(context))
    }),
    provider_page(link::SIGN_IN_WITH_PROVIDER, |context| Box::pin(oidc::begin(context))),
    provider_page(link::PROVIDER_ANSWER, |context| Box::pin(oidc::answer(context))),
    page("POST", "/sign-out", Audience::Member, |context| Box::pin(sign_in::out(context))),
    page("GET", "/sessions", Audience::Member, |context| Box::pin(sign_in::sessions(context))),
    page("POST", "/sessions/{session}/end", Audience::Member, |context| {
        Box::pin(sign_in::end(context))
    }),
    page("GET", "/", Audience::Member, |context| Box::pin(sites::list::home(context))),
    page("GET", "/teams/{team}", Audience::Member, |context| Box::pin(sites::list::team(context))),
    page("GET", link::EVENTS, Audience::Member, |context| Box::pin(events::show(context))),
    page("GET", "/teams/{team}/sites/new", Audience::Member, |context| {
        Box::pin(sites::new::ask(context))
    }),
    page("POST", "/teams/{team}/sites", Audience::Member, |context| {
        Box::pin(sites::new::add(context))
    }),
    page("GET", "/teams/{team}/settings", Audience::Member, |context| {
        Box::pin(settings::show::show(context))
    }),
    page("POST", "/teams/{team}/settings/{section}", Audience::Member, |context| {
        Box::pin(settings::update::update(context))
    }),
    page("GET", link::CHANNELS, Audience::Member, |context| {
        Box::pin(channels::list::list(context))
    }),
    page("POST", link::CHANNELS, Audience::Member, |context| Box::pin(channels::add::add(context))),
    page("POST", "/teams/{team}/channels/{channel}/test", Audience::Member, |context| {
        Box::pin(channels::change::test(context))
    }),
    page("POST", "/teams/{team}/channels/{channel}/enable", Audience::Member, |context| {
        Box::pin(channels::change::enable(context))
    }),
    page("POST", "/teams/{team}/channels/{channel}/disable", Audience::Member, |context| {
        Box::pin(channels::change::disable(context))
    }),
    page("POST", "/teams/{team}/channels/{channel}/resend", Audience::Member, |context| {
        Box::pin(channels::change::resend(context))
    }),
    page("POST", "/teams/{team}/channels/{channel}/remove", Audience::Member, |context| {
        Box::pin(channels::change::remove(context))
    }),
    page("GET", "/teams/{team}/members", Audience::Member, |context| {
        Box::pin(members::list::list(context))
    }),
    account_form("/teams/{team}/members", Audience::Member, |context| {
        Box::pin(members::add::add(context))
    }),
    account_form("/teams/{team}/members/{user}/role", Audience::Member, |context| {
        Box::pin(members::change::role(context))
    }),
    account_form("/teams/{team}/members/{user}/remove", Audience::Member, |context| {
        Box::pin(members::change::remove(context))
    }),
    account_form("/teams/{team}/invitations/{invitation}/mail", Audience::Member, |context| {
        Box::pin(members::change::mail(context))
    }),
    account_form("/teams/{team}/invitations/{invitation}/withdraw", Audience::Member, |context| {
        Box::pin(members::change::withdraw(context))
    }),
    account_form("/teams/{team}/invitations/{invitation}/renew", Audience::Member, |context| {
        Box::pin(members::add::renew(context))
    }),
    page("GET", link::INVITATION, Audience::Anybody, |context| {
        Box::pin(members::join::ask(context))
    }),
    account_form(link::INVITATION, Audience::Anybody, |context| {
        Box::pin(members::join::accept(context))
    }),
    account_form(link::DECLINED_INVITATION, Audience::Anybody, |context| {
        Box::pin(members::join::decline(context))
    }),
    page("GET", "/teams/{team}/audit-log", Audience::Member, |context| {
        Box::pin(audit_log::show(context))
    }),
    page("GET", "/teams/{team}/plan", Audience::Member, |context| Box::pin(plan::show(context))),
    page("GET", "/tokens", Audience::Member, |context| Box::pin(tokens::list(context))),
    account_form("/tokens", Audience::Member, |context| Box::pin(tokens::create(context))),
    account_form("/tokens/{token}/revoke", Audience::Member, |context| {
        Box::pin(tokens::revoke(context))
    }),
    page("GET", "/sites/{site}", Audience::Member, |context| Box::pin(sites::show::show(context))),
    page("GET", "/sites/{site}/checks", Audience::Member, |context| {
        Box::pin(checks::list::show(context))
    }),
    page("GET", "/checks/{check}", Audience::Member, |context| {
        Box::pin(checks::show::show(context))
    }),
    check_run("/sites/{site}/checks", |context| Box::pin(sites::show::run(context))),
    page("GET", "/sites/{site}/report", Audience::Member, |context| {
        Box::pin(reports::show(context))
    }),
    page("GET", "/sites/{site}/report.csv", Audience::Member, |context| {
        Box::pin(reports::csv(context))
    }),
    page("GET", "/sites/{site}/edit", Audience::Member, |context| {
        Box::pin(sites::edit::ask(context))
    }),
    page("POST", "/sites/{site}/edit", Audience::Member, |context| {
        Box::pin(sites::edit::save(context))
    }),
    page("POST", "/sites/{site}/pause", Audience::Member, |context| {
        Box::pin(sites::edit::pause(context))
    }),
    page("POST", "/sites/{site}/resume", Audience::Member, |context| {
        Box::pin(sites::edit::resume(context))
    }),
    page("GET", "/sites/{site}/delete", Audience::Member, |context| {
        Box::pin(sites::delete::ask(context))
    }),
    page("POST", "/sites/{site}/delete", Audience::Member, |context| {
        Box::pin(sites::delete::delete(context))
    }),
    page("GET", link::ISSUE, Audience::Anybody, |context| Box::pin(issues::show(context))),
    page("POST", "/issues/{issue}/acknowledge", Audience::Member, |context| {
        Box::pin(issues::acknowledge(context))
    }),
    page("POST", "/issues/{issue}/resolve", Audience::Member, |context| {
        Box::pin(issues::resolve(context))
    }),
    page("POST", "/issues/{issue}/snooze", Audience::Member, |context| {
        Box::pin(issues::snooze(context))
    }),
    page("POST", "/issues/{issue}/note", Audience::Member, |context| {
        Box::pin(issues::note(context))
    }),
];

/// A page, or what its form does.
#[derive(Debug)]
pub struct Page {
    /// HTTP method.
    pub method: &'static str,
    /// Path with `{parameters}`, from the root.
    pub path: &'static str,
    audience: Audience,
    /// Whether it writes users, members or tokens, lets somebody in, or asks the OpenID provider.
    writes_accounts: bool,
    /// Whether it counts among the runs of checks, which a user may order so many of in a minute.
    runs_checks: bool,
    handler: Handler,
}

/// Whom a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Who has the link, be it a mail program. Nobody is signed in, and the body is not looked at.
    Linked,
    /// Whoever has a browser, signed in or not.
    Anybody,
    /// Who is signed in.
    Member,
}

type Handler = for<'a> fn(RequestContext<'a>) -> BoxFuture<'a, Result<Response, ApiError>>;

const fn page(
    method: &'static str,
    path: &'static str,
    audience: Audience,
    handler: Handler,
) -> Page {
    Page { method, path, audience, writes_accounts: false, runs_checks: false, handler }
}

/// What a form does that writes users, members or tokens: one function alone may.
const fn account_form(path: &'static str, audience: Audience, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("POST", path, audience, handler) }
}

/// What a form does that orders checks.
const fn check_run(path: &'static str, handler: Handler) -> Page {
    Page { runs_checks: true, ..page("POST", path, Audience::Member, handler) }
}

/// What asks the OpenID provider. That knows who has an address, which is written with the user; and no other
/// function knows the secret by which the provider knows this service.
const fn provider_page(path: &'static str, handler: Handler) -> Page {
    Page { writes_accounts: true, ..page("GET", path, Audience::Anybody, handler) }
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
