//! The fields of a form, as browsers send them and as pages show them.

mod input;
pub(crate) mod label;
pub(crate) mod picker;
pub(crate) mod setting;

use std::borrow::Cow;

use maud::{Markup, html};
use url::form_urlencoded;
use vedette_http::validation::ValidationError;

use crate::look::Look;

pub(crate) use input::{Choice, FormInput};
pub(crate) use label::Label;
pub(crate) use vedette_domain::wording::{capitalized, sentence};

/// A field's text; empty if it was not sent.
pub(crate) fn field<'a>(body: &'a [u8], name: &str) -> Cow<'a, str> {
    let mut fields = form_urlencoded::parse(body);
    fields.find(|(sent, _)| sent == name).map(|(_, text)| text).unwrap_or_default()
}

/// The API's message about a field, to show next to that field: without the field's own name, and with only the last
/// part of other names.
fn beside_field(text: &str) -> String {
    let rest = text.strip_prefix("The ").and_then(|rest| rest.split_once(" field "));
    let Some((name, rest)) = rest else { return text.to_owned() };
    // Host names have dots, too.
    let root = name.split_once('.').map_or(name, |(root, _)| root);
    // For one of several lines, the message says which one. Tags share a line.
    let line = name.rsplit('.').next().and_then(|part| part.parse::<usize>().ok());
    let unit = if ["tags", "remove"].contains(&root) { "Tag" } else { "Line" };
    let line = line.map(|line| format!("{unit} {}: ", line + 1)).unwrap_or_default();
    let words = rest.split(' ').map(|word| {
        let (name, end) = word.strip_suffix('.').map_or((word, ""), |name| (name, "."));
        let is_name = name.split_once('.').is_some_and(|(first, _)| first == root);
        let last = name.rsplit('.').next().filter(|last| is_name && !last.is_empty());
        last.map_or_else(|| word.to_owned(), |last| format!("{}{end}", last.replace('_', " ")))
    });
    capitalized(&format!("{line}{}", words.collect::<Vec<_>>().join(" ")))
}

/// What is wrong with a field, as shown next to it, and the attributes that refer to it.
#[derive(Debug)]
pub(crate) struct Problems {
    id: String,
    texts: Vec<String>,
}

impl Problems {
    /// What a refusal says about the field at a path; `id` is the id of the element.
    pub(crate) fn of(refused: Option<&ValidationError>, path: &str, id: &str) -> Self {
        let texts = refused.into_iter().flat_map(|refused| refused.of_field(path));
        Self { id: format!("{id}-problem"), texts: texts.map(beside_field).collect() }
    }

    /// The value of `aria-describedby`.
    pub(crate) fn described(&self) -> Option<&str> {
        (!self.texts.is_empty()).then_some(self.id.as_str())
    }

    /// The value of `aria-invalid`.
    pub(crate) fn invalid(&self) -> Option<&'static str> {
        (!self.texts.is_empty()).then_some("true")
    }

    pub(crate) fn shown(&self) -> Markup {
        html! {
            @if !self.texts.is_empty() {
                p.err id=(self.id) role="alert" { (self.texts.join(" ")) (Look::Down.shape()) }
            }
        }
    }
}
