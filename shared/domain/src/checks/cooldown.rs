//! What new sites of a team get at once, and what remains after a site is deleted.
//!
//! A new site's first runs are free. A crawl or an audit costs the host and us a lot, so the first ones are counted for
//! each team and day. A host gets five a day, however often its sites are deleted and created again. An on-demand run
//! uses the quota. After it, the next run on the same host has to wait, even on a site that was created in place of the
//! old one.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;
use sha2::{Digest, Sha256};

use crate::accounts::plan::Plan;
use crate::checks::history::day_of;
use crate::checks::tool::Tool;
use crate::checks::tool_state::ToolState;
use crate::clock::{CLOCK_SKEW, is_ahead};
use crate::sites::site_url::SiteUrl;

/// First crawls, and first audits, that a team on an unlimited plan gets in a day.
const UNLIMITED_PLAN: u32 = 500;

/// First crawls, and first audits, that a team gets for one host in a day (UTC): enough for the pages of one shop that
/// are added together.
const FIRST_RUNS_PER_HOST: usize = 5;

/// First crawls, and first audits, that a team gets in a day (UTC): enough to set up all its sites twice.
pub(crate) fn first_runs_per_day(plan: Plan) -> u32 {
    plan.limits().sites.map_or(UNLIMITED_PLAN, |sites| sites * 2)
}

/// Whether deleting a site now would leave on-demand runs for [`Cooldowns::after_deletion`] to remember.
pub fn outlive_their_site(tools: &BTreeMap<Tool, ToolState>, now: Timestamp) -> bool {
    fresh_orders(tools, now).next().is_some()
}

/// Long on-demand runs after which the next one still has to wait.
fn fresh_orders(
    tools: &BTreeMap<Tool, ToolState>,
    now: Timestamp,
) -> impl Iterator<Item = (Tool, Timestamp)> {
    let ordered = tools.iter().filter(|(tool, _)| tool.is_long());
    let ordered = ordered.filter_map(|(tool, state)| Some((*tool, state.last_on_demand?)));
    ordered.filter(move |(tool, at)| is_fresh(*tool, *at, now))
}

/// Whether an on-demand run is so recent that the next one has to wait.
fn is_fresh(tool: Tool, ordered_at: Timestamp, now: Timestamp) -> bool {
    let cadence = SignedDuration::from_mins(i64::from(tool.on_demand_cadence_minutes()));
    // A run in the future was ordered before the clock was set back.
    now.duration_since(ordered_at) < cadence && !is_ahead(ordered_at, now)
}

/// What crawls and audits of a team's sites have used, even of sites that were deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cooldowns {
    /// Increases with every write; 0 if nothing was written yet.
    pub rev: u64,
    /// The day of `first`.
    day: Date,
    /// Hosts that had first runs on that day.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    first: BTreeMap<Tool, Hosts>,
    /// The newest on-demand runs on hosts of deleted sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ordered: Vec<Ordered>,
}

/// The first 4 bytes of the SHA-256 of a host's name. If two hosts share them, one of them waits for its schedule.
type Host = u32;

/// Hosts in the order of their first runs. A host occurs once for each of its first runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
struct Hosts(Vec<Host>);

impl Hosts {
    /// Whether `host` may have one more first run.
    fn have_room_for(&self, host: Host, plan: Plan) -> bool {
        let of_host = self.0.iter().filter(|other| **other == host).count();
        self.0.len() < first_runs_per_day(plan) as usize && of_host < FIRST_RUNS_PER_HOST
    }
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|host| host.to_be_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for Hosts {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (hosts, rest) = bytes.as_chunks();
        let hosts = Self(hosts.iter().copied().map(Host::from_be_bytes).collect());
        if rest.is_empty() { Ok(hosts) } else { Err("a part of a host") }
    }
}

/// An on-demand run, after which the next one on its host has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Ordered {
    host: Host,
    tool: Tool,
    at: Timestamp,
}

