//! What all pages share: their frame, and headers that allow a browser only to show them and to send their forms.

use lambda_http::Body;
use lambda_http::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use lambda_http::http::{HeaderValue, Method, StatusCode};
use maud::{DOCTYPE, Markup, html};
use vedette_domain::accounts::team::Team;
use vedette_domain::configuration::ManagedBy;
use vedette_domain::id::TeamId;
use vedette_domain::time;
use vedette_http::access::Caller;
use vedette_http::error::{ApiError, UNAVAILABLE_FOR};
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_store::Attention;

use crate::clock::Clock;
use crate::look::{Icon, Look, TabState};
use crate::{RequestContext, assets, look};

/// The address of the form with which a user creates a team.
pub(crate) const NEW_TEAM: &str = "/new-team";

/// Nothing is loaded from elsewhere, only our own script runs, and forms lead only to this service.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The script refreshes a page after this many seconds, unless the state of its sites changes soon.
const REFRESH_SECONDS: u16 = 30;

/// The title of a page, and what is shown around it.
pub(crate) struct Heading {
    title: String,
    /// Links to the pages above this one, each with its path.
    crumbs: Vec<(String, String)>,
    /// The state next to the title.
    state: Markup,
    /// The text below it.
    lead: Markup,
    /// The actions.
    actions: Markup,
    /// The title in the browser's tab, if it is another one.
    tab_title: Option<String>,
    /// The state of the sites that the page is about; otherwise, it is that of the team.
    about: Option<TabState>,
    /// Whether these are only some of the team's sites.
    is_about_some: bool,
    /// What the frame says about the team, if the page has read it itself.
    attention: Option<Attention>,
    /// Whether the page waits for first checks.
    is_awaited: bool,
    /// Whether the content contains the title itself.
    is_within: bool,
}

impl Heading {
    /// A title above the content.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        let [state, lead, actions] = [(); 3].map(|()| Markup::default());
        Self {
            title: title.into(),
            crumbs: Vec::new(),
            state,
            lead,
            actions,
            tab_title: None,
            about: None,
            is_about_some: false,
            attention: None,
            is_awaited: false,
            is_within: false,
        }
    }

    /// A title that the content contains itself.
    pub(crate) fn within(title: impl Into<String>) -> Self {
        Self { is_within: true, ..Self::new(title) }
    }

    /// Adds a link to the page above.
    pub(crate) fn below(mut self, address: String, name: &str) -> Self {
        self.crumbs.push((address, name.to_owned()));
        self
    }

    pub(crate) fn state(self, state: Markup) -> Self {
        Self { state, ..self }
    }

    pub(crate) fn lead(self, lead: Markup) -> Self {
        Self { lead, ..self }
    }

    pub(crate) fn actions(self, actions: Markup) -> Self {
        Self { actions, ..self }
    }

    /// The title in the browser's tab, which also says the state.
    pub(crate) fn titled(self, title: String) -> Self {
        Self { tab_title: Some(title), ..self }
    }

    /// The state of the sites that the page is about. While they are down or failing, the page is refreshed often.
    pub(crate) fn about(self, state: TabState) -> Self {
        Self { about: Some(state), ..self }
    }

    /// The state of the site that the page is about. The mark in the header shows that of the team.
    pub(crate) fn about_one(self, state: TabState) -> Self {
        Self { is_about_some: true, ..self.about(state) }
    }

    /// What the frame says about the team, on a page for [`Audience::Overview`](crate::surface::Audience::Overview).
    pub(crate) fn framed(self, attention: Attention) -> Self {
        Self { attention: Some(attention), ..self }
    }

    /// Whether first checks of these sites are still awaited. If so, the page is refreshed often.
    pub(crate) fn awaiting(self, is_awaited: bool) -> Self {
        Self { is_awaited, ..self }
    }

    /// Whether what the page shows changes soon.
    fn is_urgent(&self) -> bool {
        self.is_awaited || matches!(self.about, Some(TabState::Down | TabState::Failing))
    }

    fn shown(&self) -> Markup {
        let has_state = !self.state.0.is_empty();
        html! {
            @if !self.crumbs.is_empty() || !self.is_within {
                div {
                    @if !self.crumbs.is_empty() { (self.crumbs()) }
                    @if !self.is_within {
                        div.title {
                            div {
                                @if has_state { div.row.gm { h1 { (self.title) } (self.state) } }
                                @else { h1 { (self.title) } }
                                (self.lead)
                            }
                            @if !self.actions.0.is_empty() { div.row.screen { (self.actions) } }
                        }
                    }
                }
            }
        }
    }

    fn crumbs(&self) -> Markup {
        html! {
            nav class={ "crumbs" @if self.is_within { " tight" } } aria-label="Breadcrumb" {
                @for (place, (address, name)) in self.crumbs.iter().enumerate() {
                    @if place > 0 { span aria-hidden="true" { "/" } }
                    a.cut href=(address) { bdi { (name) } }
                }
            }
        }
    }
}

