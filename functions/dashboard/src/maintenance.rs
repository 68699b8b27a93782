//! The maintenance windows of a team: a list, a form that adds one or starts it now, and a page that changes one.

pub(crate) mod calendar;
mod form;

use jiff::{SignedDuration, Timestamp};
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use vedette_actions::{add_window, delete_window, edit_window, end_window};
use vedette_domain::accounts::account::Permission;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{MonitorId, TeamId};
use vedette_domain::maintenance::{MaintenanceWindow, NewWindow, WindowEdit};
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag::Tags;
use vedette_domain::time;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::Response;
use vedette_routing::WindowAccess;
use vedette_store::{DirectoryRow, TeamWithSettings};

use crate::clock::Clock;
use crate::form::FormInput;
use crate::form::picker::is_search;
use crate::layout::{self, Heading, NavTab};
use crate::look::{Icon, Look};
use crate::settings::{Part, beside_others};
use crate::{RequestContext, words};

/// The choices of how long a site is in maintenance from now on, in minutes.
const FROM_NOW: [(u32, &str); 4] =
    [(15, "15 minutes"), (60, "1 hour"), (240, "4 hours"), (1_440, "1 day")];

/// The notices of forms, by the value in the URL.
const NOTICES: [(&str, &str); 7] = [
    ("added", "Maintenance window added."),
    ("started", "Maintenance window started."),
    ("saved", "Maintenance window saved."),
    ("ended", "Maintenance window ended."),
    ("removed", "Maintenance window deleted."),
    ("shared", "The calendar has a new address."),
    ("unshared", "The address of the calendar no longer works."),
];

/// The address of the page.
pub(crate) fn path(team: TeamId) -> String {
    format!("/teams/{team}/maintenance")
}

/// Shows the windows that are not over.
pub(crate) async fn list(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    page(context, &team, None).await
}

/// Adds a window, or searches for its sites. Without a start, it starts now.
pub(crate) async fn add(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    if is_search(&sent) {
        return page(context, &team, Some(sent)).await;
    }
    let new: NewWindow = match form::read(&sent) {
        Ok(new) => new,
        Err(refusal) => return page(context, &team, Some(sent.refused(refusal))).await,
    };
    let said = if new.starts_at.is_none() { "started" } else { "added" };
    let caller = &context.member()?.caller;
    match add_window(context.app, &team.team, new, caller.by()).await.map_err(ApiError::from) {
        Ok(_) => layout::redirect(&format!("{}?notice={said}", path(team.id()))),
        Err(ApiError::Validation(refusal)) => {
            page(context, &team, Some(sent.refused(refusal))).await
        }
        Err(error) => Err(error),
    }
}

/// Starts a window of one site now.
pub(crate) async fn start(
    context: RequestContext<'_>,
    access: SiteAccess,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    let chosen = sent.text("minutes");
    let minutes = FROM_NOW.into_iter().find(|(minutes, _)| minutes.to_string() == chosen);
    let (minutes, _) = minutes.unwrap_or(FROM_NOW[1]);
    let site = access.stored.site.id;
    let new = NewWindow { sites: Some([site].into()), ..NewWindow::lasting(minutes) };
    let caller = &context.member()?.caller;
    add_window(context.app, &access.team.team, new, caller.by()).await?;
    layout::redirect(&format!("/sites/{site}"))
}

/// Shows a window in a form.
pub(crate) async fn edit(
    context: RequestContext<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let input = form::of_window(&access.window, context.member()?.caller.now)?;
    edit_page(context, &access, &input).await
}

/// Changes a window, or searches for its sites.
pub(crate) async fn save(
    context: RequestContext<'_>,
    access: WindowAccess,
) -> Result<Response, ApiError> {
    let sent = FormInput::sent(context.body);
    if is_search(&sent) {
        return edit_page(context, &access, &sent).await;
    }
    let refused =
        async |sent: FormInput, refusal| edit_page(context, &access, &sent.refused(refusal)).await;
    let edit: WindowEdit = match form::read(&sent) {
        Ok(edit) => edit,
        Err(refusal) => return refused(sent, refusal).await,
    };
    let (team, caller) = (&access.team.team, &context.member()?.caller);
    match edit_window(context.app, team, &access.window, edit, caller.by())
        .await
        .map_err(ApiError::from)
    {
        Ok(_) => layout::redirect(&format!("{}?notice=saved", path(team.id))),
        Err(ApiError::Validation(refusal)) => refused(sent, refusal).await,
        Err(error) => Err(error),
    }
}

async fn edit_page(
    context: RequestContext<'_>,
    WindowAccess { team, window }: &WindowAccess,
    input: &FormInput,
) -> Result<Response, ApiError> {
    let team = &team.team;
    let sites = sites_of(context, team).await?;
    let content =
        beside_others(team.id, Part::Maintenance, &form::edit(team, window, &sites, input));
    let heading = Heading::new(&*window.name).below(path(team.id), "Maintenance windows");
    Ok(layout::team_page(context, (team, NavTab::Settings), input.status(), heading, &content))
}

/// The sites of a team by their names.
async fn sites_of(context: RequestContext<'_>, team: &Team) -> Result<Vec<DirectoryRow>, ApiError> {
    let mut sites = context.app.store.directory(team.id, team.sites as usize).await?;
    sites.sort_by_cached_key(|site| (site.name.to_lowercase(), site.id));
    Ok(sites)
}

/// Ends the active instance of a window.
pub(crate) async fn end(
    context: RequestContext<'_>,
    WindowAccess { team, window }: WindowAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    end_window(context.app, &team.team, &window, caller.by()).await?;
    layout::redirect(&format!("{}?notice=ended", path(team.id())))
}

