//! Presets for settings, and their wording.

use serde::Serialize;

/// The selectable automatic cadences in minutes, fastest first. Each divides a week, so a cadence keeps its offset from
/// week to week.
pub const CADENCE_MINUTES: [u32; 11] = [1, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 10080];

/// A selectable cadence in the API's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CadencePreset {
    /// Minutes between two automatic checks.
    pub minutes: u32,
    /// The label for people, such as `Every 5 minutes`.
    pub label: String,
    /// Whether the plan does not allow it.
    pub disabled: bool,
}

/// A named number of failed checks that opens an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureThresholdPreset {
    /// The name of the preset in the API.
    pub key: &'static str,
    /// The label for people.
    pub label: &'static str,
    /// Failed checks in a row before an issue opens.
    pub failures_to_open: u32,
}

/// The failure thresholds on offer; other values are accepted too.
pub const FAILURE_THRESHOLD_PRESETS: [FailureThresholdPreset; 3] = [
    FailureThresholdPreset { key: "instant", label: "Instant", failures_to_open: 1 },
    FailureThresholdPreset { key: "aggressive", label: "Aggressive", failures_to_open: 2 },
    FailureThresholdPreset { key: "conservative", label: "Conservative", failures_to_open: 3 },
];

/// A selectable reminder interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EscalationPreset {
    /// The name of the preset in the API.
    pub key: &'static str,
    /// The label for people.
    pub label: &'static str,
    /// Minutes since the issue opened; 0 sends a reminder when the issue opens, 1440 repeats daily.
    pub minutes: u32,
}

/// The reminder intervals, shortest first. The settings accept no others.
pub const ESCALATION_PRESETS: [EscalationPreset; 6] = [
    EscalationPreset { key: "immediately", label: "Immediately", minutes: 0 },
    EscalationPreset { key: "15m", label: "After 15 minutes", minutes: 15 },
    EscalationPreset { key: "30m", label: "After 30 minutes", minutes: 30 },
    EscalationPreset { key: "1h", label: "After 1 hour", minutes: 60 },
    EscalationPreset { key: "6h", label: "After 6 hours", minutes: 360 },
    EscalationPreset { key: "daily", label: "Daily", minutes: 1440 },
];

/// A cadence in the form that follows the word "every": `minute`, `5 minutes`, `hour`, `week`.
///
/// The largest unit that divides the cadence is used.
pub fn cadence_wording(minutes: u32) -> String {
    const UNITS: [(u32, &str); 4] = [(10080, "week"), (1440, "day"), (60, "hour"), (1, "minute")];
    let (size, unit) = UNITS
        .into_iter()
        .find(|(size, _)| minutes >= *size && minutes.is_multiple_of(*size))
        .unwrap_or((1, "minute"));
    match minutes / size {
        1 => unit.to_owned(),
        count => format!("{count} {unit}s"),
    }
}

/// A cadence as a label: `Every minute`, `Every 5 minutes`.
pub fn cadence_label(minutes: u32) -> String {
    format!("Every {}", cadence_wording(minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_divides_a_week() {
        assert!(CADENCE_MINUTES.into_iter().all(|minutes| 10080 % minutes == 0));
        assert!(CADENCE_MINUTES.is_sorted());
    }

    #[test]
    fn labels_and_wording_agree() {
        for (minutes, wording) in [
            (1, "minute"),
            (5, "5 minutes"),
            (10, "10 minutes"),
            (15, "15 minutes"),
            (30, "30 minutes"),
            (60, "hour"),
            (120, "2 hours"),
            (360, "6 hours"),
            (720, "12 hours"),
            (1440, "day"),
            (10080, "week"),
            // Not presets: wording never fails.
            (0, "0 minutes"),
            (90, "90 minutes"),
            (2880, "2 days"),
        ] {
            assert_eq!(cadence_wording(minutes), wording);
            assert_eq!(cadence_label(minutes), format!("Every {wording}"));
        }
    }
}
