//! Reads the input for a site from a request.

use vedette_domain::sites::site::NOTES_MAX;
use vedette_domain::sites::site_input::{SiteInput, SiteUpdate};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_store::TeamWithSettings;

use crate::settings::{parse_expected_records, parse_site_overrides};
use crate::validation::{Errors, Fields, ValidationError};

/// Reads the input for a new site.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_site(
    fields: &Fields<'_>,
    team: &TeamWithSettings,
) -> Result<SiteInput, ValidationError> {
    let mut errors = Errors::new();
    let input = read(fields, team, &mut errors);
    errors.finish(input)
}

/// Reads the fields of `PATCH /sites/{site}`.
///
/// # Errors
///
/// Everything that is wrong with them.
pub fn parse_site_update(
    fields: &Fields<'_>,
    team: &TeamWithSettings,
) -> Result<SiteUpdate, ValidationError> {
    let mut errors = Errors::new();
    let input = read(fields, team, &mut errors);
    let pinned = fields.field("pinned").boolean(&mut errors);
    errors.finish(input.map(|input| SiteUpdate { input, pinned }))
}

/// Reads the fields; `None` if the URL is missing or invalid.
fn read(fields: &Fields<'_>, team: &TeamWithSettings, errors: &mut Errors) -> Option<SiteInput> {
    let url = read_url(fields, errors);
    let name = fields.field("name").name(errors);
    let notes = fields.field("notes").nullable(|field| field.string(NOTES_MAX, errors));
    let js_rendered = fields.field("js_rendered").boolean(errors);
    let domain = url.as_ref().map(SiteUrl::domain);
    let (settings, plan) = (&team.settings, team.plan());
    let overrides = fields.field("monitoring_settings");
    let overrides = overrides
        .is_sent()
        .then(|| parse_site_overrides(&overrides, settings, plan, domain, errors));
    let records = fields.field("dns_expected_records");
    let expected_records = records.is_sent().then(|| parse_expected_records(&records, errors));
    Some(SiteInput { url: url?, name, notes, js_rendered, overrides, expected_records })
}

/// The URL to monitor, in its canonical form.
fn read_url(fields: &Fields<'_>, errors: &mut Errors) -> Option<SiteUrl> {
    let field = fields.field("url").required(errors);
    // The URL's own rule refuses texts that are too long.
    let text = field.string(usize::MAX, errors)?;
    match SiteUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(error) => {
            errors.push("url", error.to_string());
            None
        }
    }
}
