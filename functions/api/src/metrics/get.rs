//! `GET /teams/{team}/metrics`: the state of a team's sites and heartbeats for Prometheus.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize as _;
use vedette_domain::alerts::channel::Channel;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::checks::check::StatusResult;
use vedette_domain::checks::pointer::Latest;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::MonitorId;
use vedette_domain::issues::Severity;
use vedette_domain::sites::selector::Selector;
use vedette_domain::sites::tag::Tag;
use vedette_http::access::hold_metrics;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::{Response, text};
use vedette_http::validation::{Errors, ValidationError};
use vedette_ops::exposition::{CONTENT_TYPE, Exposition, Value as _};
use vedette_store::{ChannelRef, Directory, DirectoryRow, TeamWithSettings};

use super::Gauge;
use super::heartbeats::{SERIES_OF_HEARTBEAT, add_heartbeats};
use crate::Context;

/// The most series in a response.
const SERIES_MAX: usize = 15_000;

/// The most series that a site can have: its names, one of each gauge, the phases of a check, and its issues by severity.
const SERIES_OF_SITE: usize = 1 + GAUGES + PHASES.len() + Severity::ALL.len();

pub(crate) async fn handle(
    context: Context<'_>,
    team: TeamWithSettings,
) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let (selector, shows_tags) = parse(&context.query())?;
    let [count, jobs] = [team.team.sites, team.team.heartbeats].map(|count| count as usize);
    if selector.is_none() {
        hold_series(count * SERIES_OF_SITE + jobs * SERIES_OF_HEARTBEAT)?;
    }
    hold_metrics(store, team.id(), now).await?;

    let heartbeats = async {
        match jobs {
            0 => Ok(Vec::new()),
            _ => store.heartbeats_relaxed(team.id()).await,
        }
    };
    let (rows, tags, trouble, channels, mut heartbeats) = futures::try_join!(
        store.directory(team.id(), count),
        store.tags_if(shows_tags || selector.is_some(), team.id()),
        store.trouble(team.id()),
        store.channels(team.id()),
        heartbeats,
    )?;
    if let Some(selector) = &selector {
        heartbeats.retain(|stored| selector.matches(&stored.heartbeat.tags));
    }
    let mut directory = Directory { rows, tags };
    let selector = selector.map(|selector| selector.numbered(&directory.tags)).unwrap_or_default();
    directory.rows.retain(|row| selector.matches(&row.tags));
    let rows = &directory.rows;
    let of_sites = rows.iter().map(|row| row.tags.len());
    let of_heartbeats = heartbeats.iter().map(|stored| stored.heartbeat.tags.len());
    let tags: usize = of_sites.chain(of_heartbeats).filter(|_| shows_tags).sum();
    let series = rows.len() * SERIES_OF_SITE + heartbeats.len() * SERIES_OF_HEARTBEAT;
    hold_series(series + tags)?;
    let partitions = || rows.iter().map(|row| row.id.partition());
    let places: Vec<ChannelRef> = channels.iter().map(ChannelRef::from).collect();
    let (mut status, mut ssl, states) = futures::try_join!(
        store.tool_states(partitions(), Tool::Status),
        store.tool_states(partitions(), Tool::Ssl),
        store.states_of_channels(&places),
    )?;
    let retention = team.retention(now);
    let evaluated = status
        .values()
        .filter_map(|state| Some((state.source(Latest::completed(state.evaluated?)), retention)));
    let mut checks = store.checks(evaluated).await?;

    let mut issues: BTreeMap<(MonitorId, Severity), u32> = BTreeMap::new();
    for issue in &trouble.issues {
        *issues.entry((issue.monitor, issue.severity())).or_default() += 1;
    }
    let sites: Vec<_> = rows
        .iter()
        .map(|row| {
            let (status, ssl) =
                (status.remove(&row.id.partition()), ssl.remove(&row.id.partition()));
            let evaluated = status.and_then(|state| state.evaluated);
            let check = evaluated.and_then(|check| checks.remove(&check.id));
            let runs = |tool: Tool| context.app.service.runs_on(tool, row, &team);
            SiteMetrics {
                row,
                tags: if shows_tags { directory.tags_of(row) } else { Vec::new() },
                is_monitored: Tool::ALL.into_iter().any(runs),
                checked_at: check.as_ref().and_then(|check| check.completed_at),
                result: check.and_then(|check| StatusResult::deserialize(check.result?).ok()),
                certificate_ends: ssl.and_then(|state| state.certificate_ends),
                issues: Severity::ALL.map(|severity| {
                    (severity, issues.get(&(row.id, severity)).copied().unwrap_or_default())
                }),
            }
        })
        .collect();
    let mut exposition = exposition(&sites);
    add_heartbeats(&mut exposition, &heartbeats, shows_tags, &issues);
    add_channels(&mut exposition, channels.iter().zip(&states), now);
    Ok(text(exposition.into_text(), CONTENT_TYPE))
}

