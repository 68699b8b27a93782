//! `DELETE /sites/{site}`: gone at once, with its schedules, checks and issues.

use std::time::Duration;

use vedette_domain::cooldown::outlive_their_site;
use vedette_domain::message::{Maintenance, Message};
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::response::{Response, no_content};
use vedette_store::SiteWithTools;

use crate::Context;

pub(crate) async fn handle(context: Context<'_>, access: SiteAccess) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let SiteWithTools { site, tools } = &access.stored;
    // Read after the tools' states: an issue that opens in between has raised their `rev`.
    let issues = store.issues_of_site(site.id.partition()).await?;
    let cooldowns = if outlive_their_site(tools, now) {
        store.cooldowns(site.team).await?.after_deletion(&site.url, tools, now)
    } else {
        None
    };
    store.delete_site(&access.stored, &issues, cooldowns.as_ref(), now).await?;
    let purge = Message::Maintenance(Maintenance::Purge { team: site.team, site: site.id });
    context.app.enqueue_or_leave(purge, Duration::ZERO).await;
    Ok(no_content())
}
