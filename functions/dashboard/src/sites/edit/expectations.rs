//! The part of a site's form that says what its status checks expect.

use std::fmt::Display;

use maud::{Markup, html};
use serde_json::{Map, Value, json};
use vedette_domain::expectations::{
    CONTENT_TYPE_DEFAULT, EXPECTATIONS_MAX, Expectation, ExpectationKind, Expectations,
    IssuePolicy, OwnershipRecord, PostRequest, RESPONSE_TIME_MAX, RequestMethod, SEVERITIES,
    STREAK_MAX,
};
use vedette_domain::sites::site::Site;
use vedette_http::expectations::parse_expectations;
use vedette_http::validation::{Errors, ValidationError};

use crate::form::{Choice, FormInput, Label};
use crate::words;

/// The prefix of all fields, because the site has fields of the same names.
const PREFIX: &str = "expectations";
/// The field without which a browser has not sent this part.
const METHOD: &str = "expectations.method";
/// What is posted. The form never contains the stored body.
const CONTENT_TYPE: &str = "expectations.post.content_type";
/// See [`CONTENT_TYPE`].
const BODY: &str = "expectations.post.body";
/// The two issues that expectations decide about: their names in the API and for people.
const ISSUES: [(&str, &str); 2] = [("expectation", "Not as expected"), ("slow", "Slow")];

/// The field of a kind, which has a line for each expectation.
fn field(kind: ExpectationKind) -> String {
    format!("{PREFIX}.{kind}")
}

/// The field of a setting of an issue.
fn issue_field(issue: &str, setting: &str) -> String {
    format!("{PREFIX}.issues.{issue}.{setting}")
}

/// Fills the form in.
pub(super) fn fill(input: &mut FormInput, expectations: &Expectations) {
    input.put(METHOD, expectations.request_method().as_str());
    let post = expectations.post.as_ref();
    input.put(CONTENT_TYPE, post.map_or(CONTENT_TYPE_DEFAULT, |post| post.content_type.as_str()));
    for kind in ExpectationKind::ALL {
        let of_kind = expectations.expectations.iter().filter(|expected| expected.kind() == kind);
        input.put(field(kind), of_kind.map(Expectation::to_line).collect::<Vec<_>>().join("\n"));
    }
    let policies = [expectations.issues.expectation, expectations.issues.slow];
    for ((issue, _), policy) in ISSUES.into_iter().zip(policies) {
        let IssuePolicy { severity, failures_to_open, successes_to_resolve } = policy;
        input.put(issue_field(issue, "severity"), severity.as_str());
        input.put(issue_field(issue, "failures_to_open"), failures_to_open.to_string());
        input.put(issue_field(issue, "successes_to_resolve"), successes_to_resolve.to_string());
    }
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
    let mut request = json!({ "method": input.text(METHOD), "expectations": [] });
    if input.text(METHOD) == RequestMethod::Post.as_str() {
        request["post"] = json!({ "content_type": input.text(CONTENT_TYPE) });
        // Browsers send each line break as two characters.
        let body = input.text(BODY).replace("\r\n", "\n");
        if !body.is_empty() {
            request["post"]["body"] = body.into();
        }
    }
    for (issue, _) in ISSUES {
        let number = |setting| {
            let text = input.text(&issue_field(issue, setting));
            text.trim().parse::<u32>().map_or_else(|_| json!(text), Value::from)
        };
        request["issues"][issue] = json!({
            "severity": input.text(&issue_field(issue, "severity")),
            "failures_to_open": number("failures_to_open"),
            "successes_to_resolve": number("successes_to_resolve"),
        });
    }
    let request = request.as_object().cloned().unwrap_or_else(Map::new);
    parse_expectations(&request, stored)
        .map_err(|refusal| refusal.renamed(|path| Some(format!("{PREFIX}.{path}"))))
}

/// Whether something in this part is wrong, so that it must be seen.
fn is_wrong(input: &FormInput) -> bool {
    let kinds = ExpectationKind::ALL.into_iter().map(field);
    let issues = ISSUES.into_iter().flat_map(|(issue, _)| {
        ["severity", "failures_to_open", "successes_to_resolve"]
            .map(|setting| issue_field(issue, setting))
    });
    let request = [METHOD, CONTENT_TYPE, BODY].map(str::to_owned);
    let mut names = kinds.chain(issues).chain(request);
    names.any(|name| input.problems(&name).invalid().is_some())
}

/// The controls.
pub(super) fn part(input: &FormInput, site: &Site) -> Markup {
    let count: usize =
        ExpectationKind::ALL.into_iter().map(|kind| input.lines(&field(kind)).count()).sum();
    let methods = RequestMethod::ALL.map(|method| Choice::new(method, method.as_str()));
    let severities = SEVERITIES.map(|severity| Choice::new(severity, words::severity(severity)));
    let lines = |kind, text, help| input.textarea(&field(kind), Label { text, help }, 2);
    let streak = |issue: &str, setting: &str, label: String| {
        input.number(&issue_field(issue, setting), label.as_str(), (1, STREAK_MAX))
    };
    let body_help = match &site.expectations.post {
        Some(_) => "It isn’t shown. Leave it empty to keep it.",
        None => "At most 4 KB. Once saved, it isn’t shown.",
    };
    html! {
        // Browsers collapse the others with the same name.
        details.card.part name="tools" open[is_wrong(input)] {
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
                (input.select(METHOD, Label { text: "Request method", help: "Expectations about the body need GET or POST." }, &methods))
                (input.input(CONTENT_TYPE, "text", "Content type of a POST"))
                (input.textarea(BODY, Label { text: "Body of a POST", help: body_help }, 4))
                @for (issue, title) in ISSUES {
                    (input.select(&issue_field(issue, "severity"), format!("{title}: severity").as_str(), &severities))
                    (streak(issue, "failures_to_open", format!("{title}: failures to open an issue")))
                    (streak(issue, "successes_to_resolve", format!("{title}: successes to resolve it")))
                }
            }
        }
    }
}
