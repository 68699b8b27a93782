//! Tells the owners of a team once that a site can't be checked.

use std::time::Duration;

use tracing::warn;
use vedette_actions::wake;
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_runtime::App;
use vedette_store::{ChannelRef, RunContext, unless_conflict};

use crate::NotifierError;
use crate::owner::channel_of_owners;

/// Tells the owners through a channel for people that a site has not been checked for an hour. They do not hear of it
/// while the site is paused or in maintenance, or while the cause lies with the service. Then it stays outstanding.
pub(crate) async fn notify(app: &App, team: TeamId, site: SiteId) -> Result<(), NotifierError> {
    let now = app.clock.now();
    let context = app.store.run_context(team, site, Tool::Status).await?;
    let Some(RunContext { site, state, team, settings }) = context else { return Ok(()) };
    let Some(not_run) = state.unchecked() else { return Ok(()) };
    let is_expected = !app.service.runs(Tool::Status, &team, &settings)
        || team.windows.until(site.id, &site.tags, now, now).is_some();
    if not_run.notice_due() > now || is_expected || not_run.is_of_service() {
        return Ok(());
    }
    let since = not_run.since;
    let id = format!("unchecked-{}-{}", site.id, since.as_millisecond());
    let content = Content::Unchecked {
        id: id.clone(),
        site: site.id,
        name: site.name.clone(),
        since,
        reason: not_run.message.clone(),
    };
    let notice = Queued::notice(id, content, now);
    let channel = channel_of_owners(app, team.id, None).await?;
    let place = channel.as_ref().map(ChannelRef::from);
    let to = place.map(|place| (place, &notice));
    let is_first = app.store.notify_unchecked(site.id.partition(), since, to).await;
    if unless_conflict(is_first)? {
        warn!(site = %site.id, team = %team.id, notified = place.is_some(), code = not_run.code, "a site can't be checked");
        if let Some(place) = place {
            wake(app, place, Duration::ZERO).await;
        }
    }
    Ok(())
}
