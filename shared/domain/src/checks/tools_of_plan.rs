//! What a plan allows a team to do with tools.

use serde::Serialize;

use crate::accounts::plan::Plan;
use crate::checks::tool::Tool;

impl Plan {
    /// Whether the plan includes the tool.
    pub fn allows(self, tool: Tool) -> bool {
        tool.definition().plans.contains(&self)
    }

    /// The tools that a team of the plan may enable and run, in the order of the API's enumeration.
    pub fn allowed_tools(self) -> Vec<Tool> {
        Tool::ALL.into_iter().filter(|&tool| self.allows(tool)).collect()
    }

    /// The fastest automatic cadence of the tool on this plan, in minutes: the slower of the
    /// plan's minimum and the tool's floor.
    pub fn minimum_cadence_minutes(self, tool: Tool) -> u32 {
        self.limits().minimum_cadence_minutes.max(tool.cadence_floor_minutes())
    }

    /// The tools of the plan in the API's form.
    pub fn tool_options(self) -> Vec<ToolOption> {
        self.allowed_tools()
            .into_iter()
            .map(|tool| ToolOption {
                value: tool,
                label: tool.label(),
                minimum_check_cadence_minutes: self.minimum_cadence_minutes(tool),
            })
            .collect()
    }
}

/// A tool of the plan in the API's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolOption {
    /// The tool.
    pub value: Tool,
    /// The label for people.
    pub label: &'static str,
    /// The fastest automatic cadence of the tool on the plan, in minutes.
    pub minimum_check_cadence_minutes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::plan::CADENCE_MINUTES;

    #[test]
    fn every_plan_has_every_tool() {
        for plan in Plan::ALL {
            assert_eq!(plan.allowed_tools(), Tool::ALL);
            assert!(Tool::ALL.into_iter().all(|tool| plan.allows(tool)));
        }
    }

    #[test]
    fn a_tools_minimum_is_the_slower_of_plan_and_floor() {
        for (plan, tool, minutes) in [
            (Plan::Starter, Tool::Status, 30),
            (Plan::Growth, Tool::Ssl, 5),
            (Plan::Agency, Tool::Dns, 1),
            (Plan::Starter, Tool::BrokenLinks, 720),
            (Plan::Agency, Tool::BrokenLinks, 720),
            (Plan::Agency, Tool::Performance, 720),
        ] {
            assert_eq!(plan.minimum_cadence_minutes(tool), minutes, "{plan} {tool}");
        }
    }

    #[test]
    fn every_minimum_is_itself_a_preset() {
        // Raising a cadence to the minimum must never leave the presets.
        for plan in Plan::ALL {
            for tool in Tool::ALL {
                assert!(CADENCE_MINUTES.contains(&plan.minimum_cadence_minutes(tool)));
            }
        }
    }

    #[test]
    fn tools_are_listed_with_their_fastest_cadence() {
        assert_eq!(
            serde_json::to_value(&Plan::Starter.tool_options()[2..4]).expect("serialize"),
            serde_json::json!([
                {"value": "dns", "label": "DNS", "minimum_check_cadence_minutes": 30},
                {
                    "value": "broken-links",
                    "label": "Broken links",
                    "minimum_check_cadence_minutes": 720,
                },
            ])
        );
    }
}
