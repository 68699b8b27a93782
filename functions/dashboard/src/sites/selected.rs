//! Changing several sites of the list at once: those that were ticked, or all that match its filter.

use std::time::Duration;

use jiff::Timestamp;
use lambda_http::http::StatusCode;
use maud::{Markup, html};
use sha2::{Digest as _, Sha256};
use vedette_actions::{
    ACKNOWLEDGED_MAX, SiteError, acknowledge_all, delete_site, pause_site, resume_site, save_site,
};
use vedette_domain::accounts::audit::By;
use vedette_domain::id::SiteId;
use vedette_domain::issues::IssueStatus;
use vedette_domain::sites::input::SiteEdit;
use vedette_domain::sites::tag::{SITE_TAGS_MAX, Tags};
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::ValidationError;
use vedette_store::{SiteWithTools, TeamWithSettings, budget, retry_on_conflict};

use super::list::selection::{ALL, List, SELECTED_MAX};
use super::list::{matching, query_of};
use super::tags;
use crate::form::FormInput;
use crate::layout::{Heading, NavTab};
use crate::words::counted;
use crate::{RequestContext, layout};

/// The field with the digest of the sites that somebody has confirmed.
const CONFIRMED: &str = "confirmed";
/// Sites that have not been started by then are left out: the gateway gives up after 30 seconds.
const BUDGET: Duration = Duration::from_secs(20);

/// The most sites that a question names.
const NAMED_MAX: usize = 100;

/// The fields for the tags that the sites get and lose.
const ADD: &str = "tags";
const REMOVE: &str = "remove";

/// What is done with the selected sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Tags,
    Acknowledge,
    Pause,
    Resume,
    Delete,
}

impl Change {
    const ALL: [Self; 5] = [Self::Tags, Self::Acknowledge, Self::Pause, Self::Resume, Self::Delete];

    fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.value() == value)
    }

    /// Its value in forms.
    const fn value(self) -> &'static str {
        match self {
            Self::Tags => "tag",
            Self::Acknowledge => "acknowledge",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Delete => "delete",
        }
    }

    /// What is asked before it is done.
    const fn words(self) -> &'static str {
        match self {
            Self::Tags => "Change the tags of",
            Self::Acknowledge => "Acknowledge the open issues of",
            Self::Pause => "Pause",
            Self::Resume => "Resume",
            Self::Delete => "Delete",
        }
    }

    /// The notice that it is done.
    const fn notice(self) -> &'static str {
        match self {
            Self::Tags => "all-tagged",
            Self::Acknowledge => "all-acknowledged",
            Self::Pause => "all-paused",
            Self::Resume => "all-resumed",
            Self::Delete => "all-deleted",
        }
    }
}

/// The selected sites.
struct Selection {
    sites: Vec<SiteWithTools>,
    /// Whether these are all that match the filter.
    is_all: bool,
}

impl Selection {
    fn in_words(&self) -> String {
        counted(self.sites.len(), "site", "sites")
    }

    /// Distinguishes these sites from any others.
    fn digest(&self) -> String {
        let mut ids: Vec<_> = self.sites.iter().map(|stored| stored.site.id).collect();
        ids.sort_unstable();
        let digest = ids.iter().fold(Sha256::new(), |hash, id| hash.chain_update(id.0.as_bytes()));
        digest.finalize()[..16].iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }

    /// The fields that select the sites again, and confirm which ones they are.
    fn fields(&self) -> Markup {
        html! {
            @if self.is_all {
                input type="hidden" name=(ALL) value="1";
            } @else {
                @for stored in &self.sites { input type="hidden" name="site" value=(stored.site.id); }
            }
            input type="hidden" name=(CONFIRMED) value=(self.digest());
        }
    }

    /// Whether the form confirms these sites, if it has to.
    fn is_confirmed(&self, change: Change, sent: &FormInput) -> bool {
        let asks = self.is_all || matches!(change, Change::Delete | Change::Tags);
        !asks || sent.text(CONFIRMED) == self.digest()
    }
}

