//! Sends overdue work again.

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tracing::{debug, error, warn};
use vedette_domain::checks::check::{CheckError, Finish};
use vedette_domain::checks::limits::{ALERT_GRACE, RECONCILE_GRACE};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{CheckId, Partition};
use vedette_domain::message::{AlertMessage, CheckMessage, MailRequest, Message, ReconcileMessage};
use vedette_domain::monitor::MonitorRef;
use vedette_domain::sites::site::Site;
use vedette_domain::status_pages::{MAILING_LEASE, PUBLICATION_GRACE};
use vedette_ops::ErrorChain;
use vedette_runs::{enqueue_deadline, enqueue_timer, record_run};
use vedette_runtime::App;
use vedette_store::keys::Owner;
use vedette_store::{DeletedSite, Outstanding, SiteWithTools, StoreError};

use crate::ReconcilerError;

/// What a pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Redelivered {
    /// Pieces of work that were sent again.
    pub sent: u64,
    /// Pieces of work that could not be sent; they stay due.
    pub failed: u64,
    /// Pieces of work that cannot be read. The log names them, and they are due again in an hour, so that they do not
    /// block others.
    pub unreadable: u64,
}

/// How long unreadable work is put aside.
const UNREADABLE_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// When to look again at a site that can't be checked, if its owners need not hear of it now: it is paused, in
/// maintenance, or the cause lies with the service.
const UNCHECKED_GRACE: SignedDuration = SignedDuration::from_hours(1);

/// Pieces of work per shard and pass; the next pass handles the rest.
const PASS: usize = 500;
/// How many messages, and pieces of work of one message, are handled concurrently.
const CONCURRENCY: usize = 16;

/// Runs one pass: sends overdue work again, and gives up on-demand checks that waited too long.
///
/// # Errors
///
/// When the work index cannot be read.
pub async fn redeliver(app: &App) -> Result<Redelivered, ReconcilerError> {
    let overdue = app.store.overdue(app.clock.now(), PASS).await?;
    Ok(send_all(app, overdue).await)
}

/// Sends all outstanding work, whether it is due or not: for a service that starts with empty queues.
///
/// # Errors
///
/// When the work index cannot be read.
pub async fn redeliver_all(app: &App) -> Result<u64, ReconcilerError> {
    const EVERYTHING: usize = 100_000;
    let outstanding = app.store.overdue(Timestamp::MAX, EVERYTHING).await?;
    Ok(send_all(app, outstanding).await.sent)
}