/// Deletes a window.
pub(crate) async fn remove(
    context: RequestContext<'_>,
    WindowAccess { team, window }: WindowAccess,
) -> Result<Response, ApiError> {
    let caller = &context.member()?.caller;
    delete_window(context.app, &team.team, &window, caller.by()).await?;
    layout::redirect(&format!("{}?notice=removed", path(team.id())))
}

async fn page(
    context: RequestContext<'_>,
    found: &TeamWithSettings,
    refused: Option<FormInput>,
) -> Result<Response, ApiError> {
    let team = &found.team;
    let caller = &context.member()?.caller;
    let status = refused.as_ref().map_or(StatusCode::OK, FormInput::status);
    let sites = sites_of(context, team).await?;
    let may_manage = caller.role_in(team.id)?.grants(Permission::ManageSites);
    let windows = team.windows.current_ones(caller.now);
    let content = html! {
        @if refused.is_none() { (layout::notice(context, &NOTICES)) }
        (list_of(team, &windows, &sites, may_manage, context.clock(Some(team))))
        @if may_manage {
            (form::add(team, &sites, refused))
            (calendar::part(context, team))
        }
    };
    let content = beside_others(team.id, Part::Maintenance, &content);
    let heading = Heading::new("Maintenance windows").lead(html! {
        p.quiet { "In a window, sites are checked, but no issue opens or resolves, and no reminders are sent." }
    });
    Ok(layout::team_page(context, (team, NavTab::Settings), status, heading, &content))
}

fn list_of(
    team: &Team,
    windows: &[&MaintenanceWindow],
    sites: &[DirectoryRow],
    may_manage: bool,
    clock: Clock<'_>,
) -> Markup {
    html! {
        section.card {
            header { h2 { "Active and planned" } }
            @if windows.is_empty() { p.in.quiet { "No maintenance is planned." } } @else {
                ul.rows {
                    @for window in windows { (row(team, window, sites, may_manage, clock)) }
                }
            }
        }
    }
}

fn row(
    team: &Team,
    window: &MaintenanceWindow,
    sites: &[DirectoryRow],
    may_manage: bool,
    clock: Clock<'_>,
) -> Markup {
    let active = window.active_at(clock.now);
    let address = |verb: &str| format!("{}/{}/{verb}", path(team.id), window.id);
    let length = SignedDuration::from_mins(window.minutes.into());
    html! {
        li.w {
            div.grow {
                div.row {
                    b { bdi { (window.name) } }
                    @if active.is_some() { (Look::Info.pill("Active")) }
                }
                p.quiet.small {
                    @match (active, window.next_after(clock.now)) {
                        (Some(active), _) => { "Until " (clock.instant(active.end)) }
                        (None, Some(next)) => { "Starts " (clock.instant(next.start)) }
                        (None, None) => "Over",
                    }
                    " · " (time::duration(length))
                    @if let Some(rule) = &window.rule {
                        ", " (rule.in_words(window.start.date()))
                        " at " (window.start.strftime("%H:%M")) " (" (window.zone) ")"
                    }
                }
                p.quiet.small { (covered(window, sites)) }
            }
            @if may_manage {
                div.row {
                    @if active.is_some() {
                        form method="post" action=(address("end")) { button.s { "End now" } }
                    }
                    a.btn.s href=(address("edit")) { "Edit" }
                    form method="post" action=(address("remove")) { button.s.bad { "Delete" } }
                }
            }
        }
    }
}

/// The sites of a window, by name as far as they are few.
fn covered(window: &MaintenanceWindow, sites: &[DirectoryRow]) -> Markup {
    const NAMED: usize = 5;
    let covered = match (&window.sites, &window.selector) {
        (Some(covered), _) => covered,
        (None, Some(selector)) => return html! { "Sites with " (selector) },
        (None, None) => return html! { "All sites" },
    };
    let known: Vec<_> = sites.iter().filter(|site| covered.contains(&site.id)).collect();
    html! {
        @for (place, site) in known.iter().take(NAMED).enumerate() {
            @if place > 0 { ", " }
            a href={ "/sites/" (site.id) } { bdi { (site.name) } }
        }
        @if known.len() > NAMED { " and " (words::counted(known.len() - NAMED, "other site", "other sites")) }
        @if known.is_empty() { "Deleted sites" }
    }
}

/// Until when a site or heartbeat is in maintenance, if it is.
pub(crate) fn until(
    team: &Team,
    (id, tags): (MonitorId, &Tags),
    clock: Clock<'_>,
) -> Option<Timestamp> {
    team.windows.until(id, tags, clock.now, clock.now)
}

/// Says that a site or heartbeat is in maintenance, if it is.
pub(crate) fn notice(team: &Team, of: (MonitorId, &Tags), clock: Clock<'_>) -> Markup {
    let Some(end) = until(team, of, clock) else {
        return Markup::default();
    };
    html! {
        div.note.info role="status" {
            (Look::Info.shape())
            p {
                b { "Under maintenance until " (clock.instant(end)) "." }
                " No issue opens or resolves, and no reminders are sent."
            }
            a.btn.s href=(path(team.id)) { "View maintenance" }
        }
    }
}

/// Entries of a site's menu that start a window now.
pub(crate) fn menu(site: &Site) -> Markup {
    html! {
        form method="post" action={ "/sites/" (site.id) "/maintenance" } {
            p.head { "Start maintenance for" }
            @for (minutes, words) in FROM_NOW {
                button name="minutes" value=(minutes) { (Icon::Wrench.shape()) (words) }
            }
        }
    }
}
