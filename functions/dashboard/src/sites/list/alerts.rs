//! What is wrong with a team's sites, worst first, above the list of sites.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use jiff::Timestamp;
use maud::{Markup, html};
use vedette_actions::ACKNOWLEDGED_MAX;
use vedette_domain::accounts::account::User;
use vedette_domain::id::{IssueId, SiteId, UserId};
use vedette_domain::issues::mass_outage::{in_common, mass_outages};
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_domain::sites::site_state::SiteState;
use vedette_domain::sites::tag::Tag;
use vedette_http::error::ApiError;
use vedette_store::{Directory, IndexRow, IssueWithMonitor, Store};

use super::{SitesView, headline, tags};
use crate::clock::Clock;
use crate::issues::{is_outage, order};
use crate::look::Look;
use crate::words::{counted, grouped};
use crate::{layout, words};

/// The most items that are shown.
const LISTED_MAX: usize = 5;

/// The most severe active issues of a team.
pub(super) struct Alerts {
    /// Outages of many sites, newest first.
    together: Vec<MassOutage>,
    shown: Vec<IssueWithMonitor>,
    /// How many more issues there are, and whether one of them is critical.
    more: usize,
    is_more_critical: bool,
    users: BTreeMap<UserId, User>,
}

/// Outages of many sites, which are one item.
struct MassOutage {
    sites: usize,
    acknowledged: usize,
    /// The issue that opened first.
    first: IssueId,
    /// When the first one and the last one of the issues opened.
    opened: (Timestamp, Timestamp),
    /// The first failed check of the first issue.
    since: Timestamp,
    /// The tags that most of the sites have, and how many do.
    common: Vec<(Tag, usize)>,
}

impl MassOutage {
    /// Outages in the order in which they opened.
    fn of(issues: &[IndexRow], directory: &Directory) -> Option<Self> {
        let (first, last) = (issues.first()?, issues.last()?);
        let is_taken = |issue: &&IndexRow| issue.status == IssueStatus::Acknowledged;
        let sites: BTreeSet<SiteId> = issues.iter().map(|issue| issue.monitor).collect();
        let rows = directory.rows.iter().filter(|row| sites.contains(&row.id));
        let tags = rows.flat_map(|row| row.tags.iter().filter_map(|tag| directory.tags.tag(*tag)));
        let common = in_common(issues.len(), tags).into_iter();
        Some(Self {
            sites: issues.len(),
            acknowledged: issues.iter().filter(is_taken).count(),
            first: first.id,
            opened: (first.opened_at, last.opened_at),
            since: first.opened_at,
            common: common.map(|(tag, count)| (tag.clone(), count)).collect(),
        })
    }
}

impl Alerts {
    /// Reads the active issues that are shown, of a team with these sites.
    pub(super) async fn load(
        store: &Store,
        active: Vec<IndexRow>,
        directory: &Directory,
    ) -> Result<Self, ApiError> {
        let (mut down, mut single): (Vec<_>, Vec<_>) = active.into_iter().partition(is_outage);
        down.sort_by_key(|issue| (issue.opened_at, issue.id));
        let opened: Vec<Timestamp> = down.iter().map(|issue| issue.opened_at).collect();
        let ranges = mass_outages(&opened, directory.rows.len());
        let of = |range: &Range<usize>| MassOutage::of(&down[range.clone()], directory);
        let mut together: Vec<MassOutage> = ranges.iter().rev().filter_map(of).collect();
        let is_alone = |place: &usize| !ranges.iter().any(|range| range.contains(place));
        single.extend((0..down.len()).filter(is_alone).map(|place| down[place].clone()));
        single.sort_by_key(order);
        let (listed, others) =
            single.split_at(LISTED_MAX.saturating_sub(together.len()).min(single.len()));
        let wanted = listed.iter().map(|row| row.id);
        let firsts = together.iter().map(|mass| mass.first);
        let mut found = store.issues_with_monitors(wanted.chain(firsts)).await?;
        for mass in &mut together {
            if let Some(first) = found.get(&mass.first) {
                mass.since = first.problem().began_at;
            }
        }
        let shown = listed.iter().filter_map(|row| found.remove(&row.id)).collect::<Vec<_>>();
        let taken = shown.iter().filter_map(|of| of.issue.lifecycle.acknowledgement());
        let takers: Vec<_> = taken.filter_map(|taken| taken.by.member()).collect();
        let users = store.users(takers).await?;
        let is_more_critical = others.iter().any(|issue| issue.severity() == Severity::Critical);
        Ok(Self { together, shown, more: others.len(), is_more_critical, users })
    }
}

