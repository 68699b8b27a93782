//! The DNS records of a site, and which of them changed or are missing.

use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::checks::check::{Check, DnsResult, Registration};
use vedette_domain::issues::Fingerprint;
use vedette_domain::issues::record::Issue;
use vedette_domain::sites::settings::DnsRecordType;

use super::read;
use crate::clock::Clock;
use crate::layout;

pub(super) fn part(check: Option<&Check>, issues: &[Issue], clock: Clock<'_>) -> Markup {
    let Some((check, result)) = read::<DnsResult>(check) else { return Markup::default() };
    let of = |fingerprint| issues.iter().find(move |issue| issue.id.fingerprint() == fingerprint);
    html! {
      section.card #dns {
        header {
            h2 { "DNS records of " bdi { (result.host) } }
            span.quiet.small { "Checked " (clock.instant(check.id.created_at())) }
        }
        @if let Some(failure) = result.failure() {
            p.in { "The name can’t be looked up: " bdi { (failure) } "." }
        }
        @if let Some(issue) = of(Fingerprint::DnsRecordsMissing).filter(|issue| issue.lifecycle.is_active()) {
            (missing(issue))
        }
        @if let Some(issue) = of(Fingerprint::DnsRecordsChanged) { (changed(issue, clock)) }
        (records(&result))
        @if let Some(registration) = &result.registration { (registered(registration, clock)) }
      }
    }
}

fn records(result: &DnsResult) -> Markup {
    let all: Vec<_> =
        DnsRecordType::ALL.into_iter().flat_map(|kind| result.records.of(kind)).collect();
    html! {
        @if all.is_empty() {
            p.in.quiet { "There are no records of the monitored types." }
        } @else {
            div.over {
                table.t {
                    (layout::columns("Records", &["Type", "Name", "Value", "TTL"]))
                    tbody {
                        @for record in all {
                            tr {
                                th scope="row" { (record.data.kind()) }
                                td { bdi { (record.host) } }
                                td { bdi { (record.data.normal()) } }
                                td { (record.ttl) " s" }
                            }
                        }
                    }
                }
            }
        }
        @if !result.unanswered_types.is_empty() {
            p.in.quiet.air {
                "Unknown, because no resolver answered: "
                (result.unanswered_types.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")) "."
            }
        }
    }
}

/// The latest change of records: that of an issue, even if it is resolved.
fn changed(issue: &Issue, clock: Clock<'_>) -> Markup {
    let changed = issue.context["measured"]["changed"].as_object();
    html! {
        p.in {
            "Records changed on " (clock.instant(issue.lifecycle.opened_at())) ": "
            a href={ "/issues/" (issue.id) } { (issue.summary) } "."
        }
        @if let Some(changed) = changed.filter(|changed| !changed.is_empty()) {
            table.t {
                (layout::columns("What changed", &["Type", "Removed", "Added"]))
                tbody {
                    @for (kind, change) in changed {
                        tr {
                            th scope="row" { (kind) }
                            td { (values(&change["removed"])) }
                            td { (values(&change["added"])) }
                        }
                    }
                }
            }
        }
    }
}

fn missing(issue: &Issue) -> Markup {
    let missing = issue.context["measured"]["missing"].as_object();
    html! {
        p.in { a href={ "/issues/" (issue.id) } { (issue.summary) } "." }
        ul.in {
            @for (kind, missing) in missing.into_iter().flatten() {
                li { (kind) ": " (values(missing)) }
            }
        }
    }
}

fn values(values: &Value) -> Markup {
    let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    html! { @for (place, text) in texts.enumerate() { @if place > 0 { br; } bdi { (text) } } }
}

fn registered(registration: &Registration, clock: Clock<'_>) -> Markup {
    html! {
        p.in.air {
            "The domain " bdi { (registration.domain) } " is registered"
            @if let Some(registrar) = &registration.registrar { " with " bdi { (registrar) } }
            @if let Some(end) = registration.expires_at { " until " (clock.instant(end)) }
            "."
            @if let Some(status) = registration.deletion() {
                " It is about to be deleted: " bdi { (status) } "."
            }
            @if let Some(name) = &registration.unregistered {
                " The site’s own name, " bdi { (name) } ", is not in that registry."
            }
        }
    }
}
