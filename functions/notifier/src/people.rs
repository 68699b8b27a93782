//! Telling people: what is the case, held against what they were told.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use vedette_domain::accounts::account::User;
use vedette_domain::alerts::collection::{Collecting, Collection, collect};
use vedette_domain::alerts::compose::{self, AlertSubject};
use vedette_domain::alerts::delivery::DeliveryState;
use vedette_domain::alerts::due::{Due, News, Notified, due};
use vedette_domain::alerts::ended::EndReason;
use vedette_domain::alerts::storm::{Batching, Rest, Window, batch};
use vedette_domain::alerts::{Alert, AlertKind, Thread};
use vedette_domain::checks::limits::ALERT_GRACE;
use vedette_domain::id::{ChannelId, UserId};
use vedette_store::{IssueWithSite, budget, retry_on_conflict, unless_conflict};

use crate::deliver::{Attempt, DeliveryRun, Transport};
use crate::events::deleted;
use crate::{NotifierError, catch_up};

/// News that people are to be told now.
struct Ready {
    delivery: DeliveryState,
    found: IssueWithSite,
    news: News,
    notified: Option<Notified>,
}

/// Tells people what is due of the issues that they are to be notified of.
pub(crate) async fn notify<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    deliveries: Vec<DeliveryState>,
) -> Result<(), NotifierError> {
    let now = run.now();
    let due_now = run.take_due(deliveries, now);
    if let Some(retry_at) = run.state.retry_at.filter(|retry_at| *retry_at > now) {
        for delivery in due_now {
            run.put_off(delivery, Some(retry_at)).await?;
        }
        return Ok(());
    }
    let mut ready = decide(run, due_now, now).await?;
    // What has waited the longest goes first, so that no kind of news waits for another for ever.
    ready.sort_by_key(|ready| (ready.news.since(&ready.found.issue), ready.delivery.issue));
    let users = deciders(run, &ready).await?;
    while let Some(kind) = ready.first().map(|ready| ready.news.kind()) {
        let (of_kind, others) = ready.into_iter().partition(|ready| ready.news.kind() == kind);
        ready = others;
        notify_kind(run, kind, of_kind, &users).await?;
        if run.is_off() {
            break;
        }
    }
    let left = ready.into_iter().map(|ready| ready.delivery).collect();
    if run.is_off() { run.park(left, Vec::new()).await } else { Ok(()) }
}

/// What is due now; the rest is saved with when it will be.
async fn decide<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    deliveries: Vec<DeliveryState>,
    now: Timestamp,
) -> Result<Vec<Ready>, NotifierError> {
    let ids: Vec<_> = deliveries.iter().map(|delivery| delivery.issue).collect();
    let mut issues = run.app.store.current_issues(ids).await?;
    let mut known = Vec::new();
    for delivery in deliveries {
        match issues.remove(&delivery.issue).or_else(|| deleted(&delivery)) {
            Some(found) => known.push((delivery, found)),
            // The site is gone. That it was deleted is still to be told where the outbox has it.
            None if is_in_outbox(run, &delivery).await? => {
                let later = now.saturating_add(ALERT_GRACE).unwrap_or(now);
                run.put_off(delivery, Some(later)).await?;
            }
            None => run.forget(&delivery).await?,
        }
    }
    let mut ready = Vec::new();
    for (delivery, found) in catch_up::people(run, known, now).await? {
        match due(&found.issue, delivery.notified, delivery.from, &run.policy(&found), now) {
            Due::Nothing(_) => run.forget(&delivery).await?,
            Due::Later { at, notified, .. } => {
                run.put_off(DeliveryState { notified, ..delivery }, at).await?;
            }
            Due::Notify { news, notified, .. } => {
                ready.push(Ready { delivery, found, news, notified });
            }
        }
    }
    Ok(ready)
}

/// Whether something happened to an issue that channels have yet to learn of.
async fn is_in_outbox<T: Transport>(
    run: &DeliveryRun<'_, T>,
    delivery: &DeliveryState,
) -> Result<bool, NotifierError> {
    let issue = delivery.issue;
    let entries = run.app.store.outbox(issue.partition(), issue.fingerprint()).await?;
    Ok(!entries.is_empty())
}

/// Who acknowledged what people are reminded of, and who resolved what is over.
async fn deciders<T: Transport>(
    run: &DeliveryRun<'_, T>,
    ready: &[Ready],
) -> Result<BTreeMap<UserId, User>, NotifierError> {
    let decided = ready.iter().filter_map(|Ready { found, news, .. }| {
        let lifecycle = found.issue.lifecycle;
        match news {
            News::StillActive { .. } => lifecycle.acknowledgement().map(|taken| taken.by),
            News::Resolved { .. } | News::Missed { .. } => lifecycle.resolved_by(),
            News::Opened { .. } => None,
        }
    });
    let users: BTreeSet<UserId> = decided.collect();
    Ok(run.app.store.users(users).await?)
}

