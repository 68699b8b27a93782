//! Makes the reports of a team.
//!
//! A report is made part by part. Each part is written once, and the next attempt continues after the last one, so a
//! crash repeats at most one part. The report itself is written at the end: until then, nobody sees it.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use vedette_domain::alerts::notification::{Notification, NotificationOutcome};
use vedette_domain::checks::check::{Check, DnsResult, LinksResult};
use vedette_domain::checks::history::{Day, HistoryFilter, Kind, RowWindow, day_of};
use vedette_domain::checks::tool::{CheckStatus, RunReason, Tool};
use vedette_domain::checks::tool_state::ToolState;
use vedette_domain::id::{MonitorId, Partition, TeamId, Trigger};
use vedette_domain::issues::outage::OutageRecord;
use vedette_domain::message::{MailRequest, Message, ReconcileMessage};
use vedette_domain::objectives::SiteDowntime;
use vedette_domain::reports::{
    CheckedMonitor, CountedParts, GroupObjective, MonitorFigures, ObjectiveResult, ReportHeader,
    ReportPeriod,
};
use vedette_domain::sites::group::SiteGroup;
use vedette_domain::sites::site::Site;
use vedette_domain::status_pages::Mailing;
use vedette_domain::time_span::TimeSpan;
use vedette_runtime::App;
use vedette_store::{
    Directory, HistoryAccess, ReportPart, SiteWithTools, StoreError, StoredHeartbeat,
    TeamWithSettings, unless_conflict,
};

use crate::ReconcilerError;
use crate::sync::{readable, running};

/// Monitors of one part: few enough that the part fits in an item of 400 KB even if each had as many outages and broken
/// links as are kept.
const MONITORS_OF_PART: usize = 20;
/// How many monitors are read at once.
const CONCURRENCY: usize = 10;
/// How long one message works before others have their turn.
const WORKS_FOR: SignedDuration = SignedDuration::from_secs(20);
/// The most outages that are read for a report, about 2 MB.
const OUTAGES_READ: usize = 10_000;
/// More automatic checks than a monitor has in a part of a day.
const CHECKS_OF_DAY: usize = 20_000;

/// Makes the reports of a team that are due and have not been made, and sets when the next one is.
///
/// # Errors
///
/// When the table or the queue does not answer.
pub(crate) async fn team(app: &App, id: TeamId) -> Result<(), ReconcilerError> {
    let began = app.clock.now();
    let Some(team) = app.store.team(id, began).await? else { return Ok(()) };
    let zone = &team.team.zone;
    let today = zone.local(began).date();
    let mut next = Timestamp::MAX;
    for period in ReportPeriod::before_day(today) {
        let made_at = period.made_at(zone);
        if made_at > began {
            next = next.min(made_at);
            continue;
        }
        next = next.min(period.after().made_at(zone));
        let is_older = period.span(zone).to <= team.team.created_at;
        if is_older || app.store.report(id, period).await?.is_some() {
            continue;
        }
        if !make(app, &team, period, began).await? {
            let message = Message::Reconcile(ReconcileMessage::Report(id));
            return Ok(app.queue.send(&message, Duration::ZERO).await?);
        }
    }
    Ok(app.store.schedule_reports(id, next).await?)
}

