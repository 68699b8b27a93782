//! Changing a site: what is said of it, where it is, and where it differs from its team.

mod controls;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use vedette_actions::{SiteUpdate, pause_site, resume_site, save_site};
use vedette_domain::account::Permission;
use vedette_domain::settings::DnsRecordType;
use vedette_domain::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_http::settings::TEAM_PATH;

use super::access;
use crate::form::Filled;
use crate::layout::Part;
use crate::{Visit, layout};

/// Where the expected records stand in the API's requests.
const RECORDS: &str = "dns_expected_records";
/// A box that is no field of the API: it sends no records where there were none.
const FORGET: &str = "forget_records";

/// Shows the form.
pub(crate) async fn ask(visit: Visit<'_>) -> Result<Response, ApiError> {
    let access = access(visit, Permission::ManageSites).await?;
    Ok(page(visit, &access, StatusCode::OK, &stored(&access)?))
}

/// Saves what was sent; what is refused stays in the form.
pub(crate) async fn save(visit: Visit<'_>) -> Result<Response, ApiError> {
    let mut access = access(visit, Permission::ManageSites).await?;
    let filled = Filled::sent(visit.body);
    let saved = async {
        let update = SiteUpdate::parse(&request(&filled, &access), &access.team)?;
        let wanted = update.as_chosen(&access).apply_to(&access)?;
        save_site(visit.app, &mut access, wanted, visit.member()?.caller.now).await
    };
    match saved.await {
        Ok(()) => layout::see(&format!("/sites/{}?said=saved", access.stored.site.id)),
        Err(ApiError::Validation(refusal)) => {
            let filled = filled.refused(refusal);
            Ok(page(visit, &access, StatusCode::UNPROCESSABLE_ENTITY, &filled))
        }
        Err(error) => Err(error),
    }
}

/// Disables every tool of the site.
pub(crate) async fn pause(visit: Visit<'_>) -> Result<Response, ApiError> {
    let mut access = access(visit, Permission::ManageSites).await?;
    pause_site(visit.app, &mut access, visit.member()?.caller.now).await?;
    layout::see(&format!("/sites/{}?said=paused", access.stored.site.id))
}

/// Has the site checked again, by the tools that its team enables.
pub(crate) async fn resume(visit: Visit<'_>) -> Result<Response, ApiError> {
    let mut access = access(visit, Permission::ManageSites).await?;
    resume_site(visit.app, &mut access, visit.member()?.caller.now).await?;
    layout::see(&format!("/sites/{}?said=resumed", access.stored.site.id))
}

fn tool_path(tool: Tool) -> String {
    format!("{TEAM_PATH}.tools.{tool}")
}

fn header_path(part: &str) -> String {
    format!("{TEAM_PATH}.request_header.{part}")
}

/// The form as it stands for what is stored.
fn stored(access: &SiteAccess) -> Result<Filled, ApiError> {
    let site = &access.stored.site;
    let mut filled = Filled::default();
    filled.put("name", &site.name);
    filled.put("url", site.url.as_str());
    filled.put("notes", site.notes.as_deref().unwrap_or_default());
    filled.put("pinned", site.pinned.to_string());
    filled.put("js_rendered", site.js_rendered.to_string());
    for (kind, values) in &site.expected_records {
        filled.put(format!("{RECORDS}.{kind}"), values.join("\n"));
    }
    if let Some(header) = &site.overrides.request_header {
        filled.put(header_path("name"), &header.name);
    }
    let own = serde_json::to_value(&site.overrides).map_err(ApiError::internal)?;
    let (team, in_force) = (team_tools(access), access.settings());
    for tool in Tool::ALL {
        let (path, own, team) =
            (tool_path(tool), &own["tools"][tool.as_str()], &team[tool.as_str()]);
        if let Some(enabled) = own["enabled"].as_bool() {
            filled.put(format!("{path}.enabled"), enabled.to_string());
        }
        if !own["cadence_minutes"].is_null() {
            // As the plan allows it.
            let minutes = in_force.tools.cadence_minutes(tool).to_string();
            filled.put(format!("{path}.cadence_minutes"), minutes);
        }
        for setting in controls::shown(tool) {
            let name = setting.name;
            let (own, team) = (own["settings"].get(name), &team["settings"][name]);
            let path = format!("{path}.settings.{name}");
            controls::fill(&mut filled, &path, setting.rule, own, team);
        }
    }
    Ok(filled)
}

/// The team's settings of the tools, as the API writes them. They have a JSON form.
fn team_tools(access: &SiteAccess) -> Value {
    serde_json::to_value(&access.team.settings.tools).unwrap_or_default()
}

