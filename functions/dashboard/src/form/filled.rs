//! A form with many fields, as it is filled in when it is shown.

use maud::{Markup, html};
use url::form_urlencoded;
use vedette_http::validation::ValidationError;

use super::Problems;

/// A form as it is filled in: by what is stored, or by what was sent and refused. A field bears the name
/// that the API's errors have for it.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    fields: Vec<(String, String)>,
    refusal: Option<ValidationError>,
}

impl Filled {
    /// The form as a browser sent it.
    pub(crate) fn sent(body: &[u8]) -> Self {
        Self { fields: form_urlencoded::parse(body).into_owned().collect(), refusal: None }
    }

    /// The same form, with what is wrong with it.
    pub(crate) fn refused(self, refusal: ValidationError) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    /// Fills in a field; one with several values is filled in several times.
    pub(crate) fn put(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.fields.push((name.into(), text.into()));
    }

    /// What a field holds; nothing where it was not sent.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(filled, _)| filled == name);
        found.map_or("", |(_, text)| text)
    }

    /// All that a field of several values holds.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |(filled, _)| filled == name);
        fields.map(|(_, text)| text.as_str())
    }

    /// Whether a box is ticked.
    pub(crate) fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|filled| filled == value)
    }

    /// The lines of a text that are not blank.
    pub(crate) fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        self.text(name).lines().map(str::trim).filter(|line| !line.is_empty())
    }

    /// What is wrong with the whole form, in short.
    pub(crate) fn summary(&self) -> Markup {
        html! {
            @if let Some(refusal) = &self.refusal {
                p.error role="alert" { (refusal.message()) }
            }
        }
    }

    /// What is wrong with a field.
    pub(crate) fn problems(&self, name: &str) -> Problems {
        Problems::of(self.refusal.as_ref(), name, name)
    }

    /// A line of text with its label.
    pub(crate) fn input(&self, name: &str, kind: &str, label: &str) -> Markup {
        let problems = self.problems(name);
        html! {
            label for=(name) { (label) }
            input id=(name) type=(kind) name=(name) value=(self.text(name)) autocomplete="off"
                aria-describedby=[problems.described()] aria-invalid=[problems.invalid()];
            (problems.shown())
        }
    }

    /// Lines of text with their label.
    pub(crate) fn textarea(&self, name: &str, label: &str, rows: u8) -> Markup {
        let problems = self.problems(name);
        html! {
            label for=(name) { (label) }
            // Browsers drop one line break at the start.
            textarea id=(name) name=(name) rows=(rows)
                aria-describedby=[problems.described()] aria-invalid=[problems.invalid()] {
                "\n" (self.text(name))
            }
            (problems.shown())
        }
    }

    /// A box to tick, one of several with the same name or a lone one.
    pub(crate) fn tick(&self, name: &str, value: &str, label: &str) -> Markup {
        let id = format!("{name}.{value}");
        html! {
            div.check {
                input id=(id) type="checkbox" name=(name) value=(value) checked[self.has(name, value)];
                label for=(id) { (label) }
            }
        }
    }

    /// A choice, each with its value and its words.
    pub(crate) fn select(&self, name: &str, label: &str, options: &[(String, String)]) -> Markup {
        let problems = self.problems(name);
        html! {
            label for=(name) { (label) }
            select id=(name) name=(name)
                aria-describedby=[problems.described()] aria-invalid=[problems.invalid()] {
                @for (value, words) in options {
                    option value=(value) selected[self.text(name) == value] { (words) }
                }
            }
            (problems.shown())
        }
    }
}
