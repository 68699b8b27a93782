//! A form with many fields, and its input.

use lambda_http::http::StatusCode;
use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Map, Value};
use url::form_urlencoded;
use vedette_domain::accounts::email::parse_email;
use vedette_domain::input::{InputField, InputShape, TextKind};
use vedette_domain::sites::selector::SELECTOR_HELP;
use vedette_http::error::ApiError;
use vedette_http::validation::{ValidationError, YES};

use super::label::Label;
use super::{Problems, capitalized, sentence};
use crate::layout;
use crate::look::Look;

/// A choice, with its value and its name for people.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    /// Whether it can be chosen.
    pub(crate) is_open: bool,
}

impl Choice {
    pub(crate) fn new(value: impl ToString, label: impl Into<String>) -> Self {
        Self { value: value.to_string(), label: label.into(), is_open: true }
    }
}

/// The input of a form: what is stored, or what was sent and refused. Fields have the names that the API's errors use.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormInput {
    fields: Vec<(String, String)>,
    refusal: Option<ValidationError>,
}

impl FormInput {
    /// The form that a browser sent.
    pub(crate) fn sent(body: &[u8]) -> Self {
        Self { fields: form_urlencoded::parse(body).into_owned().collect(), refusal: None }
    }

    /// A form with the defaults of its fields.
    pub(crate) fn defaults<'f>(fields: impl Iterator<Item = &'f InputField>) -> Self {
        let default = |field: &InputField| Some((field.name.to_owned(), (field.default)()?));
        Self { fields: fields.filter_map(default).collect(), refusal: None }
    }

    /// Fills fields in with a resource of the API. A field that it lacks gets its default.
    pub(crate) fn fill<'f>(
        &mut self,
        path: &str,
        fields: impl IntoIterator<Item = &'f InputField>,
        resource: &impl Serialize,
    ) -> Result<(), ApiError> {
        let resource = serde_json::to_value(resource).map_err(ApiError::internal)?;
        for field in fields {
            let name = field.name_below(path);
            let texts: Vec<String> = match (resource.get(field.name), (field.shape)()) {
                (value, InputShape::Object(fields)) => {
                    self.fill(&name, fields, &value)?;
                    continue;
                }
                (None, _) => (field.default)().into_iter().collect(),
                (Some(Value::Array(items)), _) => items.iter().filter_map(text_of).collect(),
                (Some(value), _) => text_of(value).into_iter().collect(),
            };
            texts.into_iter().for_each(|text| self.put(&*name, text));
        }
        Ok(())
    }

    /// The same form, with what is wrong with it.
    pub(crate) fn refused(self, refusal: ValidationError) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    /// The status of a page with this form.
    pub(crate) const fn status(&self) -> StatusCode {
        match self.refusal {
            Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
            None => StatusCode::OK,
        }
    }

    /// The same form without its texts, which may be secrets.
    pub(crate) fn without_texts(&self) -> Self {
        Self { fields: Vec::new(), refusal: self.refusal.clone() }
    }

    /// The texts in fields of the form. A browser sends nothing for boxes that are not ticked.
    pub(crate) fn texts<'f>(
        &self,
        fields: impl IntoIterator<Item = &'f InputField>,
    ) -> Map<String, Value> {
        self.texts_below("", fields)
    }

    /// The same for fields whose names begin with a path and a dot, as those of an object do.
    pub(crate) fn texts_below<'f>(
        &self,
        path: &str,
        fields: impl IntoIterator<Item = &'f InputField>,
    ) -> Map<String, Value> {
        let text = |field: &InputField| {
            let name = field.name_below(path);
            let mut texts = self.all(&name);
            match (field.shape)() {
                InputShape::Flag => Some(self.text(&name).into()),
                InputShape::Object(fields) => Some(self.texts_below(&name, fields).into()),
                InputShape::List { .. } if field.is_nullable() && texts.next().is_none() => {
                    Some(Value::Null)
                }
                InputShape::List { .. } => Some(self.all(&name).collect()),
                _ => texts.next().map(Value::from),
            }
        };
        let fields = fields.into_iter();
        fields.filter_map(|field| Some((field.name.to_owned(), text(field)?))).collect()
    }

    /// The control of a declared field.
    pub(crate) fn control(&self, field: &InputField) -> Markup {
        self.control_below("", field)
    }

    /// The control of a declared field whose name begins with a path and a dot.
    pub(crate) fn control_below(&self, path: &str, field: &InputField) -> Markup {
        let (name, text) = (field.name_below(path), field.label());
        self.control_of(&(field.shape)(), &name, (&*text, field.help).into())
    }

    /// The control of values of a shape.
    pub(crate) fn control_of(&self, shape: &InputShape, name: &str, label: Label<'_>) -> Markup {
        match *shape {
            InputShape::Text { kind: TextKind::Lines, .. } => self.textarea(name, label, 3),
            InputShape::Text { kind: TextKind::SecretLines, .. } => self.textarea(name, label, 4),
            InputShape::Text { kind: TextKind::Secret, .. } => self.secret(name, label),
            InputShape::Text { kind: TextKind::Format("date-time"), .. } => {
                self.input(name, "datetime-local", label)
            }
            InputShape::Text { kind: TextKind::Url, .. } => self.input(name, "url", label),
            InputShape::Text { .. } => self.input(name, "text", label),
            InputShape::Minutes(max) => self.number(name, label, (1, max)),
            InputShape::Integer(min, max) => self.number(name, label, (min, max)),
            InputShape::Decimal(min, max) => self.decimal(name, label, (min, max)),
            InputShape::Flag => self.tick(name, YES, label),
            InputShape::Choice(ref values) => {
                let choices: Vec<_> =
                    values.iter().map(|value| Choice::new(value, capitalized(value))).collect();
                self.select(name, label, &choices)
            }
            InputShape::Object(fields) => {
                html! { @for field in fields { (self.control_below(name, field)) } }
            }
            // What can be chosen depends on the page, so it has a control of its own.
            InputShape::List { .. }
            | InputShape::Number(_)
            | InputShape::Variants(_)
            | InputShape::Scalar(_) => Markup::default(),
        }
    }

    /// The control of a declared field with these choices: of one of them or, for a list, of several.
    pub(crate) fn chosen(&self, field: &InputField, choices: &[Choice]) -> Markup {
        let text = field.label();
        let label = (text.as_str(), field.help);
        match (field.shape)() {
            InputShape::List { .. } if choices.is_empty() => Markup::default(),
            InputShape::List { .. } => self.ticks(field.name, label, choices),
            _ => self.select(field.name, label, choices),
        }
    }

    /// The address in the field `email`, or what is wrong with it.
    pub(crate) fn email(&self) -> Result<&str, ValidationError> {
        parse_email(self.text("email"))
            .map_err(|error| ValidationError::new("email", sentence(&error.to_string())))
    }

    /// Adds a value to a field. For a field with several values, call it for each of them.
    pub(crate) fn put(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.fields.push((name.into(), text.into()));
    }

    /// The text of a field; empty if it was not sent.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(input, _)| input == name);
        found.map_or("", |(_, text)| text)
    }

    /// All values of a field.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |(input, _)| input == name);
        fields.map(|(_, text)| text.as_str())
    }

    /// Whether a box is ticked.
    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|input| input == value)
    }

    /// The lines of a text that are not blank.
    pub(crate) fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        self.text(name).lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// A short text about what is wrong with the form.
    pub(crate) fn summary(&self) -> Markup {
        html! {
            @if let Some(refusal) = &self.refusal {
                (layout::problem(&refusal.message()))
            }
        }
    }

    /// Says that nothing was saved. Shows the reason if it concerns none of these fields, because it would appear
    /// nowhere else.
    pub(crate) fn unsaved<'a>(&self, names: impl Iterator<Item = &'a str>) -> Markup {
        self.not_done("Changes not saved.", "Correct what is marked below, and save again.", names)
    }

    /// Says that something was not created, as [`unsaved`](Self::unsaved) does.
    pub(crate) fn uncreated<'a>(&self, what: &str, names: impl Iterator<Item = &'a str>) -> Markup {
        self.not_done(&format!("{what} not created."), "Correct what is marked below.", names)
    }

    /// Says what was not done, and what to do about the marked fields. Shows the reason if it concerns none of these
    /// fields.
    pub(crate) fn not_done<'a>(
        &self,
        what: &str,
        to_do: &str,
        mut names: impl Iterator<Item = &'a str>,
    ) -> Markup {
        html! {
            @if let Some(refusal) = &self.refusal {
                (layout::note(Look::Down, &html! {
                    b { (what) } " "
                    @if !names.any(|name| self.problems(name).invalid().is_some()) {
                        (refusal.message())
                    } @else {
                        (to_do)
                    }
                }))
            }
        }
    }

    /// What is wrong with a field.
    pub(crate) fn problems(&self, name: &str) -> Problems {
        Problems::of(self.refusal.as_ref(), name, name)
    }

    /// Whether something is wrong with fields whose names begin with a path and a dot.
    pub(crate) fn is_wrong_below(&self, path: &str) -> bool {
        self.refusal.as_ref().is_some_and(|refusal| refusal.concerns_fields_below(path))
    }

    /// A line of text with its label.
    pub(crate) fn input<'l>(&self, name: &str, kind: &str, label: impl Into<Label<'l>>) -> Markup {
        self.line(name, kind, label.into(), None)
    }

    /// A line of text with its label, and with an example while it is empty.
    pub(crate) fn input_like<'l>(
        &self,
        name: &str,
        label: impl Into<Label<'l>>,
        example: &str,
    ) -> Markup {
        self.line(name, "text", label.into(), Some(example))
    }

    /// The control of a declared field with a selector, whose help may say something else first.
    pub(crate) fn selector(&self, field: &InputField, first: &str) -> Markup {
        let (text, help) = (field.label(), format!("{first}{SELECTOR_HELP}"));
        self.input_like(field.name, (&*text, &*help), "env:prod, !legacy")
    }

    fn line(&self, name: &str, kind: &str, label: Label<'_>, example: Option<&str>) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                input id=(name) type=(kind) autocomplete="off" name=(name) value=(self.text(name))
                    placeholder=[example] aria-describedby=[described] aria-invalid=[invalid];
            }
        })
    }

    /// A number within bounds with its label.
    pub(crate) fn number<'l>(
        &self,
        name: &str,
        label: impl Into<Label<'l>>,
        (min, max): (u32, u32),
    ) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                input id=(name) type="number" min=(min) max=(max) name=(name)
                    value=(self.text(name)) aria-describedby=[described] aria-invalid=[invalid];
            }
        })
    }

    /// The same for one that may have decimals.
    fn decimal(&self, name: &str, label: Label<'_>, (min, max): (f64, f64)) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                input id=(name) type="number" step="any" min=(min) max=(max) name=(name)
                    value=(self.text(name)) aria-describedby=[described] aria-invalid=[invalid];
            }
        })
    }

    /// A text that is not shown, not even to the person who typed it.
    pub(crate) fn secret<'l>(&self, name: &str, label: impl Into<Label<'l>>) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                input id=(name) type="password" name=(name) autocomplete="off"
                    aria-describedby=[described] aria-invalid=[invalid];
                p.help { "It isn’t shown. Leave it empty to keep it." }
            }
        })
    }

    /// Lines of text with their label.
    pub(crate) fn textarea<'l>(&self, name: &str, label: impl Into<Label<'l>>, rows: u8) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                // Browsers drop one line break at the start.
                textarea id=(name) name=(name) rows=(rows)
                    aria-describedby=[described] aria-invalid=[invalid] { "\n" (self.text(name)) }
            }
        })
    }

    /// One of several choices.
    pub(crate) fn select<'l>(
        &self,
        name: &str,
        label: impl Into<Label<'l>>,
        choices: &[Choice],
    ) -> Markup {
        self.labeled(name, label, |described, invalid| {
            html! {
                select id=(name) name=(name) aria-describedby=[described] aria-invalid=[invalid] {
                    @for choice in choices {
                        option value=(choice.value) selected[self.text(name) == choice.value]
                            disabled[!choice.is_open] { (choice.label) }
                    }
                }
            }
        })
    }

    /// A checkbox, one of several with the same name or the only one.
    pub(crate) fn tick<'l>(&self, name: &str, value: &str, label: impl Into<Label<'l>>) -> Markup {
        let (id, Label { text, help }) = (format!("{name}.{value}"), label.into());
        html! {
            div.check {
                input id=(id) type="checkbox" name=(name) value=(value) checked[self.has(name, value)]
                    aria-describedby=[self.problems(name).described()];
                label for=(id) { (text) @if !help.is_empty() { " " span.help { (help) } } }
            }
        }
    }

    /// Several choices, each with a checkbox.
    pub(crate) fn ticks<'l>(
        &self,
        name: &str,
        label: impl Into<Label<'l>>,
        choices: &[Choice],
    ) -> Markup {
        let Label { text, help } = label.into();
        html! {
            fieldset.fld.full {
                legend { (text) @if !help.is_empty() { " " span.help { (help) } } }
                div.codes {
                    @for choice in choices { (self.tick(name, &choice.value, choice.label.as_str())) }
                }
                (self.problems(name).shown())
            }
        }
    }

    /// A control below its label, with what is wrong with it.
    fn labeled<'l>(
        &self,
        name: &str,
        label: impl Into<Label<'l>>,
        control: impl FnOnce(Option<&str>, Option<&str>) -> Markup,
    ) -> Markup {
        let (problems, Label { text, help }) = (self.problems(name), label.into());
        html! {
            div.fld {
                label for=(name) { (text) }
                (control(problems.described(), problems.invalid()))
                (problems.shown())
                @if !help.is_empty() { p.help { (help) } }
            }
        }
    }
}

/// What a form sends for a value; nothing for null, and for a box that is not ticked.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(false) => None,
        Value::Bool(true) => Some(YES.to_owned()),
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