/// Which sites the metrics are about, and whether they have the tags of sites.
fn parse(query: &Query) -> Result<(Option<Selector>, bool), ValidationError> {
    let mut errors = Errors::new();
    let selector = query.parsed("selector", Selector::parse, &mut errors);
    let shows_tags = query.boolean("tags", &mut errors).unwrap_or_default();
    errors.finish(Some((selector, shows_tags)))
}

/// Refuses metrics with too many series.
const fn hold_series(series: usize) -> Result<(), ApiError> {
    match series {
        ..=SERIES_MAX => Ok(()),
        series => Err(ApiError::TooManySeries { series, max: SERIES_MAX }),
    }
}

/// What the metrics say about a site.
struct SiteMetrics<'a> {
    row: &'a DirectoryRow,
    /// Its tags, if the client asked for them.
    tags: Vec<&'a Tag>,
    /// Whether any tool checks it.
    is_monitored: bool,
    /// When the last automatic status check completed.
    checked_at: Option<Timestamp>,
    /// What it found.
    result: Option<StatusResult>,
    certificate_ends: Option<Timestamp>,
    /// How many issues of each severity are active.
    issues: [(Severity, u32); Severity::ALL.len()],
}

impl SiteMetrics<'_> {
    /// What the last check found, if the site answered.
    fn answer(&self) -> Option<&StatusResult> {
        self.result.as_ref().filter(|result| result.code != 0)
    }

    /// How long the phases of the last check took, in seconds, as far as it had them.
    fn phases(&self) -> [Option<f64>; PHASES.len()] {
        let phases = self.answer().and_then(StatusResult::phases_with_rest);
        phases.map_or([None; PHASES.len()], |phases| phases.map(|ms| Some(ms? / 1_000.0)))
    }

    /// In seconds; `None` if the site did not answer.
    fn response_time(&self) -> Option<f64> {
        Some(self.answer()?.response_time / 1_000.0)
    }
}

/// The phases of a status check, with their label.
const PHASES: [&str; 4] = ["lookup", "connect", "tls", "first_byte"];

/// How many metrics have at most one series for each site.
const GAUGES: usize = 5;

const fn gauges<'a>() -> [Gauge<SiteMetrics<'a>>; GAUGES] {
    [
        Gauge {
            name: "vedette_site_monitored",
            help: "Whether any tool checks the site automatically.",
            value: |site| Some(site.is_monitored.number()),
        },
        Gauge {
            name: "vedette_site_up",
            help: "Whether the last automatic status check found the site up (2xx or 3xx).",
            value: |site| Some(site.result.as_ref()?.up.number()),
        },
        Gauge {
            name: "vedette_site_response_time_seconds",
            help: "Time to the head of the final answer in the last automatic status check.",
            value: |site| site.response_time(),
        },
        Gauge {
            name: "vedette_site_last_check_timestamp_seconds",
            help: "When the last automatic status check completed.",
            value: |site| Some(site.checked_at?.number()),
        },
        Gauge {
            name: "vedette_site_certificate_expiry_timestamp_seconds",
            help: "When the certificate expires that the last certificate check found.",
            value: |site| Some(site.certificate_ends?.number()),
        },
    ]
}