/// Tells news of one kind: the first one by one, more of it together.
async fn notify_kind<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    kind: AlertKind,
    ready: Vec<Ready>,
    users: &BTreeMap<UserId, User>,
) -> Result<(), NotifierError> {
    let now = run.now();
    let window = run.state.window_mut(kind);
    let Batching { singles, rest, window: next } = batch(*window, ready.len(), now);
    let is_collection = matches!(rest, Rest::Together { .. });
    if !is_collection {
        *window = next;
    }
    let continues = rest == Rest::Together { continues: true };
    let mut ready: Vec<_> = ready.into_iter().map(Some).collect();
    let mut groups: Vec<Vec<Ready>> =
        ready.iter_mut().take(singles).map(|single| single.take().into_iter().collect()).collect();
    let others: Vec<Ready> = ready.into_iter().flatten().collect();
    match rest {
        Rest::Together { .. } => groups.push(others),
        Rest::None => {}
        Rest::Until(end) => {
            for waiting in others {
                run.put_off(waiting.delivery, Some(end)).await?;
            }
        }
    }
    for mut group in groups {
        if run.is_off() {
            put_all_off(run, group, None).await?;
            run.give_up();
            continue;
        }
        let waits = run.state.retry_at.filter(|retry_at| *retry_at > now);
        let waits = waits.or_else(|| (!run.has_time()).then_some(now));
        let waits = match waits {
            Some(due) => Some(due),
            None => run.held().await?,
        };
        if let Some(due) = waits {
            put_all_off(run, group, Some(due)).await?;
            continue;
        }
        let collecting = Collecting { kind, continues };
        let Collection { alert, named } = compose(run, collecting, &group, users);
        // Nobody is notified of what an alert does not name.
        let unnamed = group.split_off(named);
        let (title, id) = (alert.title(), message_id(run.channel.id, &alert));
        let message = run.alert(alert, id);
        let outcome = run.transport.send(run.channel, &run.target, &message, run.now()).await;
        if outcome.is_final() {
            run.give_up();
        }
        let due = match run.note(&title, outcome).await? {
            Attempt::Notified => {
                for Ready { delivery, found, notified, .. } in std::mem::take(&mut group) {
                    save(run, &delivery, &found, notified).await?;
                }
                if is_collection {
                    // Not before: one that does not arrive is still to be sent.
                    let full = |window: Window| window.left_some();
                    let next = if unnamed.is_empty() { next } else { next.map(full) };
                    *run.state.window_mut(kind) = next;
                }
                next.map(Window::end)
            }
            Attempt::Again(at) => Some(at),
            Attempt::Disabled => None,
        };
        put_all_off(run, group, due).await?;
        put_all_off(run, unnamed, due).await?;
    }
    Ok(())
}

/// The identity of a mail: that of what it tells, which is the same when it is sent once more.
fn message_id(channel: ChannelId, alert: &Alert) -> String {
    let at = alert.at.as_millisecond();
    match &alert.thread {
        Some(Thread { issue, opened_at }) => {
            format!("{issue}-{}-{at}", opened_at.as_millisecond())
        }
        None => format!("{channel}-{at}"),
    }
}

async fn put_all_off<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    group: Vec<Ready>,
    due: Option<Timestamp>,
) -> Result<(), NotifierError> {
    for ready in group {
        run.put_off(ready.delivery, due).await?;
    }
    Ok(())
}

fn compose<T: Transport>(
    run: &DeliveryRun<'_, T>,
    collecting: Collecting,
    group: &[Ready],
    users: &BTreeMap<UserId, User>,
) -> Collection {
    let subjects: Vec<_> = group.iter().map(|ready| subject(run, ready, users)).collect();
    match (&subjects[..], group) {
        ([subject], [ready]) => {
            Collection { alert: compose::one(subject, &ready.news, run.now()), named: 1 }
        }
        _ => collect(&subjects, collecting, run.now()),
    }
}

/// What an alert says of an issue.
fn subject<'a, T: Transport>(
    run: &DeliveryRun<'a, T>,
    Ready { delivery, found, .. }: &'a Ready,
    users: &'a BTreeMap<UserId, User>,
) -> AlertSubject<'a> {
    let IssueWithSite { issue, site, .. } = found;
    let is_deleted = delivery.deleted.is_some();
    let ended = match is_deleted {
        true => Some(EndReason::SiteDeleted),
        false => run.policy(found).ended.filter(|_| issue.lifecycle.is_active()),
    };
    let name = |user: UserId| users.get(&user).map(|user| user.name.as_str());
    AlertSubject {
        issue,
        site,
        team: &run.team.team.name,
        acknowledged_by: issue.lifecycle.acknowledgement().and_then(|taken| name(taken.by)),
        resolved_by: issue.lifecycle.resolved_by().and_then(name),
        base_url: run.app.service.pages_base().filter(|_| !is_deleted),
        ended,
    }
}

/// Saves what people were told. What happened meanwhile is told next.
async fn save<T: Transport>(
    run: &mut DeliveryRun<'_, T>,
    delivery: &DeliveryState,
    found: &IssueWithSite,
    notified: Option<Notified>,
) -> Result<(), NotifierError> {
    let (app, place, issue) = (run.app, run.place(), &found.issue);
    let next = delivery.once_notified(issue, notified, &run.policy(found), run.now());
    let saved = match &next {
        Some(next) => app.store.put_delivery_state(place, next).await,
        None => app.store.delete_delivery_state(place, delivery).await,
    };
    if unless_conflict(saved)? {
        run.look_at(next.and_then(|next| next.due));
        return Ok(());
    }
    retry_on_conflict(budget::WRITE, || async {
        let Some(current) = app.store.delivery(place, delivery.issue).await? else { return Ok(()) };
        let next = current.notified_meanwhile(issue, notified, app.clock.now());
        app.store.put_delivery_state(place, &next).await
    })
    .await?;
    run.look_at(Some(run.now()));
    Ok(())
}
