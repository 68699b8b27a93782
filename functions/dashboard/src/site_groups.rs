//! The groups of a team's sites: a form with a line for each of them.

use maud::{Markup, html};
use serde_json::{Map, Value, json};
use vedette_actions::change_site_groups;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::sites::group::{SITE_GROUPS_MAX, SiteGroupInput, SiteGroups, SiteGroupsInput};
use vedette_domain::sites::selector::SELECTOR_HELP;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use crate::form::FormInput;
use crate::layout::{Heading, NavTab};
use crate::{RequestContext, layout, objectives};

/// The field with the `rev` of the groups in the form.
const REV: &str = "rev";

/// The address of the form.
pub(crate) fn address(team: TeamId) -> String {
    format!("/teams/{team}/groups")
}

/// Shows the form, with a line for a new group. The query may have its selector.
pub(crate) async fn ask(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let saved = context.app.store.site_groups(team.id()).await?;
    let mut lines = lines_of(&saved);
    let query = Query::parse(context.head.uri.query());
    if let Some(selector) = query.search("selector") {
        lines.push(json!({ "selector": selector }));
    }
    Ok(page(context, &team.team, &saved, &input_of(&lines, saved.rev)?))
}

/// Saves the groups. Lines without a name, tags and an objective are left out. If somebody else has changed the groups
/// meanwhile, the form shows theirs and the new ones.
pub(crate) async fn save(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    let mut lines: Vec<_> = (0..=SITE_GROUPS_MAX)
        .filter(|place| is_used(&sent, *place))
        .map(|place| line_of(&sent, place))
        .collect();
    let saved = context.app.store.site_groups(team.id()).await?;
    if sent.text(REV) != saved.rev.to_string() {
        let theirs = lines_of(&saved);
        lines.retain(|line| theirs.iter().all(|known| known["name"] != line["name"]));
        let refusal = ValidationError::new(
            REV,
            "Somebody else has changed the groups. Check them, and save again.",
        );
        let input = input_of(&[theirs, lines].concat(), saved.rev)?;
        return Ok(page(context, &team.team, &saved, &input.refused(refusal)));
    }
    let texts = Map::from_iter([("groups".to_owned(), Value::from(lines.clone()))]);
    let chosen = SiteGroupsInput::from_texts(&texts).and_then(|chosen| {
        chosen.check_objectives(&saved, &team.settings)?;
        Ok(chosen)
    });
    match chosen {
        Ok(chosen) => {
            change_site_groups(context.app, team.id(), saved, chosen, caller.by()).await?;
            layout::redirect(&format!("/teams/{}?notice=groups-saved", team.id()))
        }
        Err(refusal) => {
            let input = input_of(&lines, saved.rev)?.refused(refusal);
            Ok(page(context, &team.team, &saved, &input))
        }
    }
}

fn path_of(place: usize) -> String {
    format!("groups.{place}")
}

/// The names of the fields in a line that a person types into.
fn names(place: usize) -> Vec<String> {
    let name = |field: &InputField| match field.name {
        objectives::FIELD => objectives::percentage(&field.name_below(&path_of(place))),
        _ => field.name_below(&path_of(place)),
    };
    SiteGroupInput::FIELDS.iter().map(name).collect()
}

fn is_used(input: &FormInput, place: usize) -> bool {
    names(place).iter().any(|name| !input.text(name).trim().is_empty())
}

/// A group as the form sent it.
fn line_of(sent: &FormInput, place: usize) -> Value {
    let mut line = Value::from(sent.texts_below(&path_of(place), SiteGroupInput::FIELDS));
    for name in ["name", "selector"] {
        line[name] = line[name].as_str().unwrap_or_default().trim().into();
    }
    objectives::unless_empty(&mut line);
    line
}

fn lines_of(saved: &SiteGroups) -> Vec<Value> {
    saved.groups.iter().map(|group| json!(group)).collect()
}

fn input_of(lines: &[Value], rev: u64) -> Result<FormInput, ApiError> {
    let mut input = FormInput::default();
    input.put(REV, rev.to_string());
    for (place, line) in lines.iter().enumerate() {
        input.fill(&path_of(place), SiteGroupInput::FIELDS, line)?;
    }
    Ok(input)
}

fn page(
    context: RequestContext<'_>,
    team: &Team,
    saved: &SiteGroups,
    input: &FormInput,
) -> Response {
    let managed_by = saved.groups.iter().find_map(|group| group.managed_by.as_ref());
    let used = (0..=SITE_GROUPS_MAX).take_while(|place| is_used(input, *place)).count();
    let shown = 0..(used + 1).min(SITE_GROUPS_MAX.max(used));
    let content = html! {
        (layout::managed(managed_by))
        (input.unsaved(shown.clone().flat_map(names).collect::<Vec<_>>().iter().map(String::as_str)))
        form.card method="post" action=(address(team.id)) novalidate {
            input type="hidden" name=(REV) value=(input.text(REV));
            p.in.air.quiet {
                "A group is a saved filter. A site belongs to every group whose selector it matches. "
                (SELECTOR_HELP) " With an objective, the group is down while any of its sites is down. To remove a group, clear its fields."
            }
            @for place in shown { (line(place, input)) }
            footer {
                button.main { "Save" }
                a.btn href={ "/teams/" (team.id) } { "Cancel" }
            }
        }
    };
    let heading = Heading::new("Groups").below(format!("/teams/{}", team.id), "Sites");
    layout::team_page(context, (team, NavTab::Sites), input.status(), heading, &content)
}

fn line(place: usize, input: &FormInput) -> Markup {
    let path = path_of(place);
    html! {
        div.in.air.line.pair {
            @for field in SiteGroupInput::FIELDS {
                @match field.name {
                    objectives::FIELD => (objectives::controls(input, &field.name_below(&path))),
                    _ => (input.control_below(&path, field)),
                }
            }
        }
    }
}
