//! The requests to the OpenID provider: where people sign in, and who has signed in. No error repeats the provider's
//! answers, because they contain tokens.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use jiff::{SignedDuration, Timestamp};
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreErrorResponseType,
    CoreIdTokenClaims, CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreTokenResponse,
    CoreUserInfoClaims,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClaimsVerificationError, CsrfToken, DiscoveryError, EndUserEmail,
    EndpointMaybeSet, EndpointNotSet, EndpointSet, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope,
    SignatureVerificationError, TokenResponse as _, UserInfoError,
};
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;
use vedette_domain::accounts::session::SignInAttempt;
use vedette_domain::source::Source;
use vedette_probe::exchange::ExchangeError;
use vedette_probe::ssrf_guard::{Outbound, SsrfGuardError};
use vedette_runtime::Clock;

use super::config::{ProviderConfig, is_private};
use super::http_client::{HttpClient, HttpClientError};
use super::limits::Limits;

/// The time limit for all requests to the provider together. A function has less than 30 seconds.
const DEADLINE: Duration = Duration::from_secs(15);

/// How long the provider's metadata and keys are cached.
const LASTS: SignedDuration = SignedDuration::from_hours(1);

/// The signature algorithms that only the provider can use. Algorithms with a shared secret are not among them.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// The OpenID provider at which people may sign in.
pub struct Provider {
    config: ProviderConfig,
    client: HttpClient,
    /// The provider's metadata. A caller that finds it too old fetches it again, and the others wait for the answer.
    known: Mutex<Option<Arc<Known>>>,
    limits: Limits,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("config", &self.config).finish_non_exhaustive()
    }
}

/// The provider's metadata.
struct Known {
    since: Timestamp,
    client: Client,
}

/// A client that knows the provider's addresses and keys.
type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// Why a sign-in at the provider failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The provider failed a moment ago, and gets no requests for a while.
    #[error("the provider failed a moment ago and gets no requests for now")]
    Resting,
    /// The provider does not answer.
    #[error("the provider does not answer")]
    NoAnswer(#[source] HttpClientError),
    /// The provider's answer is invalid.
    #[error("the provider's {0} is invalid")]
    Unusable(&'static str),
    /// The provider's token cannot be trusted.
    #[error("the provider's token is refused: {}", .0.as_str())]
    Untrusted(Untrusted),
    /// The code was used, or was never issued.
    #[error("the provider does not know the code")]
    UnknownCode,
    /// The provider does not name an address, or does not confirm it.
    #[error("the provider did not confirm an email address")]
    NoAddress,
}

/// What a sign-in sends to the provider, and expects back.
#[derive(Clone, Copy)]
pub(super) struct Exchange<'a> {
    pub(super) attempt: &'a SignInAttempt,
    /// Where the provider sends people back to.
    pub(super) redirect: &'a RedirectUrl,
    pub(super) now: Timestamp,
    /// For the time at which the provider fails, which may be long after the request.
    pub(super) clock: &'a Clock,
}

impl Provider {
    /// The provider, reached as `outbound` describes, but without limits on where it may be, because the operator has
    /// named it.
    ///
    /// # Errors
    ///
    /// When the system's resolver, or a root certificate, cannot be used.
    pub fn new(config: ProviderConfig, outbound: Outbound) -> Result<Self, SsrfGuardError> {
        Ok(Self {
            config,
            client: HttpClient::new(outbound)?,
            known: Mutex::default(),
            limits: Limits::default(),
        })
    }

    /// Counts an answer from a source before the provider is called about it.
    ///
    /// # Errors
    ///
    /// How long to wait, if that exceeds the limit.
    pub(super) fn count_answer(
        &self,
        source: Source,
        now: Timestamp,
    ) -> Result<(), SignedDuration> {
        self.limits.take(source, now)
    }

    /// The URL where people sign in.
    pub(super) async fn address(&self, of: Exchange<'_>) -> Result<Url, Failure> {
        let known = self.in_time(of, self.known(of)).await?;
        let verifier = PkceCodeVerifier::new(of.attempt.code_verifier());
        let (state, nonce) = (of.attempt.state(), of.attempt.nonce());
        let (address, ..) = known
            .client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .add_scope(Scope::new("email".to_owned()))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .set_redirect_uri(Cow::Borrowed(of.redirect))
            .url();
        // An attacker on the network could ask for passwords.
        is_private(&address)
            .then_some(address)
            .ok_or(Failure::NoAnswer(HttpClientError::NotPrivate))
    }

