//! The fields of a form, as browsers send them and as pages show them.

mod input;
pub(crate) mod setting;

use std::borrow::Cow;

use maud::{Markup, html};
use url::form_urlencoded;
use vedette_http::validation::ValidationError;

pub(crate) use input::{Choice, FormInput};

/// A field's text; empty where it was not sent.
pub(crate) fn field<'a>(body: &'a [u8], name: &str) -> Cow<'a, str> {
    let mut fields = form_urlencoded::parse(body);
    fields.find(|(sent, _)| sent == name).map(|(_, text)| text).unwrap_or_default()
}

/// All texts of a field that may be sent several times.
pub(crate) fn fields(body: &[u8], name: &str) -> Vec<String> {
    let sent = form_urlencoded::parse(body).filter(|(sent, _)| sent == name);
    sent.map(|(_, text)| text.into_owned()).collect()
}

/// A text with a capital letter at its beginning.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// A refusal as a sentence. One that begins with an address leaves that as it is.
pub(crate) fn sentence(refusal: &str) -> String {
    let is_address = refusal.split(' ').next().is_some_and(|word| word.contains('@'));
    let text = if is_address { refusal.to_owned() } else { capitalized(refusal) };
    if text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

/// What is wrong with a field, to stand beside it, and what the field says of that.
#[derive(Debug)]
pub(crate) struct Problems {
    id: String,
    texts: Vec<String>,
}

impl Problems {
    /// What a refusal says of the field at a path; `id` is that of the element.
    pub(crate) fn of(refused: Option<&ValidationError>, path: &str, id: &str) -> Self {
        let texts = refused.into_iter().flat_map(|refused| refused.of_field(path));
        Self { id: format!("{id}-problem"), texts: texts.map(str::to_owned).collect() }
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
                p.error id=(self.id) role="alert" { (self.texts.join(" ")) }
            }
        }
    }
}
