//! One setting as a form has it: what it holds as text, and as the JSON that the API would be sent.

use maud::{Markup, html};
use serde_json::{Map, Value};
use vedette_http::settings::TEAM_PATH;
use vedette_http::validation::ValidationError;

use crate::form::{Problems, fields};

/// A setting in a form.
pub(super) struct Input {
    /// Where it stands in the settings: names between dots.
    path: String,
    label: String,
    hint: Option<String>,
    kind: Kind,
    /// What it holds: one text, or one for each choice that is made.
    texts: Vec<String>,
}

/// How a setting is filled in.
pub(super) enum Kind {
    /// A box to be ticked.
    Flag,
    /// One of a few numbers; those that cannot be chosen are shown as such.
    Choice(Vec<(u32, String, bool)>),
    /// Some of a few values.
    Some(Vec<(String, String)>),
    /// A number; nothing may mean that there is no limit.
    Number { min: u32, max: u32 },
    /// Texts, one in a line.
    Lines,
    /// A text.
    Text,
    /// A time of day.
    Time,
    /// A text that is not shown.
    Secret,
}

impl Input {
    /// A setting with the value that it has.
    pub(super) fn new(path: String, label: &str, kind: Kind, settings: &Value) -> Self {
        let pointer = format!("/{}", path.replace('.', "/"));
        let texts = match settings.pointer(&pointer) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.iter().map(text).collect(),
            Some(value) => vec![text(value)],
        };
        let label = label.trim_end_matches('.').to_owned();
        Self { path, label, hint: None, kind, texts }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The setting as somebody filled it in.
    pub(super) fn filled_in(self, body: &[u8]) -> Self {
        let texts = fields(body, self.name());
        Self { texts, ..self }
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }

    /// The text that it holds.
    pub(super) fn text(&self) -> &str {
        self.texts.first().map(|text| text.trim()).unwrap_or_default()
    }

    /// The same with another text.
    pub(super) fn holding(self, text: &str) -> Self {
        Self { texts: vec![text.to_owned()], ..self }
    }

    /// Writes it where it stands in the settings.
    pub(super) fn write(&self, settings: &mut Map<String, Value>) {
        let mut place = settings;
        let mut names: Vec<&str> = self.path.split('.').collect();
        let Some(last) = names.pop() else { return };
        for name in names {
            let inner = place.entry(name).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = inner else { return };
            place = inner;
        }
        place.insert(last.to_owned(), self.json());
    }

    fn json(&self) -> Value {
        match self.kind {
            Kind::Flag => Value::Bool(self.text() == "true"),
            Kind::Choice(_) | Kind::Number { .. } => number_or_text(self.text()),
            Kind::Some(_) => self.texts.iter().map(|text| number_or_text(text)).collect(),
            Kind::Lines => {
                let lines = self.texts.iter().flat_map(|text| text.lines());
                lines.map(str::trim).filter(|line| !line.is_empty()).collect()
            }
            Kind::Text | Kind::Time | Kind::Secret => {
                // A line break in what is typed is to be refused, not trimmed.
                Value::from(self.texts.first().map_or("", String::as_str))
            }
        }
    }

    pub(super) fn has_problem(&self, refused: &ValidationError) -> bool {
        refused.of_field(&self.full_path()).next().is_some()
    }

    fn full_path(&self) -> String {
        format!("{TEAM_PATH}.{}", self.path)
    }

    fn id(&self) -> String {
        self.path.replace('.', "-")
    }

    /// The field of a form.
    pub(super) fn field(&self, refused: Option<&ValidationError>) -> Markup {
        let id = self.id();
        let problems = Problems::of(refused, &self.full_path(), &id);
        let (described, invalid) = (problems.described(), problems.invalid());
        let is_made = |choice: &str| self.texts.iter().any(|text| text == choice);
        let hint = html! { @if let Some(hint) = &self.hint { p.quiet { (hint) } } };
        html! {
            @match &self.kind {
                Kind::Flag => div.check {
                    input id=(id) type="checkbox" name=(self.name()) value="true"
                        checked[is_made("true")] aria-describedby=[described];
                    label for=(id) { (self.label) }
                },
                Kind::Some(choices) => fieldset {
                    legend { (self.label) }
                    (hint)
                    div.row {
                        @for (value, label) in choices {
                            div.check {
                                input id={ (id) "-" (value) } type="checkbox" name=(self.name())
                                    value=(value) checked[is_made(value)]
                                    aria-describedby=[described];
                                label for={ (id) "-" (value) } { (label) }
                            }
                        }
                    }
                },
                kind => {
                    label for=(id) { (self.label) }
                    (hint)
                    @match kind {
                        Kind::Choice(choices) => {
                            select id=(id) name=(self.name()) aria-describedby=[described]
                                aria-invalid=[invalid] {
                                @for (value, label, is_open) in choices {
                                    option value=(value) selected[is_made(&value.to_string())]
                                        disabled[!is_open] { (label) }
                                }
                            }
                        }
                        Kind::Lines => {
                            textarea id=(id) name=(self.name()) rows="4"
                                aria-describedby=[described] aria-invalid=[invalid] {
                                (self.texts.join("\n"))
                            }
                        }
                        kind => {
                            @let (min, max) = kind.bounds();
                            input id=(id) type=(kind.input_type()) name=(self.name())
                                value=[kind.shows_text().then_some(self.text())]
                                min=[min] max=[max] autocomplete="off"
                                aria-describedby=[described] aria-invalid=[invalid];
                        }
                    }
                }
            }
            (problems.shown())
        }
    }

    /// What it says, for somebody who cannot change it.
    pub(super) fn said(&self) -> Markup {
        let label_of = |value: &String| {
            let Kind::Some(choices) = &self.kind else { return value.clone() };
            let found = choices.iter().find(|(choice, _)| choice == value);
            found.map_or_else(|| value.clone(), |(_, label)| label.clone())
        };
        let text = match &self.kind {
            Kind::Flag if self.text() == "true" => "yes".to_owned(),
            Kind::Flag => "no".to_owned(),
            Kind::Choice(choices) => {
                let is_made = |(value, ..): &&(u32, String, bool)| value.to_string() == self.text();
                choices.iter().find(is_made).map_or_else(String::new, |(_, label, _)| label.clone())
            }
            Kind::Secret if !self.texts.is_empty() => "not shown".to_owned(),
            _ if self.texts.is_empty() => "none".to_owned(),
            _ => self.texts.iter().map(label_of).collect::<Vec<_>>().join(", "),
        };
        html! { dt { (self.label) } dd { bdi { (text) } } }
    }
}

impl Kind {
    const fn input_type(&self) -> &'static str {
        match self {
            Self::Number { .. } => "number",
            Self::Time => "time",
            Self::Secret => "password",
            _ => "text",
        }
    }

    const fn shows_text(&self) -> bool {
        !matches!(self, Self::Secret)
    }

    fn bounds(&self) -> (Option<u32>, Option<u32>) {
        match self {
            Self::Number { min, max } => (Some(*min), Some(*max)),
            _ => (None, None),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(false) => String::new(),
        other => other.to_string(),
    }
}

/// What looks like a number is one; anything else is left to be refused as it was typed.
fn number_or_text(text: &str) -> Value {
    text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from)
}