    /// The email address of the user who has signed in there and got a code, if the provider confirms it.
    pub(super) async fn email(&self, of: Exchange<'_>, code: &str) -> Result<String, Failure> {
        self.in_time(of, self.identify(of, code)).await
    }

    /// Makes a request, unless the provider is being left alone. Limits the time, including the wait for other
    /// requests. A provider that does not answer is left alone for a moment.
    async fn in_time<T>(
        &self,
        of: Exchange<'_>,
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let too_slow = HttpClientError::Exchange(ExchangeError::TooSlow(DEADLINE));
        let answer = match timeout(DEADLINE, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::NoAnswer(too_slow)),
        };
        if matches!(answer, Err(Failure::NoAnswer(_))) {
            self.limits.rest(of.clock.now());
        }
        answer
    }

    /// Fails while the provider is left alone.
    fn awake(&self, of: Exchange<'_>) -> Result<(), Failure> {
        if self.limits.is_resting(of.clock.now()) { Err(Failure::Resting) } else { Ok(()) }
    }

    async fn identify(&self, of: Exchange<'_>, code: &str) -> Result<String, Failure> {
        let mut known = self.known(of).await?;
        self.awake(of)?;
        let tokens = self.exchange(&known, of, code).await?;
        let mut claims = known.claims(&tokens, of);
        if matches!(claims, Err(Untrusted::UnknownKey)) {
            // The provider may have a new key that we have not fetched.
            known = self.learn(&known, of).await?;
            claims = known.claims(&tokens, of);
        }
        let claims = claims.map_err(Failure::Untrusted)?;
        if claims.email().is_some() && claims.email_verified().is_some() {
            return vouched(claims.email(), claims.email_verified());
        }
        // Some providers give the address only to a client with the token.
        if known.client.user_info_url().is_none() {
            return Err(Failure::NoAddress);
        }
        let told = self.user_info(&known, &tokens, &claims).await?;
        vouched(told.email(), told.email_verified())
    }

    async fn known(&self, of: Exchange<'_>) -> Result<Arc<Known>, Failure> {
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && of.now.duration_since(known.since).abs() < LASTS
        {
            return Ok(Arc::clone(known));
        }
        Ok(Arc::clone(known.insert(self.discover(of).await?)))
    }

    /// The provider's current metadata, or metadata fetched since `before`.
    async fn learn(&self, before: &Arc<Known>, of: Exchange<'_>) -> Result<Arc<Known>, Failure> {
        let mut known = self.known.lock().await;
        if let Some(known) = &*known
            && !Arc::ptr_eq(known, before)
        {
            return Ok(Arc::clone(known));
        }
        Ok(Arc::clone(known.insert(self.discover(of).await?)))
    }

    /// Fetches the provider's metadata. Strangers cannot influence it: if it is invalid, it will still be invalid a
    /// moment later.
    async fn discover(&self, of: Exchange<'_>) -> Result<Arc<Known>, Failure> {
        self.awake(of)?;
        let described = self.describe(of.now).await;
        if described.is_err() {
            self.limits.rest(of.clock.now());
        }
        described
    }

    async fn describe(&self, now: Timestamp) -> Result<Arc<Known>, Failure> {
        let ProviderConfig { issuer, client_id, client_secret } = self.config.clone();
        let metadata = CoreProviderMetadata::discover_async(issuer, &self.client).await;
        let metadata = metadata.map_err(|error| match error {
            DiscoveryError::Request(error) => Failure::NoAnswer(error),
            _ => Failure::Unusable("metadata"),
        })?;
        let auth_type = auth_type(&metadata);
        let client = CoreClient::from_provider_metadata(metadata, client_id, Some(client_secret));
        Ok(Arc::new(Known { since: now, client: client.set_auth_type(auth_type) }))
    }

    async fn exchange(
        &self,
        known: &Known,
        of: Exchange<'_>,
        code: &str,
    ) -> Result<CoreTokenResponse, Failure> {
        let unusable = Failure::Unusable("token response");
        let asked = known.client.exchange_code(AuthorizationCode::new(code.to_owned()));
        let Ok(asked) = asked else { return Err(Failure::Unusable("metadata")) };
        let asked = asked
            .set_pkce_verifier(PkceCodeVerifier::new(of.attempt.code_verifier()))
            .set_redirect_uri(Cow::Borrowed(of.redirect));
        asked.request_async(&self.client).await.map_err(|error| match error {
            RequestTokenError::Request(error) => Failure::NoAnswer(error),
            RequestTokenError::ServerResponse(answer) => match answer.error() {
                CoreErrorResponseType::InvalidGrant => Failure::UnknownCode,
                CoreErrorResponseType::InvalidClient
                | CoreErrorResponseType::UnauthorizedClient => {
                    Failure::Unusable("answer about this client")
                }
                _ => unusable,
            },
            _ => unusable,
        })
    }

    async fn user_info(
        &self,
        known: &Known,
        tokens: &CoreTokenResponse,
        claims: &CoreIdTokenClaims,
    ) -> Result<CoreUserInfoClaims, Failure> {
        let subject = claims.subject().clone();
        let asked = known.client.user_info(tokens.access_token().clone(), Some(subject));
        let Ok(asked) = asked else { return Err(Failure::NoAddress) };
        asked.request_async(&self.client).await.map_err(|error| match error {
            UserInfoError::Request(error) => Failure::NoAnswer(error),
            UserInfoError::ClaimsVerification(_) => Failure::Untrusted(Untrusted::Claims),
            _ => Failure::Unusable("user info"),
        })
    }
}

