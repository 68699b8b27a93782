//! Changing a site: its name, its URL, and where it differs from its team.

mod expectations;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_actions::{pause_site, resume_site, save_site};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::sites::input::SiteEdit;
use vedette_domain::sites::settings::{DnsRecordType, TEAM_PATH, parse_site};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::validation::{Fields, YES};

use super::tags;
use crate::form::setting::{self, Control};
use crate::form::{FormInput, Label};
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout, objectives, words};

/// Where the expected records are in the API's requests.
const RECORDS: &str = "dns_expected_records";
/// A checkbox that is not a field of the API: it sends an empty list even if the site had no expected records.
const FORGET: &str = "forget_records";
/// What a change of the URL means for the body of a POST.
const BODY_STAYS: &str = "If you change its host or port, or change https to http, enter the body of the POST again. Vedette doesn’t send it to another server.";

/// Shows the form.
pub(crate) async fn ask_to_edit(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    page(context, &access, StatusCode::OK, &stored(&access)?)
}

/// Saves the form; refused input stays in it.
pub(crate) async fn save(
    context: RequestContext<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let input = FormInput::sent(context.body);
    let saved = async {
        let site = &access.stored.site;
        // A body that the form leaves empty is that of the site at the URL in the form.
        let moved = SiteUrl::parse(input.text("url"))
            .map_or_else(|_| site.clone(), |url| site.moved_to(url));
        let (sent, team) = (request(&input, &access), &access.team);
        let (edit, overrides): (SiteEdit, _) =
            parse_site(&Fields::texts(&sent), &team.settings, team.plan())?;
        let settings = access.settings();
        let overrides = overrides.map(|chosen| site.overrides.keeping_cadences(chosen, &settings));
        let mut wanted = edit.apply_to(site, overrides, access.has_learnt_records()?);
        if let Some(read) = expectations::read(&input, &moved) {
            wanted.expectations = read?;
        }
        Ok(save_site(context.app, &mut access, wanted, caller.by()).await?)
    };
    match saved.await {
        Ok(()) => layout::redirect(&format!("/sites/{}?notice=saved", access.stored.site.id)),
        Err(ApiError::Validation(refusal)) => {
            let input = input.refused(expectations::at_form(refusal));
            page(context, &access, StatusCode::UNPROCESSABLE_ENTITY, &input)
        }
        Err(error) => Err(error),
    }
}

/// Disables every tool of the site.
pub(crate) async fn pause(
    context: RequestContext<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    pause_site(context.app, &mut access, caller.by()).await?;
    layout::redirect(&format!("/sites/{}?notice=paused", access.stored.site.id))
}

/// Resumes the site with the tools that its team enables.
pub(crate) async fn resume(
    context: RequestContext<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    resume_site(context.app, &mut access, caller.by()).await?;
    layout::redirect(&format!("/sites/{}?notice=resumed", access.stored.site.id))
}

/// The fields besides the expected records and the tags.
fn fields() -> impl Iterator<Item = &'static InputField> {
    let is_other = |name: &str| name == RECORDS || name.ends_with(tags::FIELD);
    SiteEdit::FIELDS.iter().filter(move |field| !is_other(field.name))
}

/// The settings that a site may take from its team.
fn inherited(access: &SiteAccess) -> impl Iterator<Item = Control> {
    let plan = access.team.plan();
    Tool::ALL.into_iter().flat_map(move |tool| setting::of_tool(tool, plan))
}

/// The form with the stored values.
fn stored(access: &SiteAccess) -> Result<FormInput, ApiError> {
    let site = &access.stored.site;
    let mut input = FormInput::default();
    input.fill("", fields(), site)?;
    input.put(tags::FIELD, tags::joined(&site.tags));
    for (kind, values) in &site.expected_records {
        input.put(format!("{RECORDS}.{kind}"), values.join("\n"));
    }
    expectations::fill(&mut input, site)?;
    let mut settings = access.settings();
    // An override starts with the port of the site's URL.
    let port = &mut settings.tools.ssl.settings.port;
    *port = port.or(site.url.https_port());
    let (own, in_force) = (setting::placed(&site.overrides)?, setting::placed(&settings)?);
    setting::of_header().iter().for_each(|control| control.fill(&mut input, &own));
    inherited(access).for_each(|control| control.fill_own(&mut input, &own, &in_force));
    Ok(input)
}

