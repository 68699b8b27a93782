//! An OpenID provider on loopback, with a real key, that can be made to lie.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use url::{Url, form_urlencoded};

/// An OpenID provider with one client, whose users sign in at once. It checks everything that the client has to prove.
#[derive(Debug)]
pub struct OpenIdProvider {
    /// Its issuer.
    pub issuer: String,
    state: Arc<Mutex<State>>,
    task: AbortHandle,
}

/// The client's id.
pub const CLIENT_ID: &str = "vedette";
/// The client's secret.
pub const CLIENT_SECRET: &str = "a secret: of / the client";

/// How the provider deviates from correct behavior.
#[derive(Debug, Clone, Default)]
pub struct Lies {
    /// Claims of the ID token that replace the correct ones; `null` removes one.
    pub claims: Value,
    /// The answer of the user info endpoint; with `null` there is no such endpoint.
    pub user_info: Value,
    /// How the ID token is signed.
    pub signature: Signature,
    /// Whether it accepts a code more than once.
    pub takes_codes_again: bool,
    /// The paths with a wrong answer, and the answer.
    pub answers: BTreeMap<&'static str, ProviderAnswer>,
    /// Its metadata, in place of the correct one.
    pub description: Value,
}

/// How an ID token is signed.
#[derive(Debug, Clone, Copy, Default)]
pub enum Signature {
    /// By the provider's key.
    #[default]
    Right,
    /// By another key under the name of the provider's.
    Forged,
    /// By the client's secret (HS256).
    Secret,
    /// Not at all.
    None,
}

/// An invalid answer.
#[derive(Debug, Clone)]
pub enum ProviderAnswer {
    /// A status with a body.
    Status(u16, String),
    /// A redirect to this URL.
    Redirect(String),
}

struct State {
    issuer: String,
    lies: Lies,
    keys: Vec<(String, EcdsaKeyPair)>,
    /// The codes, with what each was issued for.
    codes: BTreeMap<String, Code>,
    /// The paths that were requested.
    asked: Vec<String>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("asked", &self.asked).finish_non_exhaustive()
    }
}

struct Code {
    claims: Map<String, Value>,
    challenge: String,
    redirect: String,
    is_used: bool,
}

impl OpenIdProvider {
    /// Starts a provider that behaves correctly.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(Mutex::new(State {
            issuer: issuer.clone(),
            lies: Lies::default(),
            keys: vec![("1".to_owned(), new_key())],
            codes: BTreeMap::new(),
            asked: Vec::new(),
        }));
        let router = Router::new().fallback({
            let state = Arc::clone(&state);
            move |request: Request| async move {
                let (head, body) = request.into_parts();
                let body = to_bytes(body, 64 * 1024).await.expect("a short body");
                lock(&state).answer(head.uri.path(), &head.headers, &body)
            }
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a server");
        });
        Self { issuer, state, task: task.abort_handle() }
    }

    /// Deviates from correct behavior from now on.
    pub fn lie(&self, lies: Lies) {
        lock(&self.state).lies = lies;
    }

    /// Replaces its key.
    pub fn change_key(&self) {
        let mut state = lock(&self.state);
        let name = (state.keys.len() + 1).to_string();
        state.keys.push((name, new_key()));
    }

    /// How often a path was requested.
    pub fn asked(&self, path: &str) -> usize {
        lock(&self.state).asked.iter().filter(|asked| *asked == path).count()
    }

    /// Signs a user in after a client redirected their browser here. Returns where the browser is redirected next.
    pub fn sign_in(&self, address: &str, email: &str, now: Timestamp) -> Url {
        let address = Url::parse(address).expect("a URL");
        let sent: BTreeMap<_, _> = address.query_pairs().into_owned().collect();
        assert_eq!(format!("{}/authorize", self.issuer), address[..url::Position::AfterPath]);
        assert_eq!((&*sent["response_type"], &*sent["client_id"]), ("code", CLIENT_ID));
        assert_eq!(sent["code_challenge_method"], "S256");
        let mut scopes: Vec<_> = sent["scope"].split(' ').collect();
        scopes.sort_unstable();
        assert_eq!(scopes, ["email", "openid"]);
        let mut state = lock(&self.state);
        let code = format!("code-{}", state.codes.len());
        let claims = json!({
            "iss": state.issuer,
            "sub": format!("user of {email}"),
            "aud": CLIENT_ID,
            "nonce": sent["nonce"],
            "iat": now.as_second(),
            "exp": now.as_second() + 600,
            "email": email,
            "email_verified": true,
        });
        let Value::Object(claims) = claims else { panic!("{claims}") };
        let (challenge, redirect) = (sent["code_challenge"].clone(), sent["redirect_uri"].clone());
        let mut back = Url::parse(&redirect).expect("a URL");
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &sent["state"]);
        state.codes.insert(code, Code { claims, challenge, redirect, is_used: false });
        back
    }
}

