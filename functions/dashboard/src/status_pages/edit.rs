//! The form for what a status page shows.

use std::collections::BTreeMap;

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde_json::{Map, Value, json};
use vedette_actions::edit_status_page;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::MonitorId;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::status_pages::{COMPONENTS_MAX, PageEdit, StatusPage};
use vedette_http::error::ApiError;
use vedette_http::resource::StatusPageResource;
use vedette_http::response::Response;
use vedette_http::validation::YES;
use vedette_routing::StatusPageAccess;

use super::{path, path_of};
use crate::RequestContext;
use crate::form::FormInput;
use crate::form::picker::{Candidate, Offered, is_search};
use crate::layout::{self, Heading, NavTab};

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 1] =
    [("created", "Status page created. Choose below what it shows.")];

/// Shows the form.
pub(crate) async fn edit(
    context: RequestContext<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    form(context, &access, None).await
}

/// Saves what the page shows, or searches for sites and heartbeats that it could show.
pub(crate) async fn save(
    context: RequestContext<'_>,
    access: StatusPageAccess,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    if is_search(&sent) {
        return form(context, &access, Some(sent)).await;
    }
    let caller = &context.member()?.caller;
    let saved = async {
        let edit = PageEdit::from_texts(&texts(&sent))?;
        Ok(edit_status_page(context.app, &access.page, edit, caller.by()).await?)
    };
    match saved.await {
        Ok(page) => layout::redirect(&format!("{}?notice=saved", path_of(&page))),
        Err(ApiError::Validation(refusal)) => {
            form(context, &access, Some(sent.refused(refusal))).await
        }
        Err(error) => Err(error),
    }
}

/// The texts in the form. Each line of the form has a key; the ticked lines become components, in the order of their
/// places, and lines with the same group follow one another. What the selector has added, and what was hidden
/// before, stays hidden if it is not ticked.
fn texts(sent: &FormInput) -> Map<String, Value> {
    let mut lines: Vec<&str> = sent.all("show").collect();
    // Those that are shown come first if there is no room for all.
    let room = COMPONENTS_MAX.saturating_sub(lines.len());
    lines.extend(sent.all("hidden").filter(|key| !sent.has("show", key)).take(room));
    let place = |key: &str| sent.text(&format!("place:{key}")).trim().parse::<u32>().ok();
    lines.sort_by_key(|key| place(key).unwrap_or(u32::MAX));
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for key in lines {
        let text = |name: &str| sent.text(&format!("{name}:{key}")).trim();
        let component = json!({
            "uuid": text("uuid"),
            "site": text("site"),
            "heartbeat": text("heartbeat"),
            "name": text("name"),
            "response_time": if sent.has("time", key) { YES } else { "" },
            "hidden": !sent.has("show", key),
        });
        match groups.iter_mut().find(|(name, _)| *name == text("group")) {
            Some((_, components)) => components.push(component),
            None => groups.push((text("group"), vec![component])),
        }
    }
    let groups = groups.into_iter();
    let groups = groups.map(|(name, all)| json!({ "name": name, "components": all })).collect();
    let mut texts = sent.texts(own());
    texts.insert("groups".to_owned(), groups);
    texts
}

/// The fields of the page itself.
fn own() -> impl Iterator<Item = &'static InputField> {
    PageEdit::FIELDS.iter().filter(|field| field.name != "groups")
}

/// A site or heartbeat of the team.
struct Monitor {
    id: MonitorId,
    is_heartbeat: bool,
    name: String,
    /// Empty for a heartbeat.
    url: String,
}

impl Candidate for Monitor {
    const WORDS: [&str; 2] = ["site or heartbeat", "sites and heartbeats"];

    fn id(&self) -> MonitorId {
        self.id
    }

    fn contains(&self, part: &str) -> bool {
        [&self.name, &self.url].iter().any(|text| text.to_lowercase().contains(part))
    }
}

/// A line of the form: a component, or a site or heartbeat that the page does not show.
struct Line<'m> {
    key: String,
    monitor: MonitorId,
    is_heartbeat: bool,
    /// The name of the site or heartbeat.
    name: &'m str,
    /// Whether the page has it.
    is_component: bool,
    /// Whether it is hidden, and not removed, if it is not ticked.
    stays_hidden: bool,
}

async fn form(
    context: RequestContext<'_>,
    StatusPageAccess { team: found, page }: &StatusPageAccess,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &found.team;
    let status = refused.as_ref().map_or(StatusCode::OK, FormInput::status);
    let monitors = monitors(context, team).await?;
    let is_new = refused.is_none();
    let mut input = match refused {
        Some(input) => input,
        None => stored(page)?,
    };
    let is_shown = |id| page.components().any(|component| component.monitor == id);
    let (shown, others): (Vec<_>, Vec<_>) = monitors.into_iter().partition(|of| is_shown(of.id));
    let chosen = input.all("show").filter_map(MonitorId::parse).collect();
    let offered = Offered::of(&input, &others, &chosen);
    let lines = lines(page, &shown, &offered, &mut input);
    let content = html! {
        @if is_new { (layout::notice(context, &NOTICES)) }
        (layout::managed(page.managed_by.as_ref()))
        form.stack method="post" novalidate {
            (input.unsaved(own().map(|field| field.name)))
            section.card {
                header { h2 { "Page" } }
                div.fields {
                    @for field in own() {
                        @if field.name != "subscriptions" || context.app.service.sends_mail || page.offers_subscriptions {
                            @if field.name == "selector" { (input.selector(field, "")) }
                            @else { (input.control(field)) }
                        }
                    }
                }
            }
            (components(&lines, &offered, &input))
            div.row { button.main { "Save" } a.btn href=(path_of(page)) { "Cancel" } }
        }
        (removal(page))
    };
    let heading = Heading::new(format!("Edit {}", page.name))
        .below(path(team.id), "Status pages")
        .below(path_of(page), &page.name);
    Ok(layout::team_page(context, (team, NavTab::StatusPages), status, heading, &content))
}

