//! Tells a team that one of its channels does not work.

use std::time::Duration;

use tracing::error;
use vedette_actions::wake;
use vedette_domain::alerts::channel::{Channel, PublicTarget};
use vedette_domain::alerts::delivery::{Content, Queued};
use vedette_runtime::App;
use vedette_store::{ChannelRef, unless_conflict};

use crate::NotifierError;

/// Tells the team through another channel for people that a channel is failing, preferably by email.
pub(crate) async fn notify_owner(
    app: &App,
    broken: &Channel,
    why: &str,
) -> Result<(), NotifierError> {
    let now = app.clock.now();
    let channels = app.store.channels(broken.team).await?;
    let others = channels
        .iter()
        .filter(|other| other.id != broken.id && other.is_on() && other.target.is_for_people());
    let mut works = None;
    for other in others {
        let state = app.store.channel_state(ChannelRef::from(other)).await?;
        let is_mail = matches!(other.target, PublicTarget::Email { .. });
        let is_well = state.disabled.is_none() && state.retry_at.is_none();
        if is_well && (works.is_none() || is_mail) {
            works = Some(other);
        }
    }
    error!(channel = %broken.id, team = %broken.team, notified = works.is_some(), "a channel is failing");
    let Some(other) = works else { return Ok(()) };
    let id = format!("{}-{}", broken.id, now.as_millisecond());
    let group = format!("notice-{id}");
    let (channel, reason) = (broken.name.clone(), why.to_owned());
    let content = Content::BrokenChannel { id, uuid: Some(broken.id), channel, reason };
    let notice = Queued::notice(group, content, now);
    // A process may have queued it and died before it was sent.
    if unless_conflict(app.store.put_queued(other.into(), &notice).await)? {
        wake(app, other.into(), Duration::ZERO).await;
    }
    Ok(())
}
