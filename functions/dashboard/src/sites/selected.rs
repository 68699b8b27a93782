//! Tagging, pausing, resuming or deleting several sites of the list at once.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::{delete_site, pause_site, resume_site, save_site};
use vedette_domain::id::SiteId;
use vedette_domain::sites::input::SiteEdit;
use vedette_domain::sites::tag::{SITE_TAGS_MAX, Tags};
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::{SiteWithTools, TeamWithSettings};

use super::list::query_of;
use super::list::selection::List;
use super::tags;
use crate::form::FormInput;
use crate::layout::{Heading, NavTab};
use crate::paging;
use crate::words::counted;
use crate::{RequestContext, layout};

/// The most sites that are selected: those of the largest page.
const SELECTED_MAX: usize = paging::SIZES[paging::SIZES.len() - 1];

/// The fields for the tags that the sites get and lose.
const ADD: &str = "tags";
const REMOVE: &str = "remove";

/// Carries out an action on the selected sites. Asks again before it deletes them.
pub(crate) async fn change_selected(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    let query = query_of(&Query::parse(context.head.uri.query()));
    let list = List { team: team.id(), query };
    let input = FormInput::sent(context.body);
    let ids = input.all("site").filter_map(SiteId::parse).take(SELECTED_MAX);
    let found = context.app.store.sites(ids.map(SiteId::partition)).await?;
    let mut sites: Vec<SiteWithTools> =
        found.into_values().filter(|stored| stored.site.team == team.id()).collect();
    sites.sort_by_cached_key(|stored| stored.site.name.to_lowercase());
    if sites.is_empty() {
        return list.redirect("none-selected");
    }
    let change = input.text("do");
    if change == "delete" {
        return Ok(ask_to_delete(context, &team, &list, &sites));
    }
    if change == "tag" {
        return Ok(ask_for_tags(context, &team, &list, &sites, &FormInput::default()));
    }
    if change == "change-tags" {
        return match change_tags(context, &team, &sites, &input).await {
            Ok(()) => list.redirect("all-tagged"),
            Err(ApiError::Validation(refusal)) => {
                Ok(ask_for_tags(context, &team, &list, &sites, &input.refused(refusal)))
            }
            Err(fault) => Err(fault),
        };
    }
    for stored in sites {
        let mut access = SiteAccess { stored, team: team.clone() };
        match change {
            "pause" => {
                pause_site(context.app, &mut access, caller.by()).await?;
            }
            "resume" => {
                resume_site(context.app, &mut access, caller.by()).await?;
            }
            "delete-for-good" => {
                delete_site(context.app, &access.team.team, &access.stored, caller.by()).await?;
            }
            _ => return Err(ApiError::NotFound),
        }
    }
    list.redirect(match change {
        "pause" => "all-paused",
        "resume" => "all-resumed",
        _ => "all-deleted",
    })
}

/// Adds tags to the sites and removes others. Each site is saved on its own, so the form can be sent again.
async fn change_tags(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    sites: &[SiteWithTools],
    input: &FormInput,
) -> Result<(), ApiError> {
    let by = context.member()?.caller.by();
    let edit = SiteEdit {
        add_tags: Some(tags::read(input, ADD)?),
        remove_tags: Some(tags::read(input, REMOVE)?),
        ..SiteEdit::default()
    };
    let changed = sites.iter().map(|stored| {
        let wanted = edit.clone().apply_to(&stored.site, None, false);
        (stored, wanted)
    });
    let changed: Vec<_> = changed.collect();
    if let Some((_, full)) = changed.iter().find(|(_, wanted)| wanted.tags.len() > SITE_TAGS_MAX) {
        let why = format!("{} would have more than {SITE_TAGS_MAX} tags.", full.name);
        return Err(ValidationError::new(ADD, why).into());
    }
    for (stored, wanted) in changed {
        let mut access = SiteAccess { stored: stored.clone(), team: team.clone() };
        save_site(context.app, &mut access, wanted, by).await?;
    }
    Ok(())
}

fn ask_for_tags(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    list: &List,
    sites: &[SiteWithTools],
    input: &FormInput,
) -> Response {
    let sites_in_words = counted(sites.len(), "site", "sites");
    let used: Tags = sites.iter().flat_map(|stored| &stored.site.tags).cloned().collect();
    let removed = match used.is_empty() {
        true => "These sites have no tags.".to_owned(),
        false => format!("These sites have {}.", tags::joined(&used)),
    };
    let content = html! {
        (input.not_done("Tags not changed.", "Correct what is marked below.", [ADD, REMOVE].into_iter()))
        section.card {
            form.in.stack.gl method="post" action=(list.action()) {
                @for SiteWithTools { site, .. } in sites { input type="hidden" name="site" value=(site.id); }
                (input.input(ADD, "text", ("Add", "For example: env:prod team:shop. Separate them by spaces.")))
                (input.input(REMOVE, "text", ("Remove", removed.as_str())))
                div.row {
                    button.main name="do" value="change-tags" { "Change tags of " (sites_in_words) }
                    a.btn href=(list.address()) { "Cancel" }
                }
            }
        }
    };
    let title = Heading::new(format!("Tags of {sites_in_words}")).below(list.address(), "Sites");
    layout::team_page(context, (&team.team, NavTab::Sites), input.status(), title, &content)
}

fn ask_to_delete(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    list: &List,
    sites: &[SiteWithTools],
) -> Response {
    let sites_in_words = counted(sites.len(), "site", "sites");
    let content = html! {
        section.card {
            ul.rows {
                @for SiteWithTools { site, .. } in sites {
                    li { div.grow { b { bdi { (site.name) } } p.quiet.small.cut { (site.url) } } }
                }
            }
            div.in.air.stack.gm.line {
                p.quiet { "Their checks, issues and reports are deleted with them. This can’t be undone. To stop checking them and keep their history, pause them instead." }
                form.row method="post" action=(list.action()) {
                    @for SiteWithTools { site, .. } in sites { input type="hidden" name="site" value=(site.id); }
                    button.grave name="do" value="delete-for-good" { "Delete " (sites_in_words) }
                    a.btn href=(list.address()) { "Cancel" }
                }
            }
        }
    };
    let title = Heading::new(format!("Delete {sites_in_words}?")).below(list.address(), "Sites");
    layout::team_page(context, (&team.team, NavTab::Sites), StatusCode::OK, title, &content)
}
