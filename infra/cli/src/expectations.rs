//! `vedette expectations`: what the status checks of a site expect.

use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use serde::Serialize;
use vedette_actions::access::SiteAccess;
use vedette_actions::change_expectations;
use vedette_domain::accounts::audit::Actor;
use vedette_domain::expectations::{
    CheckMethod, EXPECTATIONS_MAX, Expectation, ExpectationKind, Expectations, IssuePolicies,
    IssuePolicy, NotExpectable,
};
use vedette_domain::id::SiteId;
use vedette_domain::issues::Severity;
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use crate::output::{Output, Show, record};
use crate::{Failure, args, team};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a site's status checks expect
    Show {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
    },
    /// Replace what a site's status checks expect
    ///
    /// Everything that is not named is removed, or gets its default.
    Set {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
        #[command(flatten)]
        wanted: Box<Wanted>,
    },
    /// Expect nothing but an answer
    Clear {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
    },
}

/// What to expect.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// Text that the first 512 KB of the body contain; may be repeated, as the others
    #[arg(long, value_name = "TEXT")]
    body_contains: Vec<String>,
    /// Text that the first 512 KB of the body do not contain
    #[arg(long, value_name = "TEXT")]
    body_lacks: Vec<String>,
    /// Value of a header
    #[arg(long, value_name = "NAME: VALUE")]
    header_equals: Vec<String>,
    /// Text that a header contains
    #[arg(long, value_name = "NAME: TEXT")]
    header_contains: Vec<String>,
    /// Value at a JSON pointer: /status = ok, /ready = true
    #[arg(long, value_name = "POINTER = VALUE")]
    json_equals: Vec<String>,
    /// Milliseconds after which the site is slow
    #[arg(long, value_name = "MS")]
    response_time: Option<String>,
    /// Method of the request
    #[arg(long, value_parser = args::check_method(), default_value = "GET")]
    method: CheckMethod,
    /// Severity of `status:expectation`
    #[arg(long, value_parser = args::severity_of_expectation(), default_value = "critical")]
    severity: Severity,
    /// Failed checks in a row that open it
    #[arg(long, value_name = "COUNT", value_parser = args::streak, default_value = "2")]
    failures_to_open: NonZeroU32,
    /// Successful checks in a row that resolve it
    #[arg(long, value_name = "COUNT", value_parser = args::streak, default_value = "1")]
    successes_to_resolve: NonZeroU32,
    /// Severity of `status:slow`
    #[arg(long, value_parser = args::severity_of_expectation(), default_value = "warning")]
    slow_severity: Severity,
    /// Slow checks in a row that open it
    #[arg(long, value_name = "COUNT", value_parser = args::streak, default_value = "2")]
    slow_failures_to_open: NonZeroU32,
    /// Fast checks in a row that resolve it
    #[arg(long, value_name = "COUNT", value_parser = args::streak, default_value = "1")]
    slow_successes_to_resolve: NonZeroU32,
}

impl Wanted {
    fn of(&self, kind: ExpectationKind) -> &[String] {
        match kind {
            ExpectationKind::BodyContains => &self.body_contains,
            ExpectationKind::BodyLacks => &self.body_lacks,
            ExpectationKind::HeaderEquals => &self.header_equals,
            ExpectationKind::HeaderContains => &self.header_contains,
            ExpectationKind::JsonEquals => &self.json_equals,
            ExpectationKind::ResponseTime => self.response_time.as_slice(),
        }
    }

    fn expectations(&self) -> Result<Expectations, Failure> {
        let of_kind = |kind| self.of(kind).iter().map(move |line| (kind, line));
        let lines: Vec<_> = ExpectationKind::ALL.into_iter().flat_map(of_kind).collect();
        let usage = |why: String| Err(Failure::Usage(why));
        if lines.is_empty() {
            return usage("name something to expect, or use `expectations clear`".to_owned());
        }
        if lines.len() > EXPECTATIONS_MAX {
            return usage(format!("a site can have {EXPECTATIONS_MAX} expectations"));
        }
        let refused = |(kind, line): &(ExpectationKind, &String), why: NotExpectable| {
            let option = kind.as_str().replace('_', "-");
            Failure::Usage(format!("--{option} {line}: it {why}"))
        };
        let read = |one: &(ExpectationKind, &String)| {
            Expectation::from_line(one.0, one.1).map_err(|why| refused(one, why))
        };
        let expectations = Expectations {
            method: self.method,
            expectations: lines.iter().map(read).collect::<Result<_, _>>()?,
            issues: IssuePolicies {
                expectation: IssuePolicy {
                    severity: self.severity,
                    failures_to_open: self.failures_to_open,
                    successes_to_resolve: self.successes_to_resolve,
                },
                slow: IssuePolicy {
                    severity: self.slow_severity,
                    failures_to_open: self.slow_failures_to_open,
                    successes_to_resolve: self.slow_successes_to_resolve,
                },
            },
        };
        match expectations.refused().first() {
            Some((place, why)) => Err(refused(&lines[*place], *why)),
            None => Ok(expectations),
        }
    }
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        let access = match self {
            Self::Show { site } => find(app, *site).await?,
            Self::Set { site, wanted } => change(app, *site, &wanted.expectations()?).await?,
            Self::Clear { site } => change(app, *site, &Expectations::default()).await?,
        };
        Ok(out.show(&Shown(&access.stored.site.expectations))?)
    }
}

