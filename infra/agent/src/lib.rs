//! An agent: another location of a service on one machine.
//!
//! It makes outgoing requests only. One waits at the service for questions and serves as the heartbeat; another posts each
//! answer, once. An agent stores nothing: a question that is lost in a crash counts as no vote.

mod connection;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Client, StatusCode};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};
use url::Url;
use vedette_checker::Engines;
use vedette_domain::accounts::account::Secret;
use vedette_domain::locations::{
    ANSWERS_PATH, Answer, AskedQuestion, NoVote, POLL_TIME, PROTOCOL_VERSION, QUESTIONS_MAX,
    QUESTIONS_PATH, Questions, VERSION_HEADER,
};
use vedette_ops::ErrorChain;

pub use connection::{Connection, ConnectionError};

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

/// What an agent is told.
pub struct AgentConfig {
    /// How the service is reached. Sites are reached directly.
    pub connection: Connection,
    /// The agent's token, with or without white space around it.
    pub token: String,
}

/// Why an agent does not start, or stops.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The service cannot be reached in this way.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The file contains something other than a token.
    #[error("the token file does not contain a token of `vedette agent add`")]
    Token,
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
        let AgentConfig { connection, token } = config;
        let (questions, answers) = (connection.at(QUESTIONS_PATH)?, connection.at(ANSWERS_PATH)?);
        let token = Secret::parse(token.trim()).ok_or(AgentError::Token)?;
        let version = HeaderName::from_static(VERSION_HEADER);
        let headers = HeaderMap::from_iter([(version, PROTOCOL_VERSION.into())]);
        Ok(Self {
            client: connection.client(&token, headers)?,
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

#[cfg(test)]
mod tests;
