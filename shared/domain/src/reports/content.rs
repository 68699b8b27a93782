//! What a report says: its figures against the period before, and the few lines of each part that matter most.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use super::figures::{CheckCounts, DayFigures, ObjectiveResult};
use super::{MonitorFigures, PeriodFigures, ReportHeader};
use crate::checks::percentage::Percentage;
use crate::id::{MonitorId, UserId};
use crate::issues::outage::OutageRecord;
use crate::time;
use crate::wording::{counted, grouped};

/// The most outages that a report lists.
pub const OUTAGES_MAX: usize = 10;
/// The most lines of other lists. With full lists, the page prints on two sheets of A4.
pub const LINES_MAX: usize = 6;
/// The best and the worst sites that are listed.
const EXTREMES: usize = 3;
/// Certificates and domains that end within so many days are listed.
pub const ENDS_SOON: SignedDuration = SignedDuration::from_hours(45 * 24);
/// Changes of scores below this are noise, in hundredths.
const SCORE_CHANGE: u16 = 100;

/// A report about all sites of a team, or about those of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamReport {
    /// Its period, and when it was made.
    pub header: ReportHeader,
    /// The group; `None` for the whole team.
    pub group: Option<String>,
    /// The sites that it is about.
    pub sites: usize,
    /// Its main figures.
    pub totals: Totals,
    /// Those of the period before; `None` if nothing was checked then.
    pub before: Option<Totals>,
    /// Each day of the period.
    pub days: Vec<DayLine>,
    /// Objectives over the period: those of groups, then those of sites, each with the most used budget first.
    pub objectives: Vec<ObjectiveLine>,
    /// How many objectives were missed, also those that are not listed.
    pub missed_objectives: usize,
    /// How many objectives there are.
    pub objective_count: usize,
    /// The sites with the longest downtime.
    pub worst: Vec<SiteLine>,
    /// The fastest of the sites without downtime.
    pub best: Vec<SiteLine>,
    /// How many sites were checked and had no downtime.
    pub without_downtime: usize,
    /// The longest outages, in the order in which they began.
    pub outages: Vec<OutageLine>,
    /// The largest changes of response times.
    pub responses: Vec<ResponseLine>,
    /// Certificates that end soon, the next first.
    pub certificates: Vec<Ending>,
    /// Domains whose registrations end soon, the next first.
    pub domains: Vec<Ending>,
    /// Sites whose broken links are not those of the period before.
    pub links: Vec<LinksLine>,
    /// The largest changes of Lighthouse scores.
    pub scores: Vec<ScoreLine>,
    /// The heartbeats; the report of a group has none.
    pub heartbeats: Vec<HeartbeatLine>,
    /// How many alerts could not be delivered, by the names of the channels.
    pub undelivered: Vec<(String, u32)>,
}

/// The main figures of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// The checks of all sites.
    pub counts: CheckCounts,
    /// How many outages overlap the period.
    pub outages: u32,
    /// How long all sites were down, together.
    pub down: SignedDuration,
    /// The median of the sites' medians, in milliseconds.
    pub median_ms: Option<u32>,
    /// The mean time from the beginning of an outage until somebody acknowledged it.
    pub to_acknowledge: Option<SignedDuration>,
    /// How many outages somebody acknowledged.
    pub acknowledged: u32,
}

impl Totals {
    /// How many of the checks outside maintenance windows found a site up.
    pub fn uptime(&self) -> Option<Percentage> {
        Percentage::of(self.counts.up, self.counts.checks)
    }

    fn of(sites: &[&MonitorFigures]) -> Self {
        let mut medians: Vec<u32> = sites.iter().filter_map(|site| site.median_ms).collect();
        medians.sort_unstable();
        let acknowledged = sites.iter().map(|site| site.acknowledged).sum();
        let after: i64 = sites.iter().map(|site| site.acknowledged_after_seconds).sum();
        Self {
            counts: sites.iter().fold(CheckCounts::default(), |all, site| all.plus(site.counts)),
            outages: sites.iter().map(|site| site.outage_count).sum(),
            down: sites.iter().map(|site| site.down()).sum(),
            median_ms: medians.get(medians.len().saturating_sub(1) / 2).copied(),
            to_acknowledge: after
                .checked_div(i64::from(acknowledged))
                .map(SignedDuration::from_secs),
            acknowledged,
        }
    }
}

