//! Saves what jobs report, and what they fail to report.
//!
//! A ping is answered only when it is saved. After a conflict, everything is read and decided again, so no ping is
//! lost to another one, to a deadline or to a change of the heartbeat.

use jiff::SignedDuration;
use vedette_domain::accounts::team::Team;
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::{
    PingEffect, ReportContext, RunReport, ToolChange, ToolState,
};
use vedette_domain::heartbeats::heartbeat::Heartbeat;
use vedette_domain::heartbeats::ping::Ping;
use vedette_domain::heartbeats::reports::TooOften;
use vedette_domain::id::{HeartbeatId, Partition, PingKey};
use vedette_domain::monitor::MonitorRef;
use vedette_runtime::App;
use vedette_store::{StoreError, StoredHeartbeat, budget, fits_a_unit, retry_on_conflict};

use crate::{change_issues, enqueue_alert, enqueue_deadline, enqueue_publications, log_refused};

/// Which heartbeat a ping is for.
#[derive(Debug, Clone, Copy)]
pub enum Pinged {
    /// The one with this key.
    Key(PingKey),
    /// This one; the caller has checked the key of its team.
    Heartbeat(HeartbeatId),
}

/// What became of a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingOutcome {
    /// It is saved, or was before.
    Saved,
    /// There is no such heartbeat.
    Unknown,
    /// There are too many pings; it may come again after this time.
    TooOften(SignedDuration),
}

/// A heartbeat with everything that decides about a report.
struct Subject {
    stored: StoredHeartbeat,
    team: Team,
    /// How many attempts have failed.
    attempts: u32,
}

impl Subject {
    fn context<'a>(&'a self, app: &App) -> ReportContext<'a> {
        ReportContext {
            heartbeat: &self.stored.heartbeat,
            team: &self.team,
            time_scale: app.service.time_scale,
            now: app.clock.now(),
            attempts: self.attempts,
        }
    }
}

/// Saves a ping.
///
/// # Errors
///
/// When the table does not answer. The ping may be sent again.
pub async fn record_ping(
    app: &App,
    pinged: Pinged,
    ping: &Ping,
) -> Result<PingOutcome, StoreError> {
    let partition = match pinged {
        Pinged::Key(key) => key.partition(),
        Pinged::Heartbeat(id) => id.partition(),
    };
    let is_meant = |heartbeat: &Heartbeat| match pinged {
        Pinged::Key(key) => heartbeat.ping_key.is_some_and(|own| own.matches(key)),
        Pinged::Heartbeat(id) => heartbeat.id == id,
    };
    // What is decided on is compared when it is saved, so the first attempt may read what is out of date.
    let mut attempts = 0..;
    retry_on_conflict(budget::WRITE, || {
        let attempt = attempts.next().unwrap_or_default();
        async move {
            let is_relaxed = attempt == 0;
            let mut found = subject(app, partition, is_relaxed, attempt).await?;
            if found.is_none() && is_relaxed {
                // It may have been created a moment ago.
                found = subject(app, partition, false, attempt).await?;
            }
            let Some(subject) = found.filter(|found| is_meant(&found.stored.heartbeat)) else {
                return Ok(PingOutcome::Unknown);
            };
            match subject.stored.state.receive(&subject.context(app), ping) {
                Ok(effect) => save(app, &subject, effect).await.map(|()| PingOutcome::Saved),
                Err(TooOften(wait)) => Ok(PingOutcome::TooOften(wait)),
            }
        }
    })
    .await
}

/// Looks at a heartbeat whose deadline may have passed.
///
/// # Errors
///
/// When the table does not answer. It is safe to look again.
pub async fn record_deadline(app: &App, heartbeat: HeartbeatId) -> Result<(), StoreError> {
    // In this order: a beat between them adds a pause, but nothing is judged that it is about.
    let (until, pauses) = (app.health.listening_until(), app.health.deaf_times());
    let pauses = &pauses;
    let mut attempts = 0..;
    retry_on_conflict(budget::WRITE, || {
        let attempt = attempts.next().unwrap_or_default();
        async move {
            let found = subject(app, heartbeat.partition(), false, attempt).await?;
            let Some(subject) = found else { return Ok(()) };
            let effect = subject.stored.state.pass_deadline(&subject.context(app), until, pauses);
            save(app, &subject, effect).await
        }
    })
    .await
}

async fn subject(
    app: &App,
    partition: Partition,
    is_relaxed: bool,
    attempts: u32,
) -> Result<Option<Subject>, StoreError> {
    let stored = match is_relaxed {
        true => app.store.heartbeat_relaxed(partition).await?,
        false => app.store.heartbeat(partition).await?,
    };
    let Some(stored) = stored else { return Ok(None) };
    if stored.state.cfg != stored.heartbeat.cfg {
        // They were read at different moments.
        return Err(StoreError::STALE);
    }
    let team = app.store.team_alone(stored.heartbeat.team).await?;
    Ok(team.map(|team| Subject { stored, team, attempts }))
}

/// Saves an effect, and sends what follows from it.
async fn save(app: &App, subject: &Subject, effect: PingEffect) -> Result<(), StoreError> {
    let before = &subject.stored.state;
    let timer = match effect {
        PingEffect::Nothing => return Ok(()),
        PingEffect::Noted(next) => {
            let partition = subject.stored.heartbeat.id.partition();
            let now = app.clock.now();
            app.store.put_tool_without_token(partition, Tool::Heartbeat, &next, now).await?;
            next.timer.filter(|timer| before.timer != Some(*timer))
        }
        PingEffect::Reported(report) => save_report(app, subject, report).await?.timer,
    };
    if let Some(timer) = timer.filter(|timer| !timer.is_far(app.clock.now())) {
        enqueue_deadline(app, MonitorRef::from(&subject.stored.heartbeat), timer).await;
    }
    Ok(())
}

async fn save_report(
    app: &App,
    subject: &Subject,
    report: RunReport,
) -> Result<ToolChange, StoreError> {
    let (heartbeat, state) = (&subject.stored.heartbeat, &subject.stored.state);
    let context = subject.context(app);
    let closed = app.store.closed_day(state, report.check).await?;
    let (change, finish) = state.apply_report(&context, report, closed.as_ref());
    let change = match app.service.writes_blocks {
        Some(version) => change.packed(&finish, version, |state: &ToolState| {
            fits_a_unit(heartbeat.id.partition(), Tool::Heartbeat, state, context.now)
        }),
        None => change,
    };
    let (issues, refused) = change_issues(app, &subject.team, &change.events).await?;
    // Issues already request publications. This also requests one when there is something to show, or again.
    let (before, after) = (state.reports(), change.state.reports());
    let is_first = before.last.is_none() && after.last.is_some();
    let is_news = is_first || (before.paused && !after.paused);
    let pages = if is_news { subject.team.status_pages.as_slice() } else { &[] };
    app.store.commit_report(heartbeat, &change, &issues, pages, context.now).await?;
    log_refused(&change.check, refused);
    for issue in &issues {
        enqueue_alert(app, heartbeat.team, issue).await;
    }
    enqueue_publications(app, heartbeat.team, pages).await;
    Ok(change)
}
