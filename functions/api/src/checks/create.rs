//! `POST /sites/{site}/checks`: queues on-demand checks, all of them or none.

use std::time::Duration;

use futures::future::join_all;
use vedette_domain::history::day_of;
use vedette_domain::id::CheckId;
use vedette_domain::message::{CheckMessage, Message};
use vedette_domain::on_demand::{Asked, OnDemandRefusal, check_rules};
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_domain::tool_state::ToolChange;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::CheckResource;
use vedette_http::response::{Response, accepted};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::{Changes, StoreError, Usage};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let asked = parse(context.body)?;
    let orders = decide(context, &access, asked.as_deref()).await?;
    save(context, &access, &orders).await?;
    let site = &access.stored.site;
    send(context, site, &orders).await;
    let checks: Vec<_> =
        orders.iter().map(|order| CheckResource::new(&order.check, site)).collect();
    Ok(accepted(&checks))
}

/// The tools asked for; `None` if the client leaves them to the site's settings.
fn parse(body: &[u8]) -> Result<Option<Vec<Tool>>, ValidationError> {
    let body = parse_body(body)?;
    let fields = Fields::body(&body);
    let mut errors = Errors::new();
    let tools = read_tools(&fields, &mut errors);
    if fields.field("automatic").boolean(&mut errors) == Some(true) {
        errors.push("automatic", "The automatic field must be false.");
    }
    errors.finish(Some(tools))
}

fn read_tools(fields: &Fields<'_>, errors: &mut Errors) -> Option<Vec<Tool>> {
    let field = fields.field("tools");
    let sent = field.value()?;
    if sent.as_array().is_some_and(Vec::is_empty) {
        field.refuse(errors, "must have at least 1 item");
        return None;
    }
    let most = sent.as_array().map_or(0, Vec::len);
    let items = field.items(1..=most.max(1), errors)?;
    let mut tools = Vec::with_capacity(items.len());
    for item in items {
        let Some(tool) = item.one_of(&Tool::ALL, errors) else { continue };
        if tools.contains(&tool) {
            item.refuse(errors, "has a duplicate value");
        } else {
            tools.push(tool);
        }
    }
    Some(tools)
}

/// Applies the rules to what was read of the site.
async fn decide(
    context: Context<'_>,
    access: &SiteAccess,
    asked: Option<&[Tool]>,
) -> Result<Vec<ToolChange>, ApiError> {
    let now = context.caller.now;
    let plan = access.team.plan();
    let enabled = access.settings().enabled_tools(plan);
    let tools = asked.unwrap_or(&enabled);
    if tools.is_empty() {
        return Err(ApiError::invalid("tools", "No checks are enabled for this site."));
    }
    let asked = tools
        .iter()
        .map(|&tool| {
            Ok(Asked { tool, state: access.stored.tool(tool)?, enabled: enabled.contains(&tool) })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    check_rules(&asked, plan, access.team.manual_checks, now).map_err(refused)?;

    let unique = context.app.entropy.unique().map_err(ApiError::internal)?;
    let retention_days = plan.limits().history_retention_days;
    let site = access.stored.site.id;
    let mut orders = Vec::with_capacity(asked.len());
    for Asked { tool, state, .. } in asked {
        let check = CheckId::on_demand(site, tool, now, unique);
        let closed = context.app.store.closed_day(state, check).await?;
        orders.push(state.enqueue(closed.as_ref(), check, now, retention_days));
    }
    Ok(orders)
}

fn refused(refusal: OnDemandRefusal) -> ApiError {
    ApiError::invalid("tools", refusal.to_string())
}

async fn save(
    context: Context<'_>,
    access: &SiteAccess,
    orders: &[ToolChange],
) -> Result<(), StoreError> {
    let now = context.caller.now;
    let usage = Usage {
        month: day_of(now),
        checks: u32::try_from(orders.len()).unwrap_or(u32::MAX),
        limit: access.team.plan().limits().manual_checks_per_month,
    };
    let site = &access.stored.site;
    let changes = Changes { site, tools: orders, issues: &[], usage: Some(usage), now };
    context.app.store.commit(&changes).await
}

async fn send(context: Context<'_>, site: &Site, orders: &[ToolChange]) {
    join_all(orders.iter().map(|order| {
        let message = Message::Check(CheckMessage::of(site, order.check.id));
        context.app.enqueue_or_leave(message, Duration::ZERO)
    }))
    .await;
}
