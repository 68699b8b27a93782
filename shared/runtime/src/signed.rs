//! Requests to AWS services that have no client here, signed with [Signature Version
//! 4](https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).

use std::error::Error;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// A request to a service.
#[derive(Debug, Clone, Copy)]
pub struct Unsigned<'a> {
    /// The service's name in signatures.
    pub service: &'a str,
    /// Its region.
    pub region: &'a str,
    /// Its endpoint, without a trailing slash.
    pub endpoint: &'a str,
    /// The HTTP method.
    pub method: &'a str,
    /// The path, with its query.
    pub path: &'a str,
    /// The type of the body, if there is one.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a str,
}

impl Unsigned<'_> {
    /// The signed request, which is valid for a few minutes after `now`.
    ///
    /// # Errors
    ///
    /// When a part of it is invalid.
    pub fn sign(
        &self,
        credentials: &Credentials,
        now: SystemTime,
    ) -> Result<HttpRequest, Box<dyn Error + Send + Sync>> {
        let identity = credentials.clone().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(now)
            .settings(SigningSettings::default())
            .build()?
            .into();
        let uri = format!("{}{}", self.endpoint, self.path);
        let body = SignableBody::Bytes(self.body.as_bytes());
        let signable = SignableRequest::new(self.method, uri, std::iter::empty(), body)?;
        let (headers, _) = sign(signable, &params)?.into_parts().0.into_parts();
        let mut request = HttpRequest::new(SdkBody::from(self.body));
        request.set_method(self.method)?;
        request.set_uri(self.path)?;
        for header in headers {
            request.headers_mut().try_insert(header.name(), header.value().to_owned())?;
        }
        if let Some(content_type) = self.content_type {
            request.headers_mut().try_insert("content-type", content_type.to_owned())?;
        }
        Ok(request)
    }
}

/// The endpoint of a service in a region, by the first part of its name there.
pub fn endpoint(service: &str, region: &str) -> String {
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{suffix}")
}
