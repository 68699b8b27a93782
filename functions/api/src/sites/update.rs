//! `PATCH /sites/{site}`: changes what is said of a site, where it is, or how it is watched.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};
use vedette_actions::{check_texts, duplicate_url};
use vedette_domain::message::{Maintenance, Message};
use vedette_domain::settings::Settings;
use vedette_domain::site::Site;
use vedette_domain::tool::Tool;
use vedette_http::access::SiteAccess;
use vedette_http::error::ApiError;
use vedette_http::resource::SiteResource;
use vedette_http::response::{Response, ok};
use vedette_http::validation::{Errors, Fields, ValidationError, parse_body};
use vedette_store::{TeamWithSettings, is_taken_url};

use super::input::Input;
use crate::Context;

pub(crate) async fn handle(
    context: Context<'_>,
    mut access: SiteAccess,
) -> Result<Response, ApiError> {
    let (store, now) = (&context.app.store, context.caller.now);
    let update = Update::parse(&parse_body(context.body)?, &access.team)?;
    let site = &access.stored.site;
    let has_learnt = access.stored.tool(Tool::Dns)?.learnt.is_some();
    if let Some(next) = update.apply_to(site, &access.settings(), has_learnt, now) {
        // What is too long already may be shortened and changed otherwise.
        if next.listed_texts() > site.listed_texts() {
            check_texts(&next)?;
        }
        if let Err(error) = store.update_site(&access.stored, &next, now).await {
            let is_duplicate = next.url != site.url && is_taken_url(&error);
            return Err(if is_duplicate { duplicate_url().into() } else { error.into() });
        }
        if next.cfg != site.cfg {
            sync(context, &next).await;
        }
        access.stored.site = next;
    }

    let retention = access.team.retention(now);
    let checks = store.checks(access.stored.latest().map(|latest| (latest, retention))).await?;
    let resource = SiteResource::new(&access.stored.site, &access.team, context.links);
    Ok(ok(&resource.with_latest(&access.stored, &checks)))
}

async fn sync(context: Context<'_>, site: &Site) {
    let sync = Message::Maintenance(Maintenance::Sync { team: site.team, site: site.id });
    context.app.enqueue_or_leave(sync, Duration::ZERO).await;
}

/// What a client wants changed.
#[derive(Debug)]
struct Update {
    input: Input,
    pinned: Option<bool>,
}

impl Update {
    fn parse(body: &Map<String, Value>, team: &TeamWithSettings) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let input = Input::read(body, team, &mut errors);
        let pinned = Fields::body(body).field("pinned").boolean(&mut errors);
        errors.finish(input.map(|input| Self { input, pinned }))
    }

    /// The site, whose settings `read` so, as the client wants it; `None` if that changes nothing. A
    /// generated name stays when the URL changes: by now it is how the team knows the site. Clearing
    /// the expected records also forgets those that were learnt.
    fn apply_to(
        self,
        site: &Site,
        read: &Settings,
        has_learnt: bool,
        now: Timestamp,
    ) -> Option<Site> {
        let Self { input, pinned } = self;
        let clears = input.expected_records.as_ref().is_some_and(BTreeMap::is_empty);
        let overrides = match input.overrides {
            Some(sent) => site.overrides.replaced_by(sent, read),
            None => site.overrides.clone().moved_to(input.url.domain()),
        };
        let changed = Site {
            overrides,
            name: input.name.unwrap_or_else(|| site.name.clone()),
            notes: input.notes.unwrap_or_else(|| site.notes.clone()),
            js_rendered: input.js_rendered.unwrap_or(site.js_rendered),
            pinned: pinned.unwrap_or(site.pinned),
            expected_records: input
                .expected_records
                .unwrap_or_else(|| site.expected_records.clone()),
            records: site.records + u64::from(clears && has_learnt),
            url: input.url,
            ..site.clone()
        };
        site.change_to(changed, now)
    }
}
