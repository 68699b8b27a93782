//! Expectations: what the response to a site's status check must be like, beyond answering.
//!
//! [`Expectations`] are part of a site. [`Expectations::judge`] compares them with a response and says in words what is
//! [`Unmet`]. An unmet limit for the response time is a failure of `status:slow`, and every other unmet expectation is
//! one of `status:expectation`. While the site is down, neither is judged.

mod body;
mod input;
pub mod json;
mod judge;
mod line;
mod ownership;
mod post;
mod quote;
mod resource;

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::issues::tracker::TrackerPolicy;
use crate::issues::{Fingerprint, Severity};

pub use body::BodyReader;
pub use input::{ExpectationsInput, HeaderInput, JsonInput, LimitInput, TextInput};
pub use json::{JSON_DEPTH_MAX, JSON_MAX, JsonPointer};
pub use judge::Seen;
pub use line::{NotExpectable, header_name};
pub use ownership::{NotProven, OwnershipRecord};
pub use post::{
    CONTENT_TYPE_DEFAULT, CONTENT_TYPE_MAX, POST_BODY_MAX, POSTS_TO_ADDRESS, PostRequest,
    is_content_type,
};
pub use quote::quoted;
pub use resource::ExpectationsResource;

/// The most expectations of a site.
pub const EXPECTATIONS_MAX: usize = 10;
/// The longest text, header value or JSON pointer, in characters. This is our own limit, which keeps a site's item
/// small: every run reads it.
pub const EXPECTED_TEXT_MAX: usize = 200;
/// The first bytes of a response's decoded body in which texts are looked for.
pub const BODY_SEARCHED: usize = 512 * 1024;
/// The longest response time that can be expected, in milliseconds: the deadline of a status check.
pub const RESPONSE_TIME_MAX: u32 =
    crate::checks::tool::Tool::Status.limits().deadline.as_millis() as u32;
/// The severities that the issue of an unmet expectation may have.
pub const SEVERITIES: [Severity; 2] = [Severity::Critical, Severity::Warning];
/// The most failed or successful checks in a row that an issue may wait for. This is our own limit.
pub const STREAK_MAX: u32 = 100;

const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// How the status checks of a site ask, and what they expect of the response. It has the same form in the API and in
/// the site's item.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Expectations {
    /// The method of the request, unless there is something to post. A version of Vedette that does not know POST falls
    /// back to it.
    pub method: CheckMethod,
    /// What the check posts, if it sends a POST.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post: Option<PostRequest>,
    /// What is expected, at most ten.
    pub expectations: Vec<Expectation>,
    /// When issues open and resolve.
    pub issues: IssuePolicies,
}

/// The method of a request without a body. Remote checks know no other, so none of them can send a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CheckMethod {
    /// The response has a body.
    #[default]
    #[serde(rename = "GET")]
    Get,
    /// The response has no body.
    #[serde(rename = "HEAD")]
    Head,
}

impl CheckMethod {
    /// Whether it is the default.
    pub fn is_get(&self) -> bool {
        *self == Self::Get
    }
}

/// The request method of a status check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum RequestMethod {
    /// The response has a body.
    #[default]
    Get,
    /// The response has no body.
    Head,
    /// The request has a body too. The owner of the host must have allowed it.
    Post,
}

impl RequestMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Get, Self::Head, Self::Post];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
        }
    }

    /// The method of requests without a body.
    pub const fn without_body(self) -> CheckMethod {
        match self {
            Self::Get | Self::Post => CheckMethod::Get,
            Self::Head => CheckMethod::Head,
        }
    }
}

