//! `POST /teams/{team}/sites/bulk`: puts many URLs under watch, each on its own.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::error;
use vedette_actions::{TeamWithCooldowns, duplicate_url};
use vedette_domain::ErrorChain;
use vedette_domain::account::Permission;
use vedette_http::error::ApiError;
use vedette_http::resource::{SiteResource, SitesOutcome};
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Errors, Field, Fields, ValidationError, parse_body};
use vedette_store::{Backoff, TeamWithSettings, budget};

use super::creation::create;
use super::input::Input;
use crate::Context;

/// The most sites of a request.
pub const SITES_MAX: usize = 100;
/// What is not begun by then is left: the gateway gives up after 30 seconds, and then the client
/// would not learn what was created.
const BUDGET: Duration = Duration::from_secs(25);

const REPEATED: &str = "This URL occurs more than once in the request.";
const OUT_OF_TIME: &str =
    "The request ran out of time before this site was created. Please send it again.";

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let items = parse(&parse_body(context.body)?)?;
    let mut team = TeamWithCooldowns::new(team);
    let mut outcome = SitesOutcome::default();
    let mut seen = BTreeSet::new();
    for item in items {
        let input = match item.input(&team.team) {
            Ok(input) => input,
            Err(error) => {
                outcome.fail(item.url, error.message());
                continue;
            }
        };
        if !seen.insert(input.url.clone()) {
            outcome.skip(item.url, REPEATED);
            continue;
        }
        let now = context.app.clock.now();
        let spent = Duration::try_from(now.duration_since(context.caller.now)).unwrap_or_default();
        let left = BUDGET.saturating_sub(spent);
        if left.is_zero() {
            outcome.fail(item.url, OUT_OF_TIME);
            continue;
        }
        match create_within(left, context, &mut team, &input, now).await {
            Ok(Some(site)) => outcome.create(site),
            Ok(None) => outcome.skip(item.url, duplicate_url().message()),
            Err(refusal) => {
                if refusal.is_fault() {
                    error!(team = %team.team.id(), error = %ErrorChain(&refusal), "a site of many was not created");
                }
                outcome.fail(item.url, refusal.message());
            }
        }
    }
    Ok(ok(&outcome))
}

/// Creates a site; after a conflict again, with the team reloaded.
async fn create_within(
    left: Duration,
    context: Context<'_>,
    team: &mut TeamWithCooldowns,
    input: &Input,
    now: Timestamp,
) -> Result<Option<SiteResource>, ApiError> {
    let mut backoff = Backoff::new(budget::WRITE.min(left));
    loop {
        match create(context, team, input.clone(), now).await {
            Err(error) => backoff.wait(error).await?,
            done => return done,
        }
        let (store, id) = (&context.app.store, team.team.id());
        let current = context.caller.team(store, id, Permission::ManageSites).await?;
        *team = TeamWithCooldowns::new(current);
    }
}

/// What a client says of one of the sites: strings, be they of use or not.
#[derive(Debug)]
struct Item {
    url: String,
    name: Option<String>,
}

impl Item {
    /// The site, read as if it were alone.
    fn input(&self, team: &TeamWithSettings) -> Result<Input, ValidationError> {
        let mut body = Map::new();
        body.insert("url".to_owned(), self.url.as_str().into());
        if let Some(name) = &self.name {
            body.insert("name".to_owned(), name.as_str().into());
        }
        Input::parse(&body, team)
    }
}

fn parse(body: &Map<String, Value>) -> Result<Vec<Item>, ValidationError> {
    let mut errors = Errors::new();
    let sites = Fields::body(body).field("sites").required(&mut errors);
    let items = sites
        .items(1..=SITES_MAX, &mut errors)
        .map(|sites| sites.iter().filter_map(|site| read_item(site, &mut errors)).collect());
    errors.finish(items)
}

fn read_item(site: &Field<'_>, errors: &mut Errors) -> Option<Item> {
    let fields = site.object(errors)?;
    let url = as_sent(fields.field("url"), true, errors);
    let name = as_sent(fields.field("name"), false, errors);
    Some(Item { url: url?, name })
}

/// A string as it was sent. Whether it is of use is found out later, for this site alone.
fn as_sent(field: Field<'_>, is_required: bool, errors: &mut Errors) -> Option<String> {
    match field.value() {
        Some(Value::String(text)) => Some(text.clone()),
        _ if is_required => field.required(errors).name(errors),
        _ => field.name(errors),
    }
}