/// The input as a request of the API.
fn request(input: &FormInput, access: &SiteAccess) -> Map<String, Value> {
    let mut request: Value = input.texts(fields()).into();
    objectives::unless_empty(&mut request);
    if let Some(sent) = input.all(tags::FIELD).next() {
        request[tags::FIELD] = tags::split(sent);
    }
    inherited(access).for_each(|control| control.write_own(input, &mut request));
    setting::of_header().iter().for_each(|control| control.write(input, &mut request));
    let saved = access.stored.site.overrides.request_header.as_ref();
    setting::keep_header_value(&mut request, saved.map(|saved| (&*saved.name, &*saved.value)));
    let records: Map<_, _> = DnsRecordType::ALL
        .into_iter()
        .map(|kind| (kind, input.lines(&format!("{RECORDS}.{kind}")).collect::<Value>()))
        .filter(|(_, values)| values.as_array().is_some_and(|values| !values.is_empty()))
        .map(|(kind, values)| (kind.to_string(), values))
        .collect();
    // An empty list also makes DNS checks forget the records that they have learned, so merely saving must not send it.
    let had_records = !access.stored.site.expected_records.is_empty();
    if !records.is_empty() || had_records || input.has(FORGET, YES) {
        request[RECORDS] = records.into();
    }
    match request {
        Value::Object(request) => request,
        _ => Map::new(),
    }
}

fn page(
    context: RequestContext<'_>,
    access: &SiteAccess,
    status: StatusCode,
    input: &FormInput,
) -> Result<Response, ApiError> {
    let site = &access.stored.site;
    let team = setting::placed(&access.team.settings)?;
    let help = if site.expectations.post.is_some() { BODY_STAYS } else { "" };
    let content = html! {
        (layout::managed(access.stored.site.managed_by.as_ref()))
        (input.summary())
        // A browser would refuse to send the form over an invalid field that it does not show.
        form.stack method="post" action={ "/sites/" (site.id) "/edit" } novalidate {
            section.card {
                header { h2 { "Name and URL" } }
                div.fields {
                    @for field in fields() {
                        @match field.name {
                            objectives::FIELD => {}
                            "url" => (input.input(field.name, "url", Label { text: field.label, help })),
                            "notes" => { (tags::control(input)) (input.textarea(field.name, field.label, 4)) },
                            _ => (input.control(field)),
                        }
                    }
                }
            }
            @for tool in Tool::ALL {
                (tool_part(access, input, tool, &team))
                @if tool == Tool::Status { (expectations::part(input, site)) }
            }
            (objective_part(input))
            (header_part(access, input))
            (records_part(access, input))
            div.row { button.main { "Save" } a.btn href={ "/sites/" (site.id) } { "Cancel" } }
        }
    };
    let title = Heading::new(format!("Edit {}", site.name))
        .below(format!("/teams/{}", site.team), "Sites")
        .below(format!("/sites/{}", site.id), &site.name);
    Ok(layout::team_page(context, (&access.team.team, NavTab::Sites), status, title, &content))
}

/// The settings of a tool. They are expanded if one of them is wrong.
fn tool_part(access: &SiteAccess, input: &FormInput, tool: Tool, team: &Value) -> Markup {
    let controls: Vec<_> = setting::of_tool(tool, access.team.plan()).collect();
    let own = controls.iter().filter(|control| control.is_own(input)).count();
    let is_wrong = input.is_wrong_below(&format!("{TEAM_PATH}.tools.{tool}"));
    html! {
        // Browsers collapse the others with the same name.
        details.card.part name="tools" open[is_wrong] {
            summary {
                h2 { (words::tool(tool)) }
                span.tag { (own) " of " (controls.len()) " overridden" }
            }
            div.fields { @for control in &controls { (control.shown_beside(input, team)) } }
        }
    }
}

fn objective_part(input: &FormInput) -> Markup {
    html! {
        details.card.part open[input.is_wrong_below(objectives::FIELD)] {
            summary { h2 { "Objective" } }
            p.in.quiet.small { "How much of a period the site should be up. Its page shows how much downtime that leaves." }
            div.fields { (objectives::controls(input, objectives::FIELD)) }
        }
    }
}

fn header_part(access: &SiteAccess, input: &FormInput) -> Markup {
    let team = access.team.settings.request_header.name.as_deref();
    let is_wrong = input.is_wrong_below(&format!("{TEAM_PATH}.request_header"));
    html! {
        details.card.part open[is_wrong] {
            summary { h2 { "Request header" } }
            p.in.quiet.small {
                "Sent with status, broken link and performance checks. Without a name, the team’s header is used: "
                @match team { Some(name) => { bdi { (name) } } None => "none" } "."
            }
            div.fields { @for control in setting::of_header() { (control.shown(input)) } }
        }
    }
}

fn records_part(access: &SiteAccess, input: &FormInput) -> Markup {
    html! {
        details.card.part open[input.is_wrong_below(RECORDS)] {
            summary { h2 { "Expected DNS records" } }
            p.in.quiet.small { "One value per line. If you enter none, the records of the first check are expected." }
            div.fields {
                @for kind in DnsRecordType::ALL {
                    (input.textarea(&format!("{RECORDS}.{kind}"), format!("{kind} records").as_str(), 2))
                }
                @if access.stored.site.expected_records.is_empty() {
                    (input.tick(FORGET, YES, "From now on, expect the records of the next check"))
                }
            }
        }
    }
}
