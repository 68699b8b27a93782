//! `POST /teams/{team}/sites/bulk`: adds many sites, each on its own.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use vedette_actions::{GrowingTeam, OneOfMany, SITES_MAX, create_one_of_many};
use vedette_domain::input::Input as _;
use vedette_domain::sites::input::NewSite;
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::sites::settings::SiteOverrides;
use vedette_http::error::ApiError;
use vedette_http::resource::SitesOutcome;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Errors, Field, Fields, ValidationError, parse_body};
use vedette_store::TeamWithSettings;

use super::creation::shown;
use crate::Context;

const REPEATED: &str = "This URL occurs more than once in the request.";
const OUT_OF_TIME: &str =
    "The request ran out of time before this site was created. Please send it again.";

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let items = parse(&parse_body(context.body)?)?;
    let mut team = GrowingTeam::new(team);
    let mut outcome = SitesOutcome::default();
    let mut seen = BTreeSet::new();
    for item in items {
        let input = match item.input() {
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
        let id = team.team.id();
        let site = |site, now| input.clone().into_site(SiteOverrides::default(), site, id, now);
        match create_one_of_many(context.app, context.caller, &mut team, site).await {
            Ok(OneOfMany::Created(stored)) => outcome.create(shown(context, &team, &stored)),
            Ok(OneOfMany::Duplicate) => {
                outcome.skip(item.url, SiteRefusal::DuplicateUrl.to_string());
            }
            Ok(OneOfMany::OutOfTime) => outcome.fail(item.url, OUT_OF_TIME),
            Err(error) => outcome.fail(item.url, ApiError::from(error).message()),
        }
    }
    Ok(ok(&outcome))
}

/// The input for one of the sites: strings that may be invalid.
#[derive(Debug)]
struct Item {
    url: String,
    name: Option<String>,
    tags: Option<Vec<String>>,
}

impl Item {
    /// The site, read as if it were the only one.
    fn input(&self) -> Result<NewSite, ValidationError> {
        let mut sent = Map::new();
        sent.insert("url".to_owned(), self.url.as_str().into());
        sent.extend(self.name.as_deref().map(|name| ("name".to_owned(), name.into())));
        sent.extend(self.tags.as_ref().map(|tags| ("tags".to_owned(), tags.as_slice().into())));
        NewSite::from_texts(&sent)
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
    let tags = fields.field("tags");
    let text = |tag: &Field<'_>, errors: &mut Errors| match tag.value() {
        Some(Value::String(text)) => Some(text.clone()),
        _ => tag.string(0, errors),
    };
    let tags = tags.is_sent().then(|| tags.list(0..=usize::MAX, errors, text));
    Some(Item { url: url?, name, tags: tags.flatten() })
}

/// A string as it was sent. It is validated later, for this site alone.
fn as_sent(field: Field<'_>, is_required: bool, errors: &mut Errors) -> Option<String> {
    match field.value() {
        Some(Value::String(text)) => Some(text.clone()),
        _ if is_required => field.required(errors).string(0, errors),
        _ => field.string(0, errors),
    }
}
