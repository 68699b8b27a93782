//! Reads the expectations of a site from a request.

use serde_json::{Map, Value};
use vedette_domain::expectations::{
    CONTENT_TYPE_DEFAULT, CONTENT_TYPE_MAX, EXPECTATIONS_MAX, EXPECTED_TEXT_MAX, Expectation,
    ExpectationKind, Expectations, IssuePolicies, IssuePolicy, JsonPointer, POST_BODY_MAX,
    PostRequest, RESPONSE_TIME_MAX, RequestMethod, SEVERITIES, STREAK_MAX, header_name,
    is_content_type,
};
use vedette_domain::sites::settings::HEADER_NAME_MAX;

use crate::validation::{Errors, Field, Fields, ValidationError};

/// Reads the body of `PUT /sites/{site}/expectations`. What is omitted gets its default; only what is posted stays as
/// it is `stored`, because no response contains it.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_expectations(
    body: &Map<String, Value>,
    stored: Option<&PostRequest>,
) -> Result<Expectations, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let method = fields.field("method").one_of(&RequestMethod::ALL, &mut errors);
    let method = method.unwrap_or_default();
    let post = read_post(&fields.field("post"), method, stored, &mut errors);
    let method = method.without_body();
    let expectations = fields.field("expectations");
    if !expectations.is_sent() {
        expectations.refuse(&mut errors, "is required");
    }
    let expectations: Option<Vec<Expectation>> =
        expectations.list(EXPECTATIONS_MAX, &mut errors, read_one);
    let issues = fields.field("issues");
    let issues = if issues.is_sent() { issues.object(&mut errors) } else { None };
    let issues = issues.map_or_else(IssuePolicies::default, |of| read_policies(&of, &mut errors));
    fields.only(&["method", "post", "expectations", "issues"], &mut errors);
    let read = expectations.map(|expectations| Expectations { method, post, expectations, issues });
    for (place, why) in read.as_ref().map(Expectations::refused).unwrap_or_default() {
        let field = format!("expectations.{place}.kind");
        let message = format!("The {field} field {why}.");
        errors.push(field, message);
    }
    errors.finish(read)
}

/// What is posted, if the method says so.
fn read_post(
    field: &Field<'_>,
    method: RequestMethod,
    stored: Option<&PostRequest>,
    errors: &mut Errors,
) -> Option<PostRequest> {
    if method != RequestMethod::Post {
        if field.is_sent() {
            field.refuse(errors, "needs the method POST");
        }
        return None;
    }
    if !field.is_sent() {
        if stored.is_none() {
            field.refuse(errors, "is required with the method POST");
        }
        return stored.cloned();
    }
    let fields = field.object(errors)?;
    let content_type = read_content_type(&fields.field("content_type"), errors);
    let content_type = content_type.or_else(|| stored.map(|post| post.content_type.clone()));
    let body = fields.field("body");
    let body = match stored {
        Some(stored) if !body.is_sent() => Some(stored.body.clone()),
        _ => read_posted_body(&body, errors),
    };
    fields.only(&["content_type", "body"], errors);
    let content_type = content_type.unwrap_or_else(|| CONTENT_TYPE_DEFAULT.to_owned());
    Some(PostRequest { content_type, body: body? })
}

fn read_content_type(field: &Field<'_>, errors: &mut Errors) -> Option<String> {
    let text = field.string(CONTENT_TYPE_MAX, errors)?;
    if !is_content_type(&text) {
        field.refuse(errors, "must be a content type, such as application/json");
        return None;
    }
    Some(text)
}

/// The body of a POST. Spaces in it count.
fn read_posted_body(field: &Field<'_>, errors: &mut Errors) -> Option<String> {
    match field.value() {
        None | Some(Value::Null) => field.refuse(errors, "is required"),
        Some(Value::String(body)) if body.is_empty() => field.refuse(errors, "is required"),
        Some(Value::String(body)) if body.len() > POST_BODY_MAX => {
            field.refuse(errors, format_args!("must not be longer than {POST_BODY_MAX} bytes"));
        }
        Some(Value::String(body)) => return Some(body.clone()),
        Some(_) => field.refuse(errors, "must be a string"),
    }
    None
}

