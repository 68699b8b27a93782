//! Adding sites: one, or many at once.

mod next;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{GrowingTeam, OneOfMany, SITES_MAX, create_one_of_many};
use vedette_domain::id::{SiteId, TeamId, UserId};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::site_url::SiteUrl;
use vedette_domain::sites::tag::Tags;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_probe::scheme::{Scheme, scheme_of};
use vedette_store::TeamWithSettings;

use super::show::FIRST;
use super::tags;
use crate::form::FormInput;
use crate::layout::{Heading, NavTab};
use crate::look::Look;
use crate::words::counted;
use crate::{RequestContext, layout};

/// How often a user may have ports tested in [`TRIES_WINDOW`].
const TRIES_OF_USER: u32 = 60;
/// How often a host's ports are tested in [`TRIES_WINDOW`], for all users together.
const TRIES_OF_HOST: u32 = 10;
const TRIES_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// A line that was invalid or refused, and why.
struct Refused {
    line: String,
    why: String,
}

impl Refused {
    fn new(line: impl Into<String>, why: impl Into<String>) -> Self {
        Self { line: line.into(), why: why.into() }
    }
}

/// The result for the other lines.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) created: usize,
    /// How many sites the team already monitored.
    pub(super) watched: usize,
    /// How many new sites named a port but no scheme, and answered over https.
    pub(super) https: usize,
    /// How many of them did not speak TLS.
    pub(super) http: usize,
}

impl Done {
    pub(super) fn shown(self) -> Markup {
        let Self { created, watched, https, http } = self;
        let look = if created > 0 { Look::Up } else { Look::Info };
        html! {
            @if created > 0 || watched > 0 {
                (layout::note(look, &html! {
                    @if created > 0 {
                        b { (counted(created, "site", "sites")) " added." }
                        " The first results arrive within a minute. "
                    }
                    @for (number, scheme) in [(https, "https"), (http, "http")] {
                        @if number > 0 {
                            (counted(number, "port", "ports")) " without a scheme answered over " (scheme) ":// and "
                            @if number == 1 { "is" } @else { "are" } " monitored that way. "
                        }
                    }
                    @if watched > 0 {
                        (counted(watched, "site is already monitored and stays as it is.", "sites are already monitored and stay as they are."))
                    }
                }))
            }
        }
    }
}

/// A site from the form. Its certificate is that of its URL's port.
fn new_site(id: SiteId, team: TeamId, url: &SiteUrl, tags: &Tags, now: Timestamp) -> Site {
    let mut site = Site { tags: tags.clone(), ..Site::new(id, team, url.clone(), now) };
    site.overrides.tools.ssl.settings.port = url.https_port().map(Some);
    site
}

/// Shows the form.
pub(crate) async fn ask_to_add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    form(context, &team, &FormInput::default(), Done::default(), &[]).await
}

/// Creates the sites, each on its own. Lines that could not be created stay in the form.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let input = FormInput::sent(context.body);
    let tags = match tags::read(&input, tags::FIELD) {
        Ok(tags) => tags,
        Err(refusal) => {
            return form(context, &team, &input.refused(refusal), Done::default(), &[]).await;
        }
    };
    let is_first = team.team.sites == 0;
    let mut team = GrowingTeam::new(team);
    let id = team.team.id();
    let (mut done, mut refused) = (Done::default(), Vec::new());
    let mut newest = None;
    for line in parse(input.text("urls")) {
        let (line, url) = match line {
            Ok(read) => read,
            Err(unread) => {
                refused.push(unread);
                continue;
            }
        };
        let spoken = spoken(context, caller.user.id, line, &url).await?;
        let url = match spoken {
            Some(Scheme::Http) => SiteUrl::parse(&format!("http://{line}")).unwrap_or(url),
            Some(Scheme::Https) | None => url,
        };
        let site = |site, now| new_site(site, id, &url, &tags, now);
        let why = match create_one_of_many(context.app, caller, &mut team, site).await {
            Ok(OneOfMany::Created(stored)) => {
                done.created += 1;
                newest = Some(stored.site.id);
                done.https += usize::from(spoken == Some(Scheme::Https));
                done.http += usize::from(spoken == Some(Scheme::Http));
                continue;
            }
            Ok(OneOfMany::Duplicate) => {
                done.watched += 1;
                continue;
            }
            Ok(OneOfMany::OutOfTime) => {
                "There was no time left to add this one. Send it again.".to_owned()
            }
            Err(error) => ApiError::from(error).message(),
        };
        refused.push(Refused::new(line, why));
    }
    if refused.is_empty() {
        // A team's first site leads to a page that shows the first results as they come in.
        if let (true, 1, Some(site)) = (is_first, done.created, newest) {
            return layout::redirect(&format!("/sites/{site}?{FIRST}"));
        }
        let Done { created, watched, https, http } = done;
        let mut list = format!("/teams/{id}?added={created}&watched={watched}");
        if https + http > 0 {
            list.push_str(&format!("&https={https}&http={http}"));
        }
        return layout::redirect(&list);
    }
    form(context, &team.team, &input, done, &refused).await
}

