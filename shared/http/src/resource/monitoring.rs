use serde::Serialize;
use vedette_domain::accounts::plan::{
    CadencePreset, ESCALATION_PRESETS, EscalationPreset, FAILURE_THRESHOLD_PRESETS,
    FailureThresholdPreset,
};
use vedette_domain::checks::ToolOption;
use vedette_domain::sites::settings::{
    DnsRecordType, STATUS_INCIDENT_CODES, Settings, StatusCodeOption,
};
use vedette_store::TeamWithSettings;

/// A team's monitoring: its settings, and the values to choose from.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TeamMonitoring"))]
pub struct MonitoringResource {
    /// The team's settings.
    settings: Settings,
    /// Cadences to choose from.
    cadence_presets: Vec<CadencePreset>,
    /// The fastest automatic cadence of the plan, in minutes.
    minimum_check_cadence_minutes: u32,
    /// The tools of the plan.
    allowed_tools: Vec<ToolOption>,
    /// Thresholds to choose from; others are accepted too.
    failure_threshold_presets: [FailureThresholdPreset; 3],
    /// Reminder intervals to choose from.
    escalation_interval_presets: [EscalationPreset; 6],
    /// Record types that can be monitored.
    dns_record_types: [DnsRecordType; 6],
    /// Response codes that can count as failed.
    status_incident_code_options: [StatusCodeOption; 17],
}

impl MonitoringResource {
    /// A team's monitoring as its plan allows it.
    pub fn new(team: &TeamWithSettings) -> Self {
        let plan = team.plan();
        Self {
            settings: team.settings.clone().on_plan(plan),
            cadence_presets: plan.cadence_presets(),
            minimum_check_cadence_minutes: plan.limits().minimum_cadence_minutes,
            allowed_tools: plan.tool_options(),
            failure_threshold_presets: FAILURE_THRESHOLD_PRESETS,
            escalation_interval_presets: ESCALATION_PRESETS,
            dns_record_types: DnsRecordType::ALL,
            status_incident_code_options: STATUS_INCIDENT_CODES,
        }
    }
}
