//! What people choose for the expectations of a site.

use std::num::NonZeroU32;

use serde_json::{Map, Value, json};

use super::{
    CONTENT_TYPE_DEFAULT, CONTENT_TYPE_MAX, EXPECTATIONS_MAX, EXPECTED_TEXT_MAX, Expectation,
    ExpectationKind, Expectations, IssuePolicies, IssuePolicy, JsonPointer, POST_BODY_MAX,
    PostRequest, RESPONSE_TIME_MAX, RequestMethod, SEVERITIES, STREAK_MAX, header_name,
    is_content_type,
};
use crate::input::{
    FieldRule, Input, InputField, InputShape, InputVariant, IntegerRule, ListRule, ObjectRule,
    TextKind, TextRule, VerbatimRule, input, read_object, read_variant,
};
use crate::issues::{Fingerprint, Severity};
use crate::sites::settings::{HEADER_NAME_KIND, HEADER_NAME_MAX};
use crate::validation::{Errors, Field, Fields, ValidationError};

input! {
    /// What the status checks of a site send and expect.
    ExpectationsInput {
        /// Method of the request. Expectations about the body need `GET` or `POST`.
        #[form("Request method", "Expectations about the body need GET or POST.")]
        method: Optional<RequestMethod> = RequestMethod::ALL, or RequestMethod::default();
        /// What to post, for the method `POST` only. Omitted fields stay as they are.
        post: Optional<PostInput> = ObjectRule;
        /// What is expected. An empty list expects nothing.
        expectations: Required<Vec<Expectation>> = ListRule::new(0, EXPECTATIONS_MAX, ExpectationRule);
        /// When issues open and resolve, and how severe they are.
        issues: Optional<IssuesInput> = ObjectRule;
    }
}

input! {
    /// What a check posts.
    PostInput {
        /// Content type of the body of a POST.
        #[form("Content type of a POST")]
        #[option("content-type", "TYPE")]
        content_type: Optional<String> = CONTENT_TYPE, or CONTENT_TYPE_DEFAULT.to_owned();
        /// The body, in UTF-8. It may contain secrets, so no response contains it.
        #[form("Body of a POST", "Once saved, it isn’t shown. Leave it empty to keep it.")]
        #[option("-")]
        body: Optional<String> = BODY;
    }
}

input! {
    /// When the issues of expectations open and resolve.
    IssuesInput {
        /// The issue `status:expectation`.
        expectation: Optional<ExpectationIssue> = ObjectRule;
        /// The issue `status:slow`.
        slow: Optional<SlowIssue> = ObjectRule;
    }
}

input! {
    /// When `status:expectation` opens and resolves.
    ExpectationIssue {
        /// Severity of `status:expectation`.
        #[form("Not as expected: severity")]
        severity: Optional<Severity> = SEVERITIES, or EXPECTATION.severity;
        /// Failed checks in a row that open it.
        #[form("Not as expected: failures to open an issue")]
        #[option("failures-to-open", "COUNT")]
        failures_to_open: Optional<NonZeroU32> = STREAK, or EXPECTATION.failures_to_open;
        /// Successful checks in a row that resolve it.
        #[form("Not as expected: successes to resolve it")]
        #[option("successes-to-resolve", "COUNT")]
        successes_to_resolve: Optional<NonZeroU32> = STREAK, or EXPECTATION.successes_to_resolve;
    }
}

input! {
    /// When `status:slow` opens and resolves.
    SlowIssue {
        /// Severity of `status:slow`.
        #[form("Slow: severity")]
        #[option("slow-severity", "SEVERITY")]
        severity: Optional<Severity> = SEVERITIES, or SLOW.severity;
        /// Slow checks in a row that open it.
        #[form("Slow: failures to open an issue")]
        #[option("slow-failures-to-open", "COUNT")]
        failures_to_open: Optional<NonZeroU32> = STREAK, or SLOW.failures_to_open;
        /// Fast checks in a row that resolve it.
        #[form("Slow: successes to resolve it")]
        #[option("slow-successes-to-resolve", "COUNT")]
        successes_to_resolve: Optional<NonZeroU32> = STREAK, or SLOW.successes_to_resolve;
    }
}

input! {
    /// A text that is expected.
    TextInput {
        /// The text, which is case-sensitive.
        text: Required<String> = EXPECTED_TEXT;
    }
}

input! {
    /// A header that is expected.
    HeaderInput {
        /// The name of the header, in any case.
        name: Required<String> = HEADER_NAME;
        /// The whole value, or the text that it contains.
        value: Required<String> = EXPECTED_TEXT;
    }
}

