//! The field for the tags of a site or heartbeat, which are a list in the API and a line of text in forms.

use maud::Markup;
use serde_json::Value;
use vedette_domain::sites::input::read_tags;
use vedette_domain::sites::tag::{SITE_TAGS_MAX, Tag, Tags};
use vedette_http::validation::{Errors, Field, ValidationError};

use crate::form::{FormInput, Label};

/// Its name.
pub(crate) const FIELD: &str = "tags";

/// Tags as they stand in the field and in CSV files.
pub(crate) fn joined(tags: &Tags) -> String {
    tags.iter().map(Tag::as_str).collect::<Vec<_>>().join(" ")
}

/// The text of the field as the list of the API. Neither spaces nor commas can be part of a tag.
pub(crate) fn split(text: &str) -> Value {
    text.split([' ', ',', '\t', '\r', '\n']).filter(|tag| !tag.is_empty()).collect()
}

/// The tags in a field of a form.
pub(super) fn read(input: &FormInput, field: &str) -> Result<Tags, ValidationError> {
    let (list, mut errors) = (split(input.text(field)), Errors::new());
    let tags = read_tags(&Field::text(field, &list), &mut errors);
    errors.finish(tags)
}

/// The field in a form.
pub(crate) fn control(input: &FormInput) -> Markup {
    let help = format!(
        "For example: env:prod team:shop legacy. Up to {SITE_TAGS_MAX}, separated by spaces. Lists can be filtered by \
         tags."
    );
    input.input(FIELD, "text", Label { text: "Tags", help: &help })
}
