//! The API tokens of who is signed in. A token belongs to its user, and works for all their teams.

use std::collections::BTreeSet;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{create_token, revoke_token};
use vedette_domain::accounts::account::{
    Scope, Secret, TOKEN_DAYS_MAX, TOKEN_LIFETIME_DAYS, TOKENS_MAX, Token,
};
use vedette_domain::name::parse_name;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};

use crate::RequestContext;
use crate::form::{Problems, field, fields};
use crate::layout;

/// A form as it was filled in.
struct TokenInput {
    name: String,
    days: String,
    scopes: Vec<String>,
}

/// A token that somebody wants.
struct WantedToken<'a> {
    name: &'a str,
    days: i64,
    scopes: BTreeSet<Scope>,
}

impl TokenInput {
    fn read(body: &[u8]) -> Self {
        let text = |name| field(body, name).trim().to_owned();
        Self { name: text("name"), days: text("days"), scopes: fields(body, "scopes") }
    }

    /// What is wanted by somebody who holds so many tokens already.
    fn parse(&self, held: usize) -> Result<WantedToken<'_>, ValidationError> {
        let mut errors = Errors::new();
        let name = parse_name(&self.name)
            .map_err(|error| errors.push("name", format!("The name field {error}.")));
        let scopes: BTreeSet<Scope> =
            self.scopes.iter().filter_map(|scope| Scope::parse(scope)).collect();
        if scopes.is_empty() {
            errors.push("scopes", "Choose what the token may be used for.");
        }
        let days = self.days.parse().ok().filter(|days| (1..=TOKEN_DAYS_MAX).contains(days));
        if days.is_none() {
            let message = format!("The days field must be a number from 1 to {TOKEN_DAYS_MAX}.");
            errors.push("days", message);
        }
        if held >= TOKENS_MAX {
            errors.push(
                "name",
                format!("You have {held} tokens, the most that a user can have. Revoke one first."),
            );
        }
        let read = name.ok().zip(days);
        errors.finish(read.map(|(name, days)| WantedToken { name, days, scopes }))
    }
}

/// Shows the tokens, without their secrets.
pub(crate) async fn list(context: RequestContext<'_>) -> Result<Response, ApiError> {
    page(context, None).await
}

/// Makes a token. Its secret is shown in the answer, and nowhere else.
pub(crate) async fn create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let input = TokenInput::read(context.body);
    let held = context.app.store.tokens_of(caller.user.id).await?.len();
    let WantedToken { name, days, scopes } = match input.parse(held) {
        Ok(wanted) => wanted,
        Err(why) => return page(context, Some((&input, &why))).await,
    };
    let created =
        create_token(context.app, caller.user.id, name, &scopes, days, caller.actor()).await;
    let (secret, token) = created?;
    let title = format!("Token {}", token.name);
    Ok(framed(context, StatusCode::OK, &title, &created_token(&secret, &token)))
}

fn created_token(secret: &Secret, token: &Token) -> Markup {
    html! {
        p { code { (secret.reveal()) } }
        p.note { "It is not kept and cannot be shown again. It works until " (layout::instant(token.expires_at)) "." }
        p { a href="/tokens" { "Back to the tokens" } }
    }
}

/// Makes a token stop working at once.
pub(crate) async fn revoke(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let tokens = context.app.store.tokens_of(caller.user.id).await?;
    let found = tokens.iter().find(|(token, _)| token.hash.0 == context.parameters.value("token"));
    let (token, _) = found.ok_or(ApiError::NotFound)?;
    revoke_token(context.app, token, caller.actor()).await?;
    layout::redirect("/tokens?said=revoked")
}

async fn page(
    context: RequestContext<'_>,
    refused: Option<(&TokenInput, &ValidationError)>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let tokens = context.app.store.tokens_of(caller.user.id).await?;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let content = html! {
        @if refused.is_none() { (layout::done(context, &[("revoked", "The token no longer works.")])) }
        p { "A token lets a program use the API in your name, in all your teams." }
        @if tokens.is_empty() {
            p { "You have no tokens." }
        } @else {
            (table(&tokens, caller.now))
        }
        h2 { "Make a token" }
        (form(refused))
    };
    Ok(framed(context, status, "Your API tokens", &content))
}

fn table(tokens: &[(Token, Option<Timestamp>)], now: Timestamp) -> Markup {
    html! {
        table {
            (layout::columns("Your tokens, the newest first", &["Token", "May", "Last used", "Until", "Revoke"]))
            tbody {
                @for (token, last_use) in tokens {
                    tr {
                        td { bdi { (token.name) } br; span.quiet { (token.hash.short()) } }
                        td { (may(&token.scopes)) }
                        td {
                            @match last_use {
                                Some(at) => (layout::instant(*at)),
                                None => "never",
                            }
                        }
                        td {
                            (layout::instant(token.expires_at))
                            @if token.expires_at <= now { " (expired)" }
                        }
                        td {
                            form method="post" action={ "/tokens/" (token.hash.0) "/revoke" } {
                                button { "Revoke" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn framed(
    context: RequestContext<'_>,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    layout::own_page(context, status, title, content)
}

fn may(scopes: &[Scope]) -> String {
    if scopes.len() == Scope::ALL.len() {
        return "everything".to_owned();
    }
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

fn form(refused: Option<(&TokenInput, &ValidationError)>) -> Markup {
    let why = refused.map(|(_, why)| why);
    let [name, scopes, days] =
        ["name", "scopes", "days"].map(|field| Problems::of(why, field, field));
    let input = refused.map(|(input, _)| input);
    let is_ticked = |scope: &Scope| {
        input.is_none_or(|input| input.scopes.iter().any(|sent| sent == scope.as_str()))
    };
    let lifetime = TOKEN_LIFETIME_DAYS.to_string();
    html! {
        form method="post" action="/tokens" {
            label for="name" { "Name" }
            (name.shown())
            input #name name="name" required autocomplete="off"
                value=(input.map_or("", |input| input.name.as_str()))
                aria-describedby=[name.described()] aria-invalid=[name.invalid()];
            fieldset {
                legend { "What it may be used for" }
                (scopes.shown())
                div.row {
                    @for scope in Scope::ALL {
                        div.check {
                            input id={ "scopes-" (scope.as_str()) } type="checkbox" name="scopes"
                                value=(scope.as_str()) checked[is_ticked(&scope)]
                                aria-describedby=[scopes.described()];
                            label for={ "scopes-" (scope.as_str()) } { (scope.as_str()) }
                        }
                    }
                }
            }
            label for="days" { "Days until it stops working" }
            (days.shown())
            input #days type="number" name="days" required min="1" max=(TOKEN_DAYS_MAX)
                value=(input.map_or(lifetime.as_str(), |input| input.days.as_str()))
                aria-describedby=[days.described()] aria-invalid=[days.invalid()];
            p { button { "Make it" } }
        }
    }
}
