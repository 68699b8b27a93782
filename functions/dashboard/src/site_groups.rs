//! The groups of a team's sites: a form with a line for each of them.

use maud::{Markup, html};
use serde_json::{Map, Value, json};
use vedette_actions::change_site_groups;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::TeamId;
use vedette_domain::input::Input as _;
use vedette_domain::sites::group::{SITE_GROUPS_MAX, SiteGroupInput, SiteGroups, SiteGroupsInput};
use vedette_domain::sites::selector::SELECTOR_HELP;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::form::FormInput;
use crate::layout::{self, Heading, NavTab};

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
        lines.push([String::new(), selector.to_owned()]);
    }
    Ok(page(context, &team.team, &saved, &input_of(&lines, saved.rev)))
}

/// Saves the groups. Lines without a name and tags are left out. If somebody else has changed the groups meanwhile, the
/// form shows theirs and the new ones.
pub(crate) async fn save(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let sent = FormInput::sent(context.body);
    let line = |place| names(place).map(|name| sent.text(&name).trim().to_owned());
    let lines = (0..=SITE_GROUPS_MAX).map(line);
    let lines = lines.filter(|line| line.iter().any(|text| !text.is_empty()));
    let mut lines: Vec<_> = lines.collect();
    let saved = context.app.store.site_groups(team.id()).await?;
    if sent.text(REV) != saved.rev.to_string() {
        let theirs = lines_of(&saved);
        lines.retain(|[name, _]| theirs.iter().all(|[known, _]| known != name));
        let refusal = ValidationError::new(
            REV,
            "Somebody else has changed the groups. Check them, and save again.",
        );
        let input = input_of(&[theirs, lines].concat(), saved.rev);
        return Ok(page(context, &team.team, &saved, &input.refused(refusal)));
    }
    let groups = lines.iter().map(|[name, selector]| json!({ "name": name, "selector": selector }));
    let texts = Map::from_iter([("groups".to_owned(), Value::from_iter(groups))]);
    match SiteGroupsInput::from_texts(&texts) {
        Ok(chosen) => {
            change_site_groups(context.app, team.id(), saved, chosen, caller.by()).await?;
            layout::redirect(&format!("/teams/{}?notice=groups-saved", team.id()))
        }
        Err(refusal) => {
            let input = input_of(&lines, saved.rev).refused(refusal);
            Ok(page(context, &team.team, &saved, &input))
        }
    }
}

/// The names of the fields in a line.
fn names(place: usize) -> [String; 2] {
    [0, 1].map(|column| SiteGroupInput::FIELDS[column].name_below(&format!("groups.{place}")))
}

fn lines_of(saved: &SiteGroups) -> Vec<[String; 2]> {
    let groups = saved.groups.iter();
    groups.map(|group| [group.name.clone(), group.selector.to_string()]).collect()
}

fn input_of(lines: &[[String; 2]], rev: u64) -> FormInput {
    let mut input = FormInput::default();
    input.put(REV, rev.to_string());
    for (place, line) in lines.iter().enumerate() {
        for (name, text) in names(place).into_iter().zip(line) {
            input.put(name, text);
        }
    }
    input
}

fn page(
    context: RequestContext<'_>,
    team: &Team,
    saved: &SiteGroups,
    input: &FormInput,
) -> Response {
    let managed_by = saved.groups.iter().find_map(|group| group.managed_by.as_ref());
    let is_used = |place: &usize| names(*place).iter().any(|name| !input.text(name).is_empty());
    let used = (0..=SITE_GROUPS_MAX).take_while(is_used).count();
    let shown = 0..(used + 1).min(SITE_GROUPS_MAX.max(used));
    let content = html! {
        (layout::managed(managed_by))
        (input.unsaved(shown.clone().flat_map(names).collect::<Vec<_>>().iter().map(String::as_str)))
        form.card method="post" action=(address(team.id)) novalidate {
            input type="hidden" name=(REV) value=(input.text(REV));
            p.in.air.quiet {
                "A group is a saved filter. A site belongs to every group whose selector it matches. "
                (SELECTOR_HELP) " To remove a group, clear both fields."
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
    let path = format!("groups.{place}");
    html! {
        div.in.air.line.pair {
            @for field in SiteGroupInput::FIELDS { (input.control_below(&path, field)) }
        }
    }
}
