//! Telling people: what is the case, held against what they were told.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use vedette_domain::account::User;
use vedette_domain::alert::collection::{Collecting, Collection, collect};
use vedette_domain::alert::compose::{self, Subject};
use vedette_domain::alert::delivery::DeliveryState;
use vedette_domain::alert::due::{Due, News, Notified, due};
use vedette_domain::alert::ended::EndReason;
use vedette_domain::alert::storm::{Batching, Rest, Window, batch};
use vedette_domain::alert::{Alert, AlertKind, Thread};
use vedette_domain::id::{ChannelId, UserId};
use vedette_domain::limits::ALERT_GRACE;
use vedette_store::{IssueWithSite, budget, retry_on_conflict, unless_conflict};

use crate::deliver::{Attempt, Pass, Transport};
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
    pass: &mut Pass<'_, T>,
    deliveries: Vec<DeliveryState>,
) -> Result<(), NotifierError> {
    let now = pass.now();
    let due_now = pass.take_due(deliveries, now);
    if let Some(retry_at) = pass.state.retry_at.filter(|retry_at| *retry_at > now) {
        for delivery in due_now {
            pass.put_off(delivery, Some(retry_at)).await?;
        }
        return Ok(());
    }
    let mut ready = decide(pass, due_now, now).await?;
    // What has waited the longest goes first, so that no kind of news waits for another for ever.
    ready.sort_by_key(|ready| (ready.news.since(&ready.found.issue), ready.delivery.issue));
    let users = deciders(pass, &ready).await?;
    while let Some(kind) = ready.first().map(|ready| ready.news.kind()) {
        let (of_kind, others) = ready.into_iter().partition(|ready| ready.news.kind() == kind);
        ready = others;
        notify_kind(pass, kind, of_kind, &users).await?;
        if pass.is_off() {
            break;
        }
    }
    let left = ready.into_iter().map(|ready| ready.delivery).collect();
    if pass.is_off() { pass.park(left, Vec::new()).await } else { Ok(()) }
}

/// What is due now; the rest is saved with when it will be.
async fn decide<T: Transport>(
    pass: &mut Pass<'_, T>,
    deliveries: Vec<DeliveryState>,
    now: Timestamp,
) -> Result<Vec<Ready>, NotifierError> {
    let ids: Vec<_> = deliveries.iter().map(|delivery| delivery.issue).collect();
    let mut issues = pass.app.store.current_issues(ids).await?;
    let mut known = Vec::new();
    for delivery in deliveries {
        match issues.remove(&delivery.issue).or_else(|| deleted(&delivery)) {
            Some(found) => known.push((delivery, found)),
            // The site is gone. That it was deleted is still to be told where the outbox has it.
            None if is_in_outbox(pass, &delivery).await? => {
                let later = now.saturating_add(ALERT_GRACE).unwrap_or(now);
                pass.put_off(delivery, Some(later)).await?;
            }
            None => pass.forget(&delivery).await?,
        }
    }
    let mut ready = Vec::new();
    for (delivery, found) in catch_up::people(pass, known, now).await? {
        match due(&found.issue, delivery.notified, delivery.from, &pass.policy(&found), now) {
            Due::Nothing(_) => pass.forget(&delivery).await?,
            Due::Later { at, notified, .. } => {
                pass.put_off(DeliveryState { notified, ..delivery }, at).await?
            }
            Due::Notify { news, notified, .. } => {
                ready.push(Ready { delivery, found, news, notified })
            }
        }
    }
    Ok(ready)
}

/// Whether something happened to an issue that channels have yet to learn of.
async fn is_in_outbox<T: Transport>(
    pass: &Pass<'_, T>,
    delivery: &DeliveryState,
) -> Result<bool, NotifierError> {
    let issue = delivery.issue;
    let entries = pass.app.store.outbox(issue.partition(), issue.fingerprint()).await?;
    Ok(!entries.is_empty())
}

/// Who acknowledged what people are reminded of, and who resolved what is over.
async fn deciders<T: Transport>(
    pass: &Pass<'_, T>,
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
    Ok(pass.app.store.users(users).await?)
}