/// A day of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayLine {
    /// The day in the zone of the report.
    pub date: Date,
    /// The outages of all sites.
    pub figures: DayFigures,
}

/// An objective with its budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectiveLine {
    /// The group or the site.
    pub name: String,
    /// How many sites the group had; `None` for the objective of a site.
    pub sites: Option<u32>,
    /// How it was met.
    pub result: ObjectiveResult,
}

/// A site with its uptime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteLine {
    /// The site.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// How many of its checks outside maintenance windows found it up.
    pub uptime: Option<Percentage>,
    /// How long it was down.
    pub down: SignedDuration,
    /// Its median response time, in milliseconds.
    pub median_ms: Option<u32>,
}

/// An outage with the name of its site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutageLine {
    /// The name of the site.
    pub name: String,
    /// The outage, as it was when the report was made.
    pub outage: OutageRecord,
    /// How long it lasted within the period.
    pub down: SignedDuration,
}

/// A site whose response time has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseLine {
    /// The site.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// Its median in the period, in milliseconds.
    pub now_ms: u32,
    /// Its median in the period before, in milliseconds.
    pub before_ms: u32,
}

impl ResponseLine {
    /// Whether it changed by more than a tenth.
    pub const fn is_large(&self) -> bool {
        self.now_ms.abs_diff(self.before_ms) as u64 * 10 > self.before_ms as u64
    }
}

/// A certificate or a domain that ends soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The host or the domain.
    pub name: String,
    /// When it ends.
    pub at: Timestamp,
}

/// A site whose broken links have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinksLine {
    /// The site.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// Links that are broken now, and were not when the report before was made.
    pub new: usize,
    /// Links that were broken then, and are not any more.
    pub fixed: usize,
    /// All that are broken now.
    pub broken: usize,
}

/// A site whose Lighthouse score has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreLine {
    /// The site.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// The mean score, in hundredths.
    pub now: u16,
    /// That of the period before, in hundredths.
    pub before: u16,
}

/// A heartbeat with its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatLine {
    /// The heartbeat.
    pub id: MonitorId,
    /// Its name.
    pub name: String,
    /// Runs that ended, and runs that were missed.
    pub runs: u64,
    /// Those of them that succeeded.
    pub succeeded: u64,
}

