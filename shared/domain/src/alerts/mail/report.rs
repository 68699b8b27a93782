//! A report as an email: the figures that matter most, in tables with inline styles, and the same as text.

use std::iter;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{UNSUBSCRIBE, signature};
use crate::alerts::text::one_line;
use crate::reports::{TeamReport, Totals, rounded_up};
use crate::time;
use crate::wording::capitalized;

/// The longest line of the text, in characters.
const COLUMNS: usize = 78;
/// What an email program may leave out: the dark colors, and smaller margins on phones.
const STYLE: &str = "@media (prefers-color-scheme:dark){.bg{background:#0b0d10!important}\
    .cd{background:#13161b!important;border-color:#262c35!important}\
    .cd h1,.cd h2,.cd td,.cd th{color:#eceff3!important;border-color:#262c35!important}\
    .cd .mu{color:#9ba5b3!important}.btn{background:#eceff3!important;color:#13161b!important}}\
    @media (max-width:600px){.cd>tbody>tr>td{padding-left:20px!important;padding-right:20px!important}}";
const FONT: &str =
    "font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const SMALL: &str = "font-size:13px;line-height:18px;color:#586170";
const CELL: &str = "padding:8px 0;border-top:1px solid #e2e6eb;font-size:14px;line-height:20px;\
    color:#14181f;text-align:left;vertical-align:top;overflow-wrap:anywhere";
const FIGURE: &str = "padding:8px 0 8px 12px;border-top:1px solid #e2e6eb;font-size:14px;\
    line-height:20px;color:#14181f;text-align:right;vertical-align:top;white-space:nowrap";

/// A report that is emailed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportMail {
    /// The name of the team.
    pub team: String,
    /// The report.
    pub report: TeamReport,
}

/// A list of the report.
struct Section {
    title: &'static str,
    rows: Vec<Row>,
}

/// A line of a list.
struct Row {
    name: String,
    note: String,
    figure: String,
}

/// A figure of the period, and that of the period before.
struct Figure {
    label: &'static str,
    now: String,
    before: Option<String>,
}

impl ReportMail {
    /// The headline, with the group if the report is about one.
    pub(super) fn subject(&self) -> String {
        let headline = self.report.headline();
        match &self.report.group {
            Some(group) => format!("{}: {headline}", one_line(group)),
            None => headline,
        }
    }

    pub(super) fn summary(&self) -> String {
        one_line(&self.report.summary().unwrap_or_default())
    }

    /// What it is about: the team, the group and the days.
    fn about(&self) -> [String; 2] {
        let group = self.report.group.iter().map(|group| one_line(group));
        let names: Vec<_> = iter::once(one_line(&self.team)).chain(group).collect();
        [names.join(", "), self.report.header.period.days_named()]
    }

