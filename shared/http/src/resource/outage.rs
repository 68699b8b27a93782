//! Outages as the API shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use vedette_domain::accounts::account::User;
use vedette_domain::id::{IssueId, SiteId, UserId};
use vedette_domain::issues::outage::{Cause, OutageRecord};
use vedette_domain::sites::tag::Tags;

use super::{UserResource, wire_time, wire_time_or_null};
use crate::outages::FoundOutage;

/// One opening of `status:down`: from the first failed check that opened it to the first good check that resolved it, or
/// until a person resolved it or monitoring ended.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Outage"))]
pub struct OutageResource<'a> {
    /// The issue that opened.
    issue_uuid: IssueId,
    /// The site that was down.
    site: OutageSite<'a>,
    /// The time of the first failed check.
    #[serde(serialize_with = "wire_time")]
    started_at: Timestamp,
    /// When it ended; null while it goes on.
    #[serde(serialize_with = "wire_time_or_null")]
    ended_at: Option<Timestamp>,
    /// How long it lasted or has lasted, in seconds.
    seconds: i64,
    /// The kind of failure.
    cause: Cause,
    /// What the check that opened it found.
    detail: &'a str,
    /// Who acknowledged it; null if nobody did.
    acknowledged_by: Option<UserResource>,
    /// When it was acknowledged.
    #[serde(serialize_with = "wire_time_or_null")]
    acknowledged_at: Option<Timestamp>,
    /// Who resolved it; null if checks did.
    resolved_by: Option<UserResource>,
}

/// The site of an outage.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
struct OutageSite<'a> {
    /// Its id.
    uuid: SiteId,
    /// Its name.
    name: &'a str,
    /// Its URL.
    url: &'a str,
    /// Its tags, sorted; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", default))]
    tags: Option<&'a Tags>,
}

impl<'a> OutageResource<'a> {
    /// An outage with its site and the people who dealt with it.
    pub fn new(
        FoundOutage { outage, name, url, tags }: &'a FoundOutage,
        users: &BTreeMap<UserId, User>,
        now: Timestamp,
    ) -> Self {
        let OutageRecord { acknowledged, resolved_by, .. } = outage;
        let tags = (!tags.is_empty()).then_some(tags);
        let user = |id: UserId| users.get(&id).map(UserResource::from);
        Self {
            issue_uuid: outage.issue,
            site: OutageSite { uuid: outage.site, name, url, tags },
            started_at: outage.began_at,
            ended_at: outage.ended_at,
            seconds: outage.problem().lasted(now).as_secs(),
            cause: outage.cause,
            detail: &outage.detail,
            acknowledged_by: acknowledged.and_then(|taken| user(taken.by.member()?)),
            acknowledged_at: acknowledged.map(|taken| taken.at),
            resolved_by: resolved_by.and_then(user),
        }
    }
}
