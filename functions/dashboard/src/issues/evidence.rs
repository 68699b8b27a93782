//! Evidence on the page of an issue: requests and responses.

use maud::{Markup, html};
use vedette_domain::checks::evidence::{CheckEvidence, Evidence, EvidenceBody, PHASE_NAMES};
use vedette_domain::id::CheckId;
use vedette_store::IssueEvidence;

use crate::chart::part_class;
use crate::clock::Clock;
use crate::words;

/// The smallest width of a phase, in percent, so that it can be seen.
const NARROWEST: f64 = 4.0;

/// The newest response of a failing check; collapsed, the first one and the last good one.
pub(super) fn card(
    IssueEvidence { first, newest, good }: &IssueEvidence,
    last_good: Option<CheckId>,
    clock: Clock<'_>,
) -> Markup {
    let Some(shown) = newest.as_ref().or(first.as_ref()) else { return Markup::default() };
    let opening = first.as_ref().filter(|_| newest.is_some());
    html! {
        section.card {
            header {
                h2 { @if newest.is_some() { "Newest response" } @else { "Response" } }
                span.quiet.small { (clock.second(shown.at())) }
            }
            div.in.stack.gl { (phases(shown.evidence.timing.phases())) (exchange(&shown.evidence)) }
            @if let Some(opening) = opening { (folded("Response at opening", opening, false, clock)) }
            @if let Some(good) = good {
                // Not every good response is kept.
                @let what = if last_good == Some(good.check) { "Last good response" } else { "An earlier good response" };
                (folded(what, good, true, clock))
            }
        }
    }
}

fn folded(what: &str, of: &CheckEvidence, is_good: bool, clock: Clock<'_>) -> Markup {
    html! {
        details.in.rule.good[is_good] {
            summary { (what) ", " (clock.second(of.at())) }
            div.stack.gl.m1 { (phases(of.evidence.timing.phases())) (exchange(&of.evidence)) }
        }
    }
}

/// The phases of a check, as a bar with figures.
pub(crate) fn phases(phases: [Option<f64>; PHASE_NAMES.len()]) -> Markup {
    let phases = phases.into_iter().enumerate();
    let phases: Vec<(usize, f64)> = phases.filter_map(|(phase, ms)| Some((phase, ms?))).collect();
    let total: f64 = phases.iter().map(|(_, ms)| ms).sum();
    if phases.is_empty() || total <= 0.0 {
        return Markup::default();
    }
    let shares: Vec<f64> =
        phases.iter().map(|(_, ms)| (ms / total * 100.0).max(NARROWEST)).collect();
    let drawn: f64 = shares.iter().sum();
    let mut left = 0.0;
    let bars = phases.iter().zip(&shares).map(|((phase, _), share)| {
        let width = share / drawn * 100.0;
        let bar = html! { rect class=(part_class(*phase)) x={ (rounded(left)) "%" } width={ (rounded(width)) "%" } {} };
        left += width;
        bar
    });
    let figures = phases.iter().map(|&(phase, ms)| (PHASE_NAMES[phase], milliseconds(ms)));
    let figures: Vec<String> = figures.map(|(name, ms)| format!("{name} {ms}")).collect();
    html! {
        div.stack.gm {
            svg.phase role="img" aria-label=(figures.join(", ")) { @for bar in bars { (bar) } }
            div.keys {
                @for (phase, ms) in phases {
                    span { i class=(part_class(phase)) {} span.blk { (PHASE_NAMES[phase]) b.ink { (milliseconds(ms)) } } }
                }
            }
            @if drawn > 100.5 { p.quiet.small { "Short phases are not drawn to scale." } }
        }
    }
}

fn rounded(share: f64) -> f64 {
    (share * 10.0).round() / 10.0
}

/// A time, only as precise as is useful.
fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms >= 10.0 => format!("{}\u{202f}ms", words::grouped(ms.round() as u64)),
        ms => format!("{}\u{202f}ms", rounded(ms)),
    }
}

/// Requests and response in the notation of HTTP.
fn exchange(evidence: &Evidence) -> Markup {
    let Evidence { requests, address, status_line, headers, lacks_headers, body, error, .. } =
        evidence;
    html! {
        div {
            h3.b1 { "Request and response" }
            pre {
                @for request in requests {
                    em { (request.url) @if let Some(code) = request.code { " → " (code) } } "\n"
                }
                @if let Some(address) = address { em { "to " (address) } "\n" }
                "\n"
                @if let Some(line) = status_line { strong { (line) } "\n" }
                @for header in headers { (header.name) ": " bdi { (header.value) } "\n" }
                @if *lacks_headers { em { "… more headers" } "\n" }
                @if let Some(error) = error { strong { (error) } "\n" }
                @if let Some(body) = body { (shown(body)) }
            }
        }
    }
}

fn shown(body: &EvidenceBody) -> Markup {
    let EvidenceBody { text, is_cut, bytes, .. } = body;
    let size = words::grouped(*bytes);
    html! {
        "\n"
        @match text {
            Some(text) => {
                bdi { (text) }
                @if *is_cut { em { "…\nThis is the beginning. Vedette read " (size) " bytes." } }
            }
            None if *bytes == 0 => em { "No body." },
            None => {
                em {
                    (size) " bytes, of which Vedette keeps "
                    @match body.sha256_hex() {
                        Some(digest) => { "only the SHA-256: " (digest) }
                        None => "nothing, because they may repeat a secret.",
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vedette_domain::checks::evidence::Timing;

    use super::*;

    #[test]
    fn short_phases_can_be_seen() {
        let timing =
            Timing { lookup: Some(10), connect: None, tls: None, first_byte: Some(99_990) };
        let shown = phases(timing.phases()).into_string();
        for part in [
            r#"<rect class="p1" x="0%" width="3.8%"></rect>"#,
            r#"<rect class="p4 ok" x="3.8%" width="96.2%"></rect>"#,
            "aria-label=\"DNS 0.1\u{202f}ms, First byte 1\u{202f}000\u{202f}ms\"",
            "Short phases",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(phases(Timing::default().phases()).into_string(), "");
    }
}
