//! The figures of a site in its row.

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::checks::history::{COUNTED_DAYS, CheckCount, Retention};
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::sites::site_state::SiteState;

use super::{Listed, SitesView};
use crate::chart::{self, Trouble};
use crate::look::Look;
use crate::sites::certificate_days;
use crate::words;

const HOUR: f64 = 3_600.0;

pub(super) struct Figures {
    pub(super) sparkline: Markup,
    /// How fast the site answered in the latest hour with checks.
    pub(super) response: Markup,
    pub(super) uptime: Markup,
    /// How long the certificate is valid.
    pub(super) certificate: Markup,
}

impl Figures {
    pub(super) fn of(view: &SitesView<'_>, site: &Listed<'_>, status: Option<&ToolState>) -> Self {
        let now = view.clock.now;
        let means = status.map(|status| status.hour_means(now)).unwrap_or_default();
        let trouble = trouble(site, status, now);
        let uptime = status.and_then(|status| uptime(status, view.retention));
        let certificate = view.found.certificates.get(&site.row.id.partition());
        Self {
            sparkline: chart::sparkline(&means, trouble),
            response: match status.and_then(|status| response(site, status, now)) {
                Some(ms) => html! { span.nb { (words::grouped(ms.into())) "\u{202f}ms" } },
                None => words::unknown(),
            },
            uptime: uptime.map_or_else(words::unknown, |value| {
                html! { span.nb { (value) "\u{202f}%" } }
            }),
            certificate: certificate
                .and_then(|state| days_left(site, state, view.clock.now))
                .unwrap_or_else(words::unknown),
        }
    }
}

/// The milliseconds that a site took to answer in the latest hour with checks, if it answers now.
pub(super) fn response(site: &Listed<'_>, status: &ToolState, now: Timestamp) -> Option<u32> {
    let answers = trouble(site, Some(status), now).is_none() && site.state != SiteState::Paused;
    status.hour_means(now).iter().rev().find_map(|mean| *mean).filter(|_| answers)
}

/// The uptime of a site.
pub(super) fn uptime(status: &ToolState, retention: Retention) -> Option<Percentage> {
    status.recent_checks(COUNTED_DAYS, retention).and_then(CheckCount::uptime)
}

/// Since when the site does not answer, in hours before now.
fn trouble(site: &Listed<'_>, status: Option<&ToolState>, now: Timestamp) -> Option<Trouble> {
    let ago = |since: Timestamp| now.duration_since(since).as_secs_f64() / HOUR;
    match site.state {
        SiteState::Down => site.down_since(status).map(|since| Trouble::Down(ago(since))),
        SiteState::Failing => Some(Trouble::Failing),
        SiteState::Issues
        | SiteState::Unchecked
        | SiteState::Unknown
        | SiteState::Up
        | SiteState::Paused => None,
    }
}

fn days_left(site: &Listed<'_>, state: &ToolState, now: Timestamp) -> Option<Markup> {
    let days = certificate_days(state, now)?;
    let issue = site.issues.iter().find(|issue| issue.fingerprint.tool() == Tool::Ssl);
    let look = issue.map(|issue| Look::from(issue.severity()).class());
    let words = match days {
        ..=-1 => "Expired".to_owned(),
        1 => "1\u{202f}day".to_owned(),
        _ => format!("{days}\u{202f}days"),
    };
    Some(match look {
        Some(look) => html! { span class={ "nb txt " (look) } { (words) } },
        None => html! { span.nb { (words) } },
    })
}