async fn find(app: &App, site: SiteId) -> Result<SiteAccess, Failure> {
    let stored = app.store.site(site.partition()).await?;
    let stored = stored.filter(|stored| stored.site.id == site);
    let stored = stored.ok_or_else(|| Failure::refused(format!("there is no site {site}")))?;
    let team = team::find(app, stored.site.team).await?;
    Ok(SiteAccess { stored, team })
}

async fn change(app: &App, site: SiteId, wanted: &Expectations) -> Result<SiteAccess, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let mut access = find(app, site).await?;
        let (wanted, now) = (wanted.clone(), app.clock.now());
        change_expectations(app, &mut access, wanted, Actor::Operator, now).await?;
        Ok(access)
    })
    .await
}

#[derive(Serialize)]
#[serde(transparent)]
struct Shown<'a>(&'a Expectations);

impl Show for Shown<'_> {
    fn text(&self) -> String {
        let Expectations { method, expectations, issues } = self.0;
        if expectations.is_empty() {
            return format!("Nothing but an answer to {method} is expected.\n");
        }
        let expected = expectations.iter().map(|one| (one.kind().as_str(), one.to_line()));
        let IssuePolicies { expectation, slow } = issues;
        record(
            [("method", method.to_string())].into_iter().chain(expected).chain([
                ("status:expectation", policy(expectation)),
                ("status:slow", policy(slow)),
            ]),
        )
    }
}

fn policy(of: &IssuePolicy) -> String {
    let IssuePolicy { severity, failures_to_open, successes_to_resolve } = of;
    format!("{severity}, opens after {failures_to_open}, resolves after {successes_to_resolve}")
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, SITE};

    #[tokio::test]
    async fn expectations_are_set_shown_and_cleared() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.site(&team).await;
        let show = format!("expectations show {SITE}");
        insta::assert_snapshot!(bench.run(&show).await.out, @"Nothing but an answer to GET is expected.");
        let set = format!(
            "expectations set {SITE} --body-contains Welcome --json-equals /status=ok \
             --json-equals /ready=true --header-contains content-type:json --response-time 2000 \
             --severity warning --slow-failures-to-open 3"
        );
        insta::assert_snapshot!(bench.run(&set).await.out, @r#"
        method              GET
        body_contains       Welcome
        header_contains     content-type: json
        json_equals         /status = "ok"
        json_equals         /ready = true
        response_time       2000
        status:expectation  warning, opens after 2, resolves after 1
        status:slow         warning, opens after 3, resolves after 1
        "#);
        let shown = bench.json(&show).await;
        assert_eq!(shown["expectations"][1]["name"], "content-type");
        let cleared = bench.json(&format!("expectations clear {SITE}")).await;
        assert_eq!(cleared["expectations"], serde_json::json!([]));
    }

    #[tokio::test]
    async fn what_cannot_be_expected_is_wrong_usage() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.site(&team).await;
        for (options, said) in [
            ("", "name something to expect, or use `expectations clear`"),
            (
                "--json-equals status=ok",
                "--json-equals status=ok: it must be a JSON pointer, such as /status or /checks/0/state",
            ),
            (
                "--method HEAD --body-lacks x",
                "--body-lacks x: it needs the method GET, because a response to HEAD has no body",
            ),
        ] {
            let ran = bench.run(&format!("expectations set {SITE} {options}")).await;
            assert_eq!((ran.code, ran.said.as_str()), (2, said));
        }
        let nobody = "0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e02";
        let ran = bench.run(&format!("expectations show {nobody}")).await;
        assert_eq!((ran.code, ran.said), (1, format!("there is no site {nobody}")));
    }
}
