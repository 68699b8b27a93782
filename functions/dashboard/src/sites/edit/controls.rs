//! Controls for monitoring settings: one for each rule that a value follows, and the value that a filled
//! in control stands for, in the form in which the API takes it.
//!
//! Each setting of a site may be taken from its team: its control has a choice for that, with the team's
//! value.

use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::plan::{CADENCE_MINUTES, Plan, cadence_label, cadence_wording};
use vedette_domain::settings::{
    DnsRecordType, INTEGER_MAX, Rule, STATUS_INCIDENT_CODES, Setting, own_settings,
};
use vedette_domain::tool::Tool;

use crate::form::Filled;

/// What a control whose value may be taken from the team is called: `own` or empty.
fn source(name: &str) -> String {
    format!("{name}.from")
}

const OWN: &str = "own";

/// The tool's settings that have controls: each once, under its present name.
pub(super) fn shown(tool: Tool) -> impl Iterator<Item = &'static Setting> {
    own_settings(tool).iter().filter(|setting| setting.name == setting.kept_as)
}

fn as_the_team(value: &Value) -> String {
    format!("As the team: {}", words(value))
}

/// A value in words.
fn words(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A control for a setting, in which the team's value can be chosen in place of an own one.
pub(super) fn control(filled: &Filled, name: &str, setting: &Setting, team: &Value) -> Markup {
    let label = setting.description.trim_end_matches('.');
    if setting.rule == Rule::Boolean {
        return boolean(filled, name, label, team);
    }
    let options = [(String::new(), as_the_team(team)), (OWN.to_owned(), "Its own".to_owned())];
    html! {
        div.inherits {
            (filled.select(&source(name), label, &options))
            div.own { (own(filled, name, setting.rule, &format!("Its own: {label}"))) }
        }
    }
}

/// A choice between yes, no, and what the team says.
pub(super) fn boolean(filled: &Filled, name: &str, label: &str, team: &Value) -> Markup {
    let options = [
        (String::new(), as_the_team(team)),
        ("true".to_owned(), "Yes".to_owned()),
        ("false".to_owned(), "No".to_owned()),
    ];
    filled.select(name, label, &options)
}

/// A choice of the cadences that plan and tool allow, and the team's.
pub(super) fn cadence(filled: &Filled, name: &str, tool: Tool, plan: Plan, team: u32) -> Markup {
    let minimum = plan.minimum_cadence_minutes(tool);
    let team = (String::new(), format!("As the team: every {}", cadence_wording(team)));
    let allowed = CADENCE_MINUTES.into_iter().filter(|minutes| *minutes >= minimum);
    let own = allowed.map(|minutes| (minutes.to_string(), cadence_label(minutes)));
    filled.select(name, "How often", &[team].into_iter().chain(own).collect::<Vec<_>>())
}

fn own(filled: &Filled, name: &str, rule: Rule, label: &str) -> Markup {
    let number = |min: u32, max: u32| {
        let problems = filled.problems(name);
        html! {
            label for=(name) { (label) }
            input id=(name) type="number" name=(name) min=(min) max=(max) value=(filled.text(name))
                aria-describedby=[problems.described()] aria-invalid=[problems.invalid()];
            (problems.shown())
        }
    };
    let some_of = |options: &[(String, String)]| {
        html! {
            fieldset {
                legend { (label) }
                div.row {
                    @for (value, words) in options { (filled.tick(name, value, words)) }
                }
                (filled.problems(name).shown())
            }
        }
    };
    match rule {
        // Whether it is the team's is part of the choice.
        Rule::Boolean => Markup::default(),
        Rule::Integer(min, max) => number(min, max),
        Rule::Limit => number(1, INTEGER_MAX),
        Rule::StatusCodes => {
            some_of(&STATUS_INCIDENT_CODES.map(|option| {
                (option.code.to_string(), format!("{} {}", option.code, option.label))
            }))
        }
        Rule::RecordTypes => {
            some_of(&DnsRecordType::ALL.map(|kind| (kind.to_string(), kind.to_string())))
        }
        Rule::Paths => filled.textarea(name, &format!("{label}, one in a line"), 4),
        Rule::Page => filled.input(name, "text", label),
    }
}

/// Fills a control with a stored value; without one, the setting is taken from the team, whose value
/// the control then starts from.
pub(super) fn fill(filled: &mut Filled, name: &str, rule: Rule, own: Option<&Value>, team: &Value) {
    if rule == Rule::Boolean {
        fill_value(filled, name, rule, own.unwrap_or(&Value::Null));
        return;
    }
    filled.put(source(name), if own.is_some() { OWN } else { "" });
    fill_value(filled, name, rule, own.unwrap_or(team));
}

/// Fills a control with a value.
fn fill_value(filled: &mut Filled, name: &str, rule: Rule, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) => filled.put(name, text),
        Value::Array(items) if rule == Rule::Paths => {
            filled.put(name, items.iter().map(words).collect::<Vec<_>>().join("\n"));
        }
        Value::Array(items) => items.iter().for_each(|item| filled.put(name, words(item))),
        other => filled.put(name, other.to_string()),
    }
}

/// The value that is chosen for a setting; `None` where it is taken from the team.
pub(super) fn chosen(filled: &Filled, name: &str, rule: Rule) -> Option<Value> {
    match rule {
        Rule::Boolean => (!filled.text(name).is_empty()).then(|| value(filled, name, rule)),
        _ => (filled.text(&source(name)) == OWN).then(|| value(filled, name, rule)),
    }
}

/// The value that a control holds, as the API takes it; what is no value is left to its validation.
pub(super) fn value(filled: &Filled, name: &str, rule: Rule) -> Value {
    match rule {
        Rule::Boolean => truth(filled.text(name)),
        Rule::Integer(..) | Rule::Limit => integer(filled.text(name)),
        Rule::StatusCodes => filled.all(name).map(integer).collect(),
        Rule::RecordTypes => filled.all(name).collect(),
        Rule::Paths => filled.lines(name).collect(),
        Rule::Page => filled.text(name).into(),
    }
}

/// What a choice between yes and no says.
pub(super) fn truth(text: &str) -> Value {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        other => other.into(),
    }
}

/// A number, if the text is one.
pub(super) fn integer(text: &str) -> Value {
    text.trim().parse::<i64>().map_or_else(|_| text.into(), Value::from)
}
