//! Objectives: their controls in forms, and what their budgets say.

use jiff::SignedDuration;
use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::objectives::{Budget, ObjectiveInput, ObjectivePeriod};
use vedette_domain::time::duration;

use crate::form::{Choice, FormInput, capitalized};

/// The field of a site or a group.
pub(crate) const FIELD: &str = "objective";
/// The field without which a form has no objective.
const PERCENTAGE: &str = "percentage";
const PERIOD: &str = "period";

/// The name of the field with the percentage of the objective at a path.
pub(crate) fn percentage(path: &str) -> String {
    format!("{path}.{PERCENTAGE}")
}

/// The controls of the objective at a path.
pub(crate) fn controls(input: &FormInput, path: &str) -> Markup {
    let control = |field: &InputField| match field.name {
        PERIOD => {
            let periods = ObjectivePeriod::ALL;
            let periods = periods.map(|of| Choice::new(of, capitalized(of.words())));
            input.select(&field.name_below(path), (&*field.label(), field.help), &periods)
        }
        _ => input.control_below(path, field),
    };
    html! { @for field in ObjectiveInput::FIELDS { (control(field)) } }
}

/// What a form sent about a site or group, without an objective if it has no percentage.
pub(crate) fn unless_empty(sent: &mut Value) {
    let percentage = sent[FIELD][PERCENTAGE].as_str();
    if percentage.is_none_or(|percentage| percentage.trim().is_empty()) {
        sent[FIELD] = Value::Null;
    }
}

/// What is left of a budget, as exactly as checks at this cadence can tell: `38 min left`, `12 min over`.
pub(crate) fn left(budget: Budget, cadence_minutes: u32) -> String {
    match budget.left_minutes(cadence_minutes) {
        0 if !budget.is_used_up() => format!("less than {cadence_minutes} min left"),
        minutes @ 0.. => format!("{} left", in_minutes(minutes)),
        minutes => format!("{} over", in_minutes(-minutes)),
    }
}

/// What a budget allows, in whole minutes.
pub(crate) fn allowed(budget: Budget) -> String {
    in_minutes(budget.allowed_seconds / 60)
}

fn in_minutes(minutes: i64) -> String {
    match minutes {
        0 => "0 min".to_owned(),
        minutes => duration(SignedDuration::from_mins(minutes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_minutes() {
        let budget = |allowed_seconds, used_seconds| Budget { allowed_seconds, used_seconds };
        for (budget, cadence, text) in [
            (budget(2_592, 0), 5, "43 min left"),
            (budget(2_592, 61), 5, "40 min left"),
            (budget(12_960, 60), 1, "3 h 35 min left"),
            (budget(2_592, 2_500), 5, "less than 5 min left"),
            (budget(2_592, 2_592), 5, "0 min left"),
            (budget(2_592, 3_312), 1, "12 min over"),
        ] {
            assert_eq!(left(budget, cadence), text);
        }
        assert_eq!(allowed(budget(2_592, 0)), "43 min");
        assert_eq!(allowed(budget(59, 0)), "0 min");
    }
}
