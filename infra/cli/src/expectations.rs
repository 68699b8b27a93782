//! `vedette expectations`: what the status checks of a site expect.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value, json};
use vedette_domain::expectations::{
    EXPECTATIONS_MAX, Expectation, ExpectationKind, Expectations, ExpectationsInput, NotExpectable,
    OwnershipRecord, POST_BODY_MAX,
};
use vedette_domain::id::SiteId;
use vedette_domain::input::Input as _;
use vedette_domain::validation::Fields;
use vedette_runtime::App;

use crate::api::{Api, Call};
use crate::given::{Given, typed_object};
use crate::output::{Output, Record, Show, record, text_at};
use crate::{Failure, args};

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
    /// Replaces all earlier expectations. Options that are omitted get their defaults.
    Set {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
        #[command(flatten)]
        wanted: Box<CheckArgs>,
    },
    /// Show the DNS record by which the owner of a site's host allows POST requests
    Ownership {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
    },
    /// Remove all expectations
    Clear {
        /// The site
        #[arg(value_parser = args::site_id)]
        site: SiteId,
    },
}

/// What to expect.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Text that the first 512 KB of the body must contain; may be repeated, like the next four options
    #[arg(long, value_name = "TEXT")]
    body_contains: Vec<String>,
    /// Text that the first 512 KB of the body must not contain
    #[arg(long, value_name = "TEXT")]
    body_lacks: Vec<String>,
    /// Value that a header must have
    #[arg(long, value_name = "NAME: VALUE")]
    header_equals: Vec<String>,
    /// Text that a header must contain
    #[arg(long, value_name = "NAME: TEXT")]
    header_contains: Vec<String>,
    /// Value that the JSON body must have at a pointer: /status = ok, /ready = true
    #[arg(long, value_name = "POINTER = VALUE")]
    json_equals: Vec<String>,
    /// Response time in milliseconds above which the site is slow
    #[arg(long, value_name = "MS")]
    response_time: Option<String>,
    /// File with the body of a POST
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    #[command(flatten)]
    others: Given<ExpectationsInput>,
}

impl CheckArgs {
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

    /// What is wanted, as the body of a request.
    fn body(&self) -> Result<Map<String, Value>, Failure> {
        let of_kind = |kind| self.of(kind).iter().map(move |line| (kind, line));
        let lines: Vec<_> = ExpectationKind::ALL.into_iter().flat_map(of_kind).collect();
        let usage = |why: String| Err(Failure::Usage(why));
        let texts = self.texts()?;
        let others = Expectations::read(texts.clone(), |sent| Fields::texts(sent), None)
            .map_err(|error| Failure::Usage(error.message()))?;
        if lines.is_empty() && others.post.is_none() {
            return usage(
                "give at least one expectation, or remove all with `expectations clear`".to_owned(),
            );
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
        let expectations = lines.iter().map(read).collect::<Result<_, _>>()?;
        let expectations = Expectations { expectations, ..others };
        if let Some((place, why)) = expectations.refused().first() {
            return Err(refused(&lines[*place], *why));
        }
        let mut body = typed_object(ExpectationsInput::FIELDS, &texts);
        body.insert("expectations".to_owned(), json!(expectations.expectations));
        Ok(body)
    }

    /// What is chosen besides the list of expectations.
    fn texts(&self) -> Result<Map<String, Value>, Failure> {
        let mut texts = self.others.texts().clone();
        texts.insert("expectations".to_owned(), Value::Array(Vec::new()));
        let posts = texts.get("method").and_then(Value::as_str) == Some("POST");
        match &self.body_file {
            Some(file) if posts => texts["post"]["body"] = read_body(file)?.into(),
            Some(_) => return Err(Failure::Usage("--body-file needs --method POST".to_owned())),
            None if posts => {
                return Err(Failure::Usage("--method POST needs --body-file".to_owned()));
            }
            // It has a default.
            None => drop(texts.remove("post")),
        }
        Ok(texts)
    }
}

fn read_body(file: &Path) -> Result<String, Failure> {
    let unusable = |why: &str| Failure::Usage(format!("--body-file {}: {why}", file.display()));
    let mut body = Vec::new();
    let limit = POST_BODY_MAX as u64 + 1;
    File::open(file)
        .and_then(|file| file.take(limit).read_to_end(&mut body))
        .map_err(|error| unusable(&error.to_string()))?;
    if body.is_empty() {
        return Err(unusable("it is empty"));
    }
    if body.len() > POST_BODY_MAX {
        return Err(unusable(&format!("it is longer than {POST_BODY_MAX} bytes")));
    }
    String::from_utf8(body).map_err(|_| unusable("it is not UTF-8"))
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let of_site = |route, site: &SiteId| Call::to(route).of("site", site);
        let call = match self {
            Self::Ownership { site } => return ownership(api.app()?, *site, out).await,
            Self::Show { site } => of_site("expectations.get", site),
            Self::Set { site, wanted } => {
                of_site("expectations.update", site).sending(wanted.body()?)
            }
            Self::Clear { site } => {
                of_site("expectations.update", site).sending(json!({ "expectations": [] }))
            }
        };
        let resource = api.call(&call).await?;
        Ok(out.show(&Shown { resource })?)
    }
}

