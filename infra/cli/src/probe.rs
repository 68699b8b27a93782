//! `vedette probe`: runs an engine once, without a service.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use vedette_checker::{Config, Engines, ProbeInput};
use vedette_domain::checks::check::{CheckError, Finish, ToolResult};
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::Expectations;
use vedette_domain::issues::Outcome;
use vedette_domain::issues::evaluate::{Evaluation, evaluate};
use vedette_domain::sites::settings::{ExpectedRecords, RequestHeader, Settings};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_probe::links::Progress;
use vedette_runtime::Clock;
use vedette_runtime::config::environment;

use crate::Failure;
use crate::output::{Output, Show};

/// The options of `vedette probe`.
#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// The tool
    #[arg(value_parser = tool())]
    tool: Tool,
    /// The URL of the site
    #[arg(value_parser = url)]
    url: SiteUrl,
    /// A header to send to the site's own host, as NAME:VALUE
    #[arg(long, value_parser = header)]
    header: Option<RequestHeader>,
    /// Render pages in a browser before reading their links
    #[arg(long)]
    js_rendered: bool,
}

fn tool() -> impl TypedValueParser<Value = Tool> {
    PossibleValuesParser::new(Tool::ALL.map(Tool::as_str))
        .try_map(|value| Tool::parse(&value).ok_or("not a tool"))
}

/// A URL as the API accepts it, or only a host name.
fn url(text: &str) -> Result<SiteUrl, String> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    SiteUrl::parse(&whole).map_err(|error| error.to_string())
}

fn header(text: &str) -> Result<RequestHeader, &'static str> {
    let (name, value) = text.split_once(':').ok_or("expected NAME:VALUE")?;
    let part = |text: &str| Some(text.trim().to_owned());
    Ok(RequestHeader { name: part(name), value: part(value) })
}

impl Probe {
    /// Runs the engine and shows what it found.
    pub(crate) async fn run(&self, clock: &Clock, out: &mut Output<'_>) -> Result<(), Failure> {
        let config = Config::read(&environment)?;
        let engines = Engines::new(config.outbound, config.engines).map_err(Failure::because)?;
        let settings = self.settings();
        let (js_rendered, none) = (self.js_rendered, Expectations::default());
        let subject = ProbeInput {
            team: None,
            url: &self.url,
            js_rendered,
            settings: &settings,
            expectations: &none,
            consent: None,
        };
        let bar = self.bar();
        let show = |progress: Progress| {
            bar.set_length(u64::from(progress.links + progress.queued));
            bar.set_position(u64::from(progress.links));
            bar.set_message(format!("{} pages, {} broken", progress.pages, progress.found));
        };
        let probed = engines.run(self.tool, subject, clock.now(), show).await;
        bar.finish_and_clear();
        match probed.map_err(Failure::because)?.finish {
            Finish::Completed(result) => {
                out.show(&Report { verdicts: verdicts(&result, &settings, clock.now()), result })?;
                Ok(())
            }
            Finish::Failed(CheckError { message, code, .. }) => {
                Err(Failure::refused(format!("{message} ({code})")))
            }
            Finish::Skipped => Err(Failure::refused("the tool did not run")),
        }
    }

    /// The settings of a new team, except for the header, for the page to audit, which need not be the root of its
    /// site, and for the port of the certificate, which is that of an https URL.
    fn settings(&self) -> Settings {
        let request_header = self.header.clone().unwrap_or_default();
        let mut settings = Settings { request_header, ..Settings::default() };
        settings.tools.performance.settings.url = Some(self.url.to_string());
        settings.tools.ssl.settings.port = self.url.https_port();
        settings
    }

    /// Shows progress on standard error if it is a terminal. Only a crawl knows how much is left.
    fn bar(&self) -> ProgressBar {
        let template = match self.tool {
            Tool::BrokenLinks => "{spinner} {elapsed} {wide_bar} {pos}/{len} links, {msg}",
            Tool::Status | Tool::Ssl | Tool::Dns | Tool::Performance | Tool::Heartbeat => {
                "{spinner} {elapsed}"
            }
        };
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar
    }
}

/// Judges the result with the settings of a new team.
fn verdicts(result: &ToolResult, settings: &Settings, now: Timestamp) -> Vec<(bool, String)> {
    let evaluations =
        evaluate(result, settings, &ExpectedRecords::new(), &Expectations::default(), None, now);
    let verdict =
        |evaluation: &Evaluation| (evaluation.outcome == Outcome::Up, evaluation.summary.clone());
    evaluations.iter().map(verdict).collect()
}

/// The output. Programs get only the result. For people, its meaning comes first.
#[derive(Serialize)]
struct Report {
    #[serde(skip)]
    verdicts: Vec<(bool, String)>,
    #[serde(flatten)]
    result: ToolResult,
}

