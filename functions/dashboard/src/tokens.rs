//! The API tokens of the signed-in user. A token belongs to its user, and works for all of the user's teams.

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{ActionError, create_token, revoke_own_token};
use vedette_domain::accounts::account::{NewToken, Scope, Secret, Token};
use vedette_domain::input::Input as _;
use vedette_domain::wording::sentence;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;

use crate::RequestContext;
use crate::clock::Clock;
use crate::form::{Choice, FormInput};
use crate::layout::{self, Heading};
use crate::look::Look;

fn read(sent: &FormInput) -> Result<NewToken, ValidationError> {
    if sent.all("scopes").next().is_none() {
        let why = "Choose what the token may be used for.";
        return Err(ValidationError::new("scopes", why));
    }
    NewToken::from_texts(&sent.texts(NewToken::FIELDS))
}

/// Shows the tokens, without their secrets.
pub(crate) async fn list(context: RequestContext<'_>) -> Result<Response, ApiError> {
    page(context, None).await
}

/// Creates a token. Its secret appears only in the answer.
pub(crate) async fn create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    let new = match read(&sent) {
        Ok(new) => new,
        Err(refusal) => return page(context, Some(sent.refused(refusal))).await,
    };
    let created = create_token(context.app, caller.user.id, new, None, caller.by()).await;
    let (secret, token) = match created {
        Ok(created) => created,
        Err(ActionError::Refused(refusal)) => {
            let why = ValidationError::new("name", sentence(&refusal.to_string()));
            return page(context, Some(sent.refused(why))).await;
        }
        Err(ActionError::Failed(fault)) => return Err(fault.into()),
    };
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
                pre data-copy { code { (secret.reveal()) } }
                p.quiet { "It works until " (clock.instant(token.expires_at)) "." }
                div { a.btn href="/tokens" { "Done" } }
            }
        }
    }
}

/// Revokes a token, which stops working at once.
pub(crate) async fn revoke(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let (caller, hash) = (&context.member()?.caller, context.parameters.value("token"));
    match revoke_own_token(context.app, caller.user.id, hash, caller.by()).await? {
        true => layout::redirect("/tokens?notice=revoked"),
        false => Err(ApiError::NotFound),
    }
}

async fn page(
    context: RequestContext<'_>,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let tokens = context.app.store.tokens_of(caller.user.id).await?;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &[("revoked", "Token revoked.")])) }
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

fn form(refused: Option<FormInput>) -> Markup {
    let input = refused.unwrap_or_else(|| {
        let mut input = FormInput::defaults(NewToken::FIELDS.iter());
        Scope::DEFAULT.iter().for_each(|scope| input.put("scopes", scope.as_str()));
        input
    });
    let scopes = Scope::ALL.map(|scope| Choice::new(scope, scope.as_str()));
    html! {
        form.card method="post" action="/tokens" novalidate {
            header { h2 { "Create token" } }
            (input.uncreated("Token", NewToken::FIELDS.iter().map(|field| field.name)))
            div.fields {
                @for field in NewToken::FIELDS {
                    @if field.name == "scopes" { (input.chosen(field, &scopes)) }
                    @else { (input.control(field)) }
                }
            }
            footer { button.main { "Create token" } }
        }
    }
}