/// Shows the record of a site, and whether the name servers of this machine know it.
async fn ownership(app: &App, site: SiteId, out: &mut Output<'_>) -> Result<(), Failure> {
    let stored = app.store.site(site.partition()).await?;
    let stored = stored.filter(|stored| stored.site.id == site);
    let site = stored.ok_or_else(|| Failure::refused(format!("there is no site {site}")))?.site;
    let record = OwnershipRecord::of(&site).ok_or_else(|| {
        Failure::refused(
            "the host of this site is an IP address or too long a name, so it cannot have this \
             record",
        )
    })?;
    let proven = app.txt_records.prove(&site).await;
    let problem = proven.err().map(|why| why.to_string());
    let state = problem.clone().unwrap_or_else(|| "published".to_owned());
    let record = Record::default()
        .with("type", "type", "TXT")
        .with("name", "name", record.name)
        .with("value", "value", record.value)
        .worded("problem", "state", problem, state);
    Ok(out.show(&record)?)
}

/// Expectations as the API shows them, and in words for people.
#[derive(Serialize)]
#[serde(transparent)]
struct Shown {
    resource: Value,
}

impl Show for Shown {
    fn text(&self) -> String {
        let Self { resource } = self;
        let method = text_at(resource, "/method");
        let expected: Vec<Expectation> =
            Vec::deserialize(&resource["expectations"]).unwrap_or_default();
        if expected.is_empty() {
            return format!("There are no expectations. Checks send {method}.\n");
        }
        let post = resource.get("post").map(|post| {
            let text = |pointer| text_at(post, pointer);
            ("post", format!("{} bytes of {}", text("/body_bytes"), text("/content_type")))
        });
        let expected = expected.iter().map(|one| (one.kind().as_str(), one.to_line()));
        let policy = |of: &str| {
            let text = |name| text_at(resource, &format!("/issues/{of}/{name}"));
            format!(
                "{}, opens after {}, resolves after {}",
                text("severity"),
                text("failures_to_open"),
                text("successes_to_resolve")
            )
        };
        record([("method", method)].into_iter().chain(post).chain(expected).chain([
            ("status:expectation", policy("expectation")),
            ("status:slow", policy("slow")),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use vedette_runtime::TxtRecords;

    use crate::testing::{Bench, SITE};

    #[tokio::test]
    async fn expectations_are_set_shown_and_cleared() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.site(&team).await;
        let show = format!("expectations show {SITE}");
        insta::assert_snapshot!(bench.run(&show).await.out, @"There are no expectations. Checks send GET.");
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
    async fn a_post_needs_the_record_that_the_command_shows() {
        let mut bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.site(&team).await;
        let ownership = format!("expectations ownership {SITE}");
        let record = bench.json(&ownership).await;
        let value = record["value"].as_str().expect("a value").to_owned();
        assert_eq!(record["name"], "_vedette-challenge.shop.example.com");
        let of_record = format!(
            "the DNS TXT record _vedette-challenge.shop.example.com with the value {value}"
        );
        let unknown = format!("{of_record} could not be looked up: this process looks up no names");
        assert_eq!(record["problem"], unknown.as_str());

        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("body");
        std::fs::write(&file, "{\"password\": \"correct horse\"}").expect("written");
        let set = format!("expectations set {SITE} --method POST --body-file {}", file.display());
        let refused = bench.run(&set).await;
        assert_eq!(refused.code, 1);
        assert_eq!(refused.said, format!("The method field must not be POST: {unknown}."));
        bench.app.txt_records = TxtRecords::from_fn(move |_| {
            let value = value.clone();
            Box::pin(async move { Ok(vec![value]) })
        });
        insta::assert_snapshot!(bench.run(&set).await.out, @"There are no expectations. Checks send POST.");
        let set = format!("{set} --content-type text/plain --response-time 900");
        insta::assert_snapshot!(bench.run(&set).await.out, @r"
        method              POST
        post                29 bytes of text/plain
        response_time       900
        status:expectation  critical, opens after 2, resolves after 1
        status:slow         warning, opens after 2, resolves after 1
        ");
        let shown = bench.json(&format!("expectations show {SITE}")).await;
        let posted = serde_json::json!({ "content_type": "text/plain", "body_bytes": 29 });
        assert_eq!((&shown["method"], &shown["post"]), (&"POST".into(), &posted));
        let found = bench.run(&ownership).await.out;
        assert!(found.ends_with("state  published\n"), "{found}");

        std::fs::write(&file, [0xff]).expect("written");
        let failed = bench.run(&set).await;
        assert_eq!((failed.code, failed.said.ends_with(": it is not UTF-8")), (2, true));
        for (content, said) in
            [("", "it is empty"), (&"x".repeat(4_097), "it is longer than 4096 bytes")]
        {
            std::fs::write(&file, content).expect("written");
            let failed = bench.run(&set).await;
            assert_eq!((failed.code, failed.said.ends_with(said)), (2, true), "{}", failed.said);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_expected_is_wrong_usage() {
        let bench = Bench::new().await;
        bench.user("ada").await;
        let team = bench.team("ada", "starter").await;
        bench.site(&team).await;
        for (options, said) in [
            ("", "give at least one expectation, or remove all with `expectations clear`"),
            ("--method POST", "--method POST needs --body-file"),
            ("--body-file x --response-time 5", "--body-file needs --method POST"),
            (
                "--json-equals status=ok",
                "--json-equals status=ok: it must be a JSON pointer, such as /status or /checks/0/state",
            ),
            (
                "--method HEAD --body-lacks x",
                "--body-lacks x: it needs the method GET or POST, because a response to HEAD has no body",
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