fn read_one(item: &Field<'_>, errors: &mut Errors) -> Option<Expectation> {
    let fields = item.object(errors)?;
    let kind = fields.field("kind").required(errors);
    let kind = kind.one_of(&ExpectationKind::ALL, errors)?;
    let text = |name: &str, errors: &mut Errors| {
        fields.field(name).required(errors).string(EXPECTED_TEXT_MAX, errors)
    };
    let known = errors.len();
    let (expectation, names): (_, &[&str]) = match kind {
        ExpectationKind::BodyContains => {
            let text = text("text", errors);
            (text.map(|text| Expectation::BodyContains { text }), &["kind", "text"])
        }
        ExpectationKind::BodyLacks => {
            let text = text("text", errors);
            (text.map(|text| Expectation::BodyLacks { text }), &["kind", "text"])
        }
        ExpectationKind::HeaderEquals => {
            let (name, value) = (read_header_name(&fields, errors), text("value", errors));
            let both = name.zip(value);
            let expectation = both.map(|(name, value)| Expectation::HeaderEquals { name, value });
            (expectation, &["kind", "name", "value"])
        }
        ExpectationKind::HeaderContains => {
            let (name, value) = (read_header_name(&fields, errors), text("value", errors));
            let both = name.zip(value);
            let expectation = both.map(|(name, value)| Expectation::HeaderContains { name, value });
            (expectation, &["kind", "name", "value"])
        }
        ExpectationKind::JsonEquals => {
            let (pointer, value) = (pointer(&fields, errors), json_value(&fields, errors));
            let both = pointer.zip(value);
            let expectation =
                both.map(|(pointer, value)| Expectation::JsonEquals { pointer, value });
            (expectation, &["kind", "pointer", "value"])
        }
        ExpectationKind::ResponseTime => {
            let max_ms = fields.field("max_ms").required(errors);
            let max_ms = max_ms.integer(1..=RESPONSE_TIME_MAX, errors);
            (max_ms.map(|max_ms| Expectation::ResponseTime { max_ms }), &["kind", "max_ms"])
        }
    };
    fields.only(names, errors);
    expectation.filter(|_| errors.len() == known)
}

/// The name of a header, in lower case.
fn read_header_name(fields: &Fields<'_>, errors: &mut Errors) -> Option<String> {
    let field = fields.field("name").required(errors);
    let name = field.string(HEADER_NAME_MAX, errors)?;
    let read = header_name(&name);
    if read.is_none() {
        field.refuse(errors, "must be the name of a header");
    }
    read
}

/// A JSON pointer. The empty one, which means the whole body, must be sent too.
fn pointer(fields: &Fields<'_>, errors: &mut Errors) -> Option<JsonPointer> {
    let field = fields.field("pointer");
    let text = match field.value() {
        None | Some(Value::Null) => {
            field.refuse(errors, "is required");
            return None;
        }
        Some(Value::String(text)) if text.chars().count() <= EXPECTED_TEXT_MAX => text,
        // It records what is wrong.
        Some(_) => return field.string(EXPECTED_TEXT_MAX, errors).and(None),
    };
    JsonPointer::parse(text).map_err(|error| field.refuse(errors, error)).ok()
}

/// A JSON value that is neither an array nor an object. Spaces in a string count.
fn json_value(fields: &Fields<'_>, errors: &mut Errors) -> Option<Value> {
    let field = fields.field("value");
    match field.value() {
        None => field.refuse(errors, "is required"),
        Some(Value::Array(_) | Value::Object(_)) => {
            field.refuse(errors, "must be a string, a number, true, false or null");
        }
        Some(Value::String(text)) if text.chars().count() > EXPECTED_TEXT_MAX => {
            let message = format!("must not be longer than {EXPECTED_TEXT_MAX} characters");
            field.refuse(errors, message);
        }
        Some(value) => return Some(value.clone()),
    }
    None
}

fn read_policies(fields: &Fields<'_>, errors: &mut Errors) -> IssuePolicies {
    let IssuePolicies { expectation, slow } = IssuePolicies::default();
    let mut policy = |name, default| {
        let field = fields.field(name);
        let of = if field.is_sent() { field.object(errors) } else { None };
        of.map_or(default, |of| read_policy(&of, default, errors))
    };
    let policies = IssuePolicies {
        expectation: policy("expectation", expectation),
        slow: policy("slow", slow),
    };
    fields.only(&["expectation", "slow"], errors);
    policies
}

fn read_policy(fields: &Fields<'_>, default: IssuePolicy, errors: &mut Errors) -> IssuePolicy {
    let severity = fields.field("severity").one_of(&SEVERITIES, errors);
    let mut streak = |name| {
        let count = fields.field(name).integer(1..=STREAK_MAX, errors);
        count.and_then(std::num::NonZeroU32::new)
    };
    let (failures, successes) = (streak("failures_to_open"), streak("successes_to_resolve"));
    fields.only(&["severity", "failures_to_open", "successes_to_resolve"], errors);
    IssuePolicy {
        severity: severity.unwrap_or(default.severity),
        failures_to_open: failures.unwrap_or(default.failures_to_open),
        successes_to_resolve: successes.unwrap_or(default.successes_to_resolve),
    }
}
