//! What the metrics say about heartbeats.

use std::collections::BTreeMap;

use vedette_domain::heartbeats::reports::HeartbeatState;
use vedette_domain::id::MonitorId;
use vedette_domain::issues::Severity;
use vedette_ops::exposition::{Exposition, Value as _};
use vedette_store::StoredHeartbeat;

use super::Gauge;

/// The most series that a heartbeat can have, without its tags: its name, one of each gauge, and its issues by severity.
pub(super) const SERIES_OF_HEARTBEAT: usize = 1 + GAUGES.len() + Severity::ALL.len();

const GAUGES: [Gauge<StoredHeartbeat>; 4] = [
    Gauge {
        name: "vedette_heartbeat_monitored",
        help: "Whether pings are expected: 0 before the first ping and while the heartbeat is paused.",
        value: |stored| Some(is_monitored(stored).number()),
    },
    Gauge {
        name: "vedette_heartbeat_up",
        help: "Whether the job reports as expected; 0 if it is late or has failed.",
        value: |stored| {
            let is_down = matches!(
                stored.state.reports().state(),
                HeartbeatState::Late | HeartbeatState::Failed
            );
            is_monitored(stored).then(|| (!is_down).number())
        },
    },
    Gauge {
        name: "vedette_heartbeat_last_ping_timestamp_seconds",
        help: "When the last run ended.",
        value: |stored| Some(stored.state.reports().last?.number()),
    },
    Gauge {
        name: "vedette_heartbeat_run_seconds",
        help: "How long the last run took, if its start was pinged.",
        value: |stored| {
            let reports = stored.state.reports();
            Some(reports.recent.iter().next_back()?.lasted?.as_secs_f64())
        },
    },
];

fn is_monitored(stored: &StoredHeartbeat) -> bool {
    stored.state.reports().state().is_monitored()
}

/// Adds the metrics of heartbeats, if there are any.
pub(super) fn add_heartbeats(
    exposition: &mut Exposition,
    heartbeats: &[StoredHeartbeat],
    shows_tags: bool,
    active: &BTreeMap<(MonitorId, Severity), u32>,
) {
    if heartbeats.is_empty() {
        return;
    }
    let ids: Vec<String> =
        heartbeats.iter().map(|stored| stored.heartbeat.id.to_string()).collect();
    let all = || ids.iter().map(String::as_str).zip(heartbeats);
    let mut info = exposition.gauge("vedette_heartbeat_info", "Name of a heartbeat; always 1.");
    for (id, stored) in all() {
        info.series(&[("heartbeat", id), ("name", &*stored.heartbeat.name)], true);
    }
    if shows_tags && all().any(|(_, stored)| !stored.heartbeat.tags.is_empty()) {
        let mut tagged =
            exposition.gauge("vedette_heartbeat_tag", "A tag of a heartbeat; always 1.");
        for (id, stored) in all() {
            for tag in &stored.heartbeat.tags {
                tagged.series(&[("heartbeat", id), ("tag", tag.as_str())], true);
            }
        }
    }
    for gauge in GAUGES {
        gauge.add(exposition, "heartbeat", all());
    }
    let mut issues = exposition.gauge(
        "vedette_heartbeat_issues",
        "How many issues of the heartbeat are active, by severity.",
    );
    for (id, stored) in all() {
        for severity in Severity::ALL {
            let count = active.get(&(stored.heartbeat.id, severity)).copied().unwrap_or_default();
            issues.series(&[("heartbeat", id), ("severity", severity.as_str())], count);
        }
    }
}
