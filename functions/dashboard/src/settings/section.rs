//! The sections of a team's settings, and what each of them has.

use serde_json::Value;
use vedette_domain::accounts::plan::{ESCALATION_PRESETS, Plan};
use vedette_domain::checks::tool::Tool;
use vedette_http::settings::TEAM_PATH;
use vedette_store::TeamWithSettings;

use crate::form::setting::{self, Control, Kind};
use crate::form::{Choice, FormInput};

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
            Self::RequestHeader => Some(
                "Sent with status, broken-links and performance checks. Without a name, none is sent.",
            ),
            Self::QuietTime => {
                Some("Alerts are held back every day between these times, which are in UTC.")
            }
            Self::Escalation => Some("How long after an issue opened its reminders are sent."),
        }
    }

    /// The controls of its form.
    pub(super) fn controls(self, plan: Plan) -> Vec<Control> {
        match self {
            Self::Tool(tool) => setting::of_tool(tool, plan).filter(Control::is_of_teams).collect(),
            Self::RequestHeader => setting::of_header().into(),
            Self::QuietTime => vec![
                Control::new("quiet_time.enabled", "Hold alerts back", Kind::Flag),
                Control::new("quiet_time.starts_at", "From", Kind::Time),
                Control::new("quiet_time.ends_at", "Until", Kind::Time),
            ],
            Self::Escalation => {
                let presets =
                    ESCALATION_PRESETS.map(|preset| Choice::new(preset.minutes, preset.label));
                vec![
                    Control::new("escalation.enabled", "Send reminders", Kind::Flag),
                    Control::new("escalation.intervals", "When", Kind::Some(presets.into())),
                ]
            }
        }
    }

    /// What its form says of the settings, as the API would be sent it.
    pub(super) fn request(self, team: &TeamWithSettings, input: &FormInput) -> Value {
        let mut request = Value::Null;
        for control in self.controls(team.plan()) {
            control.write(input, &mut request);
        }
        if self == Self::RequestHeader {
            setting::keep_header_value(&mut request, team.settings.request_header.pair());
        }
        request[TEAM_PATH].take()
    }
}
