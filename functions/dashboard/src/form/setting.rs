//! A monitoring setting in a form: its control, how the stored value fills the control, and the value that the control
//! sends to the API.
//!
//! A site may take each setting from its team. On a site's page, a choice for that comes before each control and shows
//! the team's value.

use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};
use vedette_domain::accounts::plan::{
    CADENCE_MINUTES, FAILURE_THRESHOLD_PRESETS, Plan, cadence_label,
};
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::{
    DnsRecordType, HTTPS_PORT, INTEGER_MAX, Rule, STATUS_INCIDENT_CODES, Setting, own_settings,
};
use vedette_http::error::ApiError;
use vedette_http::settings::TEAM_PATH;

use super::label::{self, Label};
use super::{Choice, FormInput, capitalized};

/// The choice of a value of its own, rather than the team's or a preset.
const OWN: &str = "own";

/// A setting with its control.
pub(crate) struct Control {
    /// Where the setting is in the API's requests, with dots between names. The field has the same name, as in the
    /// API's errors.
    name: String,
    label: String,
    help: &'static str,
    kind: Kind,
    /// Values with a name of their own.
    presets: Vec<Choice>,
}

/// How a setting is filled in.
pub(crate) enum Kind {
    /// A checkbox.
    Flag,
    /// One of several values.
    One(Vec<Choice>),
    /// Some of several values.
    Some(Vec<Choice>),
    /// A number within bounds. Empty may mean that there is no limit.
    Number(u32, u32),
    /// A TCP port. Empty is the default.
    Port,
    /// Texts, one on each line.
    Lines,
    /// A text.
    Text,
    /// A page of the site, which teams do not have.
    Page,
    /// A time of day.
    Time,
    /// A text that is not shown.
    Secret,
}

/// The controls of a tool: whether it is enabled, its cadence, and its own settings.
pub(crate) fn of_tool(tool: Tool, plan: Plan) -> impl Iterator<Item = Control> {
    let control = move |name: &str, label: &str, kind| {
        Control::new(&format!("tools.{tool}.{name}"), label, kind)
    };
    let minimum = plan.minimum_cadence_minutes(tool);
    let cadences = CADENCE_MINUTES.map(|minutes| Choice {
        is_open: minutes >= minimum,
        ..Choice::new(minutes, cadence_label(minutes))
    });
    // Older names are not offered next to the current ones.
    let own = own_settings(tool).iter().filter(|setting| setting.name == setting.kept_as);
    [
        control("enabled", "Check automatically", Kind::Flag),
        control("cadence_minutes", "Check interval", Kind::One(cadences.into())),
    ]
    .into_iter()
    .chain(own.map(move |setting| {
        let label = label::of_setting(setting.name).unwrap_or_else(|| setting.name.into());
        let name = format!("settings.{}", setting.name);
        Control {
            presets: presets_of(setting),
            help: label.help,
            ..control(&name, label.text, Kind::of(setting.rule))
        }
    }))
}

/// The controls of the header that checks send.
pub(crate) fn of_header() -> [Control; 2] {
    [
        Control::new("request_header.name", "Header name", Kind::Text),
        Control::new("request_header.value", "Header value", Kind::Secret),
    ]
}

/// Settings in the structure of the API's requests.
pub(crate) fn placed(settings: &impl Serialize) -> Result<Value, ApiError> {
    let settings = serde_json::to_value(settings).map_err(ApiError::internal)?;
    Ok(json!({ TEAM_PATH: settings }))
}

/// Adds the saved value of a header to a request that has none. The form does not contain the value, which belongs to
/// the name that it was `saved` with.
pub(crate) fn keep_header_value(request: &mut Value, saved: Option<(&str, &str)>) {
    let header = &mut request[TEAM_PATH]["request_header"];
    if let Some((name, value)) = saved
        && header["value"] == ""
        && header["name"].as_str().map(str::trim) == Some(name)
    {
        header["value"] = value.into();
    }
}

impl Control {
    /// A control for the monitoring setting at a path.
    pub(crate) fn new(path: &str, label: &str, kind: Kind) -> Self {
        Self {
            name: format!("{TEAM_PATH}.{path}"),
            label: label.to_owned(),
            help: "",
            kind,
            presets: Vec::new(),
        }
    }

    /// The name of its field.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether teams have the setting too.
    pub(crate) const fn is_of_teams(&self) -> bool {
        !matches!(self.kind, Kind::Page)
    }

    /// The name of the field that says where the value comes from, if the control cannot say so itself.
    fn source(&self) -> String {
        format!("{}.from", self.name)
    }

