//! Reads status pages and incidents from requests.

use jiff::Timestamp;
use serde_json::{Map, Value};
use vedette_domain::id::{ComponentId, SiteId};
use vedette_domain::status_pages::{
    COMPONENTS_MAX, ComponentInput, GROUPS_MAX, GroupInput, INCIDENT_TITLE_MAX, Impact,
    IncidentInput, IncidentStatus, MESSAGE_MAX, PUBLISHED_NAME_MAX, PageInput, Slug,
    UPDATE_TEXT_MAX, UpdateInput, written_text,
};

use crate::validation::{Errors, Field, Fields, ValidationError};

/// The fields of a status page in a request.
const PAGE_FIELDS: [&str; 7] =
    ["slug", "name", "message", "unlisted", "maintenance_names", "subscriptions", "groups"];
/// The fields of an incident in a request.
const INCIDENT_FIELDS: [&str; 7] =
    ["title", "impact", "components", "started_at", "next_update_by", "status", "text"];
/// The longest instant that is read, in characters.
const INSTANT_MAX: usize = 40;

/// Reads a new status page, with its slug and its name.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_page(
    body: &Map<String, Value>,
) -> Result<(PageInput, (Slug, String)), ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let slug = fields.field("slug").required(&mut errors);
    let name = fields.field("name").required(&mut errors);
    let mut input = read_page(&fields, &slug, &name, &mut errors);
    let named = input.slug.take().zip(input.name.take());
    errors.finish(named.map(|named| (input, named)))
}

/// Reads a change of a status page.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_page_update(body: &Map<String, Value>) -> Result<PageInput, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let [slug, name] = ["slug", "name"].map(|name| fields.field(name));
    let input = read_page(&fields, &slug, &name, &mut errors);
    errors.finish(Some(input))
}

fn read_page(
    fields: &Fields<'_>,
    slug: &Field<'_>,
    name: &Field<'_>,
    errors: &mut Errors,
) -> PageInput {
    fields.only(&PAGE_FIELDS, errors);
    let slug = slug
        .string(usize::MAX, errors)
        .and_then(|text| Slug::parse(&text).map_err(|error| slug.refuse(errors, error)).ok());
    PageInput {
        slug,
        name: published_name(name, errors),
        message: fields.field("message").nullable(|field| text(field, MESSAGE_MAX, errors)),
        groups: read_groups(&fields.field("groups"), errors),
        is_unlisted: fields.field("unlisted").boolean(errors),
        names_windows: fields.field("maintenance_names").boolean(errors),
        offers_subscriptions: fields.field("subscriptions").boolean(errors),
    }
}

fn read_groups(field: &Field<'_>, errors: &mut Errors) -> Option<Vec<GroupInput>> {
    let groups: Vec<GroupInput> = field.list(GROUPS_MAX, errors, |item, errors| {
        let fields = item.object(errors)?;
        fields.only(&["name", "components"], errors);
        let name = fields.field("name").nullable(|field| published_name(field, errors));
        let components = fields.field("components").required(errors);
        let components = components.list(COMPONENTS_MAX, errors, read_component)?;
        Some(GroupInput { name: name.flatten(), components })
    })?;
    let components = groups.iter().map(|group| group.components.len()).sum::<usize>();
    if components > COMPONENTS_MAX {
        let predicate = format_args!("must not have more than {COMPONENTS_MAX} components");
        field.refuse(errors, predicate);
        return None;
    }
    Some(groups)
}

fn read_component(item: &Field<'_>, errors: &mut Errors) -> Option<ComponentInput> {
    let fields = item.object(errors)?;
    fields.only(&["uuid", "name", "site", "response_time"], errors);
    let id = fields.field("uuid").nullable(|field| uuid(field, ComponentId::parse, errors));
    let name = published_name(&fields.field("name").required(errors), errors);
    let site = uuid(&fields.field("site").required(errors), SiteId::parse, errors);
    let publishes_response_time = fields.field("response_time").boolean(errors);
    let (name, site) = name.zip(site)?;
    let publishes_response_time = publishes_response_time.unwrap_or(false);
    Some(ComponentInput { id: id.flatten(), name, site, publishes_response_time })
}

/// Reads a new incident, with its title and its first update.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_incident(
    body: &Map<String, Value>,
) -> Result<(IncidentInput, (String, UpdateInput)), ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let title = fields.field("title").required(&mut errors);
    let written = fields.field("text").required(&mut errors);
    let mut input = read_incident(&fields, &title, &written, &mut errors);
    let first = input.title.take().zip(input.update.take());
    errors.finish(first.map(|first| (input, first)))
}

/// Reads a change of an incident, or an update.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_incident_update(body: &Map<String, Value>) -> Result<IncidentInput, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let [title, written] = ["title", "text"].map(|name| fields.field(name));
    if fields.field("status").is_sent() && !written.is_sent() {
        written.refuse(&mut errors, "is required with a status");
    }
    let input = read_incident(&fields, &title, &written, &mut errors);
    errors.finish(Some(input))
}

fn read_incident(
    fields: &Fields<'_>,
    title: &Field<'_>,
    written: &Field<'_>,
    errors: &mut Errors,
) -> IncidentInput {
    fields.only(&INCIDENT_FIELDS, errors);
    let title = name_of(title, INCIDENT_TITLE_MAX, errors);
    let impact = fields.field("impact").one_of(&Impact::ALL, errors);
    let components = fields
        .field("components")
        .list(COMPONENTS_MAX, errors, |item, errors| uuid(item, ComponentId::parse, errors));
    let started_at = instant(&fields.field("started_at"), errors);
    let next_update_by = fields.field("next_update_by").nullable(|field| instant(field, errors));
    let status = fields.field("status").one_of(&IncidentStatus::ALL, errors);
    let update = text(written, UPDATE_TEXT_MAX, errors).map(|text| UpdateInput { status, text });
    IncidentInput { title, impact, components, started_at, next_update_by, update }
}

fn published_name(field: &Field<'_>, errors: &mut Errors) -> Option<String> {
    name_of(field, PUBLISHED_NAME_MAX, errors)
}

/// A name of at most `max` characters.
fn name_of(field: &Field<'_>, max: usize, errors: &mut Errors) -> Option<String> {
    let name = field.name(errors)?;
    if name.chars().count() > max {
        field.refuse(errors, format_args!("must not be longer than {max} characters"));
        return None;
    }
    Some(name)
}

/// A text of several lines.
fn text(field: &Field<'_>, max: usize, errors: &mut Errors) -> Option<String> {
    let text = written_text(&field.string(max, errors)?);
    if text.is_none() {
        field.refuse(errors, "must not contain control characters other than line breaks");
    }
    text
}

fn uuid<T>(field: &Field<'_>, parse: impl Fn(&str) -> Option<T>, errors: &mut Errors) -> Option<T> {
    let id = parse(&field.string(INSTANT_MAX, errors)?);
    if id.is_none() {
        field.refuse(errors, "must be a uuid");
    }
    id
}

fn instant(field: &Field<'_>, errors: &mut Errors) -> Option<Timestamp> {
    let instant = field.string(INSTANT_MAX, errors)?.parse().ok();
    if instant.is_none() {
        field.refuse(
            errors,
            "must be a date and time with a UTC offset, such as 2026-11-24T02:46:00+01:00",
        );
    }
    instant
}