    /// The main figures, without those that nobody knows.
    fn figures(&self) -> Vec<Figure> {
        type Value = fn(&Totals) -> Option<String>;
        let values: [(&'static str, Value); 4] = [
            ("Uptime", |of| Some(format!("{} %", of.uptime()?))),
            ("Downtime", |of| of.uptime().map(|_| rounded_up(of.down))),
            ("Median response", |of| Some(format!("{} ms", of.median_ms?))),
            ("Mean time to acknowledge", |of| of.to_acknowledge.map(time::duration)),
        ];
        let TeamReport { totals, before, .. } = &self.report;
        let said = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let figures = values.into_iter().filter_map(|(label, value)| {
            let (now, before) = (value(totals), before.as_ref().map(value));
            let is_known = now.is_some() || before.iter().flatten().next().is_some();
            is_known.then(|| Figure { label, now: said(now), before: before.map(said) })
        });
        figures.collect()
    }

    /// The lists that have lines.
    fn sections(&self) -> Vec<Section> {
        let TeamReport { header, objectives, worst, outages, certificates, domains, .. } =
            &self.report;
        let day = |at| time::day(at, header.made_at, &header.zone);
        let worst = worst.iter().map(|site| Row {
            name: one_line(&site.name),
            note: site.uptime.map_or_else(|| "–".to_owned(), |uptime| format!("{uptime} %")),
            figure: rounded_up(site.down),
        });
        let outages = outages.iter().map(|line| Row {
            name: one_line(&format!("{}: {}", line.name, line.outage.detail)),
            note: format!(
                "{}, {}",
                day(line.outage.began_at),
                time::clock(line.outage.began_at, &header.zone)
            ),
            figure: rounded_up(line.down),
        });
        let certificates = certificates.iter().map(|ending| ("Certificate", ending));
        let mut ends: Vec<_> =
            certificates.chain(domains.iter().map(|ending| ("Domain", ending))).collect();
        ends.sort_by_key(|(_, ending)| ending.at);
        let ends = ends.into_iter().map(|(kind, ending)| Row {
            name: one_line(&ending.name),
            note: kind.to_owned(),
            figure: day(ending.at),
        });
        let objectives = objectives.iter().map(|line| Row {
            name: one_line(&line.name),
            note: format!("{} %", line.result.objective.percentage),
            figure: line.result.budget.left_in_words(line.result.cadence_minutes),
        });
        let sections = [
            Section { title: "Objectives", rows: objectives.collect() },
            Section { title: "Longest downtime", rows: worst.collect() },
            Section { title: "Outages", rows: outages.collect() },
            Section { title: "Ends soon", rows: ends.collect() },
        ];
        sections.into_iter().filter(|section| !section.rows.is_empty()).collect()
    }

    /// The text of the email.
    pub(super) fn plain(&self, (follow, url): (&str, &str), unsubscribe: Option<&str>) -> String {
        let mut parts = vec![wrapped("", &self.about().join(", ")), wrapped("", &self.subject())];
        parts.push(wrapped("", &self.summary()));
        parts.push(self.compared());
        parts.extend(self.sections().iter().map(Section::plain));
        parts.push(format!("{follow}:\n{url}"));
        parts.push(wrapped("", &self.report.method().join(" ")));
        parts.extend(unsubscribe.map(signature));
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n") + "\n"
    }

    /// The main figures, in columns.
    fn compared(&self) -> String {
        let period = self.report.header.period;
        let figures = self.figures();
        if figures.is_empty() {
            return String::new();
        }
        let column = |head: String, value: &dyn Fn(&Figure) -> String| {
            iter::once(head).chain(figures.iter().map(value)).collect::<Vec<_>>()
        };
        let mut columns = vec![
            column(String::new(), &|figure| figure.label.to_owned()),
            column(capitalized(&period.name()), &|figure| figure.now.clone()),
        ];
        if self.report.before.is_some() {
            let before = column(capitalized(&period.before().name()), &|figure| {
                figure.before.clone().unwrap_or_default()
            });
            columns.push(before);
        }
        let widths: Vec<usize> = columns.iter().map(|column| width(column.iter())).collect();
        let lines = (0..=figures.len()).map(|line| {
            let cells = columns.iter().zip(&widths);
            let cells = cells.map(|(column, width)| format!("{:width$}", column[line]));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The email as a page with one column.
    pub(super) fn html(&self, (follow, url): (&str, &str), unsubscribe: Option<&str>) -> String {
        let [team, days] = self.about();
        let (subject, summary) = (self.subject(), self.summary());
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="supported-color-schemes" content="light dark";
                    title { (subject) }
                    style { (PreEscaped(STYLE)) }
                }
                body.bg style="margin:0;padding:0;background:#f7f8fa" {
                    div style="display:none;max-height:0;overflow:hidden" { (summary) }
                    table.bg role="presentation" width="100%" cellpadding="0" cellspacing="0" style={ "background:#f7f8fa;" (FONT) } {
                        tr { td align="center" style="padding:24px 12px" {
                            table.cd role="presentation" width="600" cellpadding="0" cellspacing="0" style={ "width:100%;max-width:600px;text-align:left;background:#ffffff;border:1px solid #e2e6eb;border-radius:12px;" (FONT) } {
                                tbody {
                                    tr { td.mu style={ "padding:24px 32px 0;" (SMALL) } { bdi { (team) } ", " (days) } }
                                    tr { td style="padding:10px 32px 0" {
                                        h1 style="margin:0;font-size:24px;line-height:30px;font-weight:650;color:#14181f;overflow-wrap:anywhere" { (subject) }
                                    } }
                                    @if !summary.is_empty() {
                                        tr { td.mu style="padding:8px 32px 0;font-size:15px;line-height:22px;color:#586170;overflow-wrap:anywhere" { (summary) } }
                                    }
                                    @let figures = self.figures();
                                    @if !figures.is_empty() {
                                        tr { td style="padding:20px 32px 0" { (self.comparison(&figures)) } }
                                    }
                                    @for section in self.sections() { (section.html()) }
                                    tr { td style="padding:28px 32px 0" {
                                        a.btn href=(url) style="display:inline-block;padding:10px 18px;border-radius:7px;background:#14181f;color:#ffffff;font-size:14px;line-height:20px;font-weight:600;text-decoration:none" { (follow) }
                                    } }
                                    tr { td.mu style="padding:24px 32px 28px;font-size:12px;line-height:18px;color:#586170" {
                                        (self.report.method().join(" "))
                                        @if let Some(url) = unsubscribe { br; br; a.mu href=(url) style="color:#586170" { (UNSUBSCRIBE) } }
                                    } }
                                }
                            }
                        } }
                    }
                }
            }
        };
        page.into_string()
    }

    fn comparison(&self, figures: &[Figure]) -> Markup {
        let period = self.report.header.period;
        let has_before = self.report.before.is_some();
        html! {
            table width="100%" cellpadding="0" cellspacing="0" {
                tr {
                    td style=(CELL) {}
                    th scope="col" style=(FIGURE) { (capitalized(&period.name())) }
                    @if has_before { th.mu scope="col" style={ (FIGURE) ";font-weight:400;color:#586170" } { (capitalized(&period.before().name())) } }
                }
                @for figure in figures {
                    tr {
                        th scope="row" style={ (CELL) ";font-weight:400" } { (figure.label) }
                        td style={ (FIGURE) ";font-weight:600" } { (figure.now) }
                        @if let Some(before) = &figure.before { td.mu style={ (FIGURE) ";color:#586170" } { (before) } }
                    }
                }
            }
        }
    }
}

impl Section {
    fn plain(&self) -> String {
        let notes = width(self.rows.iter().map(|row| &row.note));
        let figures = width(self.rows.iter().map(|row| &row.figure));
        let lines = self.rows.iter().map(|row| {
            let Row { name, note, figure } = row;
            wrapped(&format!("{note:<notes$}  {figure:>figures$}  "), name)
        });
        let title = iter::once(self.title.to_uppercase());
        title.chain(lines).collect::<Vec<_>>().join("\n")
    }

