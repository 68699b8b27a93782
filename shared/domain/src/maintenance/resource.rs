//! A maintenance window as clients see it, through the API and the command line alike.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;

use super::window::MaintenanceWindow;
use crate::configuration::ManagedBy;
use crate::id::{SiteId, WindowId};
use crate::sites::selector::Selector;
use crate::time::wire_time_or_null;

/// A maintenance window.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "MaintenanceWindow")
)]
pub struct WindowResource {
    /// Its unique ID.
    pub uuid: WindowId,
    /// Display name.
    pub name: String,
    /// The sites that it is for; null if it is for all sites of the team, or has a selector.
    pub sites: Option<BTreeSet<SiteId>>,
    /// An addition to the specification: which sites it is for, by their tags. Omitted if it has no selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String", default))]
    pub selector: Option<Selector>,
    /// An addition to the specification: the document that manages it; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ManagedBy", default))]
    pub managed_by: Option<ManagedBy>,
    /// When it first starts or started: a local time in its time zone, such as `2026-11-29T02:00:00`.
    pub starts_at: String,
    /// The IANA name of its time zone.
    pub time_zone: String,
    /// How long it lasts, in elapsed minutes. Clock changes make it neither longer nor shorter.
    pub duration_minutes: u32,
    /// When it recurs, as an RFC 5545 recurrence rule; null if it takes place once.
    pub recurrence: Option<String>,
    /// When the active instance ends; null if none is active.
    #[serde(serialize_with = "wire_time_or_null")]
    pub active_until: Option<Timestamp>,
    /// When the next instance starts; null if there is none.
    #[serde(serialize_with = "wire_time_or_null")]
    pub next_starts_at: Option<Timestamp>,
}

impl WindowResource {
    /// A window as it is now.
    pub fn new(window: &MaintenanceWindow, now: Timestamp) -> Self {
        Self {
            uuid: window.id,
            name: window.name.clone(),
            sites: window.sites.clone(),
            selector: window.selector.clone(),
            managed_by: window.managed_by.clone(),
            starts_at: window.start.to_string(),
            time_zone: window.zone.name().to_owned(),
            duration_minutes: window.minutes,
            recurrence: window.rule.as_ref().map(ToString::to_string),
            active_until: window.active_at(now).map(|active| active.end),
            next_starts_at: window.next_after(now).map(|next| next.start),
        }
    }
}