    /// Fills it in with the stored value.
    pub(crate) fn fill(&self, input: &mut FormInput, settings: &Value) {
        self.fill_value(input, settings);
        if !self.presets.is_empty() {
            input.put(self.source(), self.preset(settings));
        }
    }

    /// The stored preset, if there is one.
    fn preset(&self, settings: &Value) -> &str {
        let stored = self.stored(settings).map(text);
        let preset = self.presets.iter().find(|preset| Some(&preset.value) == stored.as_ref());
        preset.map_or(OWN, |preset| &preset.value)
    }

    fn fill_value(&self, input: &mut FormInput, settings: &Value) {
        match self.stored(settings) {
            _ if matches!(self.kind, Kind::Secret) => {}
            Some(Value::Array(items)) if matches!(self.kind, Kind::Lines) => {
                input.put(&self.name, items.iter().map(text).collect::<Vec<_>>().join("\n"));
            }
            Some(Value::Array(items)) => {
                items.iter().for_each(|item| input.put(&self.name, text(item)));
            }
            None | Some(Value::Null) => {}
            Some(value) => input.put(&self.name, text(value)),
        }
    }

    /// Adds its value to a request.
    pub(crate) fn write(&self, input: &FormInput, request: &mut Value) {
        let place = self.name.split('.').fold(request, |place, name| &mut place[name]);
        *place = self.value(input);
    }

    /// Its value. Invalid values are left to the API's validation.
    fn value(&self, input: &FormInput) -> Value {
        let from = self.source();
        let preset = self.presets.iter().find(|preset| preset.value == input.text(&from));
        let typed = preset.map_or_else(|| input.text(&self.name), |preset| &preset.value);
        match self.kind {
            Kind::Flag => match typed {
                "true" => true.into(),
                "" | "false" => false.into(),
                other => other.into(),
            },
            Kind::One(_) | Kind::Number(..) | Kind::Port => number_or_text(typed),
            Kind::Some(_) => input.all(&self.name).map(number_or_text).collect(),
            Kind::Lines => input.lines(&self.name).collect(),
            Kind::Text | Kind::Page | Kind::Time | Kind::Secret => typed.into(),
        }
    }

    /// The control in a form.
    pub(crate) fn shown(&self, input: &FormInput) -> Markup {
        if self.presets.is_empty() {
            return self.shown_as(input, self.label());
        }
        let other = "Another number";
        let choices = self.presets.iter().cloned().chain([Choice::new(OWN, other)]);
        let choices: Vec<_> = choices.collect();
        html! {
            div.from {
                (input.select(&self.source(), self.label(), &choices))
                div.own { (self.shown_as(input, format!("{other}: {}", self.label).as_str().into())) }
            }
        }
    }

    fn label(&self) -> Label<'_> {
        Label { text: &self.label, help: self.help }
    }

    fn shown_as(&self, input: &FormInput, label: Label<'_>) -> Markup {
        let name = &self.name;
        match &self.kind {
            Kind::Flag => html! {
                (input.tick(name, "true", label))
                (input.problems(name).shown())
            },
            Kind::One(choices) => input.select(name, label, choices),
            Kind::Some(choices) => input.ticks(name, label, choices),
            Kind::Number(min, max) => input.number(name, label, (*min, *max)),
            Kind::Port => input.number(name, label, (1, u16::MAX.into())),
            Kind::Lines => input.textarea(name, label, 4),
            Kind::Text | Kind::Page => input.input(name, "text", label),
            Kind::Time => input.input(name, "time", label),
            Kind::Secret => input.secret(name, label),
        }
    }

    /// The stored value, for somebody who cannot change it.
    pub(crate) fn summary(&self, settings: &Value) -> Markup {
        let text = match (&self.kind, self.stored(settings)) {
            (Kind::Secret, Some(Value::String(_))) => "not shown".to_owned(),
            (_, value) => self.in_words(value.unwrap_or(&Value::Null)),
        };
        html! { dt { (self.label) } dd { bdi { (text) } } }
    }

    /// The label of the control.
    pub(crate) fn label_text(&self) -> &str {
        &self.label
    }

    /// A value of the audit log, as the form shows it. A long list stays as it is.
    pub(crate) fn words_for(&self, logged: &str) -> String {
        let items = logged.split(", ").filter(|item| !item.is_empty());
        let value = match &self.kind {
            Kind::Flag => logged.parse().map_or_else(|_| logged.into(), Value::Bool),
            Kind::Some(_) if items.clone().count() <= LISTED => items.map(Value::from).collect(),
            _ => logged.into(),
        };
        self.in_words(&value)
    }

    fn in_words(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (Kind::Port, Value::Null) => HTTPS_PORT.to_string(),
            (_, value) => words(value, &|item| self.called(item)),
        }
    }

    /// The name of a value that can be chosen.
    fn called(&self, value: &Value) -> String {
        let text = text(value);
        let (Kind::One(choices) | Kind::Some(choices)) = &self.kind else { return text };
        let choice = choices.iter().find(|choice| choice.value == text);
        choice.map_or(text, |choice| choice.label.clone())
    }

    fn stored<'a>(&self, settings: &'a Value) -> Option<&'a Value> {
        self.name.split('.').try_fold(settings, |place, name| place.get(name))
    }
}