/// How a new site begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning {
    /// Its five tools.
    pub tools: BTreeMap<Tool, ToolState>,
    /// The team's cooldowns after that, if they change.
    pub cooldowns: Option<Cooldowns>,
}

impl Cooldowns {
    /// How a site that is created now begins. `running` are the tools that will run on it. A tool without a first run
    /// waits for its schedule.
    pub fn begin(&self, plan: Plan, url: &SiteUrl, running: &[Tool], now: Timestamp) -> Beginning {
        let host = host(url);
        let today = self.at(now);
        let mut next = today.clone();
        let mut grant = |tool: Tool| {
            if !tool.is_long() {
                return true;
            }
            let mut hosts = next.first.get(&tool).cloned().unwrap_or_default();
            let is_granted = running.contains(&tool) && hosts.have_room_for(host, plan);
            if is_granted {
                hosts.0.push(host);
                next.first.insert(tool, hosts);
            }
            is_granted
        };
        let tools = Tool::ALL.into_iter().map(|tool| {
            let first = if grant(tool) { ToolState::of_new_site(now) } else { ToolState::new() };
            (tool, ToolState { last_on_demand: today.last_ordered(host, tool), ..first })
        });
        let tools = tools.collect();
        Beginning { tools, cooldowns: next.if_other_than(&today) }
    }

    /// The team's cooldowns after a site is deleted now, if they change.
    pub fn after_deletion(
        &self,
        url: &SiteUrl,
        tools: &BTreeMap<Tool, ToolState>,
        now: Timestamp,
    ) -> Option<Self> {
        let host = host(url);
        let today = self.at(now);
        let mut next = today.clone();
        let ordered = fresh_orders(tools, now).map(|(tool, at)| Ordered { host, tool, at });
        next.ordered.extend(ordered);
        next.if_other_than(&today)
    }

    /// The cooldowns at an instant, without those that are over.
    fn at(&self, now: Timestamp) -> Self {
        let today = day_of(now);
        let mut next = self.clone();
        // Processes whose clocks differ a little must not restart each other's day at midnight.
        let latest = now.saturating_add(CLOCK_SKEW).map_or(today, day_of);
        if next.day < today || next.day > latest {
            next.day = today;
            next.first.clear();
        }
        next.ordered.retain(|ordered| is_fresh(ordered.tool, ordered.at, now));
        next
    }

    /// These cooldowns as the next revision, if they differ from those before.
    fn if_other_than(self, before: &Self) -> Option<Self> {
        (self != *before).then(|| Self { rev: before.rev + 1, ..self })
    }

    fn last_ordered(&self, host: Host, tool: Tool) -> Option<Timestamp> {
        let of_tool = self.ordered.iter().filter(|other| (other.host, other.tool) == (host, tool));
        of_tool.map(|ordered| ordered.at).max()
    }
}

