//! `POST /teams/{team}/configuration`: makes a team's objects what a document describes, or shows what would change.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use vedette_actions::{Applied, ChangeError, TeamObjects, make_changes};
use vedette_domain::configuration::{Change, ChangePlan, Choices, Prune, plan};
use vedette_domain::input::{FieldRule as _, FlagRule, IntegerRule, TextKind, TextRule};
use vedette_http::error::ApiError;
use vedette_http::resource::ConfigurationResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::TeamWithSettings;

use crate::Context;

/// How long another apply waits for one that does not continue.
const LEASE: SignedDuration = SignedDuration::from_mins(1);

/// What a request asks for.
struct Order {
    is_dry_run: bool,
    prune: Prune,
    /// The lease of an apply that continues.
    lease: Option<String>,
}

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let body = parse_body(context.body)?;
    let order = Order::read(&Fields::body(&body))?;
    let Some(Value::Object(document)) = body.get("document") else {
        return Err(ApiError::invalid("document", "The document field must be an object."));
    };
    let (app, now, id) = (context.app, context.caller.now, team.id());
    let choices = Choices {
        prune: order.prune,
        is_dry_run: order.is_dry_run,
        random: app.entropy.seed().map_err(ApiError::internal)?,
        knows_no_team: false,
        now,
    };
    let planned =
        |objects: &TeamObjects| plan(&objects.of(&team), document, &choices).map_err(below);
    if order.is_dry_run {
        let plan = planned(&TeamObjects::load(app, &team).await?)?;
        return Ok(ok(&ConfigurationResource::planned(&plan)));
    }

    let holder = order.lease.unwrap_or_else(|| app.entropy.request_id());
    let until = now.saturating_add(LEASE).unwrap_or(Timestamp::MAX);
    if !app.store.lease_configuration(id, &holder, until, now).await? {
        let why = "A document is being applied to this team. Try again in a minute.";
        return Err(ApiError::Conflict(why));
    }
    let made = async {
        let plan = planned(&TeamObjects::load(app, &team).await?)?;
        let applied = make_changes(app, context.caller, team.clone(), &plan.changes).await;
        finished(plan, applied)
    };
    match made.await {
        Ok((plan, applied)) if applied.done < plan.changes.len() => {
            Ok(ok(&ConfigurationResource::applied(&plan, &applied, Some(&holder))))
        }
        Ok((plan, applied)) => {
            app.store.release_configuration(id, &holder).await?;
            Ok(ok(&ConfigurationResource::applied(&plan, &applied, None)))
        }
        Err(error) => {
            app.store.release_configuration(id, &holder).await?;
            Err(error)
        }
    }
}

impl Order {
    fn read(fields: &Fields<'_>) -> Result<Self, ValidationError> {
        const LEASE: TextRule<String> =
            TextRule { min: 0, max: 64, kind: TextKind::Other, parse: |text| Ok(text.to_owned()) };
        const PRUNE_MAX: IntegerRule = IntegerRule { min: 0, max: 10_000 };
        let mut found = Errors::new();
        let errors = &mut found;
        let is_dry_run = FlagRule.read(&fields.field("dry_run"), errors).unwrap_or_default();
        let prunes = FlagRule.read(&fields.field("prune"), errors).unwrap_or_default();
        let most: Option<u32> = PRUNE_MAX.read(&fields.field("prune_max"), errors);
        let lease = LEASE.read(&fields.field("lease"), errors);
        fields.only(&["document", "dry_run", "prune", "prune_max", "lease"], errors);
        let prune = match (prunes, most) {
            (false, _) => Prune::Never,
            (true, None) => Prune::Few,
            (true, Some(most)) => Prune::AtMost(most as usize),
        };
        found.finish(Some(Self { is_dry_run, prune, lease }))
    }
}

/// The errors of a document at their places in the request.
fn below(error: ValidationError) -> ValidationError {
    error.renamed(|field| (field != "prune").then(|| format!("document.{field}")))
}

/// What was made of a plan, unless its first change failed. What stops a later one is said to the next request, so that
/// this one says what was made.
fn finished(plan: ChangePlan, mut applied: Applied) -> Result<(ChangePlan, Applied), ApiError> {
    match applied.stopped.take() {
        None => Ok((plan, applied)),
        Some(_) if applied.done > 0 => Ok((plan, applied)),
        Some(error) => Err(refused(error, &plan.changes[applied.done])),
    }
}

/// Why a change was not made, at the place of its object in the request.
fn refused(error: ChangeError, change: &Change) -> ApiError {
    let error = match error {
        ChangeError::Site(error) => error.into(),
        ChangeError::Heartbeat(error) => error.into(),
        ChangeError::Channel(error) => error.into(),
        ChangeError::Window(error) => error.into(),
        ChangeError::Page(error) => error.into(),
        ChangeError::Store(error) => error.into(),
    };
    match error {
        ApiError::Validation(error) => {
            let path = &change.path;
            // The method of requests is one of the expectations.
            let place = |field: &str| match field {
                "method" => format!("document.{path}.expectations.method"),
                field => format!("document.{path}.{field}"),
            };
            error.renamed(|field| Some(place(field))).into()
        }
        error => error,
    }
}