/// Carries out an action on the selected sites. Asks first if it can't be undone, or if the sites are all that match the
/// filter. Which these are is found out when the form is sent, so it asks again if they are not those that were
/// confirmed.
pub(crate) async fn change_selected(
    context: RequestContext<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let query = query_of(&Query::parse(context.head.uri.query()));
    let list = List { team: team.id(), query };
    let sent = FormInput::sent(context.body);
    let is_all = sent.has(ALL, "1");
    let ids: Vec<SiteId> = match is_all {
        true => matching(context, &team).await?,
        false => sent.all("site").filter_map(SiteId::parse).collect(),
    };
    if ids.len() > SELECTED_MAX {
        return list.redirect("too-many");
    }
    let found = context.app.store.sites(ids.into_iter().map(SiteId::partition)).await?;
    let mut sites: Vec<SiteWithTools> =
        found.into_values().filter(|stored| stored.site.team == team.id()).collect();
    sites.sort_by_cached_key(|stored| stored.site.name.to_lowercase());
    if sites.is_empty() {
        return list.redirect("none-selected");
    }
    let change = Change::parse(sent.text("do")).ok_or(ApiError::NotFound)?;
    let selection = Selection { sites, is_all };
    if !selection.is_confirmed(change, &sent) {
        return Ok(match change {
            Change::Tags => ask_for_tags(context, &team, &list, &selection, &sent),
            _ => ask(context, &team, &list, &selection, change),
        });
    }
    let changed = match change {
        Change::Acknowledge => acknowledge(context, &team, &selection).await,
        _ => change_each(context, &team, &selection, change, &sent).await,
    };
    match changed {
        Ok(notice) => list.redirect(notice),
        Err(ApiError::Validation(refusal)) if change == Change::Tags => {
            Ok(ask_for_tags(context, &team, &list, &selection, &sent.refused(refusal)))
        }
        Err(fault) => Err(fault),
    }
}

/// Changes the sites one after another, and returns the notice about it. Each is saved on its own, and a site that is
/// as wanted already is left alone, so the form can be sent again.
async fn change_each(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    selection: &Selection,
    change: Change,
    sent: &FormInput,
) -> Result<&'static str, ApiError> {
    let (app, caller) = (context.app, &context.member()?.caller);
    let edit = match change {
        Change::Tags => edit_of(&selection.sites, sent)?,
        _ => SiteEdit::default(),
    };
    for stored in &selection.sites {
        if has_run_out(caller.now, app.clock.now()) {
            return Ok("some-changed");
        }
        let by = By { now: app.clock.now(), ..caller.by() };
        let changed = retry_on_conflict(budget::WRITE, || async {
            let found = app.store.site(stored.site.id.partition()).await?;
            let Some(stored) = found.filter(|found| found.site.team == team.id()) else {
                return Ok(());
            };
            let mut access = SiteAccess { stored, team: team.clone() };
            match change {
                Change::Tags => {
                    let wanted = edit.clone().apply_to(&access.stored.site, None, false);
                    save_site(app, &mut access, wanted, by).await?;
                }
                Change::Pause => pause_site(app, &mut access, by).await?,
                Change::Resume => resume_site(app, &mut access, by).await?,
                Change::Delete => delete_site(app, &team.team, &access.stored, by).await?,
                // That is no change of a site.
                Change::Acknowledge => {}
            }
            Ok::<_, SiteError>(())
        });
        changed.await?;
    }
    Ok(change.notice())
}

fn has_run_out(began: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(began)).is_ok_and(|spent| spent > BUDGET)
}