impl std::fmt::Display for RequestMethod {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition that a response must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Expectation {
    /// The first 512 KB of the body contain a text.
    BodyContains {
        /// The text.
        text: String,
    },
    /// The first 512 KB of the body do not contain a text.
    BodyLacks {
        /// The text.
        text: String,
    },
    /// A header has a value.
    HeaderEquals {
        /// The name of the header, in lower case.
        name: String,
        /// The whole value.
        value: String,
    },
    /// A header contains a text.
    HeaderContains {
        /// The name of the header, in lower case.
        name: String,
        /// The text.
        value: String,
    },
    /// The body is JSON of at most 64 KB and 32 levels, and has a value at a pointer.
    JsonEquals {
        /// The JSON pointer (RFC 6901).
        pointer: JsonPointer,
        /// The value: a string, a number, a boolean or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::scalar"))]
        value: Value,
    },
    /// The head of the response arrives within a time; otherwise the site is slow.
    ResponseTime {
        /// The time, in milliseconds.
        max_ms: u32,
    },
}

/// The kind of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectationKind {
    /// [`Expectation::BodyContains`].
    BodyContains,
    /// [`Expectation::BodyLacks`].
    BodyLacks,
    /// [`Expectation::HeaderEquals`].
    HeaderEquals,
    /// [`Expectation::HeaderContains`].
    HeaderContains,
    /// [`Expectation::JsonEquals`].
    JsonEquals,
    /// [`Expectation::ResponseTime`].
    ResponseTime,
}

impl ExpectationKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::BodyContains,
        Self::BodyLacks,
        Self::HeaderEquals,
        Self::HeaderContains,
        Self::JsonEquals,
        Self::ResponseTime,
    ];

    /// The value of `kind` in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BodyContains => "body_contains",
            Self::BodyLacks => "body_lacks",
            Self::HeaderEquals => "header_equals",
            Self::HeaderContains => "header_contains",
            Self::JsonEquals => "json_equals",
            Self::ResponseTime => "response_time",
        }
    }

    /// Whether the response needs a body.
    pub const fn needs_body(self) -> bool {
        matches!(self, Self::BodyContains | Self::BodyLacks | Self::JsonEquals)
    }

    /// The fingerprint of the issue that opens if such an expectation stays unmet.
    pub const fn fingerprint(self) -> Fingerprint {
        match self {
            Self::ResponseTime => Fingerprint::StatusSlow,
            Self::BodyContains
            | Self::BodyLacks
            | Self::HeaderEquals
            | Self::HeaderContains
            | Self::JsonEquals => Fingerprint::StatusExpectation,
        }
    }
}

impl std::fmt::Display for ExpectationKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Expectation {
    /// Its kind.
    pub const fn kind(&self) -> ExpectationKind {
        match self {
            Self::BodyContains { .. } => ExpectationKind::BodyContains,
            Self::BodyLacks { .. } => ExpectationKind::BodyLacks,
            Self::HeaderEquals { .. } => ExpectationKind::HeaderEquals,
            Self::HeaderContains { .. } => ExpectationKind::HeaderContains,
            Self::JsonEquals { .. } => ExpectationKind::JsonEquals,
            Self::ResponseTime { .. } => ExpectationKind::ResponseTime,
        }
    }
}

/// When the issues of unmet expectations open and resolve, and how severe they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IssuePolicies {
    /// For `status:expectation`.
    pub expectation: IssuePolicy,
    /// For `status:slow`.
    pub slow: IssuePolicy,
}

impl Default for IssuePolicies {
    fn default() -> Self {
        let (expectation, slow) = (Fingerprint::StatusExpectation, Fingerprint::StatusSlow);
        Self { expectation: IssuePolicy::of(expectation), slow: IssuePolicy::of(slow) }
    }
}

/// When an issue opens and resolves, and how severe it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssuePolicy {
    /// How severe it is: `critical` or `warning`.
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::schema::severity_of_expectation")
    )]
    pub severity: Severity,
    /// How many checks in a row must fail before it opens.
    pub failures_to_open: NonZeroU32,
    /// How many checks in a row must succeed before it resolves.
    pub successes_to_resolve: NonZeroU32,
}

impl IssuePolicy {
    /// The policy of a site that chooses no other.
    const fn of(fingerprint: Fingerprint) -> Self {
        let severity = fingerprint.severity();
        Self { severity, failures_to_open: TWO, successes_to_resolve: NonZeroU32::MIN }
    }

    /// The thresholds of its tracker.
    pub const fn thresholds(&self) -> TrackerPolicy {
        TrackerPolicy {
            open_after: self.failures_to_open,
            resolve_after: self.successes_to_resolve,
        }
    }
}

