//! `POST /sites/{site}/checks`: queues on-demand checks, all of them or none.

use vedette_actions::order_checks;
use vedette_domain::checks::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::CheckResource;
use vedette_http::response::{Response, accepted};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let asked = parse(context.body)?;
    let orders = order_checks(context.app, &access, asked.as_deref(), context.caller.now).await?;
    let site = &access.stored.site;
    let checks: Vec<_> =
        orders.iter().map(|order| CheckResource::new(&order.check, Some(site))).collect();
    Ok(accepted(&checks))
}

/// The requested tools; `None` if the client leaves them to the site's settings.
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
