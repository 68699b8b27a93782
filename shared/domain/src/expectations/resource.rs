//! What the status checks of a site expect, as the API shows it.

use serde::Serialize;

use super::{
    Expectation, Expectations, IssuePolicies, OwnershipRecord, PostRequest, RequestMethod,
};
use crate::sites::site::Site;

/// The requests that a site's status checks send, and what they expect.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Expectations"))]
pub struct ExpectationsResource {
    /// The method of the request.
    method: RequestMethod,
    /// What is posted; absent with another method.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "PostResource"))]
    post: Option<PostResource>,
    /// What is expected, at most ten.
    #[cfg_attr(feature = "schema", schemars(length(max = 10)))]
    expectations: Vec<Expectation>,
    /// When issues open and resolve.
    issues: IssuePolicies,
    /// The DNS TXT record by which the owner of the host allows POST requests from the team; absent if the host is an
    /// IP address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "OwnershipRecord"))]
    ownership_record: Option<OwnershipRecord>,
}

/// What is posted. The body may contain secrets and is not shown.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PostedBody"))]
struct PostResource {
    /// The value of `Content-Type`.
    content_type: String,
    /// The size of the body, in bytes.
    body_bytes: usize,
}

impl ExpectationsResource {
    /// The resource of a site.
    pub fn new(site: &Site) -> Self {
        let Expectations { post, expectations, issues, method: _ } = &site.expectations;
        let post = post.as_ref().map(|PostRequest { content_type, body }| PostResource {
            content_type: content_type.clone(),
            body_bytes: body.len(),
        });
        Self {
            method: site.expectations.request_method(),
            post,
            expectations: expectations.clone(),
            issues: *issues,
            ownership_record: OwnershipRecord::of(site),
        }
    }
}
