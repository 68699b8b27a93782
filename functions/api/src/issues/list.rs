//! `GET /issues`: issues of the caller's teams, the latest opened first.

use futures::future::try_join_all;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::issues::{IssueStatus, Severity};
use vedette_http::error::ApiError;
use vedette_http::paging::{self, PageRequest};
use vedette_http::query::Query;
use vedette_http::response::Response;
use vedette_http::validation::{Errors, ValidationError};
use vedette_routing::TeamsAccess;
use vedette_store::IndexRow;

use super::show;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    TeamsAccess { teams }: TeamsAccess,
) -> Result<Response, ApiError> {
    let store = &context.app.store;
    let query = context.query();
    let (filter, page) = parse(&query)?;

    let is_active = filter.wants_active();
    let indexes: Vec<_> = teams.keys().map(|&team| store.issue_index(team, is_active)).collect();
    let mut rows: Vec<IndexRow> = try_join_all(indexes).await?.into_iter().flatten().collect();
    rows.retain(|row| filter.admits(row));
    rows.sort_unstable_by_key(|row| std::cmp::Reverse((row.opened_at, row.id)));

    let shown = page.slice(&rows);
    let mut issues = store.issues_with_monitors(shown.iter().map(|row| row.id)).await?;
    let issues: Vec<_> = shown.iter().filter_map(|row| issues.remove(&row.id)).collect();
    let data = show::resources(context, &issues, &teams).await?;
    // An issue whose site was deleted since the index was read is missing, and does not count.
    let total = rows.len() - (shown.len() - data.len());
    Ok(paging::page(&data, total as u64, page, &query, &context.links.to("/issues")))
}

/// Which issues are listed.
struct Filter {
    status: StatusFilter,
    /// Whether issues of heartbeats are listed, too.
    with_heartbeats: bool,
    site: Option<SiteId>,
    tool: Option<Tool>,
    severity: Option<Severity>,
}

#[derive(Clone, Copy)]
enum StatusFilter {
    /// Open and acknowledged.
    Active,
    One(IssueStatus),
}

impl StatusFilter {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "active" => Some(Self::Active),
            _ => IssueStatus::parse(text).map(Self::One),
        }
    }
}

impl Filter {
    const fn wants_active(&self) -> bool {
        match self.status {
            StatusFilter::Active => true,
            StatusFilter::One(status) => status.is_active(),
        }
    }

    fn admits(&self, row: &IndexRow) -> bool {
        let status = match self.status {
            StatusFilter::Active => row.status.is_active(),
            StatusFilter::One(status) => row.status == status,
        };
        status
            && (self.with_heartbeats || row.fingerprint.tool() != Tool::Heartbeat)
            && self.site.is_none_or(|site| row.monitor == site)
            && self.tool.is_none_or(|tool| row.fingerprint.tool() == tool)
            && self.severity.is_none_or(|severity| row.severity() == severity)
    }
}

/// Reads what else is listed.
fn included(text: &str) -> Option<()> {
    (text == "heartbeats").then_some(())
}

fn parse(query: &Query) -> Result<(Filter, PageRequest), ValidationError> {
    let mut errors = Errors::new();
    query.uuid("team", TeamId::parse, &mut errors);
    let status = query.one_of("status", StatusFilter::parse, &mut errors);
    let filter = Filter {
        status: status.unwrap_or(StatusFilter::Active),
        with_heartbeats: query.one_of("include", included, &mut errors).is_some(),
        site: query.uuid("site", SiteId::parse, &mut errors),
        tool: query.one_of("tool", Tool::parse, &mut errors),
        severity: query.one_of("severity", Severity::parse, &mut errors),
    };
    let page = PageRequest::parse(query, &mut errors);
    errors.finish(Some((filter, page)))
}
