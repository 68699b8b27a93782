//! Three checks side by side: the last good one, the one that opened the issue, and the newest.

use maud::{Markup, html};
use vedette_domain::checks::check::Check;
use vedette_domain::checks::evidence::{CheckEvidence, Evidence};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::CheckId;
use vedette_domain::locations::{LocationVote, Vote, Votes};

use super::{IssueView, measured};
use crate::checks::summary;
use crate::words;

/// A column of the comparison.
struct Column {
    head: &'static str,
    check: Option<CheckId>,
    facts: Vec<(&'static str, Markup)>,
}

/// The comparison, with links to the checks. Rows in which nothing changed are below the others, folded away; rows in
/// which nothing is known about any check are left out.
pub(super) fn card(view: &IssueView<'_>) -> Markup {
    let columns = columns(view);
    let mut labels: Vec<&'static str> = Vec::new();
    for (label, _) in columns.iter().flat_map(|column| &column.facts) {
        if !labels.contains(label) {
            labels.push(label);
        }
    }
    let (steady, changed): (Vec<_>, Vec<_>) =
        labels.into_iter().partition(|label| is_steady(label, &columns));
    html! {
        section.card {
            header { h2 { "What changed" } }
            table.t.cards-t {
                caption.hide { "Checks of this issue, side by side" }
                (head(&columns))
                tbody {
                    @for label in changed { (row(label, &columns)) }
                    (row_of("Check", &columns, |column| {
                        column.check.map(|check| html! { a href={ "/checks/" (check) } { (view.clock.second(check.created_at())) } })
                    }))
                }
            }
            @if !steady.is_empty() {
                details.list.in {
                    summary { "What stayed the same" }
                    table.t.cards-t {
                        caption.hide { "What stayed the same, side by side" }
                        (head(&columns))
                        tbody { @for label in steady { (row(label, &columns)) } }
                    }
                }
            }
            (measured::tables(&view.issue.context["measured"]))
            (locations(&Votes::read(&view.issue.context)))
        }
    }
}

fn head(columns: &[Column]) -> Markup {
    html! {
        thead {
            tr {
                th scope="col" { span.hide { "Property" } }
                @for column in columns { th scope="col" { (column.head) } }
            }
        }
    }
}

/// Whether all checks have the same value in a row, which at least two of them have.
fn is_steady(label: &str, columns: &[Column]) -> bool {
    let values: Vec<_> = columns
        .iter()
        .filter_map(|column| column.facts.iter().find(|(name, _)| *name == label))
        .map(|(_, value)| &value.0)
        .collect();
    values.len() == columns.len()
        && values.windows(2).all(|pair| pair[0] == pair[1])
        && values.len() > 1
}

/// What other locations saw when the issue opened.
fn locations(votes: &Votes) -> Markup {
    if votes.given().is_empty() {
        return Markup::default();
    }
    html! {
        h3.in { "From other locations" }
        dl.facts.in {
            @for given in votes.given() {
                dt { (given.location) }
                dd { (vote(given)) bdi { (given.words()) } }
            }
        }
    }
}

/// The location's vote, which precedes what it saw.
fn vote(given: &LocationVote) -> &'static str {
    match (given.vote, &given.status) {
        (Vote::Agrees, _) => "Down: ",
        (Vote::Disagrees, _) => "Up: ",
        (Vote::Missing(_), Some(_)) => "No result: ",
        (Vote::Missing(_), None) => "No result: it ",
    }
}

fn row(label: &'static str, columns: &[Column]) -> Markup {
    row_of(label, columns, |column| {
        let fact = column.facts.iter().find(|(name, _)| *name == label);
        fact.map(|(_, value)| value.clone())
    })
}

fn row_of(
    label: &'static str,
    columns: &[Column],
    value: impl Fn(&Column) -> Option<Markup>,
) -> Markup {
    html! {
        tr {
            th scope="row" { (label) }
            @for column in columns {
                td {
                    span.only { (column.head) }
                    @match value(column) {
                        Some(value) => (value),
                        None => (words::unknown()),
                    }
                }
            }
        }
    }
}

fn columns(view: &IssueView<'_>) -> Vec<Column> {
    let IssueView { issue, monitor, found, .. } = view;
    let tool = issue.id.fingerprint().tool();
    let opening = found.checks.opening;
    let mut opened = measured::facts(&issue.context["measured"], monitor, view.clock);
    opened.extend(of_evidence(found.evidence.first.as_ref()));
    let mut columns = Vec::new();
    let of_check = |head, check: &Check, evidence: Option<&CheckEvidence>| {
        let mut facts = match &check.result {
            Some(result) if tool == Tool::Status => {
                let messages = check.unmet.iter().map(|unmet| unmet.message.as_str());
                let unmet = measured::unmet_messages(messages);
                let mut facts = measured::facts(result, monitor, view.clock);
                facts.extend(unmet.map(|unmet| ("Not as expected", unmet)));
                facts
            }
            _ => vec![("Result", summary(check))],
        };
        // Not every response is kept.
        facts.extend(of_evidence(evidence.filter(|kept| kept.check == check.id)));
        Column { head, check: Some(check.id), facts }
    };
    if let Some(good) = found.checks.last_good.and_then(|id| found.checks.read.get(&id)) {
        columns.push(of_check("Last good", good, found.evidence.good.as_ref()));
    }
    columns.push(Column { head: "At opening", check: opening, facts: opened });
    let newest = found.evidence.newest.as_ref().or(found.evidence.first.as_ref());
    let is_active = issue.lifecycle.is_active();
    let now = found.checks.now.filter(|now| Some(*now) != opening);
    if let Some(now) = now.and_then(|id| found.checks.read.get(&id)) {
        let head = if is_active { "Now" } else { "When resolved" };
        columns.push(of_check(head, now, newest.filter(|_| is_active)));
    }
    columns
}

/// What evidence adds to the comparison.
fn of_evidence(of: Option<&CheckEvidence>) -> Vec<(&'static str, Markup)> {
    let Some(CheckEvidence { evidence, .. }) = of else { return Vec::new() };
    let Evidence { address, headers, .. } = evidence;
    let server = headers.iter().find(|header| header.name == "server");
    let mut facts = Vec::new();
    facts.extend(server.map(|server| ("Server", html! { bdi { (server.value) } })));
    facts.extend(address.map(|address| ("Address", html! { span.nb { (address.ip()) } })));
    facts
}