input! {
    /// A value that is expected in JSON.
    JsonInput {
        /// A JSON pointer (RFC 6901). The empty one is the whole body.
        pointer: Required<JsonPointer> = POINTER;
        /// The value. Numbers are compared by value: `1` equals `1.0`.
        value: Required<Value> = SCALAR;
    }
}

input! {
    /// A response time that is expected.
    LimitInput {
        /// The time from the start of the first request to the head of the response, in milliseconds.
        max_ms: Required<u32> = IntegerRule { min: 1, max: RESPONSE_TIME_MAX };
    }
}

const EXPECTATION: IssuePolicy = IssuePolicy::of(Fingerprint::StatusExpectation);
const SLOW: IssuePolicy = IssuePolicy::of(Fingerprint::StatusSlow);
const STREAK: IntegerRule = IntegerRule { min: 1, max: STREAK_MAX };

const CONTENT_TYPE: TextRule<String> = TextRule {
    min: 0,
    max: CONTENT_TYPE_MAX,
    kind: TextKind::Pattern(r"^[!#$&^_.+0-9A-Za-z-]+/[!#$&^_.+0-9A-Za-z-]+ *(;[ -~]*)?$"),
    parse: |text| match is_content_type(text) {
        true => Ok(text.to_owned()),
        false => Err("must be a content type, such as application/json".to_owned()),
    },
};

const EXPECTED_TEXT: TextRule<String> = TextRule {
    min: 0,
    max: EXPECTED_TEXT_MAX,
    kind: TextKind::NotBlank,
    parse: |text| Ok(text.to_owned()),
};

/// The name of a header, in lower case.
const HEADER_NAME: TextRule<String> = TextRule {
    min: 0,
    max: HEADER_NAME_MAX,
    kind: HEADER_NAME_KIND,
    parse: |text| header_name(text).ok_or_else(|| "must be the name of a header".to_owned()),
};

/// The body of a POST, which must not be empty.
const BODY: VerbatimRule<String> = VerbatimRule {
    is_missing: |value| value.is_null() || value == "",
    parse: |value| match value.as_str() {
        None => Err("must be a string".to_owned()),
        Some(body) if body.len() > POST_BODY_MAX => {
            Err(format!("must not be longer than {POST_BODY_MAX} bytes"))
        }
        Some(body) => Ok(body.to_owned()),
    },
    shape: || InputShape::Text { min: 1, max: POST_BODY_MAX, kind: TextKind::SecretLines },
};

/// A JSON pointer. The empty one, which means the whole body, must be sent too.
const POINTER: VerbatimRule<JsonPointer> = VerbatimRule {
    is_missing: Value::is_null,
    parse: |value| {
        let text = value.as_str().ok_or("must be a string")?;
        short(text)?;
        JsonPointer::parse(text).map_err(|error| error.to_string())
    },
    shape: || {
        let kind = TextKind::Pattern("^(/([^~]|~[01])*)?$");
        InputShape::Text { min: 0, max: EXPECTED_TEXT_MAX, kind }
    },
};

/// A JSON value that is neither an array nor an object.
const SCALAR: VerbatimRule<Value> = VerbatimRule {
    is_missing: |_| false,
    parse: |value| match value {
        Value::Array(_) | Value::Object(_) => {
            Err("must be a string, a number, true, false or null".to_owned())
        }
        value => short(value.as_str().unwrap_or_default()).map(|()| value.clone()),
    },
    shape: || InputShape::Scalar(EXPECTED_TEXT_MAX),
};

fn short(text: &str) -> Result<(), String> {
    match text.chars().count() {
        0..=EXPECTED_TEXT_MAX => Ok(()),
        _ => Err(format!("must not be longer than {EXPECTED_TEXT_MAX} characters")),
    }
}

/// An expectation with the fields of its kind.
struct ExpectationRule;

