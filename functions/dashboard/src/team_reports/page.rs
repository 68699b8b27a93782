//! A report as a page that prints on two sheets.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use url::form_urlencoded::byte_serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::alerts::link;
use vedette_domain::checks::history::Downtime;
use vedette_domain::checks::report::OutageDay;
use vedette_domain::id::UserId;
use vedette_domain::reports::{Ending, ReportPeriod, SiteLine, TeamReport, Totals, rounded_up};
use vedette_domain::time;
use vedette_store::TeamWithSettings;

use crate::RequestContext;
use crate::chart::{self, Bar, bars_label, day_bars};
use crate::clock::Clock;
use crate::form::capitalized;
use crate::layout;
use crate::words::{counted, grouped, unknown};

/// Certificates and domains that end within so many days are in color.
const VERY_SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// `October 2026`, `Week 48 of 2026`.
pub(super) fn title(period: ReportPeriod) -> String {
    capitalized(&period.name())
}

pub(super) fn page(
    context: RequestContext<'_>,
    team: &TeamWithSettings,
    report: &TeamReport,
    users: &BTreeMap<UserId, User>,
) -> Markup {
    let now = context.app.clock.now();
    let clock = Clock { now, zone: &report.header.zone, is_chosen: true };
    html! {
            header.row.far {
                div {
                    h1 { (report.headline()) }
                    @if let Some(summary) = report.summary() { p.quiet { (summary) } }
                    p.quiet.small {
                        bdi { (team.team.name) }
                        @if let Some(group) = &report.group { ", " bdi { (group) } }
                        ", " (report.header.period.days_named())
                    }
                }
                (links(team, report, context.app.service.sends_mail))
            }
            (figures(report))
            (days(report, clock))
            (objectives(report))
            (extremes(report))
            (outages(report, users, clock))
            (responses(report))
            (endings(report, clock))
            (changes(report))
            (heartbeats(team, report))
            (undelivered(report))
            footer.quiet.small {
                @for sentence in report.method() { (sentence) " " }
                "Made " (clock.instant(report.header.made_at)) "."
            }
    }
}

/// The groups that the report can be narrowed to, its file, and the button that emails it.
fn links(team: &TeamWithSettings, report: &TeamReport, sends_mail: bool) -> Markup {
    let address = format!("/teams/{}/reports/{}", team.id(), report.header.period);
    html! {
        div.row.screen {
            @if !report.header.groups.is_empty() {
                form.row method="get" action=(address) {
                    label.hide for="group" { "Group" }
                    select #group name="group" {
                        option value="" { "All sites" }
                        @for group in &report.header.groups {
                            option selected[report.group.as_ref() == Some(group)] { (group) }
                        }
                    }
                    button.s { "Show" }
                }
            }
            @let query = report.group.iter().flat_map(|group| ["?group=".to_owned(), byte_serialize(group.as_bytes()).collect()]);
            a.btn.s href={ (address) "/figures.csv" (query.collect::<String>()) } { "CSV" }
            @if sends_mail {
                form method="post" action={ (address) "/send" } {
                    @if let Some(group) = &report.group { input type="hidden" name="group" value=(group); }
                    button.s { "Send me this report now" }
                }
            }
        }
    }
}

fn figures(report: &TeamReport) -> Markup {
    let (now, before) = (&report.totals, report.before.as_ref());
    let name = report.header.period.before().name();
    let compared = |value: Option<String>| value.map(|value| format!("{value} in {name}"));
    let figure = |title: &str, value: Option<String>, note: Option<String>| {
        html! {
            div {
                span { (title) }
                p.big { @match value { Some(value) => (value), None => (unknown()) } }
                @if let Some(note) = note { span { (note) } }
            }
        }
    };
    let uptime = |totals: &Totals| totals.uptime().map(|uptime| format!("{uptime} %"));
    let median = |totals: &Totals| totals.median_ms.map(|ms| format!("{} ms", grouped(ms.into())));
    let acknowledged = |totals: &Totals| totals.to_acknowledge.map(time::duration);
    let mean_of = counted(now.acknowledged as usize, "outage", "outages");
    html! {
        div.card.sum4 {
            (figure("Uptime", uptime(now), compared(before.and_then(uptime))))
            (figure("Downtime", Some(rounded_up(now.down)), compared(before.map(|before| rounded_up(before.down)))))
            (figure("Median response", median(now), compared(before.and_then(median))))
            (figure(
                "Mean time to acknowledge",
                acknowledged(now),
                compared(before.and_then(acknowledged)).or_else(|| (now.acknowledged > 0).then(|| format!("Mean of {mean_of}"))),
            ))
        }
    }
}

