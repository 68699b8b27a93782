//! What a run's result means for issues.
//!
//! Each tool has one function here. The function turns a result into one [`Evaluation`] per fingerprint that the result
//! decides, and each evaluation goes to the tracker of its fingerprint. If a result says nothing about a fingerprint,
//! there is no evaluation, and the tracker observes nothing.

mod dns;
pub(crate) mod expected;
pub(crate) mod heartbeat;
mod links;
mod performance;
pub(crate) mod ssl;

use std::collections::BTreeSet;
use std::iter;

use jiff::Timestamp;
use serde_json::json;
use url::Url;

use super::{Fingerprint, Outcome};
use crate::checks::check::{DnsBaseline, StatusResult, ToolResult};
use crate::expectations::Expectations;
use crate::sites::settings::{ExpectedRecords, STATUS_INCIDENT_CODES, Settings};

use self::dns::dns;
use self::links::links;
use self::performance::performance;
use self::ssl::ssl;

/// The longest outside text in an evaluation, in characters. An issue's record keeps some of these texts and must stay
/// small.
const MAX_TEXT: usize = 200;

/// The longest reason in [`failure`], in characters.
const FAILURE_MAX: usize = 48;

/// What one result says about one fingerprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The condition.
    pub fingerprint: Fingerprint,
    /// Whether it holds.
    pub outcome: Outcome,
    /// One line for people, without a full stop. If the condition holds, the line ends with the reason.
    pub summary: String,
    /// What was measured, and the limits that apply: part of the issue's context.
    pub measured: serde_json::Value,
}

/// Whether any condition holds: whether the check failed.
pub fn any_down(evaluations: &[Evaluation]) -> bool {
    evaluations.iter().any(|evaluation| evaluation.outcome == Outcome::Down)
}

/// What a result says about each fingerprint that its tool decides. `expected` are the site's own expected records and
/// `baseline` the learned ones; both matter for DNS checks only, and `expectations` for status checks. `now` is the
/// time of the evaluation, from which the days until a domain or a chain expires are counted.
pub fn evaluate(
    result: &ToolResult,
    settings: &Settings,
    expected: &ExpectedRecords,
    expectations: &Expectations,
    baseline: Option<&DnsBaseline>,
    now: Timestamp,
) -> Vec<Evaluation> {
    let tools = &settings.tools;
    match result {
        ToolResult::Status(result) => {
            let status = status(result, &tools.status.settings.incident_status_codes);
            let judged = expected::expected(result, expectations);
            iter::once(status).chain(judged).collect()
        }
        ToolResult::Ssl(result) => ssl(result, tools.ssl.settings.expiry_days, now),
        ToolResult::Dns(result) => dns(result, &tools.dns.settings, expected, baseline, now),
        ToolResult::BrokenLinks(result) => {
            Vec::from_iter(links(result, &tools.broken_links.settings))
        }
        ToolResult::Performance(result) => {
            Vec::from_iter(performance(result, &tools.performance.settings))
        }
        // The team's zone decides about the words: see `ToolState::apply_report`.
        ToolResult::Heartbeat(_) => Vec::new(),
    }
}

/// Whether a site that answers with this code is down. It always is if no answer came, which is the code 0, or only an
/// interim one.
///
/// A code that cannot be selected counts like the x00 code of its class, because clients treat a code that they do not
/// know like that one (RFC 9110, section 15). A code above all classes counts like 500.
pub fn is_down(code: u16, incident_codes: &BTreeSet<u16>) -> bool {
    let counts_like = match code {
        ..200 => return true,
        200..400 => return false,
        _ if STATUS_INCIDENT_CODES.iter().any(|option| option.code == code) => code,
        400..500 => 400,
        500.. => 500,
    };
    incident_codes.contains(&counts_like)
}

/// Evaluates a status check: whether the site [is down](is_down).
///
/// This differs from `up`: a 404 that is not an incident code is down in the uptime report, but a success for the
/// issue.
fn status(result: &StatusResult, incident_codes: &BTreeSet<u16>) -> Evaluation {
    let answer =
        if result.code == 0 { clipped(no_answer(result)) } else { http_status(result.code) };
    let down = is_down(result.code, incident_codes);
    let state = if down { "down" } else { "up" };
    Evaluation {
        fingerprint: Fingerprint::StatusDown,
        summary: format!("{} is {state}: {answer}", host(&result.url)),
        measured: json!({
            "code": result.code,
            "up": result.up,
            "error": result.error.as_deref().map(clipped),
            "response_time": result.response_time,
            "effective_url": clipped(&result.effective_url),
            "redirect_count": result.redirect_count,
            "incident_status_codes": incident_codes,
        }),
        outcome: Outcome::of(down),
    }
}

