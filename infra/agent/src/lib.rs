//! An agent: another location of a service on one machine.
//!
//! It makes outgoing requests only. One waits at the service for questions and serves as the heartbeat; another posts each
//! answer, once. An agent stores nothing: a question that is lost in a crash counts as no vote.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Proxy, StatusCode, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};
use url::{Host, Url};
use vedette_checker::Engines;
use vedette_domain::accounts::account::Secret;
use vedette_domain::locations::{
    ANSWERS_PATH, Answer, AskedQuestion, NoVote, POLL_TIME, PROTOCOL_VERSION, QUESTIONS_MAX,
    QUESTIONS_PATH, Questions, VERSION_HEADER,
};
use vedette_ops::ErrorChain;

/// How long the service may take to answer a poll, in addition to [`POLL_TIME`].
const GRACE: Duration = Duration::from_secs(10);

/// How long posting an answer may take.
const POST_TIME: Duration = Duration::from_secs(5);

/// The pause before the first retry; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Bytes that the questions in one response may take.
const QUESTIONS_BYTES_MAX: usize = 256 * 1024;

/// Where the service is, and how it is reached.
pub struct AgentConfig {
    /// The service's root, such as `https://monitor.example.com`.
    pub service: Url,
    /// The agent's token, with or without white space around it.
    pub token: String,
    /// The proxy through which the service is reached. Sites are reached directly.
    pub proxy: Option<Url>,
    /// A PEM file with certificate authorities to trust in addition to the system's.
    pub authorities: Option<PathBuf>,
    /// Whether a service on another machine may be reached without TLS.
    pub allows_plaintext: bool,
}

/// Why an agent does not start, or stops.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Others could read the token and the sites' request headers.
    #[error("{0} does not use TLS; use https, or pass --allow-http in a network that you trust")]
    Plaintext(String),
    /// The URL has another scheme, or one to which no path can be appended.
    #[error("{0} is not the URL of a service, such as https://monitor.example.com")]
    Address(String),
    /// The file contains something other than a token.
    #[error("the token file does not contain a token of `vedette agent add`")]
    Token,
    /// The certificate authorities cannot be read.
    #[error("{path} has no certificate authorities that can be read: {problem}")]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The HTTP client cannot be built, for example because of the proxy's URL.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// TLS cannot be configured.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The service does not accept the token, or no longer does.
    #[error(
        "the service does not accept this token: it was revoked or rotated, or belongs to another service"
    )]
    Revoked,
    /// The service speaks another version of the protocol.
    #[error("the service has another version: install the same version here")]
    OtherVersion,
}

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// Retrying cannot help.
    #[error(transparent)]
    Fatal(#[from] AgentError),
    /// Retrying may help.
    #[error("{0}")]
    Transient(String),
}

/// An agent.
#[derive(Clone)]
pub struct Agent {
    client: Client,
    questions: Url,
    answers: Url,
    engines: Arc<Engines>,
    /// Limits the checks that run at the same time.
    places: Arc<Semaphore>,
}

