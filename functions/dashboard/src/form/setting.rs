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
use vedette_domain::input::{InputField, InputShape, TextKind};
use vedette_domain::sites::settings::{
    HEADER_FIELDS, HEADER_VALUE_MAX, HTTPS_PORT, STATUS_INCIDENT_CODES, StatusCodeOption,
    TEAM_PATH, TIME_OF_DAY, own_settings,
};
use vedette_http::error::ApiError;
use vedette_http::validation::YES;

use super::label::Label;
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
    shape: InputShape,
    /// What can be chosen, if it is not typed.
    choices: Vec<Choice>,
    /// Values with a name of their own.
    presets: Vec<Choice>,
}

/// The controls of a tool: whether it is enabled, its cadence, and its own settings.
pub(crate) fn of_tool(tool: Tool, plan: Plan) -> impl Iterator<Item = Control> {
    let minimum = plan.minimum_cadence_minutes(tool);
    let cadences = CADENCE_MINUTES.map(|minutes| Choice {
        is_open: minutes >= minimum,
        ..Choice::new(minutes, cadence_label(minutes))
    });
    let cadence = Control::new(
        &format!("tools.{tool}.cadence_minutes"),
        "Check interval",
        InputShape::Number(CADENCE_MINUTES.into()),
    );
    let enabled = &format!("tools.{tool}.enabled");
    [
        Control::new(enabled, "Check automatically", InputShape::Flag),
        Control { choices: cadences.into(), ..cadence },
    ]
    .into_iter()
    .chain(own_settings(tool).iter().map(move |setting| {
        let control = Control::of(&format!("tools.{tool}.settings"), setting);
        match setting.name {
            "incident_status_codes" => {
                let name = |code: StatusCodeOption| {
                    Choice::new(code.code, format!("{} {}", code.code, code.label))
                };
                Control { choices: STATUS_INCIDENT_CODES.map(name).into(), ..control }
            }
            "failures_to_open" => Control { presets: presets(), ..control },
            _ => control,
        }
    }))
}

/// The controls of the header that checks send. Its value may be a secret, so pages do not show it.
pub(crate) fn of_header() -> [Control; 2] {
    let [name, value] = HEADER_FIELDS.map(|part| Control::of("request_header", &part));
    let shape = InputShape::Text { min: 0, max: HEADER_VALUE_MAX, kind: TextKind::Secret };
    [name, Control { shape, ..value }]
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
    fn new(path: &str, label: &str, shape: InputShape) -> Self {
        let (name, label) = (format!("{TEAM_PATH}.{path}"), label.to_owned());
        Self { name, label, help: "", shape, choices: Vec::new(), presets: Vec::new() }
    }

    /// The control of a declared setting in the object at a path.
    pub(crate) fn of(path: &str, field: &InputField) -> Self {
        let shape = (field.shape)();
        let choices = match &shape {
            InputShape::List { items, .. } => choices(items),
            shape => choices(shape),
        };
        let control = Self::new(&field.name_below(path), &field.label(), shape);
        Self { help: field.help, choices, ..control }
    }

    /// The same control with names for its choices.
    pub(crate) fn choosing(self, choices: impl Into<Vec<Choice>>) -> Self {
        Self { choices: choices.into(), ..self }
    }

    /// The name of its field.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether teams have the setting too.
    pub(crate) fn is_of_teams(&self) -> bool {
        // The only URL is that of a page of a site.
        !matches!(self.shape, InputShape::Text { kind: TextKind::Url, .. })
    }

    /// Whether it is a list of texts that are typed, one on each line.
    fn is_typed_list(&self) -> bool {
        matches!(self.shape, InputShape::List { .. }) && self.choices.is_empty()
    }

    const fn is_secret(&self) -> bool {
        matches!(self.shape, InputShape::Text { kind: TextKind::Secret, .. })
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
            _ if self.is_secret() => {}
            Some(Value::Array(items)) if self.is_typed_list() => {
                input.put(&self.name, items.iter().map(text).collect::<Vec<_>>().join("\n"));
            }
            Some(Value::Array(items)) => {
                items.iter().for_each(|item| input.put(&self.name, text(item)));
            }
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) => input.put(&self.name, YES),
            Some(value) => input.put(&self.name, text(value)),
        }
    }

    /// Adds its value to a request.
    pub(crate) fn write(&self, input: &FormInput, request: &mut Value) {
        let place = self.name.split('.').fold(request, |place, name| &mut place[name]);
        *place = self.value(input);
    }

    /// Its text, or its texts.
    fn value(&self, input: &FormInput) -> Value {
        let from = self.source();
        let preset = self.presets.iter().find(|preset| preset.value == input.text(&from));
        match self.shape {
            InputShape::List { .. } if self.is_typed_list() => input.lines(&self.name).collect(),
            InputShape::List { .. } => input.all(&self.name).collect(),
            _ => preset.map_or_else(|| input.text(&self.name), |preset| &preset.value).into(),
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
        match &self.shape {
            InputShape::Flag => html! {
                (input.tick(name, YES, label))
                (input.problems(name).shown())
            },
            InputShape::List { .. } if self.is_typed_list() => input.textarea(name, label, 4),
            InputShape::List { .. } => input.ticks(name, label, &self.choices),
            InputShape::Text { kind: TextKind::Pattern(TIME_OF_DAY), .. } => {
                input.input(name, "time", label)
            }
            _ if !self.choices.is_empty() => input.select(name, label, &self.choices),
            shape => input.control_of(shape, name, label),
        }
    }

    /// The stored value, for somebody who cannot change it.
    pub(crate) fn summary(&self, settings: &Value) -> Markup {
        let text = match self.stored(settings) {
            Some(Value::String(_)) if self.is_secret() => "not shown".to_owned(),
            value => self.in_words(value.unwrap_or(&Value::Null)),
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
        let value = match &self.shape {
            InputShape::Flag => logged.parse().map_or_else(|_| logged.into(), Value::Bool),
            InputShape::List { .. } if !self.is_typed_list() && items.clone().count() <= LISTED => {
                items.map(Value::from).collect()
            }
            _ => logged.into(),
        };
        self.in_words(&value)
    }

    fn in_words(&self, value: &Value) -> String {
        match value {
            Value::Null if self.name.ends_with(".port") => HTTPS_PORT.to_string(),
            value => words(value, &|item| self.called(item)),
        }
    }

    /// The name of a value that can be chosen.
    fn called(&self, value: &Value) -> String {
        let text = text(value);
        let choice = self.choices.iter().find(|choice| choice.value == text);
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
        let own = match &self.shape {
            InputShape::Flag => {
                let choices = [Choice::new(YES, "Yes"), Choice::new("", "No")];
                input.select(&self.name, label.as_str(), &choices)
            }
            _ => self.shown_as(input, label.as_str().into()),
        };
        let (source, is_own) = (self.source(), self.is_own(input));
        html! {
            div class={ "f2" @if matches!(self.shape, InputShape::List { .. }) { " long" } } {
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

/// What can be chosen of a shape; nothing if it is typed.
fn choices(shape: &InputShape) -> Vec<Choice> {
    match shape {
        InputShape::Choice(values) => values.iter().map(|one| Choice::new(one, one)).collect(),
        InputShape::Number(values) => {
            values.iter().map(|one| Choice::new(one, one.to_string())).collect()
        }
        _ => Vec::new(),
    }
}

fn presets() -> Vec<Choice> {
    let presets = FAILURE_THRESHOLD_PRESETS.map(|preset| {
        let number = preset.failures_to_open;
        Choice::new(number, format!("{}: {number}", preset.label))
    });
    presets.into()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
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