impl Known {
    /// The claims of the ID token, if the provider signed it recently, for us and for this sign-in.
    fn claims(
        &self,
        tokens: &CoreTokenResponse,
        of: Exchange<'_>,
    ) -> Result<CoreIdTokenClaims, Untrusted> {
        let now = DateTime::from_timestamp(of.now.as_second(), 0).unwrap_or_default();
        let verifier =
            self.client.id_token_verifier().set_allowed_algs(SIGNATURES).set_time_fn(move || now);
        let token = tokens.id_token().ok_or(Untrusted::Missing)?;
        let claims = token.claims(&verifier, &Nonce::new(of.attempt.nonce()));
        claims.cloned().map_err(|error| Untrusted::from(&error))
    }
}

/// How to send our secret to the provider: in a header, unless it accepts the secret only in the body.
fn auth_type(metadata: &CoreProviderMetadata) -> AuthType {
    let taken = metadata.token_endpoint_auth_methods_supported();
    let takes = |method| taken.is_some_and(|taken| taken.contains(&method));
    let in_body = takes(CoreClientAuthMethod::ClientSecretPost)
        && !takes(CoreClientAuthMethod::ClientSecretBasic);
    if in_body { AuthType::RequestBody } else { AuthType::BasicAuth }
}

/// The address, if the provider says that it is the user's.
fn vouched(email: Option<&EndUserEmail>, is_verified: Option<bool>) -> Result<String, Failure> {
    match (email, is_verified) {
        (Some(email), Some(true)) => Ok(email.as_str().to_owned()),
        _ => Err(Failure::NoAddress),
    }
}

/// Why an ID token cannot be trusted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Untrusted {
    Missing,
    UnknownKey,
    Signature,
    Issuer,
    Audience,
    Nonce,
    Expired,
    Claims,
}

impl Untrusted {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "there is none",
            Self::UnknownKey => "it is not signed with the provider's key",
            Self::Signature => "its signature is wrong",
            Self::Issuer => "another issuer made it",
            Self::Audience => "it is for another client",
            Self::Nonce => "it is for another sign-in",
            Self::Expired => "it has expired",
            Self::Claims => "its claims are invalid",
        }
    }
}

impl From<&ClaimsVerificationError> for Untrusted {
    fn from(error: &ClaimsVerificationError) -> Self {
        match error {
            ClaimsVerificationError::SignatureVerification(
                SignatureVerificationError::NoMatchingKey,
            ) => Self::UnknownKey,
            ClaimsVerificationError::SignatureVerification(_) => Self::Signature,
            ClaimsVerificationError::InvalidIssuer(_) => Self::Issuer,
            ClaimsVerificationError::InvalidAudience(_) => Self::Audience,
            ClaimsVerificationError::InvalidNonce(_) => Self::Nonce,
            ClaimsVerificationError::Expired(_) => Self::Expired,
            _ => Self::Claims,
        }
    }
}