/// Makes the report of a period; returns whether it is complete.
async fn make(
    app: &App,
    team: &TeamWithSettings,
    period: ReportPeriod,
    began: Timestamp,
) -> Result<bool, StoreError> {
    let (store, id, zone) = (&app.store, team.id(), team.team.zone.clone());
    let span = period.span(&zone);
    let (directory, heartbeats, groups, last, (outages, is_cut)) = futures::try_join!(
        store.tagged_directory(id, team.team.sites as usize),
        store.heartbeats(id),
        store.site_groups(id),
        store.last_report_part(id, period),
        store.outages_within(team, (span.from, span.to), OUTAGES_READ, began),
    )?;
    let mut by_site: HashMap<MonitorId, Vec<OutageRecord>> = HashMap::new();
    for outage in outages.into_iter().rev() {
        by_site.entry(outage.site).or_default().push(outage);
    }
    let days = period.day_spans(&zone);
    let read = Read { app, team, span, days, groups: &groups.groups, now: began };
    let objectives = objectives(team, &groups.groups, &directory, &by_site, (span, began));
    let mut heartbeats: BTreeMap<Partition, StoredHeartbeat> =
        heartbeats.into_iter().map(|of| (of.heartbeat.id.partition(), of)).collect();
    let mut monitors: Vec<Partition> =
        directory.rows.iter().map(|row| row.id.partition()).collect();
    monitors.extend(heartbeats.keys());
    monitors.sort_unstable();
    let mut number = 0;
    if let Some(last) = last {
        number = last.number + 1;
        let done = last.monitors.last().map(|monitor| monitor.id.partition());
        monitors.retain(|monitor| Some(*monitor) > done);
    }
    for part in monitors.chunks(MONITORS_OF_PART) {
        if app.clock.now().duration_since(began) >= WORKS_FOR {
            return Ok(false);
        }
        let jobs: Vec<_> = part.iter().filter_map(|monitor| heartbeats.remove(monitor)).collect();
        let mut monitors = read.part(part, &mut by_site).await?;
        for job in jobs {
            monitors.push(read.heartbeat(job).await?);
        }
        // All of a part may be gone by now.
        if monitors.is_empty() {
            continue;
        }
        monitors.sort_unstable_by_key(|monitor| monitor.id.partition());
        store.add_report_part(id, period, &ReportPart { number, monitors }, began).await?;
        number += 1;
    }
    let oldest = history_begins(team, began);
    let report = ReportHeader {
        period,
        made_at: began,
        groups: groups.groups.into_iter().map(|group| group.name).collect(),
        known_from: (day_of(span.from) < oldest).then_some(oldest),
        objectives,
        is_cut,
        zone,
    };
    // Who is added from now on is sent the next one.
    let has_recipients = !store.subscriptions_after(id, None, 1).await?.is_empty();
    let mailing = has_recipients.then(|| Mailing::of_report(id, period));
    // Another process may have saved the same.
    unless_conflict(store.add_report(id, &report, mailing.as_ref()).await)?;
    if let Some(Mailing { team, list, topic, .. }) = mailing {
        let message = MailRequest::Mailing { team, list, topic };
        app.enqueue_or_leave(Message::Mail(message), Duration::ZERO).await;
    }
    Ok(true)
}

/// How the objectives of groups were met in a period.
fn objectives(
    team: &TeamWithSettings,
    groups: &[SiteGroup],
    directory: &Directory,
    outages: &HashMap<MonitorId, Vec<OutageRecord>>,
    (span, now): (TimeSpan, Timestamp),
) -> Vec<GroupObjective> {
    let cadence = team.settings.tools.cadence_minutes(Tool::Status);
    let of = |group: &SiteGroup| {
        let objective = group.objective?;
        let selector = group.selector.numbered(&directory.tags);
        let sites: Vec<_> =
            directory.rows.iter().filter(|row| selector.matches(&row.tags)).collect();
        let down = sites.iter().filter_map(|row| {
            let outages = outages.get(&row.id)?.iter().map(OutageRecord::problem);
            let tags = directory.tags_of(row);
            let maintenance = team.team.windows.instances(row.id, tags, span.from, span.to);
            Some(SiteDowntime::of(outages, &maintenance, now))
        });
        let budget = objective.group_budget(span, &down.collect::<Vec<_>>());
        Some(GroupObjective {
            group: group.name.clone(),
            sites: u32::try_from(sites.len()).unwrap_or(u32::MAX),
            result: ObjectiveResult::of(objective, budget, cadence)?,
        })
    };
    groups.iter().filter_map(of).filter(|group| group.sites > 0).collect()
}

/// The first UTC day that the history of a team shows.
fn history_begins(team: &TeamWithSettings, now: Timestamp) -> Date {
    let retention = team.retention(now);
    retention.today.saturating_sub(i64::from(retention.days.saturating_sub(1)).days())
}

