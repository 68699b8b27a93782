//! Writing down who changed what.

use jiff::Timestamp;
use vedette_domain::accounts::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::Store;

/// The table, whose transactions say who does this to a team now.
pub(crate) fn recording(
    app: &App,
    team: TeamId,
    by: Actor,
    event: AuditEvent,
    now: Timestamp,
) -> Store {
    app.store.recording([AuditEntry::new(team, by, event, now)])
}