/// Acknowledges the open issues of the sites.
async fn acknowledge(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    selection: &Selection,
) -> Result<&'static str, ApiError> {
    let caller = &context.member()?.caller;
    let mut issues = context.app.store.issue_index(team.id(), true).await?;
    issues.retain(|issue| issue.status == IssueStatus::Open);
    issues.retain(|issue| selection.sites.iter().any(|stored| stored.site.id == issue.monitor));
    let ids = issues.iter().map(|issue| issue.id);
    let count = acknowledge_all(context.app, &team.team, ids, caller.user.id, caller.by()).await;
    Ok(match count.map_err(ApiError::from)? {
        0 => "none-open",
        _ if issues.len() > ACKNOWLEDGED_MAX => "some-acknowledged",
        _ => Change::Acknowledge.notice(),
    })
}

/// The tags that the form adds and removes.
fn edit_of(sites: &[SiteWithTools], sent: &FormInput) -> Result<SiteEdit, ApiError> {
    let edit = SiteEdit {
        add_tags: Some(tags::read(sent, ADD)?),
        remove_tags: Some(tags::read(sent, REMOVE)?),
        ..SiteEdit::default()
    };
    let mut changed = sites.iter().map(|stored| edit.clone().apply_to(&stored.site, None, false));
    if let Some(full) = changed.find(|wanted| wanted.tags.len() > SITE_TAGS_MAX) {
        let why = format!("{} would have more than {SITE_TAGS_MAX} tags.", full.name);
        return Err(ValidationError::new(ADD, why).into());
    }
    Ok(edit)
}

fn ask_for_tags(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    list: &List,
    selection: &Selection,
    input: &FormInput,
) -> Response {
    let sites = selection.in_words();
    let used: Tags = selection.sites.iter().flat_map(|stored| &stored.site.tags).cloned().collect();
    let removed = match used.is_empty() {
        true => "These sites have no tags.".to_owned(),
        false => format!("These sites have {}.", tags::joined(&used)),
    };
    let content = html! {
        (input.not_done("Tags not changed.", "Correct what is marked below.", [ADD, REMOVE].into_iter()))
        section.card {
            form.in.stack.gl method="post" action=(list.action()) {
                (selection.fields())
                (input.input(ADD, "text", ("Add", "For example: env:prod team:shop. Separate them by spaces.")))
                (input.input(REMOVE, "text", ("Remove", removed.as_str())))
                div.row {
                    button.main name="do" value="tag" { "Change tags of " (sites) }
                    a.btn href=(list.address()) { "Cancel" }
                }
            }
        }
    };
    let title = Heading::new(format!("Tags of {sites}")).below(list.address(), "Sites");
    layout::team_page(context, (&team.team, NavTab::Sites), input.status(), title, &content)
}

fn ask(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    list: &List,
    selection: &Selection,
    change: Change,
) -> Response {
    let what = format!("{} {}", change.words(), selection.in_words());
    let content = html! {
        section.card {
            @if !selection.is_all || change == Change::Delete {
                ul.rows {
                    @for SiteWithTools { site, .. } in selection.sites.iter().take(NAMED_MAX) {
                        li { div.grow { b { bdi { (site.name) } } p.quiet.small.cut { (site.url) } } }
                    }
                }
            }
            div.in.air.stack.gm.line {
                @if change == Change::Delete && selection.sites.len() > NAMED_MAX {
                    p { "And " (counted(selection.sites.len() - NAMED_MAX, "other site", "other sites")) "." }
                }
                @if change == Change::Delete {
                    p.quiet { "Their checks, issues and reports are deleted with them. This can’t be undone. To stop checking them and keep their history, pause them instead." }
                }
                form.row method="post" action=(list.action()) {
                    (selection.fields())
                    button class=(if change == Change::Delete { "grave" } else { "main" }) name="do" value=(change.value()) { (what) }
                    a.btn href=(list.address()) { "Cancel" }
                }
            }
        }
    };
    let title = Heading::new(format!("{what}?")).below(list.address(), "Sites");
    layout::team_page(context, (&team.team, NavTab::Sites), StatusCode::OK, title, &content)
}
