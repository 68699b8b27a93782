//! Changes a site.

use std::time::Duration;

use jiff::Timestamp;
use vedette_domain::accounts::audit::{AuditEntry, AuditEvent, By};
use vedette_domain::alerts::delivery::OutboxEntry;
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::checks::tool::Tool;
use vedette_domain::message::{Message, ReconcileMessage};
use vedette_domain::sites::refusal::SiteRefusal;
use vedette_domain::sites::settings::SiteOverrides;
use vedette_domain::sites::site::Site;
use vedette_domain::sites::tag_dictionary::TagDictionary;
use vedette_runs::{enqueue_issue, enqueue_publications};
use vedette_runtime::App;
use vedette_store::{Audit, SiteUpdate, StoreError, is_taken_url};

use crate::SiteError;
use crate::access::SiteAccess;

/// Disables every tool of a site.
///
/// # Errors
///
/// A fault of the table, or a conflict.
pub async fn pause_site(app: &App, access: &mut SiteAccess, by: By) -> Result<(), SiteError> {
    save_overrides(app, access, SiteOverrides::paused, by).await
}

/// Makes a site follow the tools that its team enables.
///
/// # Errors
///
/// A fault of the table, or a conflict.
pub async fn resume_site(app: &App, access: &mut SiteAccess, by: By) -> Result<(), SiteError> {
    save_overrides(app, access, SiteOverrides::resumed, by).await
}

async fn save_overrides(
    app: &App,
    access: &mut SiteAccess,
    next: fn(&SiteOverrides) -> SiteOverrides,
    by: By,
) -> Result<(), SiteError> {
    let site = access.stored.site.clone();
    let wanted = Site { overrides: next(&site.overrides), ..site };
    save_site(app, access, wanted, by).await
}

/// Saves a site as `wanted`, if that changes anything, and makes its schedules follow.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the site has changed since it was read.
pub async fn save_site(
    app: &App,
    access: &mut SiteAccess,
    wanted: Site,
    by: By,
) -> Result<(), SiteError> {
    let now = by.now;
    let site = &access.stored.site;
    let Some(next) = site.change_to(wanted, now) else { return Ok(()) };
    // If the texts are already too long, they may still be shortened, and the rest of the site may change.
    if next.listed_texts() > site.listed_texts() {
        next.check_texts()?;
    }
    // One that the team's own settings have made too fine remains until it or the site's monitoring changes.
    if next.objective != site.objective || next.overrides != site.overrides {
        next.check_objective(&access.team.settings_for(&next)).map_err(SiteRefusal::from)?;
    }
    refuse_unproven(app, site, &next).await?;
    let outbox = outbox(app, access, &next, now).await?;
    let entry = AuditEntry::new(site.team, by, AuditEvent::site(site, &next));
    let audit = Audit::Entry(&entry);
    // The name and the notes of a site are not published. Windows and pages that it joins or leaves by its tags are.
    let is_published = next.cfg != site.cfg || next.tags != site.tags;
    let pages = if is_published { access.team.team.status_pages.as_slice() } else { &[] };
    let tags = tags_after(app, site, &next).await?;
    let update = SiteUpdate { next: &next, tags: tags.as_ref(), outbox: &outbox, pages };
    let updated = app.store.update_site(&access.stored, update, now, audit).await;
    if let Err(error) = updated {
        let is_duplicate = next.url != site.url && is_taken_url(&error);
        return Err(if is_duplicate { SiteRefusal::DuplicateUrl.into() } else { error.into() });
    }
    if next.cfg != site.cfg {
        let sync = Message::Reconcile(ReconcileMessage::Sync { team: next.team, site: next.id });
        app.enqueue_or_leave(sync, Duration::ZERO).await;
    }
    enqueue_publications(app, next.team, pages).await;
    for entry in &outbox {
        enqueue_issue(app, next.team, entry.issue.id).await;
    }
    access.stored.site = next;
    Ok(())
}

/// Refuses POSTs to a host whose owner has not agreed to them. Only a change of the POST or of the host is refused, so
/// that the rest of the site may change while the record is missing. Each check looks for the record again.
async fn refuse_unproven(app: &App, before: &Site, next: &Site) -> Result<(), SiteRefusal> {
    let is_same = next.expectations.post == before.expectations.post
        && next.url.domain() == before.url.domain();
    if next.expectations.post.is_none() || is_same {
        return Ok(());
    }
    app.txt_records.prove(next).await.map_err(SiteRefusal::PostNotProven)
}

/// The team's tags after a change of a site, if its row in the directory needs them.
async fn tags_after(
    app: &App,
    before: &Site,
    next: &Site,
) -> Result<Option<TagDictionary>, SiteError> {
    let is_moved = next.url != before.url && !next.tags.is_empty();
    if next.tags == before.tags && !is_moved {
        return Ok(None);
    }
    let tags = app.store.tags(next.team).await?;
    if next.tags == before.tags {
        return Ok(Some(tags));
    }
    Ok(Some(tags.changed(&before.tags, &next.tags).map_err(SiteRefusal::from)?))
}

/// Makes channels look at the active issues of tools that this change starts or stops, or at all of them if the tags
/// change.
async fn outbox(
    app: &App,
    access: &SiteAccess,
    next: &Site,
    now: Timestamp,
) -> Result<Vec<OutboxEntry>, StoreError> {
    let team = &access.team;
    let [before, after] = [access.settings(), team.settings_for(next)];
    let ended = |tool| [&before, &after].map(|settings| EndReason::of(tool, &team.team, settings));
    let is_changed = |tool: Tool| {
        let [before, after] = ended(tool);
        before.is_some() != after.is_some() || next.tags != access.stored.site.tags
    };
    if !Tool::ALL.into_iter().any(is_changed) {
        return Ok(Vec::new());
    }
    // Read this after the tools' states: an issue that opens in between raises their `rev`.
    let issues = app.store.issues_of_site(next.id.partition()).await?;
    let concerned = issues
        .into_iter()
        .filter(|issue| issue.lifecycle.is_active() && is_changed(issue.id.fingerprint().tool()));
    Ok(concerned.map(|issue| OutboxEntry::of_settings(next.team, next.rev, issue, now)).collect())
}