impl TeamReport {
    /// The report about a period, against the period before.
    pub fn of(
        now: &PeriodFigures,
        before: Option<&PeriodFigures>,
        group: Option<&str>,
    ) -> Option<Self> {
        let header = &now.header;
        let sites = now.sites(group)?;
        let sites_before = before.and_then(|before| before.sites(group));
        let earlier: HashMap<MonitorId, &MonitorFigures> =
            sites_before.iter().flatten().map(|site| (site.id, *site)).collect();
        let with_before = || sites.iter().filter_map(|site| Some((*site, *earlier.get(&site.id)?)));
        let before = sites_before.as_ref().map(|sites| Totals::of(sites));
        let until = header.made_at.saturating_add(ENDS_SOON).unwrap_or(Timestamp::MAX);
        let line = |site: &&MonitorFigures| SiteLine {
            id: site.id,
            name: site.name.clone(),
            uptime: Percentage::of(site.counts.up, site.counts.checks),
            down: site.down(),
            median_ms: site.median_ms,
        };
        let (mut down, mut up): (Vec<_>, Vec<_>) = sites
            .iter()
            .filter(|site| site.is_checked())
            .map(line)
            .partition(|site| site.down > SignedDuration::ZERO);
        let objectives = objectives(header, &sites, group);
        let without_downtime = up.len();
        down.sort_by_key(|site| (Reverse(site.down), site.name.clone()));
        up.retain(|site| site.median_ms.is_some());
        up.sort_by_key(|site| (Reverse(site.uptime), site.median_ms, site.name.clone()));
        Some(Self {
            totals: Totals::of(&sites),
            before: before.filter(|before| before.counts.made() > 0),
            days: days(header, &sites),
            missed_objectives: objectives.iter().filter(|line| line.result.is_missed()).count(),
            objective_count: objectives.len(),
            objectives: first(objectives, LINES_MAX),
            worst: first(down, EXTREMES),
            best: first(up, EXTREMES),
            without_downtime,
            outages: outages(header, &sites),
            responses: responses(with_before()),
            certificates: endings(sites.iter().filter_map(|site| {
                let at = site.certificate_ends.filter(|at| *at <= until)?;
                Some((site.host.clone()?, at))
            })),
            domains: endings(sites.iter().filter_map(|site| {
                let (domain, at) = site.domain.clone()?;
                let at = Timestamp::from_millisecond(at).ok().filter(|at| *at <= until)?;
                Some((domain, at))
            })),
            links: links(with_before()),
            scores: scores(with_before()),
            heartbeats: if group.is_none() { heartbeats(now) } else { Vec::new() },
            undelivered: undelivered(&sites),
            sites: sites.len(),
            group: group.map(str::to_owned),
            header: header.clone(),
        })
    }

    /// The members who acknowledged the listed outages.
    pub fn responders(&self) -> Vec<UserId> {
        self.outages.iter().filter_map(|line| line.outage.acknowledged?.by.member()).collect()
    }

    /// What the report says in one sentence, which is also the subject of its email.
    pub fn headline(&self) -> String {
        let name = self.header.period.name();
        let Some(uptime) = self.totals.uptime() else {
            return format!("Nothing was checked in {name}");
        };
        let said = match (self.objective_count, self.missed_objectives, self.totals.outages) {
            (1, 0, _) => "and the objective was met".to_owned(),
            (1.., 0, _) => "and every objective was met".to_owned(),
            (1, 1, _) => "but the objective was missed".to_owned(),
            (all @ 2.., 1, _) => format!("but 1 of {all} objectives was missed"),
            (all @ 2.., missed, _) if missed == all => {
                format!("but all {all} objectives were missed")
            }
            (all @ 2.., missed, _) => format!("but {missed} of {all} objectives were missed"),
            (_, _, 0) => "with no outages".to_owned(),
            (_, _, 1) => "with one outage".to_owned(),
            (_, _, count) => format!("with {count} outages"),
        };
        format!("{uptime} % uptime in {name}, {said}")
    }

    /// The sentence after the headline: how long the outages took, and the longest of them.
    pub fn summary(&self) -> Option<String> {
        let longest = self.outages.iter().max_by_key(|line| line.down)?;
        let zone = &self.header.zone;
        let day = time::day(longest.outage.began_at, self.header.made_at, zone);
        let (down, length) = (rounded_up(self.totals.down), rounded_up(longest.down));
        let (name, detail) = (&longest.name, &longest.outage.detail);
        Some(match self.totals.outages {
            1 => format!("The only outage took {length}: {name} on {day} ({detail})."),
            count => format!(
                "The {count} outages took {down} in total. The longest took {length}: {name} on {day} ({detail})."
            ),
        })
    }

