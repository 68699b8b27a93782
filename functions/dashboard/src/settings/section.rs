//! The sections of a team's settings, and what each of them has.

use serde_json::{Map, Value};
use vedette_domain::plan::{ESCALATION_PRESETS, FAILURE_THRESHOLD_PRESETS, Plan};
use vedette_domain::settings::{
    DnsRecordType, INTEGER_MAX, Rule, STATUS_INCIDENT_CODES, Setting, Settings, own_settings,
};
use vedette_domain::tool::Tool;

use super::input::{Input, Kind};
use crate::form::capitalized;

/// What is changed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Tool(Tool),
    RequestHeader,
    QuietTime,
    Escalation,
}

impl Section {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let tools = Tool::ALL.into_iter().map(Self::Tool);
        tools.chain([Self::RequestHeader, Self::QuietTime, Self::Escalation])
    }

    /// As it is named in addresses.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Tool(tool) => tool.as_str(),
            Self::RequestHeader => "request-header",
            Self::QuietTime => "quiet-time",
            Self::Escalation => "escalation",
        }
    }

    pub(super) fn parse(value: &str) -> Option<Self> {
        Self::all().find(|section| section.as_str() == value)
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Tool(tool) => tool.label(),
            Self::RequestHeader => "Request header",
            Self::QuietTime => "Quiet time",
            Self::Escalation => "Reminders",
        }
    }

    /// What it is about, where its fields do not say so.
    pub(super) const fn about(self) -> Option<&'static str> {
        match self {
            Self::Tool(_) => None,
            Self::RequestHeader => Some("Sent with status, broken-links and performance checks."),
            Self::QuietTime => {
                Some("Alerts are held back every day between these times, which are in UTC.")
            }
            Self::Escalation => Some("How long after an issue opened its reminders are sent."),
        }
    }

    /// Its fields, as the settings fill them in.
    pub(super) fn inputs(self, settings: &Settings, plan: Plan) -> Vec<Input> {
        let settings = serde_json::to_value(settings).unwrap_or_default();
        let new =
            |path: &str, label: &str, kind| Input::new(path.to_owned(), label, kind, &settings);
        match self {
            Self::Tool(tool) => of_tool(tool, plan, &settings),
            Self::RequestHeader => vec![
                new("request_header.name", "Name", Kind::Text),
                new("request_header.value", "Value", Kind::Secret).with_hint(
                    "It is not shown. Leave it empty to keep it, and the name as well to send no header.",
                ),
            ],
            Self::QuietTime => vec![
                new("quiet_time.enabled", "Hold alerts back", Kind::Flag),
                new("quiet_time.starts_at", "From", Kind::Time),
                new("quiet_time.ends_at", "Until", Kind::Time),
            ],
            Self::Escalation => {
                let presets = ESCALATION_PRESETS
                    .map(|preset| (preset.minutes.to_string(), preset.label.to_owned()));
                vec![
                    new("escalation.enabled", "Send reminders", Kind::Flag),
                    new("escalation.intervals", "When", Kind::Some(presets.into())),
                ]
            }
        }
    }

    /// The same fields as somebody filled them in.
    pub(super) fn filled_in(self, settings: &Settings, plan: Plan, body: &[u8]) -> Vec<Input> {
        let inputs = self.inputs(settings, plan).into_iter();
        let inputs: Vec<Input> = inputs.map(|input| input.filled_in(body)).collect();
        if self != Self::RequestHeader {
            return inputs;
        }
        // The value is not in the form; it belongs to the name that it was saved with.
        let name = inputs.iter().find(|input| input.name() == "name").map(Input::text);
        let kept = settings.request_header.pair().filter(|(saved, _)| Some(*saved) == name);
        let keep = kept.map(|(_, value)| value.to_owned());
        let fill = |input: Input| match &keep {
            Some(value) if input.name() == "value" && input.text().is_empty() => {
                input.holding(value)
            }
            _ => input,
        };
        inputs.into_iter().map(fill).collect()
    }
}

/// What a form says of the settings, as the API would be sent it.
pub(super) fn json(inputs: &[Input]) -> Value {
    let mut settings = Map::new();
    for input in inputs {
        input.write(&mut settings);
    }
    settings.into()
}

fn of_tool(tool: Tool, plan: Plan, settings: &Value) -> Vec<Input> {
    let path = |name: &str| format!("tools.{tool}.{name}");
    let minimum = plan.minimum_cadence_minutes(tool);
    let cadences = plan.cadence_presets().into_iter();
    let cadences =
        cadences.map(|preset| (preset.minutes, preset.label, preset.minutes >= minimum)).collect();
    let enabled = Input::new(path("enabled"), "Check automatically", Kind::Flag, settings);
    let cadence = Kind::Choice(cadences);
    let cadence = Input::new(path("cadence_minutes"), "How often", cadence, settings);
    // Older names are not offered beside the present ones.
    let own = own_settings(tool).iter().filter(|setting| setting.name == setting.kept_as);
    let own = own.filter_map(|setting| of_setting(setting, path("settings"), settings));
    [enabled, cadence].into_iter().chain(own).collect()
}

/// A setting of a tool; none where a team has no say.
fn of_setting(setting: &Setting, path: String, settings: &Value) -> Option<Input> {
    let mut hint = None;
    let kind = match setting.rule {
        Rule::Boolean => Kind::Flag,
        Rule::Integer(min, max) => Kind::Number { min, max },
        Rule::Limit => Kind::Number { min: 1, max: INTEGER_MAX },
        Rule::StatusCodes => Kind::Some(
            STATUS_INCIDENT_CODES
                .map(|option| {
                    (option.code.to_string(), format!("{} {}", option.code, option.label))
                })
                .into(),
        ),
        Rule::RecordTypes => {
            Kind::Some(DnsRecordType::ALL.map(|kind| (kind.to_string(), kind.to_string())).into())
        }
        Rule::Paths => {
            hint = Some("One in a line.".to_owned());
            Kind::Lines
        }
        Rule::Page => return None,
    };
    if setting.name == "failures_to_open" {
        let presets = FAILURE_THRESHOLD_PRESETS
            .map(|preset| format!("{}: {}", preset.label, preset.failures_to_open));
        hint = Some(format!("{}.", presets.join(", ")));
    }
    let path = format!("{path}.{}", setting.name);
    // A box says what is the case when it is ticked.
    let label = match (&kind, setting.description.strip_prefix("Whether ")) {
        (Kind::Flag, Some(case)) => capitalized(case),
        _ => setting.description.to_owned(),
    };
    let input = Input::new(path, &label, kind, settings);
    Some(match hint {
        Some(hint) => input.with_hint(hint),
        None => input,
    })
}