pub(super) fn part(view: &SitesView<'_>) -> Markup {
    let (alerts, clock) = (view.alerts, view.clock);
    html! {
        @if !alerts.shown.is_empty() || !alerts.together.is_empty() {
            section.card aria-labelledby="now" {
                h2 #now.hide { "Open issues" }
                ul.alerts {
                    @for mass in &alerts.together { (together(view, mass)) }
                    @for (place, of) in alerts.shown.iter().enumerate() {
                        (one(of, place == 0 && alerts.together.is_empty(), alerts, view.may_act, clock))
                    }
                    @if alerts.more > 0 {
                        li.quiet.small {
                            span {}
                            a href={ "/teams/" (view.team.id) "/issues" } {
                                (counted(alerts.more, "more open issue", "more open issues"))
                                @if !alerts.is_more_critical && alerts.more == 1 { ", not critical" }
                                @else if !alerts.is_more_critical { ", none of them critical" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Outages of many sites. Acknowledging them acknowledges what the card counts, and nothing else.
fn together(view: &SitesView<'_>, mass: &MassOutage) -> Markup {
    let MassOutage { sites, acknowledged, opened: (from, to), since, ref common, .. } = *mass;
    let look = Look::Down;
    let open = sites - acknowledged;
    html! {
        li.lead.down {
            (look.mark())
            div {
                a.t1 href=(view.in_state(Some(SiteState::Down))) {
                    (grouped(sites as u64)) " sites " (headline::are(sites, SiteState::Down)) " since " (view.clock.since(since))
                }
                p {
                    "For " (view.clock.lasting(since))
                    @if acknowledged == 0 { " · Not acknowledged" }
                    @else if open > 0 { " · " (grouped(open as u64)) " not acknowledged" }
                }
                @if !common.is_empty() {
                    p.chips {
                        "In common:"
                        @for (tag, count) in common {
                            a href=(tags::list_of(view.team.id, tag.as_str())) { (tag) " " b { (grouped(*count as u64)) } }
                        }
                    }
                }
            }
            @if open == 0 {
                span.row.quiet.by { span.small { "Acknowledged" } }
            } @else if view.may_act {
                form method="post" action={ "/teams/" (view.team.id) "/issues/acknowledge" } {
                    input type="hidden" name="from" value=(from);
                    input type="hidden" name="to" value=(to);
                    button.s.main {
                        @if open > ACKNOWLEDGED_MAX { "Acknowledge " (grouped(ACKNOWLEDGED_MAX as u64)) }
                        @else { "Acknowledge all" }
                        span.hide { ": sites that are down" }
                    }
                }
            }
        }
    }
}

fn one(
    IssueWithMonitor { issue, monitor, .. }: &IssueWithMonitor,
    is_first: bool,
    alerts: &Alerts,
    may_act: bool,
    clock: Clock<'_>,
) -> Markup {
    let look = Look::from(issue.severity());
    let leads = is_first && issue.severity() == Severity::Critical;
    let taken = issue.lifecycle.acknowledgement();
    let by = taken.and_then(|taken| alerts.users.get(&taken.by.member()?));
    let headline = words::headline(issue, monitor, clock.now);
    html! {
        li class={ @if leads { "lead " } (look.class()) } {
            (look.mark())
            div {
                a.t1 href={ "/issues/" (issue.id) } { bdi { (headline) } }
                p {
                    @if !headline.starts_with(monitor.name()) { bdi { (monitor.name()) } " · " }
                    "For " (clock.lasting(issue.first_failed_at()))
                    @if taken.is_none() { " · Not acknowledged" }
                }
            }
            @if let Some(by) = by {
                span.row.quiet.by {
                    span.face aria-hidden="true" { (layout::initial(&by.name)) }
                    span.small { "Acknowledged by " bdi { (by.name) } }
                }
            } @else if taken.is_some() {
                span.row.quiet.by { span.small { "Acknowledged" } }
            } @else if may_act {
                form method="post" action={ "/issues/" (issue.id) "/acknowledge" } {
                    input type="hidden" name="then" value="list";
                    button.s.main[leads] {
                        "Acknowledge" span.hide { ": " (issue.summary) }
                    }
                }
            }
        }
    }
}
