//! A report as an email: the figures that matter most, in tables with inline styles, and the same as text.

use std::iter;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{UNSUBSCRIBE, signature};
use crate::alerts::text::one_line;
use crate::reports::{Report, Totals, rounded_up};
use crate::time;

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
    pub report: Report,
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

    fn figures(&self) -> [Figure; 4] {
        type Value = fn(&Totals) -> Option<String>;
        let values: [(&'static str, Value); 4] = [
            ("Uptime", |of| Some(format!("{} %", of.uptime()?))),
            ("Downtime", |of| Some(rounded_up(of.down))),
            ("Median response", |of| Some(format!("{} ms", of.median_ms?))),
            ("Mean time to acknowledge", |of| of.to_acknowledge.map(time::duration)),
        ];
        let Report { totals, before, .. } = &self.report;
        let said = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        values.map(|(label, value)| Figure {
            label,
            now: said(value(totals)),
            before: before.as_ref().map(|before| said(value(before))),
        })
    }

    /// The lists that have lines.
    fn sections(&self) -> Vec<Section> {
        let Report { header, objectives, worst, outages, certificates, domains, .. } = &self.report;
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
        let column = |head: String, value: &dyn Fn(&Figure) -> String| {
            iter::once(head).chain(figures.iter().map(value)).collect::<Vec<_>>()
        };
        let mut columns = vec![
            column(String::new(), &|figure| figure.label.to_owned()),
            column(period.name(), &|figure| figure.now.clone()),
        ];
        if self.report.before.is_some() {
            let before =
                column(period.before().name(), &|figure| figure.before.clone().unwrap_or_default());
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
                                    tr { td style="padding:20px 32px 0" { (self.comparison()) } }
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

    fn comparison(&self) -> Markup {
        let period = self.report.header.period;
        let has_before = self.report.before.is_some();
        html! {
            table width="100%" cellpadding="0" cellspacing="0" {
                tr {
                    td style=(CELL) {}
                    th scope="col" style=(FIGURE) { (period.name()) }
                    @if has_before { th.mu scope="col" style={ (FIGURE) ";font-weight:400;color:#586170" } { (period.before().name()) } }
                }
                @for figure in self.figures() {
                    tr {
                        th scope="row" style={ (CELL) ";font-weight:400" } { (figure.label) }
                        td style={ (FIGURE) ";font-weight:600" } { (figure.now) }
                        @if let Some(before) = figure.before { td.mu style={ (FIGURE) ";color:#586170" } { (before) } }
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