/// What a report reads with.
struct Read<'a> {
    app: &'a App,
    team: &'a TeamWithSettings,
    span: TimeSpan,
    /// The days of the span.
    days: Vec<TimeSpan>,
    groups: &'a [SiteGroup],
    now: Timestamp,
}

impl Read<'_> {
    /// The figures of the sites among some monitors.
    async fn part(
        &self,
        monitors: &[Partition],
        outages: &mut HashMap<MonitorId, Vec<OutageRecord>>,
    ) -> Result<Vec<MonitorFigures>, StoreError> {
        const WHOLE: [Tool; 2] = [Tool::Dns, Tool::BrokenLinks];
        let sites = readable(self.app, monitors).await?;
        let retention = self.team.retention(self.now);
        let states = sites
            .values()
            .flat_map(|site| WHOLE.into_iter().filter_map(|tool| site.tools.get(&tool)));
        let sources =
            states.filter_map(|state| Some((state.source(state.latest_completed()?), retention)));
        let checks = self.app.store.checks_with_bodies(sources.collect::<Vec<_>>(), &WHOLE).await?;
        let mut results: HashMap<(Partition, Tool), Check> = checks
            .into_values()
            .map(|check| ((check.id.partition(), check.id.tool()), check))
            .collect();
        let sites = sites.into_values().map(|site| {
            let partition = site.site.id.partition();
            let outages = outages.remove(&site.site.id).unwrap_or_default();
            let [dns, links] = WHOLE.map(|tool| results.remove(&(partition, tool)));
            self.site(site, outages, dns, links)
        });
        stream::iter(sites.collect::<Vec<_>>()).buffered(CONCURRENCY).try_collect().await
    }

    async fn site(
        &self,
        stored: SiteWithTools,
        outages: Vec<OutageRecord>,
        dns: Option<Check>,
        links: Option<Check>,
    ) -> Result<MonitorFigures, StoreError> {
        let site = &stored.site;
        let mut figures = MonitorFigures::of(site.id, &site.name);
        figures.host = Some(site.url.domain().to_owned());
        let tags = &site.tags;
        let groups = self.groups.iter().filter(|group| group.selector.matches(tags));
        figures.groups = groups.map(|group| group.name.clone()).collect();
        figures.certificate_ends =
            stored.tools.get(&Tool::Ssl).and_then(|ssl| ssl.certificate_ends);
        let registration = result::<DnsResult>(dns).and_then(|dns| dns.registration);
        figures.domain =
            registration.and_then(|of| Some((of.domain, of.expires_at?.as_millisecond())));
        figures.counts.missed = self.missed(&stored);
        let performance = self.days(site.id, &stored.tools, Tool::Performance);
        let (read, performance, undelivered) = futures::try_join!(
            self.counted(site.id, &stored.tools, Tool::Status),
            performance,
            self.undelivered(site.id.partition()),
        )?;
        figures.undelivered = undelivered;
        figures.objective = self.objective(site, &outages, &read.days);
        let links = result::<LinksResult>(links);
        let read = CheckedMonitor { performance, outages, links: links.as_ref(), ..read };
        Ok(figures.counted(read, &self.days))
    }

    /// How the objective of a site was met, if it has one.
    fn objective(
        &self,
        site: &Site,
        outages: &[OutageRecord],
        days: &[Day],
    ) -> Option<ObjectiveResult> {
        let (objective, span) = (site.objective?, self.span);
        let windows = &self.team.team.windows;
        let maintenance = windows.instances(site.id, &site.tags, span.from, span.to);
        let downtime =
            SiteDowntime::of(outages.iter().map(OutageRecord::problem), &maintenance, self.now);
        let cadence = self.team.settings_for(site).tools.cadence_minutes(Tool::Status);
        let budget = objective.site_budget(span, &downtime, days, cadence);
        ObjectiveResult::of(objective, budget, cadence)
    }

    async fn heartbeat(&self, job: StoredHeartbeat) -> Result<MonitorFigures, StoreError> {
        let id = job.heartbeat.id;
        let tools = BTreeMap::from([(Tool::Heartbeat, job.state)]);
        let read = self.counted(id, &tools, Tool::Heartbeat).await?;
        let figures = MonitorFigures::of(id, &job.heartbeat.name);
        Ok(figures.counted(read, &self.days))
    }

    /// The counted days of a tool that the period touches.
    async fn days(
        &self,
        id: MonitorId,
        tools: &BTreeMap<Tool, ToolState>,
        tool: Tool,
    ) -> Result<Vec<Day>, StoreError> {
        let span = self.span;
        let filter = HistoryFilter {
            tool: Some(tool),
            from: Some(day_of(span.from)),
            to: Some(day_of(span.to)),
            ..HistoryFilter::default()
        };
        let access = HistoryAccess { partition: id.partition(), tools, team: self.team };
        let days = self.app.store.shown_days(self.now, access, &filter).await?;
        Ok(days.into_iter().map(|(_, day)| day).collect())
    }

    /// The days of a tool, and the checks at both ends of the period.
    async fn counted(
        &self,
        id: MonitorId,
        tools: &BTreeMap<Tool, ToolState>,
        tool: Tool,
    ) -> Result<CheckedMonitor<'static>, StoreError> {
        if !tools.contains_key(&tool) {
            return Ok(CheckedMonitor::default());
        }
        let retention = self.team.retention(self.now);
        let mut edges = Vec::new();
        for edge in CountedParts::of(self.span).edges {
            if retention.reaches(day_of(edge.from)) {
                edges.extend(self.checks(id, tools, tool, edge).await?);
            }
        }
        let days = self.days(id, tools, tool).await?;
        Ok(CheckedMonitor { days, edges, ..CheckedMonitor::default() })
    }

    /// The automatic checks of a tool in a part of a day.
    async fn checks(
        &self,
        id: MonitorId,
        tools: &BTreeMap<Tool, ToolState>,
        tool: Tool,
        span: TimeSpan,
    ) -> Result<Vec<Check>, StoreError> {
        let streams =
            [CheckStatus::Completed, CheckStatus::Failed].into_iter().flat_map(|status| {
                RunReason::ALL
                    .map(|reason| (tool, Kind { trigger: Trigger::Automatic(reason), status }))
            });
        let window = RowWindow {
            from: span.from,
            before: span.to,
            newer: 0,
            count: CHECKS_OF_DAY,
            older: 0,
            streams: streams.collect(),
        };
        let filter =
            HistoryFilter { tool: Some(tool), automatic: Some(true), ..HistoryFilter::default() };
        self.app.store.page(id.partition(), tools, &filter, &window).await
    }

    /// How many status checks of a site were due while the service did not run, at its present cadence.
    fn missed(&self, stored: &SiteWithTools) -> u64 {
        if !running(self.app, stored, self.team).contains(&Tool::Status) {
            return 0;
        }
        let minutes = self.team.settings_for(&stored.site).tools.cadence_minutes(Tool::Status);
        let cadence = self.app.service.time_scale.minutes(minutes).as_millis().max(1);
        let span = self.span;
        let from = span.from.max(stored.site.created_at);
        let pauses = self.app.health.pauses();
        let stood = pauses.iter().map(|pause| pause.within(from, span.to).as_millis() as u128);
        u64::try_from(stood.sum::<u128>() / cadence).unwrap_or(u64::MAX)
    }

    /// How many alerts about a site could not be delivered in the period, by the names of the channels.
    async fn undelivered(&self, site: Partition) -> Result<BTreeMap<String, u32>, StoreError> {
        let span = self.span;
        let mut failed: BTreeMap<String, u32> = BTreeMap::new();
        let issues = self.app.store.issues_of_site(site).await?;
        for issue in issues.iter().filter(|issue| issue.updated_at >= span.from) {
            let sent = self.app.store.notifications(issue.id).await?;
            let has_failed = |of: &&Notification| {
                of.outcome == NotificationOutcome::Failed && span.contains(of.at)
            };
            for notification in sent.iter().filter(has_failed) {
                *failed.entry(notification.name.clone()).or_default() += 1;
            }
        }
        Ok(failed)
    }
}

/// The result of a check that completed.
fn result<T: serde::de::DeserializeOwned>(check: Option<Check>) -> Option<T> {
    serde_json::from_value(check?.result?).ok()
}