impl Agent {
    /// Creates an agent that checks targets with these engines.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration.
    pub fn new(config: AgentConfig, engines: Engines) -> Result<Self, AgentError> {
        let AgentConfig { service, token, proxy, authorities, allows_plaintext } = config;
        let is_plain = service.scheme() == "http";
        if !is_plain && service.scheme() != "https" {
            return Err(AgentError::Address(service.to_string()));
        }
        if is_plain && !allows_plaintext && !is_this_machine(&service) {
            return Err(AgentError::Plaintext(service.to_string()));
        }
        let at =
            |path: &str| service.join(path).map_err(|_| AgentError::Address(service.to_string()));
        let (questions, answers) = (at(QUESTIONS_PATH)?, at(ANSWERS_PATH)?);
        let token = Secret::parse(token.trim()).ok_or(AgentError::Token)?;
        let bearer = format!("Bearer {}", token.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| AgentError::Token)?;
        authorization.set_sensitive(true);
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (HeaderName::from_static(VERSION_HEADER), PROTOCOL_VERSION.into()),
        ]);
        let client = Client::builder()
            .tls_backend_preconfigured(tls(authorities)?)
            .default_headers(headers)
            // A redirect would send the token to another server.
            .redirect(redirect::Policy::none())
            .connect_timeout(GRACE)
            .no_proxy();
        let client = match proxy {
            Some(proxy) => client.proxy(Proxy::all(proxy)?),
            None => client,
        };
        Ok(Self {
            client: client.build()?,
            questions,
            answers,
            engines: Arc::new(engines),
            places: Arc::new(Semaphore::new(QUESTIONS_MAX)),
        })
    }

    /// Answers questions, until the service refuses the agent.
    pub async fn run(&self) -> AgentError {
        let mut looking = JoinSet::new();
        let mut pause = None;
        loop {
            while looking.try_join_next().is_some() {}
            match self.poll().await {
                Ok(asked) => {
                    if pause.take().is_some() {
                        info!("connected to the service again");
                    }
                    for asked in asked {
                        let agent = self.clone();
                        looking.spawn(async move { agent.look(asked).await });
                    }
                }
                Err(Fault::Fatal(error)) => return error,
                Err(Fault::Transient(why)) => {
                    let next = next_pause(pause);
                    warn!(why, retry_in = ?next, "the service cannot be reached");
                    sleep(next).await;
                    pause = Some(next);
                }
            }
        }
    }

    /// Waits at the service for questions.
    async fn poll(&self) -> Result<Vec<AskedQuestion>, Fault> {
        let asking = self.client.post(self.questions.clone()).timeout(POLL_TIME + GRACE);
        let transient =
            |error: reqwest::Error| Fault::Transient(ErrorChain(&error.without_url()).to_string());
        let mut answer = asking.send().await.map_err(transient)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::UNAUTHORIZED => return Err(AgentError::Revoked.into()),
            StatusCode::UPGRADE_REQUIRED => return Err(AgentError::OtherVersion.into()),
            StatusCode::MISDIRECTED_REQUEST => {
                let why =
                    "the service does not serve this host name; its option --hosts adds names";
                return Err(Fault::Transient(why.to_owned()));
            }
            other => return Err(Fault::Transient(format!("HTTP {}", other.as_u16()))),
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(transient)? {
            if body.len() + chunk.len() > QUESTIONS_BYTES_MAX {
                return Err(Fault::Transient("the response is too long".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        // The error must not quote the body, which may contain a site's header.
        let read: Questions = serde_json::from_slice(&body)
            .map_err(|_| Fault::Transient("the response cannot be read".to_owned()))?;
        Ok(read.questions)
    }

    /// Checks a target and posts the answer. It is posted once: by the time of a retry, nobody would wait for it.
    async fn look(&self, AskedQuestion { id, question }: AskedQuestion) {
        let answer = match self.places.try_acquire() {
            Ok(_place) => self.engines.look_for(&question).await,
            Err(_) => Answer::NotChecked(NoVote::Busy),
        };
        let Ok(url) = self.answers.join(&id) else { return };
        let Ok(body) = serde_json::to_vec(&answer) else { return };
        let posted = self.client.post(url).timeout(POST_TIME).body(body).send().await;
        match posted.map(|answer| answer.status()) {
            Ok(StatusCode::OK) => info!("checked a site for the service"),
            Ok(status) => warn!(status = status.as_u16(), "the service refused an answer"),
            Err(error) => {
                warn!(error = %ErrorChain(&error.without_url()), "could not send an answer to the service");
            }
        }
    }
}

/// The pause after a failure that follows a pause of `before`.
fn next_pause(before: Option<Duration>) -> Duration {
    before.map_or(FIRST_PAUSE, |before| (2 * before).min(LONGEST_PAUSE))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Configures TLS with ring, which trusts the system's certificate authorities and those in a file.
fn tls(authorities: Option<PathBuf>) -> Result<ClientConfig, AgentError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = authorities {
        let refused = |problem: String| AgentError::Authorities { path: path.clone(), problem };
        let read = CertificateDer::pem_file_iter(&path);
        let read: Result<Vec<_>, _> = read.map_err(|error| refused(error.to_string()))?.collect();
        let read = read.map_err(|error| refused(error.to_string()))?;
        let (added, _) = roots.add_parsable_certificates(read);
        if added == 0 {
            return Err(refused("it contains no certificate".to_owned()));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests;
