//! What a plan changes for the team: how many checks run, and which sites and heartbeats channels are about.

use std::collections::BTreeMap;

use serde::Serialize;

use super::current::Current;
use crate::accounts::plan::Plan;
use crate::alerts::channel::Filter;
use crate::checks::load::Load;
use crate::heartbeats::heartbeat::Heartbeat;
use crate::id::{MonitorId, SiteId};
use crate::sites::settings::Settings;
use crate::sites::site::Site;
use crate::sites::tag::Tags;

/// What a plan changes for the team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ConfigurationEffects")
)]
pub struct Effects {
    /// How many automatic checks run in a month of 30 days.
    pub checks_per_month: ChecksPerMonth,
    /// The channels whose sites or heartbeats change.
    pub channels: Vec<ChannelSites>,
}

/// How many automatic checks run in a month of 30 days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct ChecksPerMonth {
    /// Before the changes.
    pub before: u64,
    /// After them.
    pub after: u64,
}

/// The sites and heartbeats that a channel gains and loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChannelSites"))]
pub struct ChannelSites {
    /// The name of the channel.
    pub channel: String,
    /// The names of those whose alerts it starts to get.
    pub gains: Vec<String>,
    /// The names of those whose alerts it no longer gets.
    pub loses: Vec<String>,
}

/// The filter of a channel before and after a plan.
pub(super) struct Filters {
    /// The name of the channel.
    pub(super) name: String,
    /// The filters; `None` if there is no channel.
    pub(super) filters: [Option<Filter>; 2],
}

impl Effects {
    pub(super) fn of(
        current: &Current<'_>,
        (settings, sites): (&Settings, &BTreeMap<SiteId, Site>),
        heartbeats: &BTreeMap<MonitorId, Heartbeat>,
        channels: &BTreeMap<String, Filters>,
    ) -> Self {
        let plan = current.plan;
        let before: BTreeMap<SiteId, Site> =
            current.sites.iter().map(|site| (site.id, site.clone())).collect();
        let checks_per_month = ChecksPerMonth {
            before: checks_per_month(&before, current.settings, plan),
            after: checks_per_month(sites, settings, plan),
        };
        let before = monitors(before.values(), current.heartbeats);
        let after = monitors(sites.values(), heartbeats.values());
        let audiences = channels.values().map(|Filters { name, filters: [old, new] }| {
            let [old, new] = [old.as_ref(), new.as_ref()];
            ChannelSites {
                channel: name.clone(),
                gains: beyond(&after, new, &before, old),
                loses: beyond(&before, old, &after, new),
            }
        });
        let changed = audiences.filter(|one| !one.gains.is_empty() || !one.loses.is_empty());
        Self { checks_per_month, channels: changed.collect() }
    }
}

/// Names and tags of sites and heartbeats.
type Monitors<'a> = BTreeMap<MonitorId, (&'a str, &'a Tags)>;

fn monitors<'a>(
    sites: impl IntoIterator<Item = &'a Site>,
    heartbeats: impl IntoIterator<Item = &'a Heartbeat>,
) -> Monitors<'a> {
    let sites = sites.into_iter().map(|site| (site.id, (site.name.as_str(), &site.tags)));
    let heartbeats = heartbeats.into_iter().map(|one| (one.id, (one.name.as_str(), &one.tags)));
    sites.chain(heartbeats).collect()
}

/// The names of those that a channel is about, but would not be with another filter among others.
fn beyond(
    monitors: &Monitors<'_>,
    filter: Option<&Filter>,
    others: &Monitors<'_>,
    other: Option<&Filter>,
) -> Vec<String> {
    let lacks = |id: &MonitorId| others.get(id).is_none_or(|(_, tags)| !is_about(other, tags));
    let found = monitors.iter().filter(|(id, (_, tags))| is_about(filter, tags) && lacks(id));
    let mut names: Vec<_> = found.map(|(_, (name, _))| (*name).to_owned()).collect();
    names.sort_unstable();
    names
}

fn is_about(filter: Option<&Filter>, tags: &Tags) -> bool {
    filter.is_some_and(|filter| {
        filter.selector.as_ref().is_none_or(|selector| selector.matches(tags))
    })
}

fn checks_per_month(sites: &BTreeMap<SiteId, Site>, team: &Settings, plan: Plan) -> u64 {
    let mut load = Load::default();
    for site in sites.values() {
        let settings = Settings::resolve(team, &site.overrides, plan);
        for tool in settings.enabled_tools(plan) {
            load.add(tool, settings.tools.cadence_minutes(tool));
        }
    }
    load.runs_per_month()
}
