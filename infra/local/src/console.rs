//! What a person at the terminal sees: checks and issues as they happen.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use vedette_checker::Finished;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::CheckStatus;
use vedette_domain::issues::IssueStatus;
use vedette_domain::issues::record::IssueChange;
use vedette_domain::text::printable;
use vedette_runtime::config::environment;
use vedette_runtime::terminal::{self, Lines};

const PLAIN: Style = Style::new();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const ODD: Style = AnsiColor::Yellow.on_default();

/// The width of a site's name.
const NAME_WIDTH: usize = 24;

/// The live log on standard error.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    lines: Option<Lines>,
    is_colored: bool,
}

impl Console {
    /// Starts the log. If it is to be quiet, nothing is shown.
    ///
    /// A terminal that was stopped with Ctrl-S does not stop the monitoring: a separate thread writes the lines,
    /// together with those of the log.
    pub(crate) fn start(is_quiet: bool) -> io::Result<Self> {
        let is_colored = io::stderr().is_terminal() && environment("NO_COLOR").is_none();
        let lines = if is_quiet { None } else { Some(terminal::stderr()?) };
        Ok(Self { lines, is_colored })
    }

    /// Shows a check that has ended, and the issues that it opened or resolved.
    pub(crate) fn show(&self, now: Timestamp, finished: &Finished, took: Duration) {
        let Some(lines) = &self.lines else { return };
        for line in self.lines_of(now, finished, took) {
            lines.say(line);
        }
    }

    fn lines_of(&self, now: Timestamp, finished: &Finished, took: Duration) -> Vec<String> {
        let Finished { site, check, issues, .. } = finished;
        let time = TimeZone::UTC.to_datetime(now).strftime("%H:%M:%SZ").to_string();
        let tool = check.id.tool().as_str();
        let name = fitted(&site.name);
        let start = format!("{time}  {name:NAME_WIDTH$}  {tool:12}");
        let (style, text, took) = result_of(check, took);
        let ms = took.as_secs_f64() * 1_000.0;
        let result = format!("{start}  {}  {ms:.0} ms", self.styled(style, &text));
        let issues = issues
            .iter()
            .filter_map(issue_of)
            .map(|(style, text)| format!("{start}  {}", self.styled(style.bold(), &text)));
        [result].into_iter().chain(issues).collect()
    }

    fn styled(&self, style: Style, text: &str) -> String {
        let text = printable(text);
        if self.is_colored { format!("{style}{text}{style:#}") } else { text }
    }
}

/// What a check found, and the target's response time, or the duration of the whole run if there is none.
fn result_of(check: &Check, took: Duration) -> (Style, String, Duration) {
    match (check.status, &check.result) {
        (CheckStatus::Completed, Some(result)) if result["up"].is_boolean() => {
            let response = result["response_time"].as_f64().unwrap_or_default() / 1_000.0;
            let took = Duration::try_from_secs_f64(response).unwrap_or(took);
            let (style, word) =
                if result["up"] == Value::Bool(true) { (GOOD, "up") } else { (BAD, "down") };
            let why = match result["error"].as_str() {
                Some(error) => error.to_owned(),
                None => result["code"].to_string(),
            };
            match check.unmet.as_slice() {
                [] => (style, format!("{word} {why}"), took),
                [first, ..] => (ODD, format!("{word} {why}, {}", first.message), took),
            }
        }
        (CheckStatus::Failed, _) => {
            let why = check.error.as_ref().map_or("", |error| error.message.as_str());
            (ODD, format!("failed: {why}"), took)
        }
        (status, _) => (PLAIN, status.as_str().to_owned(), took),
    }
}

fn issue_of(change: &IssueChange) -> Option<(Style, String)> {
    let summary = &change.after.summary;
    match change.after.status() {
        IssueStatus::Open => Some((BAD, format!("issue opened: {summary}"))),
        IssueStatus::Resolved => Some((GOOD, format!("issue resolved: {summary}"))),
        IssueStatus::Acknowledged => None,
    }
}

fn fitted(name: &str) -> String {
    let name = printable(name);
    if name.chars().count() <= NAME_WIDTH {
        return name;
    }
    name.chars().take(NAME_WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vedette_domain::checks::check::{CheckError, Finish};
    use vedette_domain::checks::tool::{RunReason, Tool};
    use vedette_domain::expectations::Unmet;
    use vedette_domain::id::{CheckId, SiteId};
    use vedette_domain::issues::Fingerprint;

    use super::*;

    fn check(finish: Finish) -> Check {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        let now = Timestamp::UNIX_EPOCH;
        Check::finished(
            CheckId::automatic(site, Tool::Status, RunReason::Scheduled, now),
            finish,
            now,
        )
    }

    #[test]
    fn results_are_read_at_a_glance() {
        let took = Duration::from_millis(70);
        let completed = |result: Value| Check {
            status: CheckStatus::Completed,
            result: Some(result),
            ..check(Finish::Skipped)
        };
        let error =
            CheckError { message: "forbidden".into(), code: String::new(), data: Value::Null };
        for (check, said) in [
            (
                completed(json!({ "up": true, "code": 200, "response_time": 12.4 })),
                (GOOD, "up 200".to_owned(), Duration::from_micros(12_400)),
            ),
            (
                Check {
                    unmet: vec![Unmet {
                        fingerprint: Fingerprint::StatusExpectation,
                        message: "expected 1 at /n, got 2".to_owned(),
                    }],
                    ..completed(json!({ "up": true, "code": 200, "response_time": 5.0 }))
                },
                (ODD, "up 200, expected 1 at /n, got 2".to_owned(), Duration::from_millis(5)),
            ),
            (
                completed(json!({ "up": false, "code": 503, "response_time": 5.0 })),
                (BAD, "down 503".to_owned(), Duration::from_millis(5)),
            ),
            (
                completed(
                    json!({ "up": false, "code": 0, "response_time": 1.0, "error": "refused" }),
                ),
                (BAD, "down refused".to_owned(), Duration::from_millis(1)),
            ),
            (completed(json!({ "records": {} })), (PLAIN, "completed".to_owned(), took)),
            (check(Finish::Failed(error)), (ODD, "failed: forbidden".to_owned(), took)),
            (check(Finish::Skipped), (PLAIN, "skipped".to_owned(), took)),
        ] {
            assert_eq!(result_of(&check, took), said);
        }
    }

    #[test]
    fn names_of_others_do_not_reach_the_terminal_as_commands() {
        assert_eq!(fitted("\u{1b}[2JShop\n\u{202e}"), "\u{fffd}[2JShop\u{fffd}\u{fffd}");
        assert_eq!(fitted(&"é".repeat(30)), format!("{}…", "é".repeat(23)));
        assert_eq!(fitted("Shop"), "Shop");
    }
}