/// Tells news of one kind: the first one by one, more of it together.
async fn notify_kind<T: Transport>(
    pass: &mut Pass<'_, T>,
    kind: AlertKind,
    ready: Vec<Ready>,
    users: &BTreeMap<UserId, User>,
) -> Result<(), NotifierError> {
    let now = pass.now();
    let window = pass.state.window_mut(kind);
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
                pass.put_off(waiting.delivery, Some(end)).await?;
            }
        }
    }
    for mut group in groups {
        if pass.is_off() {
            put_all_off(pass, group, None).await?;
            pass.give_up();
            continue;
        }
        let waits = pass.state.retry_at.filter(|retry_at| *retry_at > now);
        let waits = waits.or_else(|| (!pass.has_time()).then_some(now));
        let waits = match waits {
            Some(due) => Some(due),
            None => pass.held().await?,
        };
        if let Some(due) = waits {
            put_all_off(pass, group, Some(due)).await?;
            continue;
        }
        let collecting = Collecting { kind, continues };
        let Collection { alert, named } = compose(pass, collecting, &group, users);
        // Nobody is notified of what an alert does not name.
        let unnamed = group.split_off(named);
        let (title, id) = (alert.title(), message_id(pass.channel.id, &alert));
        let message = pass.alert(alert, id);
        let outcome = pass.transport.send(pass.channel, &pass.target, &message, pass.now()).await;
        if outcome.is_final() {
            pass.give_up();
        }
        let due = match pass.note(&title, outcome).await? {
            Attempt::Notified => {
                for Ready { delivery, found, notified, .. } in std::mem::take(&mut group) {
                    save(pass, &delivery, &found, notified).await?;
                }
                if is_collection {
                    // Not before: one that does not arrive is still to be sent.
                    let full = |window: Window| window.left_some();
                    let next = if unnamed.is_empty() { next } else { next.map(full) };
                    *pass.state.window_mut(kind) = next;
                }
                next.map(Window::end)
            }
            Attempt::Again(at) => Some(at),
            Attempt::Disabled => None,
        };
        put_all_off(pass, group, due).await?;
        put_all_off(pass, unnamed, due).await?;
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
    pass: &mut Pass<'_, T>,
    group: Vec<Ready>,
    due: Option<Timestamp>,
) -> Result<(), NotifierError> {
    for ready in group {
        pass.put_off(ready.delivery, due).await?;
    }
    Ok(())
}

fn compose<T: Transport>(
    pass: &Pass<'_, T>,
    collecting: Collecting,
    group: &[Ready],
    users: &BTreeMap<UserId, User>,
) -> Collection {
    let subjects: Vec<_> = group.iter().map(|ready| subject(pass, ready, users)).collect();
    match (&subjects[..], group) {
        ([subject], [ready]) => {
            Collection { alert: compose::one(subject, &ready.news, pass.now()), named: 1 }
        }
        _ => collect(&subjects, collecting, pass.now()),
    }
}

/// What an alert says of an issue.
fn subject<'a, T: Transport>(
    pass: &Pass<'a, T>,
    Ready { delivery, found, .. }: &'a Ready,
    users: &'a BTreeMap<UserId, User>,
) -> Subject<'a> {
    let IssueWithSite { issue, site, .. } = found;
    let is_deleted = delivery.deleted.is_some();
    let ended = match is_deleted {
        true => Some(EndReason::SiteDeleted),
        false => pass.policy(found).ended.filter(|_| issue.lifecycle.is_active()),
    };
    let name = |user: UserId| users.get(&user).map(|user| user.name.as_str());
    Subject {
        issue,
        site,
        team: &pass.team.team.name,
        acknowledged_by: issue.lifecycle.acknowledgement().and_then(|taken| name(taken.by)),
        resolved_by: issue.lifecycle.resolved_by().and_then(name),
        base_url: pass.app.service.pages_base().filter(|_| !is_deleted),
        ended,
    }
}

/// Saves what people were told. What happened meanwhile is told next.
async fn save<T: Transport>(
    pass: &mut Pass<'_, T>,
    delivery: &DeliveryState,
    found: &IssueWithSite,
    notified: Option<Notified>,
) -> Result<(), NotifierError> {
    let (app, place, issue) = (pass.app, pass.place(), &found.issue);
    let next = delivery.once_notified(issue, notified, &pass.policy(found), pass.now());
    let saved = match &next {
        Some(next) => app.store.put_delivery_state(place, next).await,
        None => app.store.delete_delivery_state(place, delivery).await,
    };
    if unless_conflict(saved)? {
        pass.look_at(next.and_then(|next| next.due));
        return Ok(());
    }
    retry_on_conflict(budget::WRITE, || async {
        let Some(current) = app.store.delivery(place, delivery.issue).await? else { return Ok(()) };
        let next = current.notified_meanwhile(issue, notified, app.clock.now());
        app.store.put_delivery_state(place, &next).await
    })
    .await?;
    pass.look_at(Some(pass.now()));
    Ok(())
}
