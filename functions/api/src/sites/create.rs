//! `POST /teams/{team}/sites`: puts a URL under watch.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::warn;
use vedette_domain::account::Permission;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{Message, Upkeep};
use vedette_domain::settings::{ExpectedRecords, SiteOverrides};
use vedette_domain::site::{NAME_MAX, NOTES_MAX, Site};
use vedette_domain::site_url::SiteUrl;
use vedette_domain::plan::Plan;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, created};
use vedette_http::settings::{parse_expected_records, parse_site_overrides};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::{Backoff, CreateRefusal, SiteSheet, create_refusal};

use crate::Context;

/// How long a creation competes with others in the same team.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn handle(context: Context<'_>) -> Result<Response, ApiError> {
    let team_id = context.id("team", TeamId::parse)?;
    let store = &context.app.store;
    let caller = context.caller;
    let mut team = caller.team(store, team_id, Permission::ManageSites).await?;
    let body = parse_body(context.body()?)?;
    let input = Input::parse(&body, team.team.plan)?;
    let id = context.app.entropy.site_id().map_err(internal)?;
    let site = input.into_site(id, team_id, caller.now);

    let mut backoff = Backoff::new(PATIENCE);
    while let Err(error) = store.create_site(&team.team, &site).await {
        match create_refusal(&error) {
            Some(CreateRefusal::DuplicateUrl) => return Err(duplicate_url().into()),
            Some(CreateRefusal::SiteLimit) => {
                // Either the limit, or the plan is another one than was read.
                let read = team.team.plan;
                team = caller.team(store, team_id, Permission::ManageSites).await?;
                let plan = team.team.plan;
                if plan != read {
                    Input::parse(&body, plan)?;
                } else if plan.limits().sites.is_some_and(|limit| team.team.sites >= limit) {
                    return Err(site_limit().into());
                }
            }
            None => {}
        }
        backoff.wait(error).await?;
    }

    let sync = Message::Upkeep(Upkeep::Sync(id));
    if let Err(error) = context.app.queue.send(&sync, Duration::ZERO).await {
        warn!(site = %id, %error, "the first runs are left to the keeper's sweep");
    }
    let sheet = SiteSheet { site, tools: Default::default() };
    let resource = SiteResource::new(&sheet.site, &team, context.links);
    Ok(created(&resource.with_latest(&sheet, &Default::default())))
}

fn internal(error: impl std::fmt::Display) -> ApiError {
    ApiError::Internal(error.to_string())
}

fn duplicate_url() -> ValidationError {
    ValidationError::new("url", "This URL is already monitored by the team.")
}

fn site_limit() -> ValidationError {
    ValidationError::new("url", "Your current plan has reached its site limit.")
}

/// What a client says of a new site.
#[derive(Debug)]
struct Input {
    url: SiteUrl,
    name: Option<String>,
    notes: Option<String>,
    js_rendered: bool,
    overrides: SiteOverrides,
    expected_records: ExpectedRecords,
}

impl Input {
    fn parse(body: &Map<String, Value>, plan: Plan) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let fields = Fields::body(body);
        let url = read_url(&fields, &mut errors);
        let name = fields.field("name").string(NAME_MAX, &mut errors);
        let notes =
            fields.field("notes").nullable(|field| field.string(NOTES_MAX, &mut errors)).flatten();
        let js_rendered = fields.field("js_rendered").boolean(&mut errors).unwrap_or_default();
        let domain = url.as_ref().map(SiteUrl::domain).unwrap_or_default();
        let overrides = body
            .get("monitoring_settings")
            .map(|value| {
                parse_site_overrides(value, "monitoring_settings", plan, domain, &mut errors)
            })
            .unwrap_or_default();
        let expected_records = body
            .get("dns_expected_records")
            .map(|value| parse_expected_records(value, "dns_expected_records", &mut errors))
            .unwrap_or_default();
        let input = url.map(|url| Self {
            url,
            name,
            notes,
            js_rendered,
            overrides,
            expected_records,
        });
        errors.finish(input)
    }

    fn into_site(self, id: SiteId, team: TeamId, now: Timestamp) -> Site {
        Site {
            id,
            team,
            name: self.name.unwrap_or_else(|| self.url.generated_name().to_owned()),
            url: self.url,
            notes: self.notes,
            js_rendered: self.js_rendered,
            pinned: false,
            overrides: self.overrides,
            expected_records: self.expected_records,
            cfg: 1,
            synced: 0,
            created_at: now,
            updated_at: now,
        }
    }
}

/// The URL to be monitored, in its canonical form.
fn read_url(fields: &Fields<'_>, errors: &mut Errors) -> Option<SiteUrl> {
    let field = fields.field("url").required(errors);
    // Whatever is too long is refused by the URL's own rule.
    let text = field.string(usize::MAX, errors)?;
    match SiteUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(error) => {
            errors.push("url", error.to_string());
            None
        }
    }
}
