//! Tells a team that something of its own does not work, through a channel for people.

use std::time::Duration;

use tracing::error;
use vedette_actions::wake;
use vedette_domain::alerts::channel::{Channel, PublicTarget};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_domain::id::{ChannelId, TeamId};
use vedette_runtime::App;
use vedette_store::{ChannelRef, StoreError, unless_conflict};

use crate::NotifierError;

/// The channel through which a team's owners hear of something: one for people that works, preferably email. `broken`
/// is the channel that it is about, if any.
pub(crate) async fn channel_of_owners(
    app: &App,
    team: TeamId,
    broken: Option<ChannelId>,
) -> Result<Option<Channel>, StoreError> {
    let mut works = None;
    for other in app.store.channels(team).await? {
        if Some(other.id) == broken || !other.is_on() || !other.target.is_for_people() {
            continue;
        }
        let is_mail = matches!(other.target, PublicTarget::Email { .. });
        if is_mail && !app.service.sends_mail {
            continue;
        }
        let state = app.store.channel_state(ChannelRef::from(&other)).await?;
        let is_well = state.disabled.is_none() && state.retry_at.is_none();
        if is_well && (works.is_none() || is_mail) {
            works = Some(other);
        }
    }
    Ok(works)
}

/// Tells the team through another channel for people that a channel is failing, preferably by email.
pub(crate) async fn notify_owner(
    app: &App,
    broken: &Channel,
    why: &str,
) -> Result<(), NotifierError> {
    let now = app.clock.now();
    let works = channel_of_owners(app, broken.team, Some(broken.id)).await?;
    error!(channel = %broken.id, team = %broken.team, notified = works.is_some(), "a channel is failing");
    let Some(other) = works else { return Ok(()) };
    let id = format!("{}-{}", broken.id, now.as_millisecond());
    let group = format!("notice-{id}");
    let (channel, reason) = (broken.name.clone(), why.to_owned());
    let content = Content::BrokenChannel { id, uuid: Some(broken.id), channel, reason };
    let notice = Queued::notice(group, content, now);
    let place = ChannelRef::from(&other);
    // A process may have queued it and died before it was sent.
    if unless_conflict(app.store.put_queued(place, &notice).await)? {
        wake(app, place, Duration::ZERO).await;
    }
    Ok(())
}
