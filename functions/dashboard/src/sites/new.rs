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
use crate::{RequestContext, layout};

/// A line that was not understood or not wanted, and why.
struct Refused {
    line: String,
    why: String,
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
    let text = field(context.body, "urls");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (mut created, mut refused) = (0, Vec::new());
    if lines.is_empty() {
        refused.push(Refused { line: String::new(), why: "Enter a URL.".to_owned() });
    }
    let mut seen = BTreeSet::new();
    for (place, line) in lines.iter().enumerate() {
        let mut refuse = |why: String| refused.push(Refused { line: (*line).to_owned(), why });
        if place == SITES_MAX {
            let line = lines[place..].join("\n");
            let why = format!("A form may have {SITES_MAX} URLs. Please send these again.");
            refused.push(Refused { line, why });
            break;
        }
        let url = match SiteUrl::parse(&with_scheme(line)) {
            Ok(url) => url,
            Err(error) => {
                refuse(error.to_string());
                continue;
            }
        };
        if !seen.insert(url.clone()) {
            continue;
        }
        let id = team.team.id();
        let site = |site, now| Site::new(site, id, url.clone(), now);
        match create_one_of_many(context.app, caller, &mut team, site).await {
            Ok(OneOfMany::Created(_)) => created += 1,
            Ok(OneOfMany::Duplicate) => refuse(SiteRefusal::DuplicateUrl.to_string()),
            Ok(OneOfMany::OutOfTime) => {
                refuse("There was no time left for this one. Please send it again.".to_owned());
            }
            Err(error) => refuse(ApiError::from(error).message()),
        }
    }
    if refused.is_empty() {
        return layout::redirect(&format!("/teams/{}?added={created}", team.team.id()));
    }
    Ok(form(context, &team.team, StatusCode::UNPROCESSABLE_ENTITY, created, &refused))
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
        @if created > 0 { p.note role="status" { (created) " created." } }
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
    layout::team_page(context, (team.id(), NavTab::Sites), status, "Add sites", &content)
}
