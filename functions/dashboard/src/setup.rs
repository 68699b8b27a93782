//! Setting up a service on one machine: the person with the printed link creates the first account and team.

use lambda_http::http::StatusCode;
use lambda_http::http::header::SET_COOKIE;
use maud::{Markup, html};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::email::parse_email;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::{SessionHash, SessionSecret};
use vedette_domain::accounts::team::Team;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::name::parse_name;
use vedette_domain::time_zone::{NamedZone, ZoneChoice};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};

use crate::form::{FormInput, sentence};
use crate::sign_in::new_session;
use crate::{RequestContext, layout, session, setup_link, time_zone};

/// The places of the link and of the address in the transaction of `Store::set_up`.
const LINK: usize = 0;
const ADDRESS: usize = 2;

/// The field with the time zone of the team.
const ZONE: &InputField = &ZoneChoice::FIELDS[0];

/// The plan of a team on one's own machine: the one with the highest limits.
const PLAN: Plan = Plan::Agency;

/// Asks who the first user is.
pub(crate) async fn ask(context: RequestContext<'_>) -> Result<Response, ApiError> {
    Ok(match usable(context).await? {
        Ok(_) => {
            let mut input = FormInput::default();
            input.put(ZONE.name, NamedZone::utc().name());
            form(context, StatusCode::OK, &input)
        }
        Err(answer) => answer,
    })
}

/// Creates the account and the team, and signs in.
pub(crate) async fn create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let link = match usable(context).await? {
        Ok(link) => link,
        Err(answer) => return Ok(answer),
    };
    let input = FormInput::sent(context.body);
    let (name, email, zone) = match read(&input) {
        Ok(read) => read,
        Err(why) => {
            return Ok(form(context, StatusCode::UNPROCESSABLE_ENTITY, &input.refused(why)));
        }
    };
    let (entropy, now) = (&context.app.entropy, context.app.clock.now());
    let id = entropy.user_id().map_err(ApiError::internal)?;
    let team = entropy.team_id().map_err(ApiError::internal)?;
    let team = Team { zone, ..Team::new(team, &team_name(&name), PLAN, now) };
    // A person who can read the service's terminal does not need to confirm their address.
    let user = User { id, name, email, email_verified_at: Some(now), zone: None, created_at: now };
    let (cookie, begun) = new_session(context, id)?;
    match context.app.store.set_up(&link, &user, &team, &begun).await {
        Err(error) if error.has_failed(LINK) => return Ok(spent(context)),
        Err(error) if error.has_failed(ADDRESS) => {
            let why = ValidationError::new("email", "A user already has this address.");
            return Ok(form(context, StatusCode::CONFLICT, &input.refused(why)));
        }
        made => made?,
    }
    let mut response = layout::redirect(&format!("/teams/{}", team.id))?;
    let cookie = session::keep(context.app, context.head, &cookie)?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}

fn read(input: &FormInput) -> Result<(String, String, NamedZone), ValidationError> {
    let mut errors = Errors::new();
    let name = parse_name(input.text("name"))
        .map_err(|error| errors.push("name", format!("The name field {error}.")));
    let email = parse_email(input.text("email"))
        .map_err(|error| errors.push("email", sentence(&error.to_string())));
    let (name, email) = errors.finish(name.ok().zip(email.ok()))?;
    // A program that fills in the form need not choose a zone.
    let zone = match input.text(ZONE.name) {
        "" => NamedZone::utc(),
        _ => time_zone::read(input)?.unwrap_or_default(),
    };
    Ok((name.to_owned(), email.to_owned(), zone))
}

/// The name of a user's first team, which can be changed.
fn team_name(name: &str) -> String {
    let own = format!("{}’s team", name.split(' ').next().unwrap_or(name));
    parse_name(&own).map_or_else(|_| "My team".to_owned(), str::to_owned)
}

/// The hash of the visitor's link if it can be used, or else the answer, which says why it cannot.
async fn usable(context: RequestContext<'_>) -> Result<Result<SessionHash, Response>, ApiError> {
    let Some(usable) = context.app.store.setup_link().await? else {
        return Ok(Err(spent(context)));
    };
    let sent = SessionSecret::parse(context.parameters.value("secret"));
    let is_same = sent.is_some_and(|secret| secret.hash() == usable);
    Ok(if is_same { Ok(usable) } else { Err(wrong(context)) })
}

fn wrong(context: RequestContext<'_>) -> Response {
    let content = html! {
        p { "It wasn’t copied whole, or the service has printed a newer one since. There is no account yet." }
        (setup_link::how_to_get())
    };
    layout::page(context, StatusCode::NOT_FOUND, "This set-up link is wrong", &content)
}

fn form(context: RequestContext<'_>, status: StatusCode, input: &FormInput) -> Response {
    let zones: Vec<_> = time_zone::zones().collect();
    // The script chooses the browser's zone, but not again after a refusal.
    let is_fresh = status == StatusCode::OK;
    let content: Markup = html! {
        p.quiet { "Create your account on this service. Next, you add the first site." }
        // A form without an action is sent to its own URL, including the secret.
        form.stack.lg.gm method="post" data-zone[is_fresh] {
            (input.input("name", "text", "Your name"))
            (input.input("email", "email", "Email address"))
            (input.chosen(ZONE, &zones))
            button.main { "Create account" }
        }
        p.quiet.small { "The address stays on this machine. It is used to sign you in." }
    };
    layout::page(context, status, "Welcome to Vedette", &content)
}

fn spent(context: RequestContext<'_>) -> Response {
    let content = html! {
        p { "It works once, and only the newest one does. If there is an account already, sign in with a link that this command prints:" }
        pre data-copy { "vedette sign-in you@example.com" }
        p.quiet.small { "If there is none yet, restart the service: it prints a new link." }
    };
    layout::page(context, StatusCode::NOT_FOUND, "This link has been used", &content)
}
