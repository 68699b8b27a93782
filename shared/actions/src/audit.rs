//! Writing down who changed what.

use vedette_domain::audit::{Actor, AuditEntry, AuditEvent};
use vedette_domain::id::TeamId;
use vedette_runtime::App;
use vedette_store::Store;

/// The table, whose transactions say who does this to a team.
pub(crate) fn recording(app: &App, team: TeamId, by: Actor, event: AuditEvent) -> Store {
    app.store.recording([AuditEntry::new(team, by, event, app.clock.now())])
}
