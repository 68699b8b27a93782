//! What a plan changes for the team: how many checks run, and which sites channels are about.

use std::collections::BTreeMap;

use serde::Serialize;

use super::current::Current;
use crate::accounts::plan::Plan;
use crate::alerts::channel::Filter;
use crate::checks::load::Load;
use crate::id::SiteId;
use crate::sites::settings::Settings;
use crate::sites::site::Site;

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
    /// The channels whose sites change.
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

/// The sites that a channel gains and loses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChannelSites"))]
pub struct ChannelSites {
    /// The name of the channel.
    pub channel: String,
    /// Sites whose alerts it starts to get.
    pub gains: Vec<String>,
    /// Sites whose alerts it no longer gets.
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
        (settings, after): (&Settings, &BTreeMap<SiteId, Site>),
        channels: &BTreeMap<String, Filters>,
    ) -> Self {
        let plan = current.plan;
        let before: BTreeMap<SiteId, Site> =
            current.sites.iter().map(|site| (site.id, site.clone())).collect();
        let checks_per_month = ChecksPerMonth {
            before: checks_per_month(&before, current.settings, plan),
            after: checks_per_month(after, settings, plan),
        };
        let audiences = channels.values().map(|Filters { name, filters: [old, new] }| {
            let [old, new] = [old.as_ref(), new.as_ref()];
            ChannelSites {
                channel: name.clone(),
                gains: beyond(after, new, &before, old),
                loses: beyond(&before, old, after, new),
            }
        });
        let changed = audiences.filter(|one| !one.gains.is_empty() || !one.loses.is_empty());
        Self { checks_per_month, channels: changed.collect() }
    }
}

/// The names of sites that a channel is about, but would not be with another filter among others.
fn beyond(
    sites: &BTreeMap<SiteId, Site>,
    filter: Option<&Filter>,
    others: &BTreeMap<SiteId, Site>,
    other: Option<&Filter>,
) -> Vec<String> {
    let lacks = |id: &SiteId| others.get(id).is_none_or(|site| !is_about(other, site));
    let names = sites.iter().filter(|(id, site)| is_about(filter, site) && lacks(id));
    let mut names: Vec<_> = names.map(|(_, site)| site.name.clone()).collect();
    names.sort_unstable();
    names
}

fn is_about(filter: Option<&Filter>, site: &Site) -> bool {
    filter.is_some_and(|filter| {
        filter.selector.as_ref().is_none_or(|selector| selector.matches(&site.tags))
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