/// The metrics as text. Series are labeled with the site's id, so that renaming a site does not start new series. The
/// names are in a metric of their own.
fn exposition(sites: &[SiteMetrics<'_>]) -> Exposition {
    let ids: Vec<String> = sites.iter().map(|site| site.row.id.to_string()).collect();
    let sites = || ids.iter().map(String::as_str).zip(sites);
    let mut exposition = Exposition::default();
    let mut info = exposition.gauge("vedette_site_info", "Name and URL of a site; always 1.");
    for (id, site) in sites() {
        let labels = [("site", id), ("name", &*site.row.name), ("url", site.row.url.as_str())];
        info.series(&labels, true);
    }
    if sites().any(|(_, site)| !site.tags.is_empty()) {
        let mut tagged = exposition.gauge("vedette_site_tag", "A tag of a site; always 1.");
        for (id, site) in sites() {
            for tag in &site.tags {
                tagged.series(&[("site", id), ("tag", tag.as_str())], true);
            }
        }
    }
    for gauge in gauges() {
        gauge.add(&mut exposition, "site", sites());
    }
    let mut phases = exposition.gauge(
        "vedette_site_phase_seconds",
        "How long the phases of the last automatic status check took, including redirects.",
    );
    for (id, site) in sites() {
        for (phase, seconds) in PHASES.into_iter().zip(site.phases()) {
            if let Some(seconds) = seconds {
                phases.series(&[("site", id), ("phase", phase)], seconds);
            }
        }
    }
    let mut issues = exposition
        .gauge("vedette_site_issues", "How many issues of the site are active, by severity.");
    for (id, site) in sites() {
        for (severity, count) in site.issues {
            issues.series(&[("site", id), ("severity", severity.as_str())], count);
        }
    }
    exposition
}

/// How fast channels were notified of openings, for those that were notified of any.
fn add_channels<'a>(
    exposition: &mut Exposition,
    channels: impl Iterator<Item = (&'a Channel, &'a ChannelState)>,
    now: Timestamp,
) {
    let notified = channels.filter(|(_, state)| state.latencies.count(now) > 0);
    let notified: Vec<_> =
        notified.map(|(channel, state)| (channel.id.to_string(), channel, state)).collect();
    if notified.is_empty() {
        return;
    }
    let mut info =
        exposition.gauge("vedette_channel_info", "Name and kind of a channel; always 1.");
    for (id, channel, _) in &notified {
        let kind = channel.target.kind().as_str();
        info.series(&[("channel", id), ("name", &channel.name), ("kind", kind)], true);
    }
    let mut seconds = exposition.gauge(
        "vedette_channel_notification_seconds",
        "Within how long the channel was notified of this share of openings in the last 30 days.",
    );
    for (id, _, state) in &notified {
        for (percent, quantile) in [(50, "0.5"), (99, "0.99")] {
            if let Some(within) = state.latencies.quantile(percent, now) {
                seconds.series(&[("channel", id), ("quantile", quantile)], within.seconds());
            }
        }
    }
    let mut counts = exposition.gauge(
        "vedette_channel_notifications",
        "How many openings the channel was notified of in the last 30 days, without those held back on purpose.",
    );
    for (id, _, state) in &notified {
        counts.series(&[("channel", id)], state.latencies.count(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_a_limit() {
        assert!(hold_series(1_153 * SERIES_OF_SITE).is_ok());
        let refusal = hold_series(1_154 * SERIES_OF_SITE).expect_err("13 more than 14,989");
        assert_eq!(refusal.status(), 413);
        assert_eq!(
            refusal.message(),
            "The metrics of this team would have 15002 series, and at most 15000 are served. Read the sites with GET \
             /teams/{team}/sites instead."
        );
    }
}