/// What was filled in, as a request of the API says it.
fn request(filled: &Filled, access: &SiteAccess) -> Map<String, Value> {
    let mut tools = Map::new();
    for tool in Tool::ALL {
        let path = tool_path(tool);
        let own = controls::shown(tool).filter_map(|setting| {
            let path = format!("{path}.settings.{}", setting.name);
            Some((setting.name.to_owned(), controls::chosen(filled, &path, setting.rule)?))
        });
        let mut sent = json!({ "settings": Map::from_iter(own) });
        let chosen = |name: &str| Some(filled.text(name)).filter(|text| !text.is_empty());
        if let Some(enabled) = chosen(&format!("{path}.enabled")) {
            sent["enabled"] = controls::truth(enabled);
        }
        if let Some(minutes) = chosen(&format!("{path}.cadence_minutes")) {
            sent["cadence_minutes"] = controls::integer(minutes);
        }
        tools.insert(tool.to_string(), sent);
    }
    let header = |part: &str| filled.text(&header_path(part));
    // The value is not in the form; it belongs to the name that it was saved with.
    let saved = access.stored.site.overrides.request_header.as_ref();
    let kept = saved.filter(|saved| saved.name == header("name") && header("value").is_empty());
    let value = kept.map_or_else(|| header("value"), |saved| saved.value.as_str());
    let text = |name: &str| Value::from(filled.text(name));
    let mut request = json!({
        "url": text("url"),
        "name": text("name"),
        "notes": text("notes"),
        "js_rendered": filled.has("js_rendered", "true"),
        "pinned": filled.has("pinned", "true"),
        TEAM_PATH: {
            "tools": tools,
            "request_header": { "name": header("name"), "value": value },
        },
    });
    let records: Map<_, _> = DnsRecordType::ALL
        .into_iter()
        .map(|kind| (kind, filled.lines(&format!("{RECORDS}.{kind}")).collect::<Value>()))
        .filter(|(_, values)| values.as_array().is_some_and(|values| !values.is_empty()))
        .map(|(kind, values)| (kind.to_string(), values))
        .collect();
    // To clear the records also forgets those that were learnt, which merely to save must not.
    let had_records = !access.stored.site.expected_records.is_empty();
    if !records.is_empty() || had_records || filled.has(FORGET, "true") {
        request[RECORDS] = records.into();
    }
    match request {
        Value::Object(request) => request,
        _ => Map::new(),
    }
}

fn page(visit: Visit<'_>, access: &SiteAccess, status: StatusCode, filled: &Filled) -> Response {
    let site = &access.stored.site;
    let content = html! {
        p { a href={ "/sites/" (site.id) } { "Back to the site" } }
        (filled.summary())
        form.settings method="post" action={ "/sites/" (site.id) "/edit" } {
            (filled.input("name", "text", "Name"))
            (filled.input("url", "url", "URL"))
            (filled.textarea("notes", "Notes, which alerts begin with", 4))
            (filled.tick("pinned", "true", "Keep it at the top of lists"))
            (filled.tick("js_rendered", "true", "Render pages with a browser when links are checked"))
            (request_header(access, filled))
            @for tool in Tool::ALL { (tool_part(access, tool, filled)) }
            (records_part(access, filled))
            p { button { "Save" } }
        }
    };
    let title = format!("Edit {}", site.name);
    layout::team_page(visit, (site.team, Part::Sites), status, &title, &content)
}

fn request_header(access: &SiteAccess, filled: &Filled) -> Markup {
    let team = access.team.settings.request_header.name.as_deref();
    let (name, value) = (header_path("name"), header_path("value"));
    let problems = filled.problems(&value);
    html! {
        h2 { "Request header" }
        p.quiet {
            "Sent with status, broken-links and performance checks. Without a name, as the team: "
            @match team { Some(name) => { bdi { (name) } } None => "none" } "."
        }
        (filled.input(&name, "text", "Name of the header"))
        label for=(value) { "Value of the header" }
        p.quiet { "It is not shown. Leave it empty to keep it." }
        input id=(value) type="password" name=(value) autocomplete="off"
            aria-describedby=[problems.described()] aria-invalid=[problems.invalid()];
        (problems.shown())
    }
}

fn tool_part(access: &SiteAccess, tool: Tool, filled: &Filled) -> Markup {
    let (team, plan, path) = (&access.team.settings.tools, access.team.plan(), tool_path(tool));
    let values = team_tools(access);
    let enabled = Value::from(team.is_enabled(tool));
    html! {
        h2 { (tool.label()) }
        (controls::boolean(filled, &format!("{path}.enabled"), "Enabled", &enabled))
        (controls::cadence(filled, &format!("{path}.cadence_minutes"), tool, plan, team.cadence_minutes(tool)))
        @for setting in controls::shown(tool) {
            (controls::control(filled, &format!("{path}.settings.{}", setting.name), setting,
                &values[tool.as_str()]["settings"][setting.name]))
        }
    }
}

fn records_part(access: &SiteAccess, filled: &Filled) -> Markup {
    html! {
        h2 { "Expected DNS records" }
        p.quiet { "One value in a line. Where there are none at all, the first check's records are expected." }
        @for kind in DnsRecordType::ALL {
            (filled.textarea(&format!("{RECORDS}.{kind}"), &format!("{kind} records"), 2))
        }
        @if access.stored.site.expected_records.is_empty() {
            (filled.tick(FORGET, "true", "Expect the records of the next check from now on"))
        }
    }
}