/// An expectation that a response did not meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unmet {
    /// The issue that opens if this goes on.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub fingerprint: Fingerprint,
    /// What was expected, and what came instead, for people.
    pub message: String,
}

impl Expectations {
    /// Whether nothing differs from a site without expectations.
    pub fn is_unused(&self) -> bool {
        *self == Self::default()
    }

    /// The method of the request.
    pub const fn request_method(&self) -> RequestMethod {
        match (&self.post, self.method) {
            (Some(_), _) => RequestMethod::Post,
            (None, CheckMethod::Get) => RequestMethod::Get,
            (None, CheckMethod::Head) => RequestMethod::Head,
        }
    }

    /// Whether a check has anything to judge.
    pub const fn is_empty(&self) -> bool {
        self.expectations.is_empty()
    }

    /// Whether any of them decides about an issue of this fingerprint.
    pub fn decide(&self, fingerprint: Fingerprint) -> bool {
        self.expectations.iter().any(|expected| expected.kind().fingerprint() == fingerprint)
    }

    /// When issues of a fingerprint open and resolve; `None` if expectations have nothing to do with it.
    pub const fn policy_of(&self, fingerprint: Fingerprint) -> Option<IssuePolicy> {
        match fingerprint {
            Fingerprint::StatusExpectation => Some(self.issues.expectation),
            Fingerprint::StatusSlow => Some(self.issues.slow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_site_without_expectations_stores_nothing_and_others_read_back() {
        assert!(Expectations::default().is_unused());
        let head = Expectations { method: CheckMethod::Head, ..Expectations::default() };
        assert_eq!((head.is_unused(), head.is_empty()), (false, true));
        let document = json!({
            "method": "GET",
            "expectations": [
                { "kind": "body_contains", "text": "Welcome" },
                { "kind": "body_lacks", "text": "Fatal error" },
                { "kind": "header_equals", "name": "x-cache", "value": "HIT" },
                { "kind": "header_contains", "name": "content-type", "value": "json" },
                { "kind": "json_equals", "pointer": "/status", "value": "ok" },
                { "kind": "response_time", "max_ms": 2000 },
            ],
            "issues": {
                "expectation": {
                    "severity": "critical", "failures_to_open": 2, "successes_to_resolve": 1,
                },
                "slow": { "severity": "warning", "failures_to_open": 2, "successes_to_resolve": 1 },
            },
        });
        let read: Expectations = serde_json::from_value(document.clone()).expect("expectations");
        assert_eq!(serde_json::to_value(&read).expect("json"), document);
        let kinds: Vec<_> = read.expectations.iter().map(Expectation::kind).collect();
        assert_eq!(kinds, ExpectationKind::ALL);
        let named = document["expectations"].as_array().expect("a list");
        let named: Vec<_> = named.iter().filter_map(|expected| expected["kind"].as_str()).collect();
        assert_eq!(named, ExpectationKind::ALL.map(ExpectationKind::as_str));
        // A version that does not know POST sends GET.
        let post = PostRequest { content_type: "text/plain".to_owned(), body: "x".to_owned() };
        let posting = Expectations { post: Some(post), ..Expectations::default() };
        let stored = serde_json::to_value(&posting).expect("json");
        assert_eq!(stored["method"], "GET");
        assert_eq!(serde_json::from_value::<Expectations>(stored).expect("expectations"), posting);
        assert_eq!(posting.request_method(), RequestMethod::Post);
        assert!(!posting.is_unused());
        // Later versions may leave out what is not set.
        let few: Expectations = serde_json::from_value(json!({ "method": "HEAD" })).expect("few");
        assert_eq!(few, head);
    }

    #[test]
    fn each_kind_decides_about_one_issue_of_the_status_tool() {
        for kind in ExpectationKind::ALL {
            let fingerprint = kind.fingerprint();
            assert_eq!(fingerprint.tool(), crate::checks::tool::Tool::Status);
            assert!(Expectations::default().policy_of(fingerprint).is_some(), "{kind}");
        }
        assert_eq!(Expectations::default().policy_of(Fingerprint::StatusDown), None);
    }
}
