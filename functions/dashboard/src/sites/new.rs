//! Putting sites under watch: one, or many at once.

use std::collections::BTreeSet;

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{OneOfMany, SITES_MAX, TeamWithCooldowns, create_one_of_many};
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::TeamWithSettings;

use crate::form::field;
use crate::layout::NavTab;
use crate::look::Look;
use crate::words::counted;
use crate::{RequestContext, layout};

/// A line that was not understood or not wanted, and why.
struct Refused {
    line: String,
    why: String,
}

impl Refused {
    fn new(line: impl Into<String>, why: impl Into<String>) -> Self {
        Self { line: line.into(), why: why.into() }
    }
}

/// Shows the form.
pub(crate) async fn ask_to_add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    Ok(form(context, &team, StatusCode::OK, 0, &[]))
}

/// Creates the sites, each on its own; what could not be stays in the form.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let mut team = TeamWithCooldowns::new(team);
    let id = team.team.id();
    let (mut created, mut refused) = (0, Vec::new());
    for line in parse(&field(context.body, "urls")) {
        let (line, url) = match line {
            Ok(read) => read,
            Err(unread) => {
                refused.push(unread);
                continue;
            }
        };
        let site = |site, now| Site::new(site, id, url.clone(), now);
        let why = match create_one_of_many(context.app, caller, &mut team, site).await {
            Ok(OneOfMany::Created(_)) => {
                created += 1;
                continue;
            }
            Ok(OneOfMany::Duplicate) => SiteRefusal::DuplicateUrl.to_string(),
            Ok(OneOfMany::OutOfTime) => {
                "There was no time left for this one. Please send it again.".to_owned()
            }
            Err(error) => ApiError::from(error).message(),
        };
        refused.push(Refused::new(line, why));
    }
    if refused.is_empty() {
        return layout::redirect(&format!("/teams/{id}?added={created}"));
    }
    Ok(form(context, &team.team, StatusCode::UNPROCESSABLE_ENTITY, created, &refused))
}

/// The lines of the form in their order: each with its URL, or with why it has none. A URL counts once.
fn parse(text: &str) -> Vec<Result<(&str, SiteUrl), Refused>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return vec![Err(Refused::new("", "Enter a URL."))];
    }
    let (read, left) = lines.split_at(lines.len().min(SITES_MAX));
    let mut seen = BTreeSet::new();
    let parsed = read.iter().filter_map(|line| match SiteUrl::parse(&with_scheme(line)) {
        Ok(url) => seen.insert(url.clone()).then_some(Ok((*line, url))),
        Err(error) => Some(Err(Refused::new(*line, error.to_string()))),
    });
    let mut parsed: Vec<_> = parsed.collect();
    if !left.is_empty() {
        let why = format!("A form may have {SITES_MAX} URLs. Please send these again.");
        parsed.push(Err(Refused::new(left.join("\n"), why)));
    }
    parsed
}

/// People leave the scheme out.
fn with_scheme(line: &str) -> String {
    if line.contains("://") { line.to_owned() } else { format!("https://{line}") }
}

fn form(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    status: StatusCode,
    created: u32,
    refused: &[Refused],
) -> Response {
    let left: Vec<&str> = refused.iter().map(|refused| refused.line.as_str()).collect();
    let described = (!refused.is_empty()).then_some("problems");
    let content = html! {
        @if created > 0 { (layout::note(Look::Up, &html! { (counted(created as usize, "site", "sites")) " added." })) }
        form method="post" action={ "/teams/" (team.id()) "/sites" } {
            label for="urls" { "URLs, one in a line" }
            @if !refused.is_empty() {
                div #problems.error role="alert" {
                    ul {
                        @for Refused { line, why } in refused {
                            li { @if !line.is_empty() { bdi { (line) } ": " } (why) }
                        }
                    }
                }
            }
            textarea #urls name="urls" rows="8" required aria-describedby=[described]
                placeholder="https://example.com/" { (left.join("\n")) }
            p { button { "Watch these" } }
        }
        p { a href={ "/teams/" (team.id()) } { "Back to the sites" } }
    };
    layout::team_page(context, (&team.team, NavTab::Sites), status, "Add sites", &content)
}
