//! The openings of issues that contain the failed checks of a page.

use futures::future::try_join_all;
use jiff::Timestamp;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{CheckId, IssueId, Partition};
use vedette_domain::issues::opening::Opening;
use vedette_domain::issues::record::Issue;
use vedette_store::{Store, StoreError};

/// An opening, with the times between which its checks failed.
struct Contained {
    issue: IssueId,
    tool: Tool,
    /// The check that opened it.
    check: CheckId,
    /// The first of the failed checks that opened it.
    begins: Timestamp,
    /// When it was resolved, if it was.
    ends: Option<Timestamp>,
}

/// The newest openings of the issues of a site.
pub(super) struct Openings(Vec<Contained>);

impl Openings {
    /// Reads the openings of the issues that the failed checks may belong to.
    pub(super) async fn read<'a>(
        store: &Store,
        partition: Partition,
        failed: impl Iterator<Item = &'a Check>,
    ) -> Result<Self, StoreError> {
        let tools: Vec<Tool> = failed.map(|check| check.id.tool()).collect();
        if tools.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let mut issues = store.issues_of_site(partition).await?;
        issues.retain(|issue| tools.contains(&issue.id.fingerprint().tool()));
        let openings = issues.iter().map(|issue| store.openings(issue.id));
        let openings = try_join_all(openings).await?;
        let of_issue = |(issue, openings): (&Issue, Vec<Opening>)| {
            openings.iter().map(|opening| contained(issue, opening)).collect::<Vec<_>>()
        };
        Ok(Self(issues.iter().zip(openings).flat_map(of_issue).collect()))
    }

    /// The issue whose opening contains a failed check, and whether the check opened it.
    pub(super) fn of(&self, check: CheckId) -> Option<(IssueId, bool)> {
        let at = check.created_at();
        let contains = |opening: &&Contained| {
            opening.tool == check.tool()
                && opening.begins <= at
                && opening.ends.is_none_or(|end| at <= end)
        };
        let found = self.0.iter().filter(contains).max_by_key(|opening| opening.check == check)?;
        Some((found.issue, found.check == check))
    }
}

fn contained(issue: &Issue, opening: &Opening) -> Contained {
    let outages = issue.timeline.outages();
    let outage = outages.iter().find(|outage| outage.opened_at == opening.opened_at);
    let first = opening.context["first_failed_at"].as_str().and_then(|at| at.parse().ok());
    Contained {
        issue: issue.id,
        tool: issue.id.fingerprint().tool(),
        check: opening.check,
        begins: first.unwrap_or_else(|| opening.check.created_at()),
        // The timeline of an issue that opened many times begins later.
        ends: outage.map_or(Some(opening.opened_at), |outage| outage.ended_at),
    }
}
