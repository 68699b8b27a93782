//! What the handlers of pages work with.

use std::sync::OnceLock;

use lambda_http::http::request::Parts;
use tracing::warn;
use vedette_domain::accounts::team::Team;
use vedette_domain::source::Source;
use vedette_http::error::ApiError;
use vedette_http::path::PathParameters;
use vedette_http::source::source;
use vedette_ops::ErrorChain;
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_runtime::App;

use crate::Provider;
use crate::clock::Clock;
use crate::session::SignedIn;
use crate::sites::budgets::GroupBudgets;
use crate::sites::directories::Directories;

/// During an outage, pages are refreshed after this many seconds if requests cost nothing.
const URGENT_SECONDS: u16 = 5;
/// The same if each request is paid for.
const URGENT_SECONDS_PAID: u16 = 15;

/// What the pages of a process have besides the service itself.
#[derive(Debug)]
pub struct Dashboard {
    /// The OpenID provider, if there is one and this process talks to it.
    pub(crate) provider: Option<Provider>,
    pub(crate) directories: Directories,
    pub(crate) budgets: GroupBudgets,
    /// What this process may reach of the addresses that people type; `None` if nothing.
    outbound: Option<Outbound>,
    guard: OnceLock<Option<SsrfGuard>>,
    /// Whether the sites and their history are made up. If so, every page says it.
    pub(crate) is_demo: bool,
    /// After how many seconds pages are refreshed during an outage and while they wait for first checks.
    pub(crate) urgent: u16,
}

impl Default for Dashboard {
    fn default() -> Self {
        Self {
            provider: None,
            directories: Directories::default(),
            budgets: GroupBudgets::default(),
            outbound: None,
            guard: OnceLock::new(),
            is_demo: false,
            urgent: URGENT_SECONDS_PAID,
        }
    }
}

impl Dashboard {
    /// The pages, with the provider where people can sign in.
    pub fn new(provider: Option<Provider>) -> Self {
        Self { provider, ..Self::default() }
    }

    /// The same pages, which may connect to the addresses that people type, as far as `outbound` allows.
    #[must_use]
    pub fn reaching(self, outbound: Outbound) -> Self {
        Self { outbound: Some(outbound), ..self }
    }

    /// The guard for these addresses. It is created when it is first needed, because that takes a while.
    pub(crate) fn guard(&self) -> Option<&SsrfGuard> {
        let guard = self.guard.get_or_init(|| {
            let made = self.outbound.clone().map(SsrfGuard::new)?;
            made.inspect_err(|error| warn!(error = %ErrorChain(error), "no scheme is tried")).ok()
        });
        guard.as_ref()
    }

    /// The same pages, served by a process on one machine, where requests cost nothing.
    #[must_use]
    pub fn on_one_machine(self) -> Self {
        Self { urgent: URGENT_SECONDS, ..self }
    }

    /// The same pages, which say that the sites and their history are made up.
    #[must_use]
    pub fn of_demo(self) -> Self {
        Self { is_demo: true, ..self }
    }
}

/// What a handler works with.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    pub(crate) app: &'a App,
    pub(crate) dashboard: &'a Dashboard,
    pub(crate) head: &'a Parts,
    /// The values in the path.
    pub(crate) parameters: &'a PathParameters,
    pub(crate) signed_in: Option<&'a SignedIn>,
    /// The form's fields as they were sent.
    pub(crate) body: &'a [u8],
}

impl<'a> RequestContext<'a> {
    /// Where the request comes from.
    pub(crate) fn source(&self) -> Source {
        source(self.head, &self.app.service.trusted_proxies)
    }

    /// The clock of the reader, on a page of a team if there is one.
    pub(crate) fn clock<'b>(&self, team: Option<&'b Team>) -> Clock<'b>
    where
        'a: 'b,
    {
        let caller = self.signed_in.map(|signed_in| &signed_in.caller);
        let now = caller.map_or_else(|| self.app.clock.now(), |caller| caller.now);
        Clock::new(now, caller.map(|caller| &caller.user), team)
    }

    /// The signed-in user.
    pub(crate) fn member(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or(ApiError::Unauthenticated("Nobody is signed in."))
    }
}