fn host(url: &SiteUrl) -> Host {
    let digest = Sha256::digest(url.domain());
    Host::from_be_bytes(std::array::from_fn(|index| digest[index]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: [Tool; 2] = [Tool::BrokenLinks, Tool::Performance];

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn noon() -> Timestamp {
        at("2026-11-20T12:00:00Z")
    }

    fn later(minutes: i64) -> Timestamp {
        noon() + SignedDuration::from_mins(minutes)
    }

    fn url(text: &str) -> SiteUrl {
        SiteUrl::parse(text).expect("a URL")
    }

    /// Creates a site on which all tools run, and returns those that run at once.
    fn create(cooldowns: &mut Cooldowns, plan: Plan, url: &SiteUrl, now: Timestamp) -> Vec<Tool> {
        let Beginning { tools, cooldowns: next } = cooldowns.begin(plan, url, &Tool::ALL, now);
        if let Some(next) = next {
            assert_eq!(next.rev, cooldowns.rev + 1);
            *cooldowns = next;
        }
        tools.into_iter().filter(|(_, state)| state.timer.is_some()).map(|(tool, _)| tool).collect()
    }

    const SHORT: [Tool; 3] = [Tool::Status, Tool::Ssl, Tool::Dns];

    #[test]
    fn a_days_first_crawls_and_audits_are_counted() {
        for (plan, most) in [(Plan::Starter, 10), (Plan::Growth, 50), (Plan::Agency, 500)] {
            assert_eq!(first_runs_per_day(plan), most);
            let mut cooldowns = Cooldowns::default();
            for number in 0..most {
                let url = url(&format!("https://{number}.test"));
                assert_eq!(create(&mut cooldowns, plan, &url, noon()), Tool::ALL, "{plan}");
            }
            let one_more = url("https://one.more.test");
            assert_eq!(create(&mut cooldowns, plan, &one_more, noon()), SHORT, "{plan}");
            let midnight = at("2026-11-21T00:00:00Z");
            assert_eq!(create(&mut cooldowns, plan, &one_more, midnight), Tool::ALL, "{plan}");
        }
    }

    #[test]
    fn a_host_has_five_first_crawls_and_audits_a_day() {
        let mut cooldowns = Cooldowns::default();
        let mut create = |text: &str, now| create(&mut cooldowns, Plan::Starter, &url(text), now);
        for page in ["", "/shop", "/cart", "/search"] {
            assert_eq!(create(&format!("https://site.test{page}"), noon()), Tool::ALL, "{page}");
        }
        assert_eq!(create("http://SITE.test:8080/", noon()), Tool::ALL, "the fifth");
        for again in ["https://site.test", "https://site.test/about", "http://site.test"] {
            assert_eq!(create(again, later(60)), SHORT, "{again}");
        }
        for other in ["https://www.site.test", "https://other.test"] {
            assert_eq!(create(other, noon()), Tool::ALL, "{other}");
        }
        assert_eq!(create("https://site.test", later(12 * 60)), Tool::ALL, "the next day");
    }

    #[test]
    fn cooldowns_that_the_previous_version_stored_count() {
        let site = url("https://site.test");
        let stored = format!(
            r#"{{"rev":7,"day":"2026-11-20","first":{{"broken-links":{:?}}}}}"#,
            [host(&url("https://other.test")), host(&site)].map(u32::to_be_bytes).concat(),
        );
        let mut cooldowns: Cooldowns = serde_json::from_str(&stored).expect("cooldowns");
        for number in 2..=5 {
            assert_eq!(create(&mut cooldowns, Plan::Starter, &site, noon()), Tool::ALL, "{number}");
        }
        let fifth_audit = [Tool::Status, Tool::Ssl, Tool::Dns, Tool::Performance];
        assert_eq!(create(&mut cooldowns, Plan::Starter, &site, noon()), fifth_audit);
        assert_eq!(create(&mut cooldowns, Plan::Starter, &site, noon()), SHORT);
    }

    #[test]
    fn counts_from_a_fast_clock_delay_nothing() {
        let site = url("https://site.test");
        for ahead in [60, 365 * 24 * 60] {
            let mut cooldowns = Cooldowns::default();
            let tomorrow = at("2026-11-21T00:00:10Z");
            let fast = tomorrow + SignedDuration::from_mins(ahead);
            for _ in 0..FIRST_RUNS_PER_HOST {
                create(&mut cooldowns, Plan::Starter, &site, fast);
            }
            let ordered = ToolState { last_on_demand: Some(later(ahead)), ..ToolState::new() };
            let tools = BTreeMap::from([(Tool::BrokenLinks, ordered)]);
            let deleted =
                cooldowns.after_deletion(&site, &tools, later(ahead)).expect("remembered");
            let Beginning { tools, .. } =
                deleted.begin(Plan::Starter, &site, &Tool::ALL, at("2026-11-20T12:00:00Z"));
            assert!(tools.values().all(|state| state.timer.is_some()), "{ahead}");
            assert_eq!(tools[&Tool::BrokenLinks].last_on_demand, None, "{ahead}");
        }
        // At midnight clocks may differ.
        let mut cooldowns = Cooldowns::default();
        for _ in 0..FIRST_RUNS_PER_HOST {
            create(&mut cooldowns, Plan::Starter, &site, at("2026-11-21T00:00:10Z"));
        }
        let before = at("2026-11-20T23:59:50Z");
        assert_eq!(create(&mut cooldowns, Plan::Starter, &site, before), SHORT);
    }

    #[test]
    fn only_what_runs_is_counted() {
        let cooldowns = Cooldowns::default();
        let site = url("https://site.test");
        let begun = cooldowns.begin(Plan::Starter, &site, &SHORT, noon());
        assert_eq!(begun.cooldowns, None);
        assert!(LONG.iter().all(|tool| begun.tools[tool].timer.is_none()));
        let begun = cooldowns.begin(Plan::Starter, &site, &[Tool::BrokenLinks], noon());
        let next = begun.cooldowns.expect("counted");
        let counted = LONG.map(|tool| next.first.get(&tool).map(|hosts| hosts.0.len()));
        assert_eq!(counted, [Some(1), None]);
    }

    #[test]
    fn an_order_outlives_its_site_until_the_next_one_may_come() {
        let (site, other) = (url("https://site.test/a"), url("https://other.test"));
        let ordered_at = |tool, minutes| {
            let state = ToolState { last_on_demand: Some(later(minutes)), ..ToolState::new() };
            BTreeMap::from([(tool, state)])
        };
        let none = Cooldowns::default();
        // Runs that take a second may be ordered again just as quickly.
        assert_eq!(none.after_deletion(&site, &ordered_at(Tool::Status, 0), noon()), None);
        assert_eq!(none.after_deletion(&site, &BTreeMap::new(), noon()), None);
        assert_eq!(none.after_deletion(&site, &ordered_at(Tool::BrokenLinks, 0), later(5)), None);

        let crawl = ordered_at(Tool::BrokenLinks, 0);
        let deleted = none.after_deletion(&site, &crawl, later(1)).expect("remembered");
        let begin = |url: &SiteUrl| {
            let Beginning { tools, .. } = deleted.begin(Plan::Starter, url, &Tool::ALL, later(2));
            LONG.map(|tool| tools[&tool].last_on_demand)
        };
        assert_eq!(begin(&url("http://site.test/b")), [Some(noon()), None]);
        assert_eq!(begin(&other), [None, None]);
        // Cooldowns that are over cause no write of their own. The next write removes them.
        let audit = ordered_at(Tool::Performance, 7);
        let next = deleted.after_deletion(&other, &audit, later(8)).expect("remembered");
        assert_eq!((next.rev, next.ordered.len()), (2, 1));
        assert_eq!(deleted.after_deletion(&other, &BTreeMap::new(), later(8)), None);
    }

    #[test]
    fn cooldowns_stay_small() {
        let mut cooldowns = Cooldowns::default();
        for number in 0..UNLIMITED_PLAN {
            create(&mut cooldowns, Plan::Agency, &url(&format!("https://{number}.test")), noon());
        }
        let bytes: usize = cooldowns.first.values().map(|hosts| hosts.0.len() * 4).sum();
        assert_eq!(bytes, 4_000);
        let hosts = cooldowns.first[&Tool::BrokenLinks].clone();
        let stored: Vec<u8> = hosts.0.iter().flat_map(|host| host.to_be_bytes()).collect();
        let read = |bytes: &[u8]| {
            let bytes = serde::de::value::BytesDeserializer::<serde::de::value::Error>::new(bytes);
            Hosts::deserialize(bytes)
        };
        assert_eq!(read(&stored), Ok(hosts));
        assert!(read(&stored[1..]).is_err());
    }
}
