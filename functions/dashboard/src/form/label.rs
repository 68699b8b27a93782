//! The labels of settings, and their help texts.

use vedette_domain::expectations::ExpectationsInput;
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::objectives::ObjectiveInput;

/// The label of a field, and a help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    pub(crate) text: &'a str,
    /// Empty if the name says it all.
    pub(crate) help: &'a str,
}

impl<'a> From<&'a str> for Label<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, help: "" }
    }
}

impl<'a> From<(&'a str, &'a str)> for Label<'a> {
    fn from((text, help): (&'a str, &'a str)) -> Self {
        Self { text, help }
    }
}

/// The name of a site's field, or of a team's setting that is in no section, by its path in the audit log.
pub(crate) fn of_field(path: &str) -> Option<String> {
    let name = match path {
        "name" => "Name",
        "url" => "URL",
        "notes" => "Notes",
        "tags" => "Tags",
        "pinned" => "Keep at the top of lists",
        "js_rendered" => "Render pages in a browser",
        "learnt_dns_records" => "Known DNS records",
        "time_zone" => "Time zone",
        "expectations.expectation" => "Expectation",
        _ => {
            let expected = path.strip_prefix("expectations.");
            let field = expected.and_then(|path| InputField::find(ExpectationsInput::FIELDS, path));
            if let Some(field) = field {
                return Some(field.label());
            }
            let objective = path.strip_prefix("objective.");
            let field = objective.and_then(|path| InputField::find(ObjectiveInput::FIELDS, path));
            if let Some(field) = field {
                return Some(field.label());
            }
            let kind = path.strip_prefix("dns_expected_records.")?;
            return Some(format!("Expected {kind} records"));
        }
    };
    Some(name.to_owned())
}
