//! What somebody says of a site, be it new or known.

use jiff::Timestamp;
use serde_json::{Map, Value};
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::settings::{ExpectedRecords, SiteOverrides};
use vedette_domain::sites::site::{NOTES_MAX, Site};
use vedette_domain::sites::site_url::SiteUrl;
use vedette_http::settings::{parse_expected_records, parse_site_overrides};
use vedette_http::validation::{Errors, Fields, ValidationError};
use vedette_store::TeamWithSettings;

/// The fields that creation and PATCH share; `None` was not sent.
#[derive(Debug, Clone)]
pub struct SiteInput {
    /// The URL to be monitored.
    pub url: SiteUrl,
    pub(super) name: Option<String>,
    /// `Some(None)` is a null that was sent.
    pub(super) notes: Option<Option<String>>,
    pub(super) js_rendered: Option<bool>,
    /// All that the site says of its monitoring; what it leaves out is inherited.
    pub(super) overrides: Option<SiteOverrides>,
    pub(super) expected_records: Option<ExpectedRecords>,
}

impl SiteInput {
    /// Reads what somebody says of a new site.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn parse(
        body: &Map<String, Value>,
        team: &TeamWithSettings,
    ) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let input = Self::read(body, team, &mut errors);
        errors.finish(input)
    }

    /// Reads the fields; `None` if the URL is missing or invalid.
    pub(super) fn read(
        body: &Map<String, Value>,
        team: &TeamWithSettings,
        errors: &mut Errors,
    ) -> Option<Self> {
        let fields = Fields::body(body);
        let url = read_url(&fields, errors);
        let name = fields.field("name").name(errors);
        let notes = fields.field("notes").nullable(|field| field.string(NOTES_MAX, errors));
        let js_rendered = fields.field("js_rendered").boolean(errors);
        let domain = url.as_ref().map(SiteUrl::domain);
        let (settings, plan) = (&team.settings, team.plan());
        let overrides = body.get("monitoring_settings").map(|value| {
            parse_site_overrides(value, "monitoring_settings", settings, plan, domain, errors)
        });
        let expected_records = body
            .get("dns_expected_records")
            .map(|value| parse_expected_records(value, "dns_expected_records", errors));
        Some(Self { url: url?, name, notes, js_rendered, overrides, expected_records })
    }

    /// The new site.
    pub fn into_site(self, id: SiteId, team: TeamId, now: Timestamp) -> Site {
        let site = Site::new(id, team, self.url, now);
        Site {
            name: self.name.unwrap_or(site.name),
            notes: self.notes.flatten(),
            js_rendered: self.js_rendered.unwrap_or_default(),
            overrides: self.overrides.unwrap_or_default(),
            expected_records: self.expected_records.unwrap_or_default(),
            ..site
        }
    }
}

/// The URL to be monitored, in its canonical form.
fn read_url(fields: &Fields<'_>, errors: &mut Errors) -> Option<SiteUrl> {
    let field = fields.field("url").required(errors);
    // The URL's own rule refuses what is too long.
    let text = field.string(usize::MAX, errors)?;
    match SiteUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(error) => {
            errors.push("url", error.to_string());
            None
        }
    }
}