/// Why a status check failed, in a few words: `HTTP 503`, `connection refused`.
pub(crate) fn failure(result: &StatusResult) -> String {
    match result.code {
        0 => clipped_to(no_answer(result), FAILURE_MAX),
        code => format!("HTTP {code}"),
    }
}

/// Why no answer came.
fn no_answer(result: &StatusResult) -> &str {
    let error = result.error.as_deref().map(str::trim);
    error.filter(|error| !error.is_empty()).unwrap_or("no answer")
}

/// `HTTP 503 Service Unavailable`; codes that cannot be selected have no phrase.
fn http_status(code: u16) -> String {
    match STATUS_INCIDENT_CODES.iter().find(|option| option.code == code) {
        Some(option) => format!("HTTP {code} {}", option.label),
        None => format!("HTTP {code}"),
    }
}

/// The host of a monitored URL, or the whole text if it is not a URL.
fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    clipped(parsed.as_ref().and_then(Url::host_str).unwrap_or(url))
}

/// At most [`MAX_TEXT`] characters; the last is an ellipsis if text was cut off.
fn clipped(text: &str) -> String {
    clipped_to(text, MAX_TEXT)
}

/// At most `max` characters; the last is an ellipsis if text was cut off.
pub(crate) fn clipped_to(text: &str, max: usize) -> String {
    if text.chars().nth(max).is_none() {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

#[cfg(test)]
impl Evaluation {
    /// Whether the summary has a past tense, for when the problem is over.
    fn has_past(&self) -> bool {
        let past = crate::issues::past_tense::past(self.fingerprint, &self.summary);
        self.outcome == Outcome::Up || past != self.summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::check::FinishReason;
    use crate::checks::check::{HeartbeatResult, RunOutcome};
    use crate::checks::tool::Tool;
    use crate::time_zone::NamedZone;

    fn codes() -> BTreeSet<u16> {
        STATUS_INCIDENT_CODES.iter().map(|option| option.code).collect()
    }

    fn answer(code: u16) -> StatusResult {
        StatusResult {
            up: (200..400).contains(&code),
            code,
            url: "https://example.com/health".to_owned(),
            effective_url: "https://www.example.com/health".to_owned(),
            response_time: 41.5,
            redirected: true,
            redirect_count: 1,
            redirects: vec!["https://www.example.com/health".to_owned()],
            error: None,
            phases: None,
            judged: None,
        }
    }

    fn silence(error: Option<&str>) -> StatusResult {
        StatusResult { error: error.map(str::to_owned), ..answer(0) }
    }

    /// A result in which everything that the tool watches is known and fine.
    fn sound(tool: Tool) -> ToolResult {
        match tool {
            Tool::Status => {
                ToolResult::Status(StatusResult { judged: Some(Vec::new()), ..answer(200) })
            }
            Tool::Ssl => ToolResult::Ssl(Box::new(ssl::tests::valid(300))),
            Tool::Dns => ToolResult::Dns(Box::new(dns::tests::sound())),
            Tool::BrokenLinks => {
                ToolResult::BrokenLinks(links::tests::crawl(FinishReason::Completed, &[]))
            }
            Tool::Performance => ToolResult::Performance(Box::new(performance::tests::measured(
                Some(99),
                None,
                None,
            ))),
            Tool::Heartbeat => {
                ToolResult::Heartbeat(Box::new(HeartbeatResult::new(RunOutcome::Success)))
            }
        }
    }

    #[test]
    fn each_fingerprint_is_judged_by_its_tool() {
        let (settings, none) = (Settings::default(), ExpectedRecords::new());
        let expectations = expected::tests::of_each_kind();
        let now = "2026-11-22T12:00:00Z".parse().expect("a timestamp");
        let mut judged = BTreeSet::new();
        for tool in Tool::ALL {
            for evaluation in evaluate(&sound(tool), &settings, &none, &expectations, None, now) {
                assert_eq!(evaluation.fingerprint.tool(), tool, "{evaluation:?}");
                assert_eq!(evaluation.outcome, Outcome::Up, "{evaluation:?}");
                judged.insert(evaluation.fingerprint);
            }
        }
        // Other locations decide this one: `issues::confirmation`.
        judged.insert(Fingerprint::StatusPartial);
        let report = HeartbeatResult::new(RunOutcome::Success);
        let reported = heartbeat::heartbeat(&report, &NamedZone::utc());
        judged.extend(reported.iter().map(|evaluation| evaluation.fingerprint));
        assert_eq!(judged, Fingerprint::ALL.into());
    }

    #[test]
    fn a_code_or_no_answer_is_down() {
        let listed: BTreeSet<u16> = [500, 503].into();
        let none = BTreeSet::new();
        let cases = [
            // Listed codes.
            (answer(503), codes(), "example.com is down: HTTP 503 Service Unavailable"),
            (answer(404), codes(), "example.com is down: HTTP 404 Not Found"),
            (answer(500), listed.clone(), "example.com is down: HTTP 500 Internal Server Error"),
            // No answer, even if no code is listed, and whatever the error text says.
            (
                silence(Some("connection refused")),
                codes(),
                "example.com is down: connection refused",
            ),
            (silence(Some(" timed out\n")), none.clone(), "example.com is down: timed out"),
            (silence(Some(" ")), codes(), "example.com is down: no answer"),
            (silence(None), none.clone(), "example.com is down: no answer"),
            // A code that is not listed is a success, whatever `up` says.
            (answer(200), codes(), "example.com is up: HTTP 200"),
            (answer(302), codes(), "example.com is up: HTTP 302"),
            (answer(404), listed.clone(), "example.com is up: HTTP 404 Not Found"),
            (answer(503), none.clone(), "example.com is up: HTTP 503 Service Unavailable"),
            // Codes that cannot be selected count like the first of their class.
            (answer(418), codes(), "example.com is down: HTTP 418"),
            (answer(418), listed.clone(), "example.com is up: HTTP 418"),
            (answer(520), listed.clone(), "example.com is down: HTTP 520"),
            (answer(999), listed, "example.com is down: HTTP 999"),
            (answer(520), [503].into(), "example.com is up: HTTP 520"),
            (answer(600), [503].into(), "example.com is up: HTTP 600"),
            (answer(101), none, "example.com is down: HTTP 101"),
        ];
        for (result, incident_codes, summary) in cases {
            let evaluation = status(&result, &incident_codes);
            assert_eq!(evaluation.summary, summary);
            assert!(evaluation.has_past(), "{summary}");
            assert_eq!(evaluation.fingerprint, Fingerprint::StatusDown);
            let is_down = summary.starts_with("example.com is down: ");
            assert_eq!(evaluation.outcome, Outcome::of(is_down), "{summary}");
        }
    }

    #[test]
    fn with_all_codes_selected_a_check_fails_exactly_if_the_site_is_not_up() {
        for code in 100..1000 {
            assert_eq!(is_down(code, &codes()), !answer(code).up, "{code}");
            assert_eq!(is_down(code, &BTreeSet::new()), code < 200, "{code}");
        }
    }

    #[test]
    fn the_context_says_what_was_measured() {
        let evaluation = status(&answer(503), &[500, 503].into());
        let expected = json!({
            "code": 503,
            "up": false,
            "error": null,
            "response_time": 41.5,
            "effective_url": "https://www.example.com/health",
            "redirect_count": 1,
            "incident_status_codes": [500, 503],
        });
        assert_eq!(evaluation.measured, expected);
        let evaluation = status(&silence(Some("timed out")), &codes());
        assert_eq!(evaluation.measured["error"], json!("timed out"));
    }

    #[test]
    fn long_texts_are_cut() {
        let result = StatusResult {
            url: "not a url".repeat(100),
            effective_url: format!("https://example.com/{}", "ü".repeat(5000)),
            response_time: f64::NAN,
            ..silence(Some(&"é".repeat(5000)))
        };
        let evaluation = status(&result, &codes());
        assert!(evaluation.summary.ends_with(&format!(" is down: {}…", "é".repeat(199))));
        assert_eq!(evaluation.summary.chars().count(), 2 * MAX_TEXT + " is down: ".len());
        assert!(evaluation.measured.to_string().len() < 1200);
        assert_eq!(evaluation.measured["response_time"], json!(null), "JSON has no NaN");
        assert_eq!(clipped(&"a".repeat(200)), "a".repeat(200));
    }
}
