//! The status pages of a team: a list, and for each page its incidents and what it shows.

pub(crate) mod edit;
pub(crate) mod incidents;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{create_status_page, delete_status_page};
use vedette_domain::accounts::account::Permission;
use vedette_domain::alerts::link;
use vedette_domain::id::TeamId;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::status_pages::{NewPage, PAGES_MAX, StatusPage};
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::StatusPageAccess;
use vedette_store::TeamWithSettings;

use crate::form::FormInput;
use crate::layout::{self, Heading, NavTab};
use crate::{RequestContext, words};

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 1] = [("removed", "Status page deleted.")];

/// The address of the list.
pub(crate) fn path(team: TeamId) -> String {
    format!("/teams/{team}/status-pages")
}

/// The address of the page where members manage a status page.
pub(crate) fn path_of(page: &StatusPage) -> String {
    format!("{}/{}", path(page.team), page.id)
}

/// Shows the status pages.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    listed(context, &team, None).await
}

/// Creates a status page, and continues with what it shows.
pub(crate) async fn create(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let caller = &context.member()?.caller;
    let created = async {
        let new = NewPage::from_texts(&sent.texts(required()))?;
        Ok(create_status_page(context.app, &team.team, new, caller.by()).await?)
    };
    match created.await {
        Ok(page) => layout::redirect(&format!("{}/edit?notice=created", path_of(&page))),
        Err(ApiError::Validation(refusal)) => {
            listed(context, &team, Some(sent.refused(refusal))).await
        }
        Err(error) => Err(error),
    }
}

/// Deletes a status page.
pub(crate) async fn delete(
    context: RequestContext<'_>,
    StatusPageAccess { team, page }: StatusPageAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    delete_status_page(context.app, &team.team, &page, caller.by()).await?;
    layout::redirect(&format!("{}?notice=removed", path(team.id())))
}

async fn listed(
    context: RequestContext<'_>,
    found: &TeamWithSettings,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &found.team;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let may_manage =
        context.member()?.caller.role_in(team.id)?.grants(Permission::ManageStatusPages);
    let mut pages = context.app.store.status_pages(team.id).await?;
    pages.sort_by_key(|page| (page.created_at, page.id));
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &NOTICES)) }
        @if !pages.is_empty() {
            section.card aria-label="Status pages" {
                ul.rows { @for page in &pages { (row(context, page)) } }
            }
        }
        @if !may_manage {
            p.quiet { "Owners and admins of the team can create and change status pages." }
        } @else if pages.len() < PAGES_MAX {
            (new_page(team.id, refused.unwrap_or_default()))
        } @else {
            p.quiet { "A team has at most " (PAGES_MAX) " status pages." }
        }
    };
    let lead = match pages.is_empty() {
        true => "A status page shows people outside the team whether your sites work.",
        false => "What people outside the team see of your sites.",
    };
    let heading = Heading::new("Status pages").lead(html! { p.quiet { (lead) } });
    Ok(layout::team_page(context, (team, NavTab::StatusPages), status, heading, &content))
}

fn row(context: RequestContext<'_>, page: &StatusPage) -> Markup {
    html! {
        li.w {
            div.grow {
                div.row { b { a href=(path_of(page)) { bdi { (page.name) } } } }
                p.quiet.small.cut { (public(context, page)) }
                p.quiet.small { (words::counted(page.components().count(), "component", "components")) }
            }
            a.btn.s href=(path_of(page)) { "Manage" }
        }
    }
}

/// The public address of a page.
fn public(context: RequestContext<'_>, page: &StatusPage) -> Markup {
    let base = context.app.service.pages_base().unwrap_or_default();
    let address = page.address();
    html! {
        a href=(link::status_page("", &address)) { (link::status_page(base, &address)) }
        @if page.is_unlisted() { " · Unlisted" }
    }
}

/// The fields that a new page must have. The next form has the others.
fn required() -> impl Iterator<Item = &'static InputField> {
    NewPage::FIELDS.iter().filter(|field| field.is_required(true))
}

fn new_page(team: TeamId, input: FormInput) -> Markup {
    html! {
        form.card method="post" action=(path(team)) novalidate {
            header { h2 { "Create status page" } }
            (input.uncreated("Status page", required().map(|field| field.name)))
            div.fields {
                @for field in required() { (input.control(field)) }
            }
            footer { button.main { "Create status page" } }
        }
    }
}
