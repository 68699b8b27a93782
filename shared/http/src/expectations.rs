//! Reads the expectations of a site from a request.

use serde_json::{Map, Value};
use vedette_domain::expectations::{
    CheckMethod, EXPECTATIONS_MAX, EXPECTED_TEXT_MAX, Expectation, ExpectationKind, Expectations,
    IssuePolicies, IssuePolicy, JsonPointer, RESPONSE_TIME_MAX, SEVERITIES, STREAK_MAX,
    header_name,
};
use vedette_domain::sites::settings::HEADER_NAME_MAX;

use crate::validation::{Errors, Field, Fields, ValidationError};

/// Reads the body of `PUT /sites/{site}/expectations`. What is omitted gets its default.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn parse_expectations(body: &Map<String, Value>) -> Result<Expectations, ValidationError> {
    let mut errors = Errors::new();
    let fields = Fields::body(body);
    let method = fields.field("method").one_of(&CheckMethod::ALL, &mut errors);
    let method = method.unwrap_or_default();
    let expectations = fields.field("expectations");
    if !expectations.is_sent() {
        expectations.refuse(&mut errors, "is required");
    }
    let expectations: Option<Vec<Expectation>> =
        expectations.list(EXPECTATIONS_MAX, &mut errors, read_one);
    let issues = fields.field("issues");
    let issues = if issues.is_sent() { issues.object(&mut errors) } else { None };
    let issues = issues.map_or_else(IssuePolicies::default, |of| read_policies(&of, &mut errors));
    fields.only(&["method", "expectations", "issues"], &mut errors);
    let read = expectations.map(|expectations| Expectations { method, expectations, issues });
    for (place, why) in read.as_ref().map(Expectations::refused).unwrap_or_default() {
        let field = format!("expectations.{place}.kind");
        let message = format!("The {field} field {why}.");
        errors.push(field, message);
    }
    errors.finish(read)
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
