//! Objectives: their controls in forms.

use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::objectives::{ObjectiveInput, ObjectivePeriod};

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
