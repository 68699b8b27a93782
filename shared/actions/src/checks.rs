//! Running checks on demand.

use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use vedette_domain::checks::history::day_of;
use vedette_domain::checks::on_demand::{Asked, check_rules};
use vedette_domain::checks::tool::Tool;
use vedette_domain::checks::tool_state::ToolChange;
use vedette_domain::id::CheckId;
use vedette_domain::message::{CheckMessage, Message};
use vedette_domain::sites::site::Site;
use vedette_runtime::App;
use vedette_store::{Changes, StoreError, Usage};

use crate::OrderError;
use crate::access::SiteAccess;

/// Queues a check of each tool, all of them or none. With `asked` as `None`, the site's settings decide which tools.
///
/// # Errors
///
/// The refusal, or a fault of the table; a conflict when the site's tools have changed since they were read.
pub async fn order_checks(
    app: &App,
    access: &SiteAccess,
    asked: Option<&[Tool]>,
    now: Timestamp,
) -> Result<Vec<ToolChange>, OrderError> {
    let orders = decide(app, access, asked, now).await?;
    save(app, access, &orders, now).await?;
    send(app, &access.stored.site, &orders).await;
    Ok(orders)
}

/// Applies the rules to the site as it was read.
async fn decide(
    app: &App,
    access: &SiteAccess,
    asked: Option<&[Tool]>,
    now: Timestamp,
) -> Result<Vec<ToolChange>, OrderError> {
    let plan = access.team.plan();
    let enabled = access.settings().enabled_tools(plan);
    let tools = asked.unwrap_or(&enabled);
    let asked = tools
        .iter()
        .map(|&tool| {
            Ok(Asked { tool, state: access.stored.tool(tool)?, enabled: enabled.contains(&tool) })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    check_rules(&asked, plan, access.team.manual_checks, now)?;

    let unique = app.entropy.unique()?;
    let retention_days = plan.limits().history_retention_days;
    let site = access.stored.site.id;
    let mut orders = Vec::with_capacity(asked.len());
    for Asked { tool, state, .. } in asked {
        let check = CheckId::on_demand(site, tool, now, unique);
        let closed = app.store.closed_day(state, check).await?;
        orders.push(state.enqueue(closed.as_ref(), check, now, retention_days));
    }
    Ok(orders)
}

async fn save(
    app: &App,
    access: &SiteAccess,
    orders: &[ToolChange],
    now: Timestamp,
) -> Result<(), StoreError> {
    let usage = Usage {
        month: day_of(now),
        checks: u32::try_from(orders.len()).unwrap_or(u32::MAX),
        limit: access.team.plan().limits().manual_checks_per_month,
    };
    let site = &access.stored.site;
    let changes = Changes { site, tools: orders, issues: &[], usage: Some(usage), now };
    app.store.commit(&changes).await
}

async fn send(app: &App, site: &Site, orders: &[ToolChange]) {
    join_all(orders.iter().map(|order| {
        let message = Message::Check(CheckMessage::of(site, order.check.id));
        app.enqueue_or_leave(message, Duration::ZERO)
    }))
    .await;
}