/// The lines of the form in their order, each with its URL or the reason why it has none. A repeated URL counts once.
fn parse(text: &str) -> Vec<Result<(&str, SiteUrl), Refused>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() {
        return vec![Err(Refused::new("", "Enter a URL."))];
    }
    let (read, left) = lines.split_at(lines.len().min(SITES_MAX));
    let mut seen = BTreeSet::new();
    let parsed = read.iter().filter_map(|line| match SiteUrl::parse(&with_scheme(line)) {
        Ok(url) => seen.insert(url.clone()).then_some(Ok((*line, url))),
        Err(error) => {
            Some(Err(Refused::new(*line, error.to_string().replacen("The url ", "The URL ", 1))))
        }
    });
    let mut parsed: Vec<_> = parsed.collect();
    if !left.is_empty() {
        let why = format!("You can add {SITES_MAX} URLs at a time. Add these separately.");
        parsed.push(Err(Refused::new(left.join("\n"), why)));
    }
    parsed
}

/// The scheme of a line that names a port but no scheme. The server is tested once, within hourly limits for the user
/// and the host. If the scheme remains unknown, https is assumed.
async fn spoken(
    context: RequestContext<'_>,
    user: UserId,
    line: &str,
    url: &SiteUrl,
) -> Result<Option<Scheme>, ApiError> {
    let url = url.to_url();
    let Some(guard) = context.dashboard.guard() else { return Ok(None) };
    let (Some(port), Some(host)) = (url.port(), url.host_str()) else { return Ok(None) };
    if line.contains("://") {
        return Ok(None);
    }
    let store = &context.app.store;
    let now = context.app.clock.now();
    for (subject, most) in [
        (format!("scheme#{user}"), TRIES_OF_USER),
        (format!("scheme#{host}:{port}"), TRIES_OF_HOST),
    ] {
        if store.count(&subject, TRIES_WINDOW, now).await? > most {
            return Ok(None);
        }
    }
    Ok(scheme_of(guard, &url).await)
}

/// Adds the scheme that people leave out.
fn with_scheme(line: &str) -> String {
    if line.contains("://") { line.to_owned() } else { format!("https://{line}") }
}

async fn form(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    input: &FormInput,
    done: Done,
    refused: &[Refused],
) -> Result<Response, ApiError> {
    let left: Vec<&str> = refused.iter().map(|refused| refused.line.as_str()).collect();
    let (left, status) = match left.is_empty() {
        true => (input.text("urls").to_owned(), input.status()),
        false => (left.join("\n"), StatusCode::UNPROCESSABLE_ENTITY),
    };
    let described = (!refused.is_empty()).then_some("problems");
    let content = html! {
        (done.shown())
        section.card {
            form.in.stack.gl method="post" action={ "/teams/" (team.id()) "/sites" } {
                div.fld {
                    label for="urls" { "URLs, one per line" }
                    textarea #urls name="urls" rows="8" required aria-describedby=[described]
                        aria-invalid=[described.map(|_| "true")]
                        placeholder="https://example.com/" { (left) }
                    @if !refused.is_empty() {
                        div #problems.err.list role="alert" {
                            ul {
                                @for Refused { line, why } in refused {
                                    li { @if !line.is_empty() { bdi { (line) } ": " } (why) }
                                }
                            }
                        }
                    }
                    p.help {
                        "Without http:// or https://, Vedette uses https://, unless the URL has a port that does not speak TLS. An http:// URL needs no certificate. Up to "
                        (SITES_MAX) " URLs at a time."
                    }
                }
                (tags::control(input))
                div.row { button.main { "Add sites" } }
            }
        }
        (next::part(context, team).await?)
    };
    let heading = Heading::new("Add sites").below(format!("/teams/{}", team.id()), "Sites");
    Ok(layout::team_page(context, (&team.team, NavTab::Sites), status, heading, &content))
}