impl FieldRule<Expectation> for ExpectationRule {
    fn read(&self, item: &Field<'_>, errors: &mut Errors) -> Option<Expectation> {
        let fields = item.object(errors)?;
        let kind = fields.field("kind").required(errors).one_of(&ExpectationKind::ALL, errors)?;
        let text =
            |errors: &mut Errors| read_variant(&fields, errors).map(|read: TextInput| read.text);
        let header = |errors: &mut Errors| {
            read_variant(&fields, errors).map(|HeaderInput { name, value }| (name, value))
        };
        match kind {
            ExpectationKind::BodyContains => {
                text(errors).map(|text| Expectation::BodyContains { text })
            }
            ExpectationKind::BodyLacks => text(errors).map(|text| Expectation::BodyLacks { text }),
            ExpectationKind::HeaderEquals => {
                header(errors).map(|(name, value)| Expectation::HeaderEquals { name, value })
            }
            ExpectationKind::HeaderContains => {
                header(errors).map(|(name, value)| Expectation::HeaderContains { name, value })
            }
            ExpectationKind::JsonEquals => read_variant(&fields, errors)
                .map(|JsonInput { pointer, value }| Expectation::JsonEquals { pointer, value }),
            ExpectationKind::ResponseTime => read_variant(&fields, errors)
                .map(|LimitInput { max_ms }| Expectation::ResponseTime { max_ms }),
        }
    }

    fn shape(&self) -> InputShape {
        let variant = |kind: ExpectationKind| {
            let (about, fields) = kind.described();
            InputVariant { kind: kind.as_str(), about, fields }
        };
        InputShape::Variants(ExpectationKind::ALL.map(variant).into())
    }
}

impl ExpectationKind {
    const fn described(self) -> (&'static str, &'static [InputField]) {
        match self {
            Self::BodyContains => {
                ("The first 512 KB of the body contain a text.", TextInput::FIELDS)
            }
            Self::BodyLacks => {
                ("The first 512 KB of the body do not contain a text.", TextInput::FIELDS)
            }
            Self::HeaderEquals => ("A header has a value.", HeaderInput::FIELDS),
            Self::HeaderContains => ("A header contains a text.", HeaderInput::FIELDS),
            Self::JsonEquals => (
                "The body is JSON of at most 64 KB and 32 levels, and has a value at a pointer.",
                JsonInput::FIELDS,
            ),
            Self::ResponseTime => (
                "The response takes no longer than this; otherwise the site is slow.",
                LimitInput::FIELDS,
            ),
        }
    }
}

impl Expectations {
    /// Reads expectations with `how`, such as [`Fields::body`]. What is omitted gets its default; only what is posted
    /// stays as it is `stored`, because no response contains it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn read(
        mut sent: Map<String, Value>,
        how: impl Fn(&Map<String, Value>) -> Fields<'_>,
        stored: Option<&PostRequest>,
    ) -> Result<Self, ValidationError> {
        let mut errors = Errors::new();
        let method = sent.get("method").and_then(Value::as_str).map(str::trim);
        if method == Some(RequestMethod::Post.as_str()) {
            if stored.is_some() {
                sent.entry("post").or_insert_with(|| json!({}));
            }
            match sent.get_mut("post") {
                None => {
                    how(&sent)
                        .field("post")
                        .refuse(&mut errors, "is required with the method POST");
                }
                Some(Value::Object(post)) => {
                    if let Some(PostRequest { content_type, .. }) = stored {
                        post.entry("content_type").or_insert_with(|| content_type.as_str().into());
                    }
                    // Without a body, null is refused.
                    let body = stored.map(|stored| stored.body.as_str());
                    post.entry("body").or_insert_with(|| body.into());
                }
                Some(_) => {}
            }
        } else if sent.remove("post").is_some() {
            how(&sent).field("post").refuse(&mut errors, "needs the method POST");
        }
        let read: Option<ExpectationsInput> = read_object(&how(&sent), &mut errors);
        let read = read.map(Self::from);
        for (place, why) in read.as_ref().map(Self::refused).unwrap_or_default() {
            let field = format!("expectations.{place}.kind");
            let message = format!("The {field} field {why}.");
            errors.push(field, message);
        }
        errors.finish(read)
    }
}

impl From<ExpectationsInput> for Expectations {
    fn from(input: ExpectationsInput) -> Self {
        let IssuePolicies { expectation, slow } = IssuePolicies::default();
        let issues = input.issues.map_or((None, None), |of| (of.expectation, of.slow));
        let expectation = issues.0.map_or(expectation, |of| IssuePolicy {
            severity: of.severity,
            failures_to_open: of.failures_to_open,
            successes_to_resolve: of.successes_to_resolve,
        });
        let slow = issues.1.map_or(slow, |of| IssuePolicy {
            severity: of.severity,
            failures_to_open: of.failures_to_open,
            successes_to_resolve: of.successes_to_resolve,
        });
        Self {
            method: input.method.without_body(),
            post: input.post.and_then(|PostInput { content_type, body }| {
                Some(PostRequest { content_type, body: body? })
            }),
            expectations: input.expectations,
            issues: IssuePolicies { expectation, slow },
        }
    }
}