    fn html(&self) -> Markup {
        html! {
            tr { td style="padding:28px 32px 4px" {
                h2 style="margin:0;font-size:15px;line-height:20px;font-weight:600;color:#14181f" { (self.title) }
            } }
            tr { td style="padding:4px 32px 0" {
                table role="presentation" width="100%" cellpadding="0" cellspacing="0" {
                    @for row in &self.rows {
                        tr {
                            td style=(CELL) { bdi { (row.name) } div.mu style=(SMALL) { (row.note) } }
                            td style=(FIGURE) { (row.figure) }
                        }
                    }
                }
            } }
        }
    }
}

/// The length of the longest text, in characters.
fn width<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or_default()
}

/// A text in lines of at most [`COLUMNS`] characters. The first one begins with `start`, and the others are indented by
/// its length. A word that is longer than a line is broken.
fn wrapped(start: &str, text: &str) -> String {
    let indent = start.chars().count();
    let room = COLUMNS.saturating_sub(indent).max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let mut rest: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + rest.len() > room {
            lines.push(String::new());
            used = 0;
        }
        while rest.len() > room {
            let broken: String = rest.drain(..room).collect();
            lines.last_mut().into_iter().for_each(|line| line.push_str(&broken));
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            used += rest.len();
            line.extend(rest);
        }
    }
    format!("{start}{}", lines.join(&format!("\n{}", " ".repeat(indent))))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::{SignedDuration, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::alerts::mail::{Envelope, TransactionalMail, TransactionalMailKind, mail};
    use crate::checks::percentage::Percentage;
    use crate::id::{IssueId, SiteId};
    use crate::issues::Fingerprint;
    use crate::issues::outage::{Cause, OutageRecord};
    use crate::objectives::{Budget, Objective, ObjectivePercentage, ObjectivePeriod};
    use crate::reports::{
        CheckCounts, Ending, ObjectiveLine, ObjectiveResult, OutageLine, ReportHeader,
        ReportPeriod, SiteLine,
    };
    use crate::time_zone::NamedZone;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    fn outage(name: &str, detail: &str, minutes: i64) -> OutageLine {
        let site = SiteId(Uuid::from_u128(1));
        let began_at = at("2026-10-04T01:31:00Z");
        let down = SignedDuration::from_mins(minutes);
        let outage = OutageRecord {
            issue: IssueId::new(site, Fingerprint::StatusDown, began_at),
            site,
            opened_at: began_at,
            began_at,
            ended_at: Some(began_at + down),
            cause: Cause::Http,
            detail: detail.to_owned(),
            acknowledged: None,
            resolved_by: None,
        };
        OutageLine { name: name.to_owned(), outage, down }
    }

    fn totals(down: i64, median_ms: u32) -> Totals {
        Totals {
            counts: CheckCounts { checks: 10_000, up: 9_999, ..CheckCounts::default() },
            outages: 2,
            down: SignedDuration::from_mins(down),
            median_ms: Some(median_ms),
            to_acknowledge: None,
            acknowledged: 0,
        }
    }

    fn october() -> ReportMail {
        let site = |name: &str, down| SiteLine {
            id: SiteId(Uuid::from_u128(1)),
            name: name.to_owned(),
            uptime: Percentage::of(999, 1_000),
            down: SignedDuration::from_mins(down),
            median_ms: None,
        };
        let ending = |name: &str, on: &str| Ending {
            name: name.to_owned(),
            at: at(&format!("{on}T10:00:00Z")),
        };
        let budget = Budget { allowed_seconds: 2_678, used_seconds: 2_460 };
        let objective = Objective {
            percentage: ObjectivePercentage::of(99.9).expect("a percentage"),
            period: ObjectivePeriod::Month,
            counts_maintenance: false,
        };
        let result = ObjectiveResult { objective, budget, cadence_minutes: 1 };
        let report = TeamReport {
            header: ReportHeader {
                period: ReportPeriod::Month(date(2026, 10, 1)),
                zone: NamedZone::parse("Europe/Berlin").expect("a zone"),
                made_at: at("2026-11-01T05:00:00Z"),
                groups: Vec::new(),
                objectives: Vec::new(),
                known_from: None,
                is_cut: false,
            },
            group: None,
            sites: 61,
            totals: totals(48, 184),
            before: Some(totals(112, 190)),
            days: Vec::new(),
            objectives: vec![ObjectiveLine {
                name: "Payments and checkout".to_owned(),
                sites: Some(2),
                result,
            }],
            missed_objectives: 0,
            objective_count: 1,
            worst: vec![site("Checkout and payment gateway (EU)", 41), site("Supplier sign-in", 7)],
            best: Vec::new(),
            without_downtime: 59,
            outages: vec![
                outage("Checkout and payment gateway (EU)", "certificate expired", 41),
                outage("Supplier sign-in", "HTTP 502 Bad Gateway", 7),
            ],
            responses: Vec::new(),
            certificates: vec![ending("warehouse.meridian.example", "2026-11-30")],
            domains: vec![ending("meridian-goods.example", "2026-11-14")],
            links: Vec::new(),
            scores: Vec::new(),
            heartbeats: Vec::new(),
            undelivered: Vec::new(),
        };
        ReportMail { team: "Meridian Goods".to_owned(), report }
    }

    const LINK: (&str, &str) =
        ("View the whole report", "https://vedette.example.com/teams/3/reports/2026-10");
    const END: Option<&str> =
        Some("https://vedette.example.com/subscriptions/3/4/unsubscribe?key=5");

    fn plain(mail: &ReportMail) -> String {
        let plain = mail.plain(LINK, END);
        for line in plain.lines().filter(|line| !line.contains("https://vedette.example.com")) {
            assert!(line.chars().count() <= COLUMNS, "{line}");
        }
        plain
    }

    #[test]
    fn a_report_is_readable_as_text() {
        insta::assert_snapshot!(plain(&october()), @r"
        Meridian Goods, 1 to 31 October 2026

        99.99 % uptime in October 2026, and the objective was met

        The 2 outages took 48 min in total. The longest took 41 min: Checkout and
        payment gateway (EU) on 4 Oct (certificate expired).

                         October 2026  September 2026
        Uptime           99.99 %       99.99 %
        Downtime         48 min        1 h 52 min
        Median response  184 ms        190 ms

        OBJECTIVES
        99.9 %  3 min left  Payments and checkout

        LONGEST DOWNTIME
        99.90 %  41 min  Checkout and payment gateway (EU)
        99.90 %   7 min  Supplier sign-in

        OUTAGES
        4 Oct, 03:31  41 min  Checkout and payment gateway (EU): certificate expired
        4 Oct, 03:31   7 min  Supplier sign-in: HTTP 502 Bad Gateway

        ENDS SOON
        Domain       14 Nov  meridian-goods.example
        Certificate  30 Nov  warehouse.meridian.example

        View the whole report:
        https://vedette.example.com/teams/3/reports/2026-10

        Vedette made 10 000 of the 10 000 checks that were due. An outage lasts from
        its first failed check to the next good one, or until somebody resolves it or
        monitoring ends. Other problems are not downtime. Downtime is the time of all
        outages in the period, rounded up to whole minutes. Uptime is the share of
        successful checks, rounded down. So a short outage may change one and not the
        other. No outage opens in a maintenance window, and one that opened before
        counts until it ends. Paused time and checks that could not run do not count.
        The uptime of several sites is that of all their checks together. The median
        response is the median of the sites, and that of a site is the median of its
        hourly means. For an objective, a group is down while any of its sites is
        down. Its budget is the downtime that it allows in the period of the report.
        Days and times are in Europe/Berlin.

        -- 
        Unsubscribe this address: https://vedette.example.com/subscriptions/3/4/unsubscribe?key=5
        ");
        let mut week = october();
        week.report.header.period = ReportPeriod::Week(date(2026, 10, 26));
        week.report.totals = Totals::default();
        week.report.before = None;
        week.report.objectives.clear();
        week.report.objective_count = 0;
        week.report.worst.clear();
        week.report.outages.clear();
        week.report.certificates.clear();
        week.report.domains.clear();
        week.report.group = Some("Shops".to_owned());
        insta::assert_snapshot!(plain(&week), @r"
        Meridian Goods, Shops, 26 October to 1 November 2026

        Shops: Nothing was checked in week 44 of 2026

        View the whole report:
        https://vedette.example.com/teams/3/reports/2026-10

        Vedette made 0 of the 0 checks that were due. An outage lasts from its first
        failed check to the next good one, or until somebody resolves it or monitoring
        ends. Other problems are not downtime. Downtime is the time of all outages in
        the period, rounded up to whole minutes. Uptime is the share of successful
        checks, rounded down. So a short outage may change one and not the other. No
        outage opens in a maintenance window, and one that opened before counts until
        it ends. Paused time and checks that could not run do not count. The uptime of
        several sites is that of all their checks together. The median response is the
        median of the sites, and that of a site is the median of its hourly means.
        Days and times are in Europe/Berlin.

        -- 
        Unsubscribe this address: https://vedette.example.com/subscriptions/3/4/unsubscribe?key=5
        ");
    }

    #[test]
    fn a_report_has_the_headers_with_which_programs_unsubscribe() {
        let (url, unsubscribe_url) = (LINK.1.to_owned(), END.map(str::to_owned));
        let kind = TransactionalMailKind::Report(Box::new(october()));
        let envelope = Envelope {
            from: "Vedette <alerts@vedette.example.com>".to_owned(),
            to: "kate@example.com".to_owned(),
            message_id: "1@vedette.example.com".to_owned(),
            at: at("2026-11-01T05:00:00Z"),
            unsubscribe_url: None,
            host: "vedette.example.com".to_owned(),
        };
        let mail = mail(&TransactionalMail { kind, url, unsubscribe_url }, &envelope);
        let written = String::from_utf8(mail.expect("a mail").formatted()).expect("ASCII");
        let (headers, _) = written.split_once("\r\n\r\n").expect("headers");
        insta::assert_snapshot!(headers.replace("\r\n", "\n"), @r#"
        From: Vedette <alerts@vedette.example.com>
        To: kate@example.com
        Subject: 99.99 % uptime in October 2026, and the objective was met
        Date: Sun, 01 Nov 2026 05:00:00 +0000
        Message-ID: <1@vedette.example.com>
        Auto-Submitted: auto-generated
        X-Auto-Response-Suppress: All
        List-Unsubscribe: <https://vedette.example.com/subscriptions/3/4/unsubscribe?key=5>
        List-Unsubscribe-Post: List-Unsubscribe=One-Click
        MIME-Version: 1.0
        Content-Type: multipart/alternative;
         boundary="ebf66be4564c2f56c0263d292cfdefc5eb8fcf0a"
        "#);
    }

    #[test]
    fn names_are_escaped_and_stay_on_one_line() {
        let hostile = "<b>\u{202e}\u{5d0}\u{5d1}\r\nBcc: x@example.com\" onclick=\"x";
        let long = "a".repeat(255);
        let mut mail = october();
        mail.team = hostile.to_owned();
        mail.report.group = Some(hostile.to_owned());
        mail.report.worst[0].name = hostile.to_owned();
        mail.report.worst[1].name = long.clone();
        mail.report.outages[0] = outage(hostile, hostile, 41);
        mail.report.outages[1] = outage(&long, "連".repeat(200).as_str(), 7);
        mail.report.certificates[0].name = hostile.to_owned();
        let text = plain(&mail);
        let unwrapped: String = text.split_whitespace().collect();
        assert!(unwrapped.contains(&long) && !text.contains('\u{202e}'), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        let html = mail.html(LINK, END);
        let safe = "&lt;b&gt;\u{5d0}\u{5d1} Bcc: x@example.com&quot; onclick=&quot;x";
        assert!(html.contains(&format!("<bdi>{safe}</bdi>")), "{html}");
        assert!(!html.contains("<b>") && !html.contains('\u{202e}') && !html.contains('\n'));
        for resource in ["<img", "<script", "<link", "src=", "url(", "@import", "@font-face"] {
            assert!(!html.contains(resource), "{resource}");
        }
        let links: Vec<_> =
            html.split("href=\"").skip(1).filter_map(|at| at.split('"').next()).collect();
        assert_eq!(links, [LINK.1, END.expect("a link")]);
    }

    #[test]
    fn the_html_has_the_figures_of_the_text() {
        let html = october().html(LINK, END);
        for figure in [
            "99.99 %",
            "48 min",
            "1 h 52 min",
            "184 ms",
            "190 ms",
            "99.90 %",
            "41 min",
            "30 Nov",
            "14 Nov",
            "4 Oct, 03:31",
        ] {
            assert!(html.contains(figure), "{figure}: {html}");
        }
        assert!(html.contains("max-width:600px") && html.contains("prefers-color-scheme:dark"));
    }
}