impl From<&str> for Heading {
    fn from(title: &str) -> Self {
        Self::new(title)
    }
}

impl From<String> for Heading {
    fn from(title: String) -> Self {
        Self::new(title)
    }
}

/// A page for anybody, with one heading and no navigation.
pub(crate) fn page(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    let body = lone(title, &degraded(context, context.clock(None)), content);
    framed(status, (title, TabState::Unknown), None, &body)
}

/// An entry in a team's navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavTab {
    Sites,
    Heartbeats,
    Issues,
    Events,
    Reports,
    StatusPages,
    Channels,
    Settings,
    Members,
    Plan,
    AuditLog,
}

impl NavTab {
    /// The tabs below the app bar. The other entries are next to the settings.
    const TABS: [Self; 8] = [
        Self::Sites,
        Self::Heartbeats,
        Self::Issues,
        Self::Events,
        Self::Reports,
        Self::StatusPages,
        Self::Channels,
        Self::Settings,
    ];

    const fn word(self) -> &'static str {
        match self {
            Self::Sites => "Sites",
            Self::Heartbeats => "Heartbeats",
            Self::Issues => "Issues",
            Self::Events => "Events",
            Self::Reports => "Reports",
            Self::Settings => "Settings",
            Self::StatusPages => "Status pages",
            Self::Channels => "Channels",
            Self::Members => "Members",
            Self::Plan => "Plan",
            Self::AuditLog => "Audit log",
        }
    }

    fn path(self, team: TeamId) -> String {
        match self {
            Self::Sites => format!("/teams/{team}"),
            Self::Heartbeats => format!("/teams/{team}/heartbeats"),
            Self::Issues => format!("/teams/{team}/issues"),
            Self::Events => format!("/teams/{team}/events"),
            Self::Reports => format!("/teams/{team}/reports"),
            Self::Settings => format!("/teams/{team}/settings"),
            Self::StatusPages => format!("/teams/{team}/status-pages"),
            Self::Channels => format!("/teams/{team}/channels"),
            Self::Members => format!("/teams/{team}/members"),
            Self::Plan => format!("/teams/{team}/plan"),
            Self::AuditLog => format!("/teams/{team}/audit-log"),
        }
    }

    /// The tab that contains it.
    const fn tab(self) -> Self {
        match self {
            Self::Members | Self::Plan | Self::AuditLog => Self::Settings,
            tab => tab,
        }
    }
}

/// A page of a team, with links to the team's other pages.
pub(crate) fn team_page(
    context: RequestContext<'_>,
    (team, here): (&Team, NavTab),
    status: StatusCode,
    heading: impl Into<Heading>,
    content: &Markup,
) -> Response {
    let heading = heading.into();
    let read = || context.signed_in?.attention.get(&team.id).copied();
    let attention = heading.attention.or_else(read);
    let tabs = html! {
        nav.tabs aria-label="Team" {
            @for tab in NavTab::TABS {
                a href=(tab.path(team.id)) aria-current=[(tab == here.tab()).then_some("page")] {
                    (tab.word())
                    @if tab == NavTab::Issues { (unacknowledged(attention.as_ref())) }
                }
            }
        }
    };
    let heading = Heading { attention, ..heading };
    member_page(context, Some((team, &tabs)), status, &heading, content)
}

