//! The pages of sites.

pub(crate) mod budgets;
pub(crate) mod delete;
pub(crate) mod directories;
pub(crate) mod edit;
mod failing;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod selected;
pub(crate) mod show;
pub(crate) mod tags;

use jiff::Timestamp;
use maud::{Markup, html};
use url::Url;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::sites::site_url::SiteUrl;

/// A state in words.
pub(crate) const fn word(state: SiteState) -> &'static str {
    match state {
        SiteState::Down => "Down",
        SiteState::Failing => "Failing",
        SiteState::Issues => "Issues",
        SiteState::Unchecked => "Can’t check",
        SiteState::Unknown => "Not checked yet",
        SiteState::Up => "Up",
        SiteState::Paused => "Paused",
    }
}

/// When the certificate of a site ends, as far as a check has found out.
fn certificate_ends(state: &ToolState) -> Option<Timestamp> {
    state.latest_completed().and(state.certificate_ends)
}

/// How many whole days are left of it.
fn certificate_days(state: &ToolState, now: Timestamp) -> Option<i64> {
    Some(certificate_ends(state)?.duration_since(now).as_hours().div_euclid(24))
}

/// A link to a monitored site. Its URL is always http or https.
pub(crate) fn link_out(url: &SiteUrl) -> Markup {
    html! { a href=(url) rel="noreferrer noopener" { (url) } }
}

/// A URL that a site chose: a link if it is http or https, and text otherwise.
pub(crate) fn outward(url: &str) -> Markup {
    let is_web = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    html! {
        @if is_web { a href=(url) rel="noreferrer noopener" { bdi { (url) } } }
        @else { bdi { (url) } }
    }
}