fn stored(page: &StatusPage) -> Result<FormInput, ApiError> {
    let mut input = FormInput::default();
    input.fill("", own(), &StatusPageResource::new(page, None))?;
    let groups = page.groups.iter().flat_map(|group| {
        group.components.iter().map(move |component| (group.name.as_deref(), component))
    });
    for ((group, component), place) in groups.zip(1..) {
        let key = component.id.to_string();
        input.put(format!("name:{key}"), &component.name);
        input.put(format!("group:{key}"), group.unwrap_or_default());
        input.put(format!("place:{key}"), i32::to_string(&place));
        if !component.is_hidden {
            input.put("show", &key);
        }
        if component.publishes_response_time {
            input.put("time", key);
        }
    }
    Ok(input)
}

/// The sites of a team, then its heartbeats, sorted by name.
async fn monitors(context: RequestContext<'_>, team: &Team) -> Result<Vec<Monitor>, ApiError> {
    let store = &context.app.store;
    let (sites, heartbeats) = futures::try_join!(
        store.directory(team.id, team.sites as usize),
        store.heartbeats_relaxed(team.id),
    )?;
    let sites = sites.into_iter().map(|row| Monitor {
        id: row.id,
        is_heartbeat: false,
        url: row.url.as_str().to_owned(),
        name: row.name,
    });
    let heartbeats = heartbeats.into_iter().map(|of| Monitor {
        id: of.heartbeat.id,
        is_heartbeat: true,
        url: String::new(),
        name: of.heartbeat.name,
    });
    let mut monitors: Vec<_> = sites.chain(heartbeats).collect();
    monitors.sort_by_cached_key(|of| (of.is_heartbeat, of.name.to_lowercase(), of.id));
    Ok(monitors)
}

/// The components of the page, which shows some of the team's sites and heartbeats, then others.
fn lines<'m>(
    page: &StatusPage,
    shown: &'m [Monitor],
    offered: &Offered<'m, Monitor>,
    input: &mut FormInput,
) -> Vec<Line<'m>> {
    let names: BTreeMap<_, _> = shown.iter().map(|of| (of.id, of.name.as_str())).collect();
    let components = page.components().map(|component| {
        let gone = if component.is_heartbeat { "Deleted heartbeat" } else { "Deleted site" };
        Line {
            key: component.id.to_string(),
            monitor: component.monitor,
            is_heartbeat: component.is_heartbeat,
            name: names.get(&component.monitor).copied().unwrap_or(gone),
            is_component: true,
            stays_hidden: component.is_hidden || (component.is_selected && page.selector.is_some()),
        }
    });
    let others = offered.all.iter().map(|of| Line {
        key: of.id.to_string(),
        monitor: of.id,
        is_heartbeat: of.is_heartbeat,
        name: &of.name,
        is_component: false,
        stays_hidden: false,
    });
    let lines: Vec<_> = components.chain(others).collect();
    for Line { key, name, .. } in &lines {
        if input.text(&format!("name:{key}")).is_empty() && !input.has("show", key) {
            input.put(format!("name:{key}"), *name);
        }
    }
    lines
}

fn components(lines: &[Line<'_>], offered: &Offered<'_, Monitor>, input: &FormInput) -> Markup {
    html! {
        section.card {
            header { h2 { "Components" } }
            p.in.quiet {
                "Select what the page shows. Readers see the published name, and never the URL of a site or the output of a job. Sites that join by their tags start with the name of the site as their published name. "
                "At most " (COMPONENTS_MAX) " components."
            }
            (offered.search(input))
            @if lines.is_empty() && !offered.has_search { p.in.quiet { "The team has no sites or heartbeats yet." } } @else {
                ul.rows { @for line in lines { (component(line, input)) } }
            }
        }
    }
}

fn component(line: &Line<'_>, input: &FormInput) -> Markup {
    let Line { key, monitor, is_heartbeat, name, is_component, stays_hidden } = line;
    let kind = if *is_heartbeat { "heartbeat" } else { "site" };
    let field = |name: &str, label: &str| input.input(&format!("{name}:{key}"), "text", label);
    html! {
        li.w {
            div.grow {
                input type="hidden" name={ (kind) ":" (key) } value=(monitor);
                @if *stays_hidden { input type="hidden" name="hidden" value=(key); }
                @if *is_component { input type="hidden" name={ "uuid:" (key) } value=(key); }
                (input.tick("show", key, (*name, if *is_heartbeat { "Heartbeat" } else { "" })))
                div.fields {
                    (field("name", "Published name"))
                    (field("group", "Group"))
                    (input.number(&format!("place:{key}"), "Position", (1, 999)))
                    @if !is_heartbeat { (input.tick("time", key, "Publish its response time")) }
                }
            }
        }
    }
}

fn removal(page: &StatusPage) -> Markup {
    html! {
        details.card.part {
            summary { "Delete status page…" }
            form.in.stack method="post" action={ (path_of(page)) "/delete" } {
                p { b { "Readers can no longer open the page, and its incidents are deleted." } " Your sites and heartbeats stay as they are." }
                div.row { button.grave { "Delete status page" } }
            }
        }
    }
}