impl Show for Report {
    fn text(&self) -> String {
        let mut text = String::new();
        for (good, summary) in &self.verdicts {
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(text, "{} {summary}", if *good { "ok  " } else { "DOWN" });
        }
        let result = serde_json::to_value(&self.result).unwrap_or_default();
        write_value(&mut text, &result, 0);
        text
    }
}

/// Writes one field on each line, with nested ones indented. Empty fields are left out.
fn write_value(text: &mut String, value: &Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    let indent = "  ".repeat(depth);
    for (name, value) in fields {
        match value {
            Value::Null => {}
            Value::Object(inner) if inner.is_empty() => {}
            Value::Array(items) if items.is_empty() => {}
            Value::Object(_) => {
                let _ = writeln!(text, "{indent}{name}:");
                write_value(text, value, depth + 1);
            }
            Value::Array(items) if items.iter().all(is_scalar) => {
                let items: Vec<String> = items.iter().map(scalar).collect();
                let _ = writeln!(text, "{indent}{name}: {}", items.join(", "));
            }
            Value::Array(items) => {
                let _ = writeln!(text, "{indent}{name}:");
                for item in items {
                    let _ = writeln!(text, "{indent}  -");
                    write_value(text, item, depth + 2);
                }
            }
            value => {
                let _ = writeln!(text, "{indent}{name}: {}", scalar(value));
            }
        }
    }
}

const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Object(_) | Value::Array(_))
}

/// Removes control characters, so that a target cannot move the cursor.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => crate::output::printable(text),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vedette_domain::checks::check::StatusResult;

    use super::*;
    use crate::testing::Bench;

    fn report() -> Report {
        let result = ToolResult::Status(StatusResult {
            up: false,
            code: 503,
            url: "https://example.com".to_owned(),
            effective_url: "https://example.com/\u{1b}[2J".to_owned(),
            response_time: 41.5,
            redirected: true,
            redirect_count: 1,
            redirects: vec!["https://example.com/down".to_owned()],
            error: None,
            phases: None,
            judged: None,
        });
        Report { verdicts: verdicts(&result, &Settings::default(), Timestamp::UNIX_EPOCH), result }
    }

    #[test]
    fn a_report_says_what_it_means_and_then_what_was_found() {
        insta::assert_snapshot!(report().text(), @r"
        DOWN example.com is down: HTTP 503 Service Unavailable
        code: 503
        effective_url: https://example.com/�[2J
        redirect_count: 1
        redirected: true
        redirects: https://example.com/down
        response_time: 41.5
        up: false
        url: https://example.com
        ");
        let result = serde_json::to_value(report()).expect("json");
        assert_eq!(result["code"], 503, "programs get the result alone");
    }

    #[test]
    fn nested_values_are_indented() {
        let mut text = String::new();
        let value = json!({
            "crawl": { "pages": 2, "skipped": {} },
            "urls": [{ "status": 404, "url": "https://example.com/gone" }],
            "nothing": null,
        });
        write_value(&mut text, &value, 0);
        insta::assert_snapshot!(text, @r"
        crawl:
          pages: 2
        urls:
          -
            status: 404
            url: https://example.com/gone
        ");
    }

    #[test]
    fn the_named_tool_is_run() {
        let probe = Probe {
            tool: Tool::Performance,
            url: url("example.com/cart").expect("a URL"),
            header: Some(header("X-Key: a").expect("a header")),
            js_rendered: false,
        };
        let settings = probe.settings();
        assert_eq!(settings.request_header.pair(), Some(("X-Key", "a")));
        let page = settings.tools.performance.settings.url;
        assert_eq!(page.as_deref(), Some("https://example.com/cart"));
    }

    #[tokio::test]
    async fn what_may_not_be_reached_is_refused_and_wrong_usage_is_told() {
        let bench = Bench::new().await;
        for (arguments, code, said) in [
            ("probe status http://127.0.0.1:9", 1, "the target is forbidden"),
            ("probe ssl 169.254.169.254", 1, "the target is forbidden"),
            ("probe dns http://192.0.2.1", 1, "no name to look up"),
            ("probe broken-links http://[::1]", 1, "the target is forbidden"),
        ] {
            let ran = bench.run(arguments).await;
            assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{arguments}");
            assert!(ran.said.contains(said), "{}", ran.said);
        }
        for wrong in ["ftp://example.com", "https://user@example.com", ""] {
            assert!(url(wrong).is_err(), "{wrong}");
        }
        assert_eq!(url("example.com").expect("a URL").as_str(), "https://example.com");
        assert!(header("no value").is_err());
        assert_eq!(header("X-Key: a:b").expect("a header").pair(), Some(("X-Key", "a:b")));
    }
}
