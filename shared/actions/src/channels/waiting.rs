//! What waits to be sent to a channel, and when it is due.

use jiff::Timestamp;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::Standing;
use vedette_domain::alerts::compose::{self, AlertSubject};
use vedette_domain::alerts::delivery::{Content, DeliveryState, Queued};
use vedette_domain::alerts::due::AlertPolicy;
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::id::IssueId;
use vedette_runtime::App;
use vedette_store::{Deliveries, StoreError};

/// A message that waits to be sent to a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingDelivery {
    /// The title of an alert for people, or the name of an event.
    pub what: String,
    /// The issue that it is about.
    pub issue: Option<IssueId>,
    /// Since when delivery has failed, if it was tried.
    pub failing_since: Option<Timestamp>,
    /// When it will be sent; `None` if it is sent only on request.
    pub due: Option<Timestamp>,
}

/// What waits to be sent to a channel, in the order of its due times.
///
/// # Errors
///
/// When the table does not answer.
pub async fn waiting_for(
    app: &App,
    channel: &Channel,
    deliveries: &Deliveries,
) -> Result<Vec<WaitingDelivery>, StoreError> {
    let Deliveries { state, deliveries, queued } = deliveries;
    // A test or a snapshot that is not late waits for nothing.
    let is_late = |queued: &&Queued| match queued.content {
        Content::Repeat { .. } => state.failing.is_some(),
        _ => !queued.is_scheduled(),
    };
    let queued = queued.iter().filter(is_late).map(|queued| WaitingDelivery {
        what: queued.content.name().to_owned(),
        issue: IssueId::parse(&queued.group),
        failing_since: queued.failing.map(|failing| failing.since()),
        due: queued.due,
    });
    let mut waiting: Vec<_> = queued.collect();
    let unknown: Vec<_> = deliveries.iter().filter(|one| one.standing.is_none()).collect();
    if !channel.target.gets_events() && !unknown.is_empty() {
        let failing_since = state.failing.map(|failing| failing.since());
        let news = news_for(app, channel, &unknown).await?;
        waiting
            .extend(news.into_iter().map(|waiting| WaitingDelivery { failing_since, ..waiting }));
    }
    if Standing::of(channel, state) == Standing::Disabled {
        waiting.iter_mut().for_each(|waiting| waiting.due = None);
    }
    waiting.sort_by_key(|waiting| (waiting.due.is_none(), waiting.due));
    Ok(waiting)
}

/// What would be sent now about the issues that a channel knows, but does not repeat yet.
async fn news_for(
    app: &App,
    channel: &Channel,
    deliveries: &[&DeliveryState],
) -> Result<Vec<WaitingDelivery>, StoreError> {
    let now = app.clock.now();
    let (team, issues) = futures::try_join!(
        app.store.team(channel.team, now),
        app.store.current_issues(deliveries.iter().map(|delivery| delivery.issue)),
    )?;
    let Some(team) = team else { return Ok(Vec::new()) };
    let waiting = |delivery: &DeliveryState| {
        let found = issues.get(&delivery.issue)?;
        let tool = delivery.issue.fingerprint().tool();
        let ended = EndReason::of(tool, &team.team, &team.settings_for_monitor(&found.monitor));
        let (rules, time_scale) = ((&team.team, &team.settings), app.service.time_scale);
        let policy = AlertPolicy::of(channel, rules, &found.monitor, ended, time_scale);
        let waiting = delivery.waiting(&found.issue, &policy, now)?;
        let subject = AlertSubject {
            issue: &found.issue,
            monitor: &found.monitor,
            team: &team.team,
            zone: &team.team.zone,
            acknowledged_by: None,
            resolved_by: None,
            base_url: None,
            ended: ended.filter(|_| found.issue.lifecycle.is_active()),
            channel: None,
        };
        let what = compose::one(&subject, &waiting.news, now).title();
        Some(WaitingDelivery {
            what,
            issue: Some(delivery.issue),
            failing_since: None,
            due: waiting.due,
        })
    };
    Ok(deliveries.iter().copied().filter_map(waiting).collect())
}
