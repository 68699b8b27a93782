//! The bodies of requests. Some are generated from the declarations with which handlers read them. For the others, the
//! shape is written here by hand, with the limits and enumerations that the handlers use.

mod expectations;
mod input;
mod settings;

use serde_json::{Value, json};
use vedette_actions::SITES_MAX;
use vedette_domain::checks::tool::Tool;
use vedette_domain::name::NAME_MAX;
use vedette_domain::sites::settings::DnsRecordType;
use vedette_domain::sites::site::NOTES_MAX;
use vedette_domain::sites::site_url;
use vedette_domain::time_zone::TIME_ZONE_NAME_MAX;
use vedette_http::settings::{BYTES_MAX, VALUE_MAX, VALUES_MAX};

pub(crate) use self::expectations::expectations;
pub(crate) use self::input::body;
use crate::operation::Body;
use crate::schemas::Schemas;

/// At least one character that is not blank; surrounding blanks are trimmed.
const NOT_BLANK: &str = r"\S";
/// The same, but without characters for which [`disrupts_line`](vedette_domain::text::disrupts_line) is true.
const NAME: &str = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*[^\s\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069][^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$";
/// Letters and digits of any script, dots, hyphens and underscores.
const HOST_NAME: &str = r"^[^\x00-,/:-@[-^`{-\x7f]+$";

/// A change of a team's monitoring.
pub(crate) fn team_monitoring(schemas: &mut Schemas) -> Body {
    let schema = json!({
        "type": "object",
        "properties": { "monitoring_settings": settings::of_team(schemas) },
        "required": ["monitoring_settings"],
    });
    Body { is_required: true, schema: schemas.named("MonitoringUpdate", schema) }
}

/// A team's new time zone.
pub(crate) fn time_zone(schemas: &mut Schemas) -> Body {
    let schema = zone("An IANA time zone name, such as `Europe/Berlin`; null for UTC.");
    Body { is_required: true, schema: schemas.named("TimeZoneUpdate", schema) }
}

/// A user's new time zone.
pub(crate) fn user_time_zone(schemas: &mut Schemas) -> Body {
    let schema =
        zone("An IANA time zone name, such as `Europe/Berlin`; null for each team's time zone.");
    Body { is_required: true, schema: schemas.named("UserTimeZoneUpdate", schema) }
}

fn zone(description: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "time_zone": {
                "description": description,
                "type": ["string", "null"],
                "maxLength": TIME_ZONE_NAME_MAX,
            },
        },
        "required": ["time_zone"],
    })
}

/// A new site.
pub(crate) fn new_site(schemas: &mut Schemas) -> Body {
    let schema = site(schemas);
    Body { is_required: true, schema: schemas.named("SiteCreate", schema) }
}

/// A change of a site.
pub(crate) fn changed_site(schemas: &mut Schemas) -> Body {
    let mut schema = site(schemas);
    schema["properties"]["pinned"] = json!({
        "description": "Whether the team keeps the site at the top.",
        "type": "boolean",
    });
    Body { is_required: true, schema: schemas.named("SiteUpdate", schema) }
}

/// Several new sites.
pub(crate) fn new_sites(schemas: &mut Schemas) -> Body {
    let site = json!({
        "type": "object",
        "properties": {
            "url": { "description": "The same as for a single site.", "type": "string" },
            "name": { "description": "The same as for a single site.", "type": "string" },
        },
        "required": ["url"],
    });
    let schema = json!({
        "type": "object",
        "properties": { "sites": {
            "description": "An entry whose URL or name is invalid fails without affecting the others.",
            "type": "array",
            "minItems": 1,
            "maxItems": SITES_MAX,
            "items": schemas.named("SiteEntry", site),
        } },
        "required": ["sites"],
    });
    Body { is_required: true, schema: schemas.named("SitesCreate", schema) }
}

/// The checks to run.
pub(crate) fn check_run(schemas: &mut Schemas) -> Body {
    let schema = json!({
        "type": "object",
        "properties": {
            "tools": {
                "description": "The tools to run. If omitted, these are all enabled tools of \
                                the site.",
                "type": "array",
                "minItems": 1,
                "maxItems": Tool::ALL.len(),
                "uniqueItems": true,
                "items": schemas.of::<Tool>(),
            },
            "automatic": {
                "description": "No longer used. If it is sent, it must be false.",
                "type": "boolean",
                "const": false,
                "deprecated": true,
            },
        },
    });
    Body { is_required: false, schema: schemas.named("CheckRun", schema) }
}

fn site(schemas: &mut Schemas) -> Value {
    json!({
        "type": "object",
        "properties": {
            "url": {
                "description": "The URL to monitor. It is stored in canonical form and is \
                                unique in the team. Its host is a valid DNS name or an IP \
                                address. It must not have a user name, a password or the port \
                                0.",
                "type": "string",
                "format": "uri",
                "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://",
                "maxLength": site_url::MAX_LENGTH,
            },
            "name": {
                "description": "Display name: one line of visible text. A site without a name \
                                gets one from the URL's host.",
                "type": "string",
                "pattern": NAME,
                "maxLength": NAME_MAX,
            },
            "notes": {
                "description": "Free text.",
                "type": ["string", "null"],
                "maxLength": NOTES_MAX,
            },
            "js_rendered": {
                "description": "Whether broken-link crawls render pages with a browser.",
                "type": "boolean",
            },
            "monitoring_settings": settings::of_site(schemas),
            "dns_expected_records": expected_records(schemas),
        },
        "required": ["url"],
    })
}

fn expected_records(schemas: &mut Schemas) -> Value {
    let types = DnsRecordType::ALL.map(|kind| {
        let (description, mut value) = expected_value(kind);
        value["type"] = "string".into();
        let values = json!({
            "description": description,
            "type": "array",
            "maxItems": VALUES_MAX,
            "items": value,
        });
        (kind.as_str().to_owned(), values)
    });
    let records = json!({
        "description": format!(
            "The DNS records that must exist, by type, at most {BYTES_MAX} bytes in total. \
             Null and `{{}}` clear them; the next check then becomes the baseline."
        ),
        "type": "object",
        "properties": serde_json::Map::from_iter(types),
        "additionalProperties": false,
    });
    json!({ "anyOf": [schemas.named("ExpectedRecords", records), { "type": "null" }] })
}

/// The expected records of a type, in words and as a schema.
fn expected_value(kind: DnsRecordType) -> (&'static str, Value) {
    let text = |pattern: &str| json!({ "pattern": pattern, "maxLength": VALUE_MAX });
    match kind {
        DnsRecordType::A => ("IPv4 addresses.", json!({ "format": "ipv4" })),
        DnsRecordType::Aaaa => ("IPv6 addresses, in any spelling.", json!({ "format": "ipv6" })),
        DnsRecordType::Cname | DnsRecordType::Ns => ("Host names, in any case.", text(HOST_NAME)),
        DnsRecordType::Mx => (
            "`10 mail.example.com`, or `mail.example.com` for any priority; `.` means no mail \
             server.",
            text(NOT_BLANK),
        ),
        DnsRecordType::Txt => (
            "Texts, with the strings of a record joined. Quotes, as in zone files, make no \
             difference.",
            text(NOT_BLANK),
        ),
    }
}