    /// How its figures are counted, and what is missing.
    pub fn method(&self) -> Vec<String> {
        let CheckCounts { in_maintenance, failed, missed, .. } = self.totals.counts;
        let counts = self.totals.counts;
        let mut method = vec![
            format!(
                "Vedette made {} of the {} checks that were due.",
                grouped(counts.made()),
                grouped(counts.due())
            ),
            "An outage lasts from its first failed check to the next good one, or until somebody resolves it or monitoring \
             ends. Other problems are not downtime."
                .to_owned(),
            "Downtime is the time of all outages in the period, rounded up to whole minutes. Uptime is the share of \
             successful checks, rounded down. So a short outage may change one and not the other."
                .to_owned(),
            "No outage opens in a maintenance window, and one that opened before counts until it ends. Paused time and \
             checks that could not run do not count."
                .to_owned(),
            "The uptime of several sites is that of all their checks together. The median response is the median of \
             the sites, and that of a site is the median of its hourly means."
                .to_owned(),
        ];
        if self.objective_count > 0 {
            method.push(
                "For an objective, a group is down while any of its sites is down. Its budget is the downtime that \
                 it allows in the period of the report."
                    .to_owned(),
            );
        }
        if in_maintenance > 0 {
            let checks = counted(in_maintenance as usize, "check", "checks");
            method.push(format!("The uptime leaves out {checks} in maintenance windows."));
        }
        if failed > 0 {
            let checks = counted(failed as usize, "check", "checks");
            method.push(format!("{checks} could not run."));
        }
        if missed > 0 {
            let checks = counted(missed as usize, "check was", "checks were");
            method.push(format!("About {checks} due while Vedette did not run."));
        }
        if let Some(from) = self.header.known_from {
            method
                .push(format!("The history of the team's plan no longer had days before {from}."));
        }
        if self.header.is_cut {
            method.push(
                "There were more outages than a report reads; only the newest are counted."
                    .to_owned(),
            );
        }
        method.push(format!("Days and times are in {}.", self.header.zone));
        method
    }
}

/// A duration as [`time::duration`] says it, after it was rounded up to whole minutes or, from a day on, to whole hours.
pub fn rounded_up(lasted: SignedDuration) -> String {
    let up = |milliseconds: i128| (lasted.as_millis().max(0) + milliseconds - 1) / milliseconds;
    let (minutes, hours) = (up(60_000) as i64, up(3_600_000) as i64);
    match minutes {
        0 => "0 min".to_owned(),
        ..1_440 => time::duration(SignedDuration::from_mins(minutes)),
        _ => time::duration(SignedDuration::from_hours(hours)),
    }
}

fn first<T>(mut lines: Vec<T>, most: usize) -> Vec<T> {
    lines.truncate(most);
    lines
}

/// The objectives of the groups and the sites, those of groups first.
fn objectives(
    header: &ReportHeader,
    sites: &[&MonitorFigures],
    group: Option<&str>,
) -> Vec<ObjectiveLine> {
    let groups = header.objectives.iter().filter(|of| group.is_none_or(|group| group == of.group));
    let groups = groups.map(|of| ObjectiveLine {
        name: of.group.clone(),
        sites: Some(of.sites),
        result: of.result,
    });
    let sites = sites.iter().filter_map(|site| {
        Some(ObjectiveLine { name: site.name.clone(), sites: None, result: site.objective? })
    });
    let mut lines: Vec<_> = groups.chain(sites).collect();
    lines.sort_by_key(|line| {
        (line.sites.is_none(), Reverse(line.result.budget.used_percent()), line.name.clone())
    });
    lines
}

fn days(header: &ReportHeader, sites: &[&MonitorFigures]) -> Vec<DayLine> {
    let lines = header.period.days().enumerate().map(|(place, date)| {
        let of_day = sites.iter().filter_map(|site| site.days.get(&(place as u8)));
        let figures = of_day.fold(DayFigures::default(), |all, day| DayFigures {
            outages: all.outages + day.outages,
            down_ms: all.down_ms + day.down_ms,
        });
        DayLine { date, figures }
    });
    lines.collect()
}

fn outages(header: &ReportHeader, sites: &[&MonitorFigures]) -> Vec<OutageLine> {
    let span = header.period.span(&header.zone);
    let all = sites.iter().flat_map(|site| {
        site.outages.iter().map(|outage| OutageLine {
            name: site.name.clone(),
            down: outage.problem().within(span.from, span.to, span.to),
            outage: outage.clone(),
        })
    });
    let mut longest: Vec<_> = all.collect();
    longest.sort_by_key(|line| (Reverse(line.down), line.outage.opened_at, line.outage.issue));
    longest.truncate(OUTAGES_MAX);
    longest.sort_by_key(|line| (line.outage.began_at, line.outage.issue));
    longest
}

