//! What was measured when an issue opened, in words. A figure that has no words here is not shown.

use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_domain::monitor::Monitor;
use vedette_domain::sites::settings::STATUS_INCIDENT_CODES;

use crate::clock::Clock;
use crate::form::capitalized;
use crate::sites::outward;
use crate::words;

/// The figures, each with its label.
pub(super) fn facts(
    measured: &Value,
    monitor: &Monitor,
    clock: Clock<'_>,
) -> Vec<(&'static str, Markup)> {
    let Some(measured) = measured.as_object() else { return Vec::new() };
    let text =
        |name: &str| measured.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |name: &str| measured.get(name).and_then(Value::as_f64);
    let days =
        |count: f64| html! { (count) @if (count - 1.0).abs() < 0.5 { " day" } @else { " days" } };
    let mut facts = Vec::new();
    let mut fact = |label, value: Option<Markup>| facts.extend(value.map(|value| (label, value)));
    let plain = |text: &str| html! { bdi { (text) } };
    fact("Response", number("code").map(response));
    fact("Error", text("error").map(plain));
    let has_answer = number("code").is_some_and(|code| code >= 1.0);
    let response_time = number("response_time").filter(|_| has_answer);
    fact("Response time", response_time.map(|ms| milliseconds(ms, None)));
    let unmet = measured.get("unmet").and_then(Value::as_array).into_iter().flatten();
    fact("Not as expected", unmet_messages(unmet.filter_map(Value::as_str)));
    fact(
        "Redirects",
        number("redirect_count").filter(|count| *count > 0.0).map(|count| html! { (count) }),
    );
    let own_url = monitor.site().map_or("", |site| site.url.as_str()).trim_end_matches('/');
    let is_elsewhere = |url: &&str| url.trim_end_matches('/') != own_url;
    fact("Final URL", text("effective_url").filter(is_elsewhere).map(outward));
    fact("Problem", text("failure_message").or_else(|| text("failure")).map(plain));
    fact("Issued to", text("issued_to").map(plain));
    fact("Issued by", text("issuer").map(plain));
    fact("Valid until", text("valid_to").map(|end| html! { (clock.certificate_time(end)) }));
    let first = &measured.get("first_to_expire");
    let of_first = |name: &str| first.and_then(|first| first[name].as_str());
    fact(
        "Expires first",
        of_first("subject")
            .zip(of_first("valid_to"))
            .map(|(subject, end)| html! { bdi { (subject) } ", " (clock.certificate_time(end)) }),
    );
    let instant = |name: &str| {
        let at = text(name)?.parse().ok()?;
        Some(html! { (clock.instant(at)) })
    };
    fact("Expected", instant("expected_at"));
    fact("Deadline", instant("deadline"));
    fact("Exit status", number("exit_status").map(|status| html! { (status) }));
    fact("Duration", number("duration").map(|ms| html! { (words::lasted(ms)) }));
    fact("Port", number("port").map(|port| html! { (port) }));
    fact("Registrar", text("registrar").map(plain));
    fact("Time left", number("days_left").map(days));
    fact("Broken links", number("found").map(|count| html! { (count) @if let Some(least) = number("min_broken_count") { ", reported from " (least) } }));
    fact("Pages crawled", number("crawled").map(|count| html! { (count) }));
    fact("Score", number("performance_score").map(|score| html! { (score) @if let Some(least) = number("min_score") { ", at least " (least) " expected" } }));
    fact("First byte", number("ttfb_ms").map(|ms| milliseconds(ms, number("max_ttfb_ms"))));
    fact("Time to Interactive", number("load_time_seconds").map(|seconds| html! { (seconds) " s" @if let Some(most) = number("max_load_time_seconds") { ", at most " (most) " s expected" } }));
    facts
}

/// What expectations were not met, if any.
pub(super) fn unmet_messages<'a>(messages: impl Iterator<Item = &'a str>) -> Option<Markup> {
    let messages: Vec<_> = messages.map(capitalized).collect();
    let list = || html! { @for message in &messages { p { bdi { (message) } } } };
    (!messages.is_empty()).then(list)
}

fn response(code: f64) -> Markup {
    let known =
        STATUS_INCIDENT_CODES.iter().find(|option| (f64::from(option.code) - code).abs() < 0.5);
    html! {
        @match known {
            _ if code < 1.0 => "No answer",
            Some(option) => { (option.code) " " (option.label) }
            None => (code),
        }
    }
}

fn milliseconds(ms: f64, most: Option<f64>) -> Markup {
    html! {
        (words::grouped(ms.round().max(0.0) as u64)) " ms"
        @if let Some(most) = most { ", at most " (most) " ms expected" }
    }
}

/// The lists among the measurements: records that changed or are missing, and links that are broken.
pub(super) fn tables(measured: &Value) -> Markup {
    let part = |name: &str| measured[name].as_object().filter(|part| !part.is_empty());
    html! {
        @if let Some(changed) = part("changed") { (changed_records(changed)) }
        @if let Some(missing) = part("missing") {
            (table("Records that are missing", &["Type", "Expected"], missing.iter().map(|(kind, values)| vec![html! { (kind) }, list(values)])))
        }
        @if let Some(links) = measured["urls"].as_array().filter(|links| !links.is_empty()) {
            (table("Broken links", &["Link", "On the page", "Response"], links.iter().map(|link| {
                let text = |name: &str| outward(link[name].as_str().unwrap_or_default());
                let status = link["status"].as_f64().unwrap_or_default();
                vec![text("url"), text("source"), response(status)]
            })))
        }
    }
}

fn changed_records(changed: &Map<String, Value>) -> Markup {
    let rows = changed.iter().map(|(kind, change)| {
        vec![html! { (kind) }, list(&change["removed"]), list(&change["added"])]
    });
    table("Records that changed", &["Type", "Before", "After"], rows)
}

fn list(values: &Value) -> Markup {
    let texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    html! { @for (place, text) in texts.enumerate() { @if place > 0 { br; } bdi { (text) } } }
}

fn table(caption: &str, heads: &[&str], rows: impl Iterator<Item = Vec<Markup>>) -> Markup {
    html! {
        table.t.cards-t {
            (crate::layout::columns(caption, heads))
            tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
        }
    }
}