/// The number of critical issues that nobody has acknowledged, if there are any. The script updates it.
fn unacknowledged(attention: Option<&Attention>) -> Markup {
    let count = attention.map_or(0, |attention| attention.unacknowledged);
    html! {
        span #unacknowledged {
            @if count > 0 {
                b {
                    @if count > Attention::COUNTED { (Attention::COUNTED) "+" } @else { (count) }
                    span.hide { " critical and not acknowledged" }
                }
            }
        }
    }
}

/// A page with one heading, with links to the other pages if somebody is signed in.
pub(crate) fn own_page(
    context: RequestContext<'_>,
    status: StatusCode,
    heading: impl Into<Heading>,
    content: &Markup,
) -> Response {
    member_page(context, None, status, &heading.into(), content)
}

fn member_page(
    context: RequestContext<'_>,
    team: Option<(&Team, &Markup)>,
    status: StatusCode,
    heading: &Heading,
    content: &Markup,
) -> Response {
    let Some(signed_in) = context.signed_in else {
        return page(context, status, &heading.title, content);
    };
    let clock = context.clock(team.map(|(team, _)| team));
    // The answer to a form cannot be requested again.
    let is_live = status == StatusCode::OK && context.head.method != Method::POST;
    let every = if heading.is_urgent() { context.dashboard.urgent } else { REFRESH_SECONDS };
    let of_team =
        heading.attention.zip(team).map(|(of, (team, _))| TabState::of_team(of, team.sites));
    let state = heading.about.or(of_team).unwrap_or(TabState::Unknown);
    let mark = of_team.filter(|_| heading.is_about_some).unwrap_or(state);
    let body = html! {
        header.bar {
            div.wrap {
                div.top {
                    a.brand href="/" { (look::mark(28, mark)) span.wordmark { "Vedette" } span.hide { " home" } }
                    @if let Some((team, _)) = team { (team_menu(&signed_in.caller, team)) }
                    (user_menu(context, &signed_in.caller))
                }
                @if let Some((_, tabs)) = team { (tabs) }
            }
        }
        (degraded(context, clock))
        // The script refreshes the page after so many seconds, counts from the time at which it was made, and shows
        // this icon while the connection is lost.
        main #main data-live=[is_live.then_some(every)] data-now=(time::wire(clock.now))
            data-lost=[is_live.then(|| assets::icon(TabState::Unknown))] { div.wrap.stack { (heading.shown()) (content) } }
        // If nobody has chosen a time zone, the script replaces it with the browser's.
        footer.wrap.foot {
            p { "Times are in " span #zone data-chosen[clock.is_chosen] { (clock.zone) } "." }
        }
    };
    let title = heading.tab_title.as_deref().unwrap_or(&heading.title);
    framed(status, (title, state), team.map(|(team, _)| &*team.name), &body)
}

/// The team of the page. If the caller belongs to several, it links to the others.
fn team_menu(caller: &Caller, team: &Team) -> Markup {
    let face = html! { span.face.sq aria-hidden="true" { (initial(&team.name)) } };
    html! {
        span.slash aria-hidden="true" { "/" }
        @if caller.memberships.len() > 1 {
            details.menu {
                summary.plain { (face) span { (team.name) } (Icon::Unfold.shape()) }
                div.pop.left {
                    a href=(NavTab::Sites.path(team.id)) { (face) bdi.grow.cut { (team.name) } }
                    hr;
                    a href="/" { "All your teams" }
                }
            }
        } @else {
            a.plain href=(NavTab::Sites.path(team.id)) { (face) span.cut { (team.name) } }
        }
    }
}

fn user_menu(context: RequestContext<'_>, caller: &Caller) -> Markup {
    let user = &caller.user;
    html! {
        details.menu {
            summary.plain {
                span.face.l aria-hidden="true" { (initial(&user.name)) }
                span.who { (user.name) }
                (Icon::Unfold.shape())
            }
            div.pop {
                p.head.cut { (user.email) }
                hr;
                a href="/name" { (Icon::Edit.shape()) "Your name" }
                a href="/tokens" { (Icon::Key.shape()) "Personal tokens" }
                a href="/sessions" { (Icon::Lock.shape()) "Sessions" }
                a href="/time-zone" { (Icon::Clock.shape()) "Time zone" }
                @if context.app.service.creates_teams {
                    a href=(NEW_TEAM) { (Icon::Plus.shape()) "Create a team" }
                }
                hr;
                form method="post" action="/sign-out" { button { (Icon::Leave.shape()) "Sign out" } }
            }
        }
    }
}

/// One letter that stands for a name.
pub(crate) fn initial(name: &str) -> String {
    name.chars()
        .find(|letter| letter.is_alphanumeric())
        .map_or_else(String::new, |letter| letter.to_uppercase().collect())
}

/// What keeps the service from working, if anything does. Strangers do not see the details, which may name the
/// operator's files.
fn degraded(context: RequestContext<'_>, clock: Clock<'_>) -> Markup {
    let notices = context.app.health.notices();
    html! {
        // The script updates it.
        div #band {
            @if context.dashboard.is_demo {
                aside.band.info aria-label="Demo" {
                    div.wrap {
                        (Look::Info.shape())
                        p { b { "This is a demo." } " Its sites and their history are made up. Start without --demo to monitor your own sites." }
                    }
                }
            }
            @if !notices.is_empty() {
                aside.band.issues role="alert" aria-label="Service status" {
                    div.wrap {
                        (Look::Issues.shape())
                        div.grow {
                            @if context.signed_in.is_some() {
                                @for notice in notices {
                                    p {
                                        b { (notice.what) } " " (notice.remedy) " Since " (clock.instant(notice.since)) "."
                                    }
                                }
                            } @else {
                                p { b { "This service has a problem." } " What it shows may be out of date, and changes may not be saved." }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A page that belongs to no team.
fn lone(title: &str, degraded: &Markup, content: &Markup) -> Markup {
    html! {
        (degraded)
        main.lone #main { div.stack { (look::logo(40)) h1 { (title) } } (content) }
    }
}

/// A page as a document, with what the browser's tab shows. `extra` follows in its head.
pub(crate) fn document(
    (title, state): (&str, TabState),
    is_indexed: bool,
    extra: &Markup,
    body: &Markup,
) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                @if !is_indexed { meta name="robots" content="noindex"; }
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href=(assets::icon(state));
                link rel="stylesheet" href=(assets::style());
                (extra)
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (body)
            }
        }
    }
}

/// A page. The browser's tab shows its title and after it the team, if there is one.
fn framed(
    status: StatusCode,
    (title, state): (&str, TabState),
    team: Option<&str>,
    body: &Markup,
) -> Response {
    let script = html! { script src=(assets::script()) defer {} };
    let title = format!("{title} · {}", team.unwrap_or("Vedette"));
    let page = document((&title, state), false, &script, body);
    let mut response = Response::new(Body::Text(page.into_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    // Links to pages contain keys, so other sites must not see them. Without any referrer, browsers would not say which
    // page sent a form.
    headers.insert(REFERRER_POLICY, fixed("same-origin"));
    headers.insert(CONTENT_SECURITY_POLICY, fixed(POLICY));
    response
}

/// A note at the top of the content that it concerns.
pub(crate) fn note(look: Look, content: &Markup) -> Markup {
    let role = if look == Look::Down { "alert" } else { "status" };
    html! { div class={ "note " (look.class()) } role=(role) { (look.shape()) p { (content) } } }
}

/// Says which document manages an object, if there is one. People may still change it.
pub(crate) fn managed(by: Option<&ManagedBy>) -> Markup {
    let Some(by) = by else { return Markup::default() };
    note(
        Look::Info,
        &html! {
            "Managed by configuration (" bdi { (by.document) } "). The next " code { "vedette apply" } " reverts changes that you make here."
        },
    )
}

/// Why nothing was done.
pub(crate) fn problem(why: &str) -> Markup {
    note(Look::Down, &html! { (why) })
}

/// A page that asks a question, with one button that confirms it.
pub(crate) fn form(
    context: RequestContext<'_>,
    title: &str,
    question: &Markup,
    button: &str,
) -> Response {
    let content = html! {
        p { (question) }
        // A form without an action is sent to its own URL, including the key.
        form.stack.lg method="post" { button.main { (button) } }
    };
    page(context, StatusCode::OK, title, &content)
}

/// Redirects the browser to another page, so that reloading does not send the form again.
pub(crate) fn redirect(path: &str) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::SEE_OTHER;
    let headers = response.headers_mut();
    headers.insert(LOCATION, HeaderValue::try_from(path).map_err(ApiError::internal)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    Ok(response)
}

/// The notice after a form: the URL names it (`?notice=`), and `words` has its text.
pub(crate) fn notice(context: RequestContext<'_>, words: &[(&str, &str)]) -> Markup {
    let query = Query::parse(context.head.uri.query());
    let notice = query.search("notice").unwrap_or_default();
    let found = words.iter().find(|(name, _)| *name == notice);
    html! { @if let Some((_, words)) = found { (note(Look::Up, &html! { (words) })) } }
}

/// Links to the pages before and after this one.
pub(crate) fn other_pages(number: u64, has_more: bool, address: &dyn Fn(u64) -> String) -> Markup {
    html! {
        @if number > 1 || has_more {
            nav.row.screen aria-label="Pages" {
                @if number > 1 { a.btn rel="prev" href=(address(number - 1)) { "Previous" } }
                @if has_more { a.btn rel="next" href=(address(number + 1)) { "Next" } }
            }
        }
    }
}

/// The caption and the column heads of a table.
pub(crate) fn columns(caption: &str, heads: &[&str]) -> Markup {
    html! {
        caption.hide { (caption) }
        thead { tr { @for head in heads { th scope="col" { (head) } } } }
    }
}

/// The answer instead of a page.
pub(crate) fn refusal(context: Option<RequestContext<'_>>, refusal: &ApiError) -> Response {
    let status = refusal.status();
    let (title, text) = if status == StatusCode::NOT_FOUND {
        (
            "Page not found",
            "The link is incomplete, or the page it led to has been deleted.".to_owned(),
        )
    } else {
        ("Something went wrong", refusal.message())
    };
    let content = html! { p { (text) } };
    let mut response = match context {
        Some(context) => own_page(context, status, title, &content),
        None => {
            let body = lone(title, &Markup::default(), &content);
            framed(status, (title, TabState::Unknown), None, &body)
        }
    };
    let wait = match refusal {
        ApiError::TooManyRequests { retry_after } => Some(*retry_after),
        _ => (status == StatusCode::SERVICE_UNAVAILABLE).then_some(UNAVAILABLE_FOR),
    };
    response.headers_mut().extend(wait.map(|wait| (RETRY_AFTER, HeaderValue::from(wait))));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_ninety_nine_issues_are_counted() {
        let shown = |unacknowledged| {
            let attention = Attention { unacknowledged, ..Attention::default() };
            super::unacknowledged(Some(&attention)).into_string()
        };
        assert_eq!(shown(0), "<span id=\"unacknowledged\"></span>");
        for (count, says) in [(1, "<b>1<"), (99, "<b>99<"), (100, "<b>99+<")] {
            assert!(shown(count).contains(says), "{}", shown(count));
        }
    }
}
