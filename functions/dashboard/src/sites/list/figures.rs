//! The figures of a site in its row.

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_domain::checks::history::{COUNTED_DAYS, CheckCount};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::sites::site_state::SiteState;

use super::{Listed, SitesView};
use crate::chart::{self, Trouble};
use crate::look::Look;
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
        let means = status.map(|status| status.hour_means(view.clock.now)).unwrap_or_default();
        let latest = means.iter().rev().find_map(|mean| *mean);
        let trouble = trouble(site, status, view.clock.now);
        let uptime = status.and_then(|status| status.recent_checks(COUNTED_DAYS, view.retention));
        let uptime = uptime.and_then(CheckCount::uptime);
        let certificate = view.certificates.get(&site.row.id.partition());
        Self {
            sparkline: chart::sparkline(&means, trouble),
            response: match (trouble, latest) {
                (None, Some(ms)) if site.state != SiteState::Paused => html! {
                    span.nb { (words::grouped(ms.into())) "\u{202f}ms" }
                },
                _ => words::unknown(),
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
    state.latest_completed()?;
    let days = state.certificate_ends?.duration_since(now).as_hours().div_euclid(24);
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