/// On a site's page.
impl Control {
    /// Fills it in with the settings in force, some of which are the site's `own`. For each of the others, the team's
    /// value is the initial value of an override.
    pub(crate) fn fill_own(&self, input: &mut FormInput, own: &Value, in_force: &Value) {
        self.fill_value(input, in_force);
        input.put(self.source(), if self.stored(own).is_some() { OWN } else { "" });
    }

    /// Whether the form has a value of the site's own.
    pub(crate) fn is_own(&self, input: &FormInput) -> bool {
        input.text(&self.source()) == OWN
    }

    /// Adds the chosen value to a request, unless the site takes it from the team.
    pub(crate) fn write_own(&self, input: &FormInput, request: &mut Value) {
        if self.is_own(input) {
            self.write(input, request);
        }
    }

    /// The choice between the team's value and a value of the site's own, with a control for it.
    pub(crate) fn shown_beside(&self, input: &FormInput, team: &Value) -> Markup {
        let theirs = match self.stored(team).unwrap_or(&Value::Null) {
            Value::Array(items) if items.len() > LISTED => {
                format!("{} selected", items.len())
            }
            team => capitalized(&self.in_words(team)),
        };
        let label = format!("Override: {}", self.label);
        let own = match &self.kind {
            Kind::Flag => {
                let choices = [Choice::new(true, "Yes"), Choice::new(false, "No")];
                input.select(&self.name, label.as_str(), &choices)
            }
            _ => self.shown_as(input, label.as_str().into()),
        };
        let (source, is_own) = (self.source(), self.is_own(input));
        html! {
            div class={ "f2" @if matches!(self.kind, Kind::Some(_) | Kind::Lines) { " long" } } {
                div {
                    p.w5 { (self.label) }
                    @if !self.help.is_empty() { p.help { (self.help) } }
                }
                div.from {
                    div.seg role="radiogroup" aria-label=(self.label) {
                        @for (value, words, is_on) in [("", "Use team setting", !is_own), (OWN, "Override", is_own)] {
                            @let id = format!("{source}.{words}").replace(' ', "-");
                            label for=(id) { input id=(id) type="radio" name=(source) value=(value) checked[is_on]; (words) }
                        }
                    }
                    div.theirs { (theirs) }
                    div.own { (own) }
                }
            }
        }
    }
}

/// The most values of a setting that are listed. If there are more, only their number is shown.
const LISTED: usize = 8;

impl Kind {
    fn of(rule: Rule) -> Self {
        match rule {
            Rule::Boolean => Self::Flag,
            Rule::Integer(min, max) => Self::Number(min, max),
            Rule::Limit => Self::Number(1, INTEGER_MAX),
            Rule::Port => Self::Port,
            Rule::StatusCodes => Self::Some(
                STATUS_INCIDENT_CODES
                    .map(|option| {
                        Choice::new(option.code, format!("{} {}", option.code, option.label))
                    })
                    .into(),
            ),
            Rule::RecordTypes => {
                Self::Some(DnsRecordType::ALL.map(|kind| Choice::new(kind, kind.as_str())).into())
            }
            Rule::Paths => Self::Lines,
            Rule::Page => Self::Page,
        }
    }
}

fn presets_of(setting: &Setting) -> Vec<Choice> {
    if setting.name != "failures_to_open" {
        return Vec::new();
    }
    let presets = FAILURE_THRESHOLD_PRESETS.map(|preset| {
        let number = preset.failures_to_open;
        Choice::new(number, format!("{}: {number}", preset.label))
    });
    presets.into()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A number if the text looks like one. Anything else is kept as typed, to be refused.
fn number_or_text(typed: &str) -> Value {
    typed.trim().parse::<i64>().map_or_else(|_| typed.into(), Value::from)
}

/// A value in words. `called` gives the names of its parts.
fn words(value: &Value, called: &dyn Fn(&Value) -> String) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(called).collect::<Vec<_>>().join(", "),
        other => called(other),
    }
}