/// Logs that work waits for the next redelivery.
fn warn_of(app: &App, work: &[Outstanding], error: &(dyn Error + 'static)) {
    let error = ErrorChain(error);
    if app.health.cannot_save() {
        debug!(?work, %error, "could not send overdue work again");
    } else {
        warn!(?work, %error, "could not send overdue work again; trying again later");
    }
}

async fn send_all(app: &App, outstanding: Vec<Outstanding>) -> Redelivered {
    let sends = stream::iter(by_owner(outstanding)).map(|work| async move {
        let outcome = send(app, &work).await;
        if let Err(error) = &outcome {
            if is_unreadable(error) {
                error!(?work, error = %ErrorChain(error), "could not read overdue work; skipping it");
                let now = app.clock.now();
                let later = now.saturating_add(UNREADABLE_GRACE).unwrap_or(now);
                if let Err(error) = postpone(app, &work, later).await {
                    warn_of(app, &work, &error);
                }
            } else {
                warn_of(app, &work, error);
            }
        }
        (work.len() as u64, outcome)
    });
    let count = |mut counted: Redelivered, (pieces, outcome)| async move {
        match outcome {
            Ok(()) => counted.sent += pieces,
            Err(error) if is_unreadable(&error) => counted.unreadable += pieces,
            Err(_) => counted.failed += pieces,
        }
        counted
    };
    sends.buffer_unordered(CONCURRENCY).fold(Redelivered::default(), count).await
}

/// Groups outstanding work by its owner, in the order of the first piece of each: one message sends everything that is
/// due to a channel, even for two hundred issues.
fn by_owner(outstanding: Vec<Outstanding>) -> Vec<Vec<Outstanding>> {
    let mut places = HashMap::new();
    let mut all: Vec<Vec<Outstanding>> = Vec::new();
    for work in outstanding {
        let last = all.len();
        let place = work.owner.map_or(last, |owner| *places.entry(owner).or_insert(last));
        match all.get_mut(place) {
            Some(others) => others.push(work),
            None => all.push(vec![work]),
        }
    }
    all
}

/// Postpones work to another time.
async fn postpone(app: &App, work: &[Outstanding], due: Timestamp) -> Result<(), StoreError> {
    for work in work.chunks(CONCURRENCY) {
        try_join_all(work.iter().map(|work| app.store.postpone(work, due))).await?;
    }
    Ok(())
}

const fn is_unreadable(error: &ReconcilerError) -> bool {
    matches!(error, ReconcilerError::Store(StoreError::Corrupt(_)))
}

/// Sends the work of one owner, and postpones it in case the message is lost too.
async fn send(app: &App, work: &[Outstanding]) -> Result<(), ReconcilerError> {
    let now = app.clock.now();
    let later = |wait: SignedDuration| now.saturating_add(wait).unwrap_or(now);
    let unknown = || StoreError::Corrupt("no such work is known".into());
    match work.first().and_then(|first| first.owner).ok_or_else(unknown)? {
        Owner::Team(team) => {
            let message = Message::Reconcile(ReconcileMessage::SyncTeam(team));
            app.queue.send(&message, Duration::ZERO).await?;
            postpone(app, work, later(RECONCILE_GRACE)).await?;
        }
        Owner::Site(partition) => {
            let message = match app.store.deleted_site(partition).await? {
                Some(DeletedSite { team, id: site, .. }) => ReconcileMessage::Purge { team, site },
                None => match app.store.site(partition).await? {
                    Some(SiteWithTools { site, .. }) => {
                        ReconcileMessage::Sync { team: site.team, site: site.id }
                    }
                    None => return Ok(()),
                },
            };
            app.queue.send(&Message::Reconcile(message), Duration::ZERO).await?;
            postpone(app, work, later(RECONCILE_GRACE)).await?;
        }
        Owner::Outbox(partition, fingerprint) => {
            let entries = app.store.outbox(partition, fingerprint).await?;
            let Some(entry) = entries.first() else { return Ok(()) };
            let message = AlertMessage::Issue { team: entry.team, issue: entry.issue.id };
            send_alert(app, work, message).await?;
        }
        Owner::Channel(team, channel) => {
            send_alert(app, work, AlertMessage::Channel { team, channel }).await?;
        }
        Owner::Publication(team, page) => {
            let message = Message::Reconcile(ReconcileMessage::Publish { team, page });
            app.queue.send(&message, Duration::ZERO).await?;
            postpone(app, work, later(PUBLICATION_GRACE)).await?;
        }
        Owner::Reports(team) => {
            let message = Message::Reconcile(ReconcileMessage::Report(team));
            app.queue.send(&message, Duration::ZERO).await?;
            postpone(app, work, later(RECONCILE_GRACE)).await?;
        }
        Owner::Mailing(list, topic) => {
            let Some(mailing) = app.store.mailing(list, topic).await? else { return Ok(()) };
            let message = MailRequest::Mailing { team: mailing.team, list, topic };
            app.queue.send(&Message::Mail(message), Duration::ZERO).await?;
            postpone(app, work, later(MAILING_LEASE)).await?;
        }
        Owner::TeamAlerts(team) => send_alert(app, work, AlertMessage::Team(team)).await?,
        Owner::Unchecked(partition) => {
            let stored = app.store.site_tool(partition, Tool::Status).await?;
            let Some((site, state)) = stored else { return Ok(()) };
            if state.unchecked().is_some_and(|not_run| not_run.notice_due() > now) {
                return Ok(());
            }
            let message = AlertMessage::Unchecked { team: site.team, site: site.id };
            app.queue.send(&Message::Alert(message), Duration::ZERO).await?;
            postpone(app, work, later(UNCHECKED_GRACE)).await?;
        }
        Owner::Deadline(partition) => {
            let Some(stored) = app.store.heartbeat(partition).await? else { return Ok(()) };
            let Some(timer) = stored.state.timer else { return Ok(()) };
            enqueue_deadline(app, MonitorRef::from(&stored.heartbeat), timer).await;
            let look = match timer.fits_a_queue(now) {
                true => timer.due.max(now).saturating_add(Tool::Heartbeat.limits().run),
                false => Ok(timer.work_due(Tool::Heartbeat, now)),
            };
            postpone(app, work, look.unwrap_or(timer.due)).await?;
        }
        Owner::Tool(partition, tool) => {
            if let Some(next) = send_tool(app, partition, tool).await? {
                postpone(app, work, next).await?;
            }
        }
    }
    Ok(())
}

async fn send_alert(
    app: &App,
    work: &[Outstanding],
    message: AlertMessage,
) -> Result<(), ReconcilerError> {
    app.queue.send(&Message::Alert(message), Duration::ZERO).await?;
    let now = app.clock.now();
    postpone(app, work, now.saturating_add(ALERT_GRACE).unwrap_or(now)).await?;
    Ok(())
}

/// Sends the outstanding work of a tool. Returns when to check again, unless nothing is outstanding or the item was
/// written.
async fn send_tool(
    app: &App,
    partition: Partition,
    tool: Tool,
) -> Result<Option<Timestamp>, ReconcilerError> {
    let Some((site, state)) = app.store.site_tool(partition, tool).await? else { return Ok(None) };
    let now = app.clock.now();
    let later = |at: Timestamp| at.saturating_add(tool.limits().run).unwrap_or(at);
    let mut next = None;
    if let Some(check) = state.pending {
        if !app.service.tools.contains(&tool) {
            end(app, &site, check, Finish::Skipped).await?;
            return Ok(None);
        }
        if now.duration_since(check.created_at()) > tool.limits().pending {
            end(app, &site, check, timed_out(tool)).await?;
            return Ok(None);
        }
        let message = Message::Check(CheckMessage::of(&site, check));
        app.queue.send(&message, Duration::ZERO).await?;
        next = Some(later(now));
    }
    if let Some(timer) = state.timer {
        enqueue_timer(app, &site, tool, timer).await;
        let look = if timer.fits_a_queue(now) {
            later(timer.due.max(now))
        } else {
            timer.work_due(tool, now)
        };
        next = Some(next.map_or(look, |other: Timestamp| other.min(look)));
    }
    Ok(next)
}

fn timed_out(tool: Tool) -> Finish {
    Finish::Failed(CheckError {
        message: "The check did not finish in time.".to_owned(),
        code: "timed_out".to_owned(),
        data: serde_json::json!({ "limit_seconds": tool.limits().pending.as_secs() }),
    })
}

/// Ends an on-demand check that no checker will end any more.
async fn end(app: &App, site: &Site, check: CheckId, finish: Finish) -> Result<(), StoreError> {
    let Some(context) = app.store.run_context(site.team, site.id, check.tool()).await? else {
        return Ok(());
    };
    let (run, state) = context.begin(check, app.service.time_scale);
    record_run(app, &run, state, &finish, None).await.map(drop)
}
