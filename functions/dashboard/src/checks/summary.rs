//! The result of a check, in a few words.

use maud::{Markup, html};
use serde::de::DeserializeOwned;
use vedette_domain::checks::check::{
    Check, DnsResult, LinksResult, PerformanceResult, SslResult, StatusResult,
};
use vedette_domain::checks::tool::{CheckStatus, Tool};
use vedette_domain::expectations::Unmet;
use vedette_domain::sites::settings::DnsRecordType;
use vedette_probe::dns::NO_DOMAIN;
use vedette_store::SiteWithTools;

use crate::words::counted;

/// What a check of a certificate found on a site that needs none.
pub(crate) const NO_CERTIFICATE: &str = "No certificate: this site uses http";

/// The word for a check that can't have a result.
pub(crate) const NOT_NEEDED: &str = "Not needed";

/// Why a check without a result can't have one, if that is because of the site's URL: a valid certificate, if the site
/// needs none, or DNS records of an IP address.
pub(crate) fn without_need(check: &Check, stored: &SiteWithTools) -> Option<&'static str> {
    match check.id.tool() {
        Tool::Ssl => {
            let state = stored.tools.get(&Tool::Ssl);
            let needs = state.is_none_or(|state| state.needs_certificate(&stored.site));
            let has_none = check.status == CheckStatus::Failed
                || read(check).is_some_and(|SslResult { is_valid, .. }| !is_valid);
            (!needs && has_none).then_some(NO_CERTIFICATE)
        }
        Tool::Dns => {
            let code = check.error.as_ref().map(|error| error.code.as_str());
            (code == Some(NO_DOMAIN)).then_some("No DNS records: the URL has an IP address")
        }
        Tool::Status | Tool::BrokenLinks | Tool::Performance | Tool::Heartbeat => None,
    }
}

/// A check of a site in a few words, according to what the site needs.
pub(crate) fn summary_of(check: &Check, stored: &SiteWithTools) -> Markup {
    without_need(check, stored).map_or_else(|| summary(check), |why| html! { (why) })
}

/// A check in a few words. Text that a stranger chose is set apart.
pub(crate) fn summary(check: &Check) -> Markup {
    let error = check.error.as_ref().map_or("no reason is known", |error| &error.message);
    match check.status {
        CheckStatus::Pending => html! { "Queued or running" },
        CheckStatus::Skipped => {
            html! { "Skipped: not part of the plan, turned off, or not installed here" }
        }
        CheckStatus::Failed => html! { "Could not run: " bdi { (error) } },
        CheckStatus::Completed => completed(check).unwrap_or_else(|| html! { "Done" }),
    }
}

fn completed(check: &Check) -> Option<Markup> {
    Some(match check.id.tool() {
        Tool::Status => status(&read(check)?, &check.unmet),
        Tool::Ssl => ssl(&read(check)?),
        Tool::Dns => dns(&read(check)?),
        Tool::BrokenLinks => links(&read(check)?),
        Tool::Performance => performance(&read(check)?),
        Tool::Heartbeat => return None,
    })
}

/// The result, if it has the current form.
fn read<R: DeserializeOwned>(check: &Check) -> Option<R> {
    serde_json::from_value(check.result.clone()?).ok()
}

fn status(result: &StatusResult, unmet: &[Unmet]) -> Markup {
    match (result.code, &result.error) {
        (0, Some(error)) => html! { "No answer: " bdi { (error) } },
        (0, None) => html! { "No answer" },
        (code, _) => html! {
            "HTTP " (code) " in " (result.response_time.round()) " ms"
            @match unmet {
                [] => {}
                [only] => { ": " bdi { (only.message) } }
                [first, rest @ ..] => { ": " bdi { (first.message) } " (and " (rest.len()) " more)" }
            }
        },
    }
}

fn ssl(result: &SslResult) -> Markup {
    match result.failure_type {
        Some(failure) => html! { "Not valid: " (failure.phrase()) },
        None => html! { "Valid, " (result.days_left) " days left" },
    }
}

fn dns(result: &DnsResult) -> Markup {
    if let Some(failure) = result.failure() {
        return html! { "Lookup failed: " bdi { (failure) } };
    }
    let records: usize =
        DnsRecordType::ALL.into_iter().map(|kind| result.records.of(kind).len()).sum();
    html! { (records) " records" }
}

fn links(result: &LinksResult) -> Markup {
    let links = counted(result.crawl.links as usize, "link", "links");
    let pages = counted(result.crawled as usize, "page", "pages");
    html! { (result.found) " broken of " (links) " on " (pages) }
}

fn performance(result: &PerformanceResult) -> Markup {
    match result.speed_metrics.performance_score {
        Some(score) => html! { "Score " (score) " of 100" },
        None => html! { "No score" },
    }
}
