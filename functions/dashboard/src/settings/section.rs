//! The sections of a team's settings.

use maud::Markup;
use serde_json::Value;
use vedette_domain::accounts::plan::{ESCALATION_PRESETS, Plan};
use vedette_domain::checks::tool::Tool;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::sites::settings::{EscalationUpdate, QuietTimeUpdate, TEAM_PATH, own_settings};
use vedette_store::TeamWithSettings;

use crate::form::setting::{self, Control};
use crate::form::{Choice, FormInput};
use crate::look::{self, Icon};
use crate::words;

/// A part of the settings that is saved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Tool(Tool),
    RequestHeader,
    QuietTime,
    Escalation,
}

/// The setting at a path of the audit log, with the section that it is in. Paths of sites' settings begin with
/// `monitoring_settings`.
pub(crate) fn setting_at(path: &str) -> Option<(Section, Control)> {
    let name = match path.strip_prefix(TEAM_PATH) {
        Some(_) => path.to_owned(),
        None => format!("{TEAM_PATH}.{path}"),
    };
    let (group, last) = name.rsplit_once('.')?;
    Section::all().find_map(|section| {
        let (controls, last): (Vec<_>, _) = match section {
            Section::Tool(tool) => {
                // It may be an older name of a setting.
                let named = own_settings(tool).iter().find(|setting| setting.former.0 == last);
                let last = named.map_or(last, |setting| setting.name);
                (setting::of_tool(tool, Plan::Agency).collect(), last)
            }
            other => (other.controls(Plan::Agency), last),
        };
        let is_it =
            |control: &Control| control.name().strip_prefix(group) == Some(&format!(".{last}"));
        Some((section, controls.into_iter().find(is_it)?))
    })
}

impl Section {
    fn all() -> impl Iterator<Item = Self> {
        Self::of_monitoring().chain(Self::of_notifications())
    }

    pub(super) fn of_monitoring() -> impl Iterator<Item = Self> {
        Tool::ALL.into_iter().map(Self::Tool).chain([Self::RequestHeader])
    }

    pub(super) const fn of_notifications() -> [Self; 2] {
        [Self::QuietTime, Self::Escalation]
    }

    /// The group that contains it.
    pub(super) const fn group(self) -> &'static str {
        match self {
            Self::Tool(_) | Self::RequestHeader => "Monitoring",
            Self::QuietTime | Self::Escalation => "Notifications",
        }
    }

    pub(super) fn shape(self) -> Markup {
        match self {
            Self::Tool(tool) => look::tool(tool),
            Self::RequestHeader => Icon::Program.shape(),
            Self::QuietTime => Icon::Moon.shape(),
            Self::Escalation => Icon::Bell.shape(),
        }
    }

    /// Its name in URLs.
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

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Tool(tool) => words::tool(tool),
            Self::RequestHeader => "Request header",
            Self::QuietTime => "Quiet time",
            Self::Escalation => "Reminders",
        }
    }

    /// What it is about.
    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Tool(Tool::Status) => {
                "Checks that the site responds, its status code and its response time."
            }
            Self::Tool(Tool::Ssl) => {
                "Checks that the certificate is valid, and warns before it expires."
            }
            Self::Tool(Tool::Dns) => {
                "Checks that DNS records exist and haven’t changed, and when the domain expires."
            }
            Self::Tool(Tool::BrokenLinks) => "Crawls the site and finds broken links.",
            Self::Tool(Tool::Performance) => "Measures with Lighthouse how fast the site loads.",
            Self::Tool(Tool::Heartbeat) => "Waits for the pings of jobs.",
            Self::RequestHeader => {
                "A header sent with status, broken link and performance checks, for example to let them through a firewall."
            }
            Self::QuietTime => {
                "Every day between these times, in the team’s time zone, notifications are held. They are sent when quiet time ends."
            }
            Self::Escalation => "Reminds people of issues until they are resolved.",
        }
    }

    /// The controls of its form.
    pub(super) fn controls(self, plan: Plan) -> Vec<Control> {
        match self {
            Self::Tool(tool) => setting::of_tool(tool, plan).filter(Control::is_of_teams).collect(),
            Self::RequestHeader => setting::of_header().into(),
            Self::QuietTime => QuietTimeUpdate::FIELDS
                .iter()
                .map(|field| Control::of("quiet_time", field))
                .collect(),
            Self::Escalation => {
                let presets =
                    ESCALATION_PRESETS.map(|preset| Choice::new(preset.minutes, preset.label));
                let control =
                    |field: &InputField| match (Control::of("escalation", field), field.name) {
                        (control, "intervals") => control.choosing(presets.clone()),
                        (control, _) => control,
                    };
                EscalationUpdate::FIELDS.iter().map(control).collect()
            }
        }
    }

    /// The form's settings, in the structure of the API's requests.
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
