//! Plans: what a team may use, and the presets for its settings.

mod presets;

use serde::{Deserialize, Serialize};

pub use presets::{
    CADENCE_MINUTES, CadencePreset, ESCALATION_PRESETS, EscalationPreset,
    FAILURE_THRESHOLD_PRESETS, FailureThresholdPreset, cadence_label, cadence_wording,
};

/// A team's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// For one person with a few sites.
    Starter,
    /// For a small team.
    Growth,
    /// For agencies that monitor other people's sites; unlimited sites and seats.
    Agency,
}

/// What a plan allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most sites of the team; `None` is unlimited.
    pub sites: Option<u32>,
    /// The most heartbeats of the team; `None` is unlimited. They do not count as sites.
    pub heartbeats: Option<u32>,
    /// The most members and pending invitations together; `None` is unlimited.
    pub seats: Option<u32>,
    /// On-demand checks in a calendar month (UTC).
    pub manual_checks_per_month: u32,
    /// The fastest automatic cadence, in minutes; one of [`CADENCE_MINUTES`].
    pub minimum_cadence_minutes: u32,
    /// How long check history is kept, in days.
    pub history_retention_days: u32,
}

impl Plan {
    /// All plans, in the order of the API's enumeration.
    pub const ALL: [Self; 3] = [Self::Starter, Self::Growth, Self::Agency];

    /// The plan key used on the wire and in stored items.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starter => "starter",
            Self::Growth => "growth",
            Self::Agency => "agency",
        }
    }

    /// The plan with this key.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.as_str() == value)
    }

    /// The table of plans.
    pub const fn limits(self) -> Limits {
        match self {
            Self::Starter => Limits {
                sites: Some(5),
                heartbeats: Some(20),
                seats: Some(3),
                manual_checks_per_month: 50,
                minimum_cadence_minutes: 30,
                history_retention_days: 30,
            },
            Self::Growth => Limits {
                sites: Some(25),
                heartbeats: Some(100),
                seats: Some(10),
                manual_checks_per_month: 250,
                minimum_cadence_minutes: 5,
                history_retention_days: 90,
            },
            Self::Agency => Limits {
                sites: None,
                heartbeats: None,
                seats: None,
                manual_checks_per_month: 5000,
                minimum_cadence_minutes: 1,
                history_retention_days: 365,
            },
        }
    }

    /// Every cadence preset, fastest first. Presets below the plan's minimum are disabled. The minimums of tools are
    /// not considered here; see [`Plan::tool_options`].
    pub fn cadence_presets(self) -> Vec<CadencePreset> {
        let minimum = self.limits().minimum_cadence_minutes;
        CADENCE_MINUTES
            .into_iter()
            .map(|minutes| CadencePreset {
                minutes,
                label: cadence_label(minutes),
                disabled: minutes < minimum,
            })
            .collect()
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_wire_values_both_ways() {
        for (plan, key) in
            [(Plan::Starter, "starter"), (Plan::Growth, "growth"), (Plan::Agency, "agency")]
        {
            assert_eq!(plan.as_str(), key);
            assert_eq!(plan.to_string(), key);
            assert_eq!(Plan::parse(key), Some(plan));
            assert_eq!(serde_json::to_value(plan).expect("serialize"), key);
            assert_eq!(
                serde_json::from_value::<Plan>(serde_json::json!(key)).expect("deserialize"),
                plan
            );
        }
        for unknown in ["", "Starter", "free", "starter "] {
            assert_eq!(Plan::parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn the_table_of_plans() {
        let rows = Plan::ALL.map(|plan| {
            let l = plan.limits();
            (
                l.sites,
                l.heartbeats,
                l.seats,
                l.manual_checks_per_month,
                l.minimum_cadence_minutes,
                l.history_retention_days,
            )
        });
        assert_eq!(
            rows,
            [
                (Some(5), Some(20), Some(3), 50, 30, 30),
                (Some(25), Some(100), Some(10), 250, 5, 90),
                (None, None, None, 5000, 1, 365),
            ]
        );
    }

    #[test]
    fn presets_below_the_plans_minimum_are_disabled() {
        for (plan, disabled) in
            [(Plan::Starter, vec![1, 5, 10, 15]), (Plan::Growth, vec![1]), (Plan::Agency, vec![])]
        {
            let presets = plan.cadence_presets();
            assert_eq!(presets.iter().map(|p| p.minutes).collect::<Vec<_>>(), CADENCE_MINUTES);
            let found: Vec<u32> =
                presets.into_iter().filter(|p| p.disabled).map(|p| p.minutes).collect();
            assert_eq!(found, disabled, "{plan}");
        }
    }

    #[test]
    fn rows_of_the_api_have_its_shape() {
        assert_eq!(
            serde_json::to_value(&Plan::Growth.cadence_presets()[..2]).expect("serialize"),
            serde_json::json!([
                {"minutes": 1, "label": "Every minute", "disabled": true},
                {"minutes": 5, "label": "Every 5 minutes", "disabled": false},
            ])
        );
        assert_eq!(
            serde_json::to_value(FAILURE_THRESHOLD_PRESETS).expect("serialize"),
            serde_json::json!([
                {"key": "instant", "label": "Instant", "failures_to_open": 1},
                {"key": "aggressive", "label": "Aggressive", "failures_to_open": 2},
                {"key": "conservative", "label": "Conservative", "failures_to_open": 3},
            ])
        );
        assert_eq!(
            ESCALATION_PRESETS.map(|preset| (preset.key, preset.minutes)),
            [
                ("immediately", 0),
                ("15m", 15),
                ("30m", 30),
                ("1h", 60),
                ("6h", 360),
                ("daily", 1440),
            ]
        );
    }
}
