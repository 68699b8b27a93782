//! Putting sites under watch: one, or many at once.

use std::collections::BTreeSet;
use std::time::Duration;

use lambda_http::http::StatusCode;
use maud::html;
use tracing::error;
use vedette_actions::{TeamWithCooldowns, create_site, duplicate_url};
use vedette_domain::ErrorChain;
use vedette_domain::account::Permission;
use vedette_domain::id::TeamId;
use vedette_domain::site::Site;
use vedette_domain::site_url::SiteUrl;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_store::{Backoff, TeamWithSettings, budget};

use crate::form::field;
use crate::{Visit, layout};

/// The most sites of a form, as of a request to the API.
const SITES_MAX: usize = 100;
/// What is not begun by then is left: the gateway gives up after 30 seconds.
const BUDGET: Duration = Duration::from_secs(25);

/// A line that was not understood or not wanted, and why.
struct Refused {
    line: String,
    why: String,
}

/// Shows the form.
pub(crate) async fn ask(visit: Visit<'_>) -> Result<Response, ApiError> {
    let team = team(visit).await?;
    Ok(form(visit, &team, StatusCode::OK, 0, &[]))
}

/// Creates the sites, each on its own; what could not be stays in the form.
pub(crate) async fn add(visit: Visit<'_>) -> Result<Response, ApiError> {
    let mut team = TeamWithCooldowns::new(team(visit).await?);
    let text = field(visit.body, "urls");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (mut created, mut refused) = (0, Vec::new());
    if lines.is_empty() {
        refused.push(Refused { line: String::new(), why: "Enter a URL.".to_owned() });
    }
    let mut seen = BTreeSet::new();
    for (place, line) in lines.iter().enumerate() {
        let mut refuse = |why: String| refused.push(Refused { line: (*line).to_owned(), why });
        if place >= SITES_MAX {
            refuse(format!("A form may have {SITES_MAX} URLs. Please send this one again."));
            continue;
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
        let now = visit.app.clock.now();
        let spent = now.duration_since(visit.member()?.caller.now);
        let left = BUDGET.saturating_sub(Duration::try_from(spent).unwrap_or_default());
        if left.is_zero() {
            refuse("There was no time left for this one. Please send it again.".to_owned());
            continue;
        }
        match create_within(left, visit, &mut team, &url).await {
            Ok(true) => created += 1,
            Ok(false) => refuse(duplicate_url().message()),
            Err(error) => {
                if error.is_fault() {
                    error!(team = %team.team.id(), error = %ErrorChain(&error), "a site of many was not created");
                }
                refuse(error.message());
            }
        }
    }
    if refused.is_empty() {
        return layout::see(&format!("/teams/{}?added={created}", team.team.id()));
    }
    Ok(form(visit, &team.team, StatusCode::UNPROCESSABLE_ENTITY, created, &refused))
}

/// People leave the scheme out.
fn with_scheme(line: &str) -> String {
    if line.contains("://") { line.to_owned() } else { format!("https://{line}") }
}

/// Creates a site, or finds that there is one; after a conflict again, with the team reloaded.
async fn create_within(
    left: Duration,
    visit: Visit<'_>,
    team: &mut TeamWithCooldowns,
    url: &SiteUrl,
) -> Result<bool, ApiError> {
    let (app, caller) = (visit.app, &visit.member()?.caller);
    let mut backoff = Backoff::new(budget::WRITE.min(left));
    loop {
        let id = app.entropy.site_id().map_err(ApiError::internal)?;
        let site = Site::new(id, team.team.id(), url.clone(), app.clock.now());
        match create_site(app, caller, team, site).await {
            Err(error) => backoff.wait(error).await?,
            Ok(created) => return Ok(created.is_some()),
        }
        *team = TeamWithCooldowns::new(self::team(visit).await?);
    }
}

async fn team(visit: Visit<'_>) -> Result<TeamWithSettings, ApiError> {
    let team = TeamId::parse(visit.value("team")).ok_or(ApiError::NotFound)?;
    visit.member()?.caller.team(&visit.app.store, team, Permission::ManageSites).await
}

fn form(
    visit: Visit<'_>,
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
    layout::own_page(visit, status, "Add sites", &content)
}