fn responses<'a>(
    sites: impl Iterator<Item = (&'a MonitorFigures, &'a MonitorFigures)>,
) -> Vec<ResponseLine> {
    let lines = sites.filter_map(|(site, before)| {
        Some(ResponseLine {
            id: site.id,
            name: site.name.clone(),
            now_ms: site.median_ms?,
            before_ms: before.median_ms?,
        })
    });
    let mut lines: Vec<_> = lines.filter(|line| line.now_ms != line.before_ms).collect();
    lines.sort_by_key(|line| (Reverse(line.now_ms.abs_diff(line.before_ms)), line.name.clone()));
    first(lines, LINES_MAX)
}

fn endings(all: impl Iterator<Item = (String, Timestamp)>) -> Vec<Ending> {
    // Several sites may have the same host or domain.
    let mut seen = HashSet::new();
    let mut endings: Vec<Ending> = all
        .filter(|(name, _)| seen.insert(name.clone()))
        .map(|(name, at)| Ending { name, at })
        .collect();
    endings.sort_by_key(|ending| (ending.at, ending.name.clone()));
    first(endings, LINES_MAX)
}

fn links<'a>(
    sites: impl Iterator<Item = (&'a MonitorFigures, &'a MonitorFigures)>,
) -> Vec<LinksLine> {
    let lines = sites.filter_map(|(site, before)| {
        let now: HashSet<u32> = site.broken_links.as_ref()?.iter().copied().collect();
        let before: HashSet<u32> = before.broken_links.as_ref()?.iter().copied().collect();
        Some(LinksLine {
            id: site.id,
            name: site.name.clone(),
            new: now.difference(&before).count(),
            fixed: before.difference(&now).count(),
            broken: now.len(),
        })
    });
    let mut lines: Vec<_> = lines.filter(|line| line.new + line.fixed > 0).collect();
    lines.sort_by_key(|line| (Reverse(line.new + line.fixed), line.name.clone()));
    first(lines, LINES_MAX)
}

fn scores<'a>(
    sites: impl Iterator<Item = (&'a MonitorFigures, &'a MonitorFigures)>,
) -> Vec<ScoreLine> {
    let lines = sites.filter_map(|(site, before)| {
        Some(ScoreLine {
            id: site.id,
            name: site.name.clone(),
            now: site.score?,
            before: before.score?,
        })
    });
    let mut lines: Vec<_> =
        lines.filter(|line| line.now.abs_diff(line.before) >= SCORE_CHANGE).collect();
    lines.sort_by_key(|line| (Reverse(line.now.abs_diff(line.before)), line.name.clone()));
    first(lines, LINES_MAX)
}

/// The heartbeats with runs, those with the most failures first.
fn heartbeats(figures: &PeriodFigures) -> Vec<HeartbeatLine> {
    let jobs = figures
        .monitors
        .iter()
        .filter(|monitor| monitor.host.is_none() && monitor.counts.checks > 0);
    let lines = jobs.map(|job| HeartbeatLine {
        id: job.id,
        name: job.name.clone(),
        runs: job.counts.checks,
        succeeded: job.counts.up,
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| (Reverse(line.runs - line.succeeded), line.name.clone()));
    first(lines, LINES_MAX)
}

fn undelivered(sites: &[&MonitorFigures]) -> Vec<(String, u32)> {
    let mut channels: BTreeMap<&str, u32> = BTreeMap::new();
    for (name, count) in sites.iter().flat_map(|site| &site.undelivered) {
        *channels.entry(name).or_default() += count;
    }
    let mut lines: Vec<_> =
        channels.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    lines.sort_by_key(|(name, count)| (Reverse(*count), name.clone()));
    first(lines, LINES_MAX)
}
