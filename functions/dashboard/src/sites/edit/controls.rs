//! Controls for monitoring settings: one for each rule that a value follows, and the value that a filled
//! in control stands for, in the form in which the API takes it.
//!
//! A control bears the name that the API's errors have for the setting. Where a setting may be taken from
//! the team, its control has a choice for that, with the team's value.

use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::plan::{CADENCE_MINUTES, Plan, cadence_label};
use vedette_domain::settings::{DnsRecordType, Rule, STATUS_INCIDENT_CODES, Setting, own_settings};
use vedette_domain::tool::Tool;

use crate::form::Filled;

/// Where settings stand in the API's requests.
pub(crate) const SETTINGS: &str = "monitoring_settings";

/// What a control whose value may be taken from the team is called: `own` or empty.
fn source(name: &str) -> String {
    format!("{name}.from")
}

const OWN: &str = "own";

/// The tool's settings that have controls: each once, under its present name.
pub(crate) fn shown(tool: Tool) -> impl Iterator<Item = &'static Setting> {
    own_settings(tool).iter().filter(|setting| setting.name == setting.kept_as)
}

/// A label: the description without its end, which is a sentence's.
pub(crate) fn label(setting: &Setting) -> &str {
    setting.description.trim_end_matches('.')
}

/// A value in words.
pub(crate) fn words(value: &Value) -> String {
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

/// A control for a setting. With the team's value, that can be chosen in place of an own one.
pub(crate) fn control(
    filled: &Filled,
    name: &str,
    setting: &Setting,
    team: Option<&Value>,
) -> Markup {
    let label = label(setting);
    if setting.rule == Rule::Boolean {
        return boolean(filled, name, label, team);
    }
    let Some(team) = team else { return own(filled, name, setting.rule, label) };
    let options = [
        (String::new(), format!("As the team: {}", words(team))),
        (OWN.to_owned(), "Its own:".to_owned()),
    ];
    html! {
        div.inherits {
            (filled.select(&source(name), label, &options))
            div.own { (own(filled, name, setting.rule, &format!("Its own: {label}"))) }
        }
    }
}

/// A choice between yes and no.
pub(crate) fn boolean(filled: &Filled, name: &str, label: &str, team: Option<&Value>) -> Markup {
    let team = team.map(|team| (String::new(), format!("As the team: {}", words(team))));
    let own = [("true", "Yes"), ("false", "No")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    filled.select(name, label, &team.into_iter().chain(own).collect::<Vec<_>>())
}

/// A choice of the cadences that plan and tool allow.
pub(crate) fn cadence(
    filled: &Filled,
    name: &str,
    tool: Tool,
    plan: Plan,
    team: Option<u32>,
) -> Markup {
    let minimum = plan.minimum_cadence_minutes(tool);
    let team = team.map(|minutes| {
        let words = cadence_label(minutes).to_lowercase();
        (String::new(), format!("As the team: {words}"))
    });
    let allowed = CADENCE_MINUTES.into_iter().filter(|minutes| *minutes >= minimum);
    let own = allowed.map(|minutes| (minutes.to_string(), cadence_label(minutes)));
    filled.select(name, "Cadence", &team.into_iter().chain(own).collect::<Vec<_>>())
}

fn own(filled: &Filled, name: &str, rule: Rule, label: &str) -> Markup {
    let number = |min: u32, max: Option<u32>| {
        html! {
            label for=(name) { (label) }
            (filled.problem(name))
            input type="number" id=(name) name=(name) min=(min) max=[max] value=(filled.text(name))
                aria-describedby=[filled.described_by(name)];
        }
    };
    let ticks = |options: &[(String, String)]| {
        html! {
            fieldset aria-describedby=[filled.described_by(name)] {
                legend { (label) }
                (filled.problem(name))
                @for (value, words) in options {
                    (filled.tick(name, value, &format!("{name}.{value}"), words))
                }
            }
        }
    };
    match rule {
        Rule::Boolean => boolean(filled, name, label, None),
        Rule::Integer(min, max) => number(min, Some(max)),
        Rule::Limit => number(1, None),
        Rule::StatusCodes => {
            let option = |code: u16, label: &str| (code.to_string(), format!("{code} {label}"));
            ticks(&STATUS_INCIDENT_CODES.map(|known| option(known.code, known.label)))
        }
        Rule::RecordTypes => ticks(&DnsRecordType::ALL.map(|kind| {
            let name = kind.as_str();
            (name.to_owned(), name.to_owned())
        })),
        Rule::Paths => filled.textarea(name, &format!("{label}, one in a line"), 4),
        Rule::Page => filled.input(name, label),
    }
}

/// Fills a control with a stored value; without one, the setting is taken from the team, whose value
/// the control then starts from.
pub(crate) fn fill(filled: &mut Filled, name: &str, rule: Rule, own: Option<&Value>, team: &Value) {
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
pub(crate) fn chosen(filled: &Filled, name: &str, rule: Rule) -> Option<Value> {
    match rule {
        Rule::Boolean => (!filled.text(name).is_empty()).then(|| value(filled, name, rule)),
        _ => (filled.text(&source(name)) == OWN).then(|| value(filled, name, rule)),
    }
}

/// The value that a control holds, as the API takes it; what is no value is left to its validation.
pub(crate) fn value(filled: &Filled, name: &str, rule: Rule) -> Value {
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
pub(crate) fn truth(text: &str) -> Value {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        other => other.into(),
    }
}

/// A number, if the text is one.
pub(crate) fn integer(text: &str) -> Value {
    text.trim().parse::<i64>().map_or_else(|_| text.into(), Value::from)
}