impl Drop for OpenIdProvider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    fn answer(&mut self, path: &str, headers: &HeaderMap, body: &Bytes) -> Response {
        self.asked.push(path.to_owned());
        match self.lies.answers.get(path) {
            Some(ProviderAnswer::Status(status, body)) => {
                let status = StatusCode::from_u16(*status).expect("a status");
                return (status, body.clone()).into_response();
            }
            Some(ProviderAnswer::Redirect(url)) => return Redirect::temporary(url).into_response(),
            None => {}
        }
        match path {
            "/.well-known/openid-configuration" => as_json(&self.description()),
            "/keys" => as_json(&self.key_set()),
            "/token" => match self.tokens(headers, body) {
                Ok(tokens) => as_json(&tokens),
                Err(error) => {
                    (StatusCode::BAD_REQUEST, as_json(&json!({ "error": error }))).into_response()
                }
            },
            "/userinfo" => {
                assert_eq!(headers[AUTHORIZATION], "Bearer an access token");
                as_json(&self.lies.user_info)
            }
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn description(&self) -> Value {
        let issuer = &self.issuer;
        let mut described = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
        });
        if !self.lies.user_info.is_null() {
            described["userinfo_endpoint"] = json!(format!("{issuer}/userinfo"));
        }
        if let (Value::Object(described), Value::Object(lies)) =
            (&mut described, &self.lies.description)
        {
            described.extend(lies.clone());
        }
        described
    }

    fn key_set(&self) -> Value {
        let (name, key) = self.keys.last().expect("a key");
        let point = key.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| BASE64URL_NOPAD.encode(half));
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": name, "x": x, "y": y }] })
    }

    fn tokens(&mut self, headers: &HeaderMap, body: &[u8]) -> Result<Value, &'static str> {
        let sent: BTreeMap<_, _> = form_urlencoded::parse(body).into_owned().collect();
        if !is_client(headers) {
            return Err("invalid_client");
        }
        assert_eq!(sent["grant_type"], "authorization_code");
        let code = self.codes.get_mut(&sent["code"]).ok_or("invalid_grant")?;
        let challenge =
            BASE64URL_NOPAD.encode(digest(&SHA256, sent["code_verifier"].as_bytes()).as_ref());
        let is_right = challenge == code.challenge && sent["redirect_uri"] == code.redirect;
        if !is_right || (code.is_used && !self.lies.takes_codes_again) {
            return Err("invalid_grant");
        }
        code.is_used = true;
        let mut claims = code.claims.clone();
        if let Value::Object(lies) = &self.lies.claims {
            claims.extend(lies.clone());
        }
        claims.retain(|_, claim| !claim.is_null());
        Ok(json!({
            "access_token": "an access token",
            "token_type": "Bearer",
            "expires_in": 600,
            "id_token": self.sign(&claims),
        }))
    }

    fn sign(&self, claims: &Map<String, Value>) -> String {
        let (name, key) = self.keys.last().expect("a key");
        let algorithm = match self.lies.signature {
            Signature::Right | Signature::Forged => "ES256",
            Signature::Secret => "HS256",
            Signature::None => "none",
        };
        let parts = [json!({ "alg": algorithm, "kid": name }), json!(claims)];
        let parts = parts.map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
        let signed = parts.join(".");
        let by = |key: &EcdsaKeyPair| {
            let signature = key.sign(&SystemRandom::new(), signed.as_bytes());
            signature.expect("a signature").as_ref().to_vec()
        };
        let signature = match self.lies.signature {
            Signature::Right => by(key),
            Signature::Forged => by(&new_key()),
            Signature::Secret => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, CLIENT_SECRET.as_bytes());
                hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            }
            Signature::None => Vec::new(),
        };
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

/// Whether the client sent its secret (RFC 6749, section 2.3.1).
fn is_client(headers: &HeaderMap) -> bool {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let right = format!("{}:{}", encoded(CLIENT_ID), encoded(CLIENT_SECRET));
    sent == Some(&format!("Basic {}", BASE64.encode(right.as_bytes())))
}

fn new_key() -> EcdsaKeyPair {
    let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
    let document = EcdsaKeyPair::generate_pkcs8(kind, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).expect("a key")
}

fn as_json(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