fn days(report: &TeamReport, clock: Clock<'_>) -> Markup {
    let days: Vec<_> = report
        .days
        .iter()
        .map(|day| {
            let down = SignedDuration::from_millis(day.figures.down_ms);
            let outages = day.figures.outages as usize;
            let bar = if outages == 0 { Bar::Up } else { Bar::Down(Downtime::of_duration(down)) };
            (bar, OutageDay { date: day.date, outages, down })
        })
        .collect();
    let bars: Vec<Bar> = days.iter().map(|(bar, _)| *bar).collect();
    let day = |line: Option<&(Bar, OutageDay)>| {
        line.map(|(_, day)| day.date.strftime("%-d %b").to_string())
    };
    html! {
        section.card {
            header { h2 { "Daily downtime, " (counted(report.sites, "site", "sites")) } span.quiet.small { (bars_label(&bars)) } }
            div.in {
                (day_bars(&days, clock, &|_| None))
                div.ends {
                    span { (day(days.first()).unwrap_or_default()) }
                    (chart::legend(bars.into_iter()))
                    span { (day(days.last()).unwrap_or_default()) }
                }
            }
        }
    }
}

fn objectives(report: &TeamReport) -> Markup {
    let others = report.objective_count.saturating_sub(report.objectives.len());
    html! {
        @if !report.objectives.is_empty() {
            section.card {
                header { h2 { "Objectives" } }
                table.t.cards-t.figs {
                    (layout::columns("Objectives, those of groups first", &["Sites", "Objective", "Budget", "Used", "Left"]))
                    tbody {
                        @for line in &report.objectives {
                            @let budget = line.result.budget;
                            tr {
                                td {
                                    bdi { (line.name) }
                                    @if let Some(sites) = line.sites { ", " (counted(sites as usize, "site", "sites")) }
                                }
                                td.n { div.only { "Objective" } (line.result.objective.percentage) " %" }
                                td.n { div.only { "Budget" } (budget.allowed_in_words()) }
                                td.n { div.only { "Used" } (budget.used_percent()) " %" }
                                td.n {
                                    div.only { "Left" }
                                    span.txt.down[line.result.is_missed()] { (budget.left_in_words(line.result.cadence_minutes)) }
                                }
                            }
                        }
                    }
                }
                @if others > 0 { footer.small { p.quiet { (others) " more" } } }
            }
        }
    }
}

fn extremes(report: &TeamReport) -> Markup {
    let line = |site: &SiteLine, figure: String| {
        html! {
            tr {
                td { a href={ "/sites/" (site.id) } { bdi { (site.name) } } }
                td.n { (figure) }
                td.n { @if let Some(uptime) = site.uptime { (uptime) " %" } }
            }
        }
    };
    let others = report.without_downtime.saturating_sub(report.best.len());
    html! {
        @if !report.worst.is_empty() || !report.best.is_empty() {
            div.halves {
                @if !report.worst.is_empty() {
                    section.card {
                        header { h2 { "Longest downtime" } }
                        table.t.figs {
                            (layout::columns("Sites with the longest downtime", &["Site", "Downtime", "Uptime"]))
                            tbody { @for site in &report.worst { (line(site, rounded_up(site.down))) } }
                        }
                    }
                }
                @if !report.best.is_empty() {
                    section.card {
                        header { h2 { "Fastest without downtime" } }
                        table.t.figs {
                            (layout::columns("The fastest sites without downtime", &["Site", "Median", "Uptime"]))
                            tbody {
                                @for site in &report.best {
                                    (line(site, site.median_ms.map(|ms| format!("{} ms", grouped(ms.into()))).unwrap_or_default()))
                                }
                            }
                        }
                        @if others > 0 { footer.small { p.quiet { (others) " more without downtime" } } }
                    }
                }
            }
        }
    }
}

fn outages(report: &TeamReport, users: &BTreeMap<UserId, User>, clock: Clock<'_>) -> Markup {
    let more = (report.totals.outages as usize).saturating_sub(report.outages.len());
    let name = |user: UserId| users.get(&user).map_or("Somebody", |user| user.name.as_str());
    html! {
        @if !report.outages.is_empty() {
            section.card {
                header { h2 { @if more > 0 { "Longest outages" } @else { "Outages" } } }
                table.t.cards-t {
                    (layout::columns("Outages, oldest first", &["Start", "Site and cause", "Acknowledged", "Length"]))
                    tbody {
                        @for line in &report.outages {
                            @let outage = &line.outage;
                            tr {
                                td.nb { div.only { "Start" } (clock.instant(outage.began_at)) }
                                td {
                                    div.only { "Site and cause" }
                                    a href={ "/issues/" (outage.issue) } { bdi { (line.name) } } ": " bdi { (outage.detail) }
                                }
                                td {
                                    div.only { "Acknowledged" }
                                    @match (outage.acknowledged, outage.acknowledged_after()) {
                                        (Some(taken), Some(after)) => {
                                            bdi { (taken.by.member().map_or("A reader of a channel", name)) } ", after " (time::duration(after))
                                        },
                                        _ => span.quiet { "Nobody" },
                                    }
                                }
                                td.nb {
                                    div.only { "Length" }
                                    (rounded_up(line.down))
                                    @if outage.ended_at.is_none() { " so far" }
                                }
                            }
                        }
                    }
                }
                @if more > 0 { footer.small { p.quiet { (counted(more, "more outage was shorter", "more outages were shorter")) } } }
            }
        }
    }
}

