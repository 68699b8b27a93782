//! The part of a site's form that says what its status checks expect.

use std::fmt::Display;

use maud::{Markup, html};
use serde_json::Value;
use vedette_domain::expectations::{
    EXPECTATIONS_MAX, Expectation, ExpectationKind, Expectations, ExpectationsInput,
    OwnershipRecord, PostRequest, RESPONSE_TIME_MAX, RequestMethod,
};
use vedette_domain::input::{Input as _, InputField};
use vedette_domain::sites::site::Site;
use vedette_http::error::ApiError;
use vedette_http::resource::ExpectationsResource;
use vedette_http::validation::{Errors, Fields, ValidationError};

use crate::form::{FormInput, Label};

/// The prefix of all fields, because the site has fields of the same names.
const PREFIX: &str = "expectations";
/// The field without which a browser has not sent this part.
const METHOD: &str = "expectations.method";
/// The field with the body of a POST. The form never contains the stored one.
const BODY: &str = "body";

/// The field of a kind, which has a line for each expectation.
fn field(kind: ExpectationKind) -> String {
    format!("{PREFIX}.{kind}")
}

/// Fills the form in.
pub(super) fn fill(input: &mut FormInput, site: &Site) -> Result<(), ApiError> {
    input.fill(PREFIX, others(), &ExpectationsResource::new(site))?;
    let expectations = &site.expectations.expectations;
    for kind in ExpectationKind::ALL {
        let of_kind = expectations.iter().filter(|expected| expected.kind() == kind);
        input.put(field(kind), of_kind.map(Expectation::to_line).collect::<Vec<_>>().join("\n"));
    }
    Ok(())
}

/// The fields besides the list of expectations.
fn others() -> impl Iterator<Item = &'static InputField> {
    ExpectationsInput::FIELDS.iter().filter(|field| field.name != PREFIX)
}

/// Reads the form; `None` if this part of it was not sent.
///
/// # Errors
///
/// What is wrong with it, at the fields of the form.
pub(super) fn read(
    input: &FormInput,
    site: &Site,
) -> Option<Result<Expectations, ValidationError>> {
    (!input.text(METHOD).is_empty()).then(|| {
        let settings = settings(input, site.expectations.post.as_ref())?;
        // The field and the line of each expectation, so that what is wrong is shown there.
        let (mut places, mut expectations, mut errors) = (Vec::new(), Vec::new(), Errors::new());
        let refuse = |errors: &mut Errors, place: &str, why: &dyn Display| {
            errors.push(place, format!("The {place} field {why}."));
        };
        for kind in ExpectationKind::ALL {
            for (line, text) in input.lines(&field(kind)).enumerate() {
                let place = match kind {
                    ExpectationKind::ResponseTime => field(kind),
                    _ => format!("{}.{line}", field(kind)),
                };
                match Expectation::from_line(kind, text) {
                    Ok(expected) => expectations.push(expected),
                    Err(why) => refuse(&mut errors, &place, &why),
                }
                places.push(place);
            }
        }
        if places.len() > EXPECTATIONS_MAX {
            let why = format!("is one too many: a site can have {EXPECTATIONS_MAX} expectations");
            refuse(&mut errors, &places[EXPECTATIONS_MAX], &why);
        }
        let read = Expectations { expectations, ..settings };
        if errors.is_empty() {
            for (place, why) in read.refused() {
                refuse(&mut errors, &places[place], &why);
            }
        }
        errors.finish(Some(read))
    })
}

/// What is wrong with a site, at the fields of the form.
pub(super) fn at_form(refusal: ValidationError) -> ValidationError {
    refusal.renamed(|path| (path == "method").then(|| METHOD.to_owned()))
}

/// The method with what is posted, and when issues open and resolve.
fn settings(
    input: &FormInput,
    stored: Option<&PostRequest>,
) -> Result<Expectations, ValidationError> {
    let mut texts = input.texts_below(PREFIX, others());
    texts.insert(PREFIX.to_owned(), Value::Array(Vec::new()));
    if input.text(METHOD) != RequestMethod::Post.as_str() {
        texts.remove("post");
    } else if let Some(Value::Object(post)) = texts.get_mut("post") {
        // Browsers send each line break as two characters. An empty body keeps the stored one.
        match post.get(BODY).and_then(Value::as_str).map(|body| body.replace("\r\n", "\n")) {
            Some(body) if !body.is_empty() => post.insert(BODY.to_owned(), body.into()),
            _ => post.remove(BODY),
        };
    }
    Expectations::read(texts, |sent| Fields::texts(sent), stored)
        .map_err(|refusal| refusal.renamed(|path| Some(format!("{PREFIX}.{path}"))))
}

/// The controls.
pub(super) fn part(input: &FormInput, site: &Site) -> Markup {
    let count: usize =
        ExpectationKind::ALL.into_iter().map(|kind| input.lines(&field(kind)).count()).sum();
    let lines = |kind, text, help| input.textarea(&field(kind), Label { text, help }, 2);
    html! {
        // Browsers collapse the others with the same name.
        details.card.part name="tools" open[input.is_wrong_below(PREFIX)] {
            summary {
                h2 { "Expectations" }
                span.tag { (count) " of " (EXPECTATIONS_MAX) }
            }
            p.in.quiet.small {
                "Conditions that the response to a status check must meet, one per line. Unmet expectations don’t count as downtime."
            }
            @if let Some(OwnershipRecord { name, value }) = OwnershipRecord::of(site) {
                p.in.quiet.small {
                    "To use POST, prove that you own the host: publish the DNS TXT record "
                    code { (name) } " with the value " code { (value) } "."
                }
            }
            div.fields {
                (lines(ExpectationKind::BodyContains, "The body contains", "Case-sensitive."))
                (lines(ExpectationKind::BodyLacks, "The body doesn’t contain", "Case-sensitive."))
                (lines(ExpectationKind::JsonEquals, "Values in JSON", "JSON pointer and value, such as /status = \"ok\"."))
                (lines(ExpectationKind::HeaderEquals, "Headers with exactly this value", "For example, x-cache: HIT."))
                (lines(ExpectationKind::HeaderContains, "Headers that contain a text", "For example, content-type: json."))
                (input.number(&field(ExpectationKind::ResponseTime), "Slow if it takes longer than (milliseconds)", (1, RESPONSE_TIME_MAX)))
                @for field in others() { (input.control_below(PREFIX, field)) }
            }
        }
    }
}
