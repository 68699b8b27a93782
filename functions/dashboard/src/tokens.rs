//! The API tokens of the signed-in user. A token belongs to its user, and works for all of the user's teams.

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
use crate::clock::Clock;
use crate::form::{Problems, field, fields};
use crate::layout::{self, Heading};
use crate::look::Look;

/// The input of the form.
struct TokenInput {
    name: String,
    days: String,
    scopes: Vec<String>,
}

/// The token to create.
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

    /// The token to create, for a user who already has `held` tokens.
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

/// Creates a token. Its secret appears only in the answer.
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
    Ok(layout::own_page(
        context,
        StatusCode::OK,
        title,
        &created_token(&secret, &token, context.clock(None)),
    ))
}

fn created_token(secret: &Secret, token: &Token, clock: Clock<'_>) -> Markup {
    html! {
        (layout::note(Look::Up, &html! { b { "Token created." } " Copy it now: it can’t be shown again." }))
        section.card {
            div.in.stack.gm {
                pre { code { (secret.reveal()) } }
                p.quiet { "It works until " (clock.instant(token.expires_at)) "." }
                div { a.btn href="/tokens" { "Done" } }
            }
        }
    }
}

/// Revokes a token, which stops working at once.
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
        @if refused.is_none() { (layout::done(context, &[("revoked", "Token revoked.")])) }
        @if !tokens.is_empty() { (list_of(&tokens, context.clock(None))) }
        (form(refused))
    };
    let heading = Heading::new("Personal tokens").lead(html! {
        p.quiet { "A token lets a program use the API as you, in all your teams." }
    });
    Ok(layout::own_page(context, status, heading, &content))
}

fn list_of(tokens: &[(Token, Option<Timestamp>)], clock: Clock<'_>) -> Markup {
    html! {
        ul.card.rows aria-label="Tokens" {
            @for (token, last_use) in tokens {
                li.w {
                    div.grow {
                        div.row {
                            b { bdi { (token.name) } }
                            code.quiet { (token.hash.short()) }
                            @if token.expires_at <= clock.now { span.tag { "Expired" } }
                        }
                        p.quiet.small { (may(&token.scopes)) }
                        p.quiet.small {
                            @match last_use {
                                Some(at) => { "Last used " (clock.instant(*at)) }
                                None => "Never used",
                            }
                            ", expires " (clock.instant(token.expires_at))
                        }
                    }
                    form method="post" action={ "/tokens/" (token.hash.0) "/revoke" } {
                        button.s.bad { "Revoke" }
                    }
                }
            }
        }
    }
}

fn may(scopes: &[Scope]) -> String {
    if scopes.len() == Scope::ALL.len() {
        return "All permissions".to_owned();
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
        section.card {
            header { h2 { "Create token" } }
            form.in.stack.gl method="post" action="/tokens" {
                div.cols.c15 {
                    div.fld {
                        label for="name" { "Name" }
                        input #name name="name" required autocomplete="off"
                            value=(input.map_or("", |input| input.name.as_str()))
                            aria-describedby=[name.described()] aria-invalid=[name.invalid()];
                        (name.shown())
                        p.help { "What you will use it for." }
                    }
                    div.fld {
                        label for="days" { "Expires after (days)" }
                        input #days type="number" name="days" required min="1" max=(TOKEN_DAYS_MAX)
                            value=(input.map_or(lifetime.as_str(), |input| input.days.as_str()))
                            aria-describedby=[days.described()] aria-invalid=[days.invalid()];
                        (days.shown())
                    }
                }
                fieldset {
                    legend { "Permissions" }
                    (scopes.shown())
                    div.codes {
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
                div.row { button.main { "Create token" } }
            }
        }
    }
}