fn responses(report: &TeamReport) -> Markup {
    let before = report.header.period.before().name();
    html! {
        @if !report.responses.is_empty() {
            section.card {
                header { h2 { "Response time, against " (before) } }
                table.t.figs {
                    (layout::columns("Median response times", &["Site", "Before", "Now", "Change"]))
                    tbody {
                        @for line in &report.responses {
                            tr {
                                td { a href={ "/sites/" (line.id) } { bdi { (line.name) } } }
                                td.n { (grouped(line.before_ms.into())) " ms" }
                                td.n { (grouped(line.now_ms.into())) " ms" }
                                td.n {
                                    @let is_slower = line.now_ms > line.before_ms;
                                    span.txt.failing[line.is_large() && is_slower].up[line.is_large() && !is_slower] {
                                        (if is_slower { "+" } else { "−" }) (grouped(line.now_ms.abs_diff(line.before_ms).into())) " ms"
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn endings(report: &TeamReport, clock: Clock<'_>) -> Markup {
    let made_at = report.header.made_at;
    html! {
        @if !report.certificates.is_empty() || !report.domains.is_empty() {
            div.halves {
                (ending("Certificates that end soon", &report.certificates, made_at, clock))
                (ending("Domains that end soon", &report.domains, made_at, clock))
            }
        }
    }
}

fn ending(title: &str, endings: &[Ending], made_at: Timestamp, clock: Clock<'_>) -> Markup {
    html! {
        @if !endings.is_empty() {
            section.card {
                header { h2 { (title) } }
                table.t.cards-t.figs {
                    (layout::columns(title, &["Name", "End", "Left"]))
                    tbody {
                        @for Ending { name, at } in endings {
                            @let left = at.duration_since(made_at);
                            tr {
                                td { bdi { (name) } }
                                td.n { div.only { "End" } (clock.day(*at)) }
                                td.n {
                                    div.only { "Left" }
                                    @match left.as_hours().div_euclid(24) {
                                        ..0 => span.txt.down { "expired" },
                                        days => span.txt[left < VERY_SOON].issues[left < VERY_SOON] { "in " (counted(days as usize, "day", "days")) },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Broken links and Lighthouse scores.
fn changes(report: &TeamReport) -> Markup {
    let score = |score: u16| format!("{}.{}", score / 100, score / 10 % 10);
    html! {
        @if !report.links.is_empty() || !report.scores.is_empty() {
            div.halves {
                @if !report.links.is_empty() {
                    section.card {
                        header { h2 { "Broken links" } }
                        table.t.figs {
                            (layout::columns("Broken links", &["Site", "New", "Fixed", "Broken now"]))
                            tbody {
                                @for line in &report.links {
                                    tr {
                                        td { a href={ "/sites/" (line.id) } { bdi { (line.name) } } }
                                        td.n { (line.new) } td.n { (line.fixed) } td.n { (line.broken) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if !report.scores.is_empty() {
                    section.card {
                        header { h2 { "Lighthouse score" } }
                        table.t.figs {
                            (layout::columns("Mean Lighthouse scores", &["Site", "Before", "Now"]))
                            tbody {
                                @for line in &report.scores {
                                    tr {
                                        td { a href={ "/sites/" (line.id) } { bdi { (line.name) } } }
                                        td.n { (score(line.before)) } td.n { (score(line.now)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn heartbeats(team: &TeamWithSettings, report: &TeamReport) -> Markup {
    html! {
        @if !report.heartbeats.is_empty() {
            section.card {
                header { h2 { "Heartbeats" } }
                table.t.figs {
                    (layout::columns("Heartbeats", &["Heartbeat", "Runs", "Failed or missed"]))
                    tbody {
                        @for line in &report.heartbeats {
                            tr {
                                td { a href=(link::heartbeat("", team.id(), line.id)) { bdi { (line.name) } } }
                                td.n { (grouped(line.runs)) }
                                td.n { (grouped(line.runs - line.succeeded)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn undelivered(report: &TeamReport) -> Markup {
    html! {
        @if !report.undelivered.is_empty() {
            section.card {
                header { h2 { "Alerts that could not be delivered" } }
                table.t.figs {
                    (layout::columns("Alerts that could not be delivered", &["Channel", "Alerts"]))
                    tbody {
                        @for (channel, count) in &report.undelivered {
                            tr { td { bdi { (channel) } } td.n { (count) } }
                        }
                    }
                }
            }
        }
    }
}
