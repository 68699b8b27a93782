//! The agents of this service: the questions that wait for them, and their answers.
//!
//! An agent only makes outgoing requests. One waits for questions, another posts an answer. Questions are in memory only: a
//! crash on either side loses them, which counts as no vote.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use lambda_http::Body;
use lambda_http::http::header::AUTHORIZATION;
use lambda_http::http::{HeaderMap, Method, StatusCode, request};
use serde_json::json;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use vedette_domain::accounts::account::{Secret, TokenHash};
use vedette_domain::locations::{
    ANSWERS_PATH, Agent, Answer, AskedQuestion, Location, NoVote, POLL_TIME, PROTOCOL_VERSION,
    QUESTIONS_AT_ONCE, QUESTIONS_PATH, Question, Questions, SILENT_AFTER, VERSION_HEADER,
};
use vedette_http::response::{Response, json};
use vedette_ops::ErrorChain;
use vedette_runtime::health::ServiceProblem;
use vedette_runtime::{App, Clock, Entropy, Health, RemoteLocations};
use vedette_store::{Store, StoreError};

/// How often the list of agents is read, so that changes from the command line take effect.
const READ_EVERY: Duration = Duration::from_secs(5);

/// How often an unknown token may cause the list to be read.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// The agents, and what waits for them.
pub(crate) struct Agents {
    store: Store,
    clock: Clock,
    entropy: Entropy,
    health: Health,
    /// For an agent that has not been seen since, silence counts from here.
    started_at: Timestamp,
    /// Ends requests that wait for questions.
    stop: CancellationToken,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    agents: BTreeMap<Location, Connected>,
    read_at: Option<Instant>,
}

/// An agent, and what this process knows about it.
struct Connected {
    agent: Agent,
    /// When this process last saw it.
    seen_at: Option<Timestamp>,
    /// Questions that the agent has not fetched yet.
    waiting: VecDeque<AskedQuestion>,
    /// The runs that wait for an answer, by the id of the question.
    asking: HashMap<String, oneshot::Sender<Result<Answer, NoVote>>>,
    /// Counts requests for questions. Only the newest one waits, since the agent has abandoned the others.
    poll: u64,
    wake: Arc<Notify>,
}

impl Connected {
    fn new(agent: Agent) -> Self {
        Self {
            agent,
            seen_at: None,
            waiting: VecDeque::new(),
            asking: HashMap::new(),
            poll: 0,
            wake: Arc::new(Notify::new()),
        }
    }

    /// Whether it has ever connected.
    const fn is_remote(&self) -> bool {
        self.seen_at.is_some() || self.agent.last_seen_at.is_some()
    }
}

/// A request from an agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// A request for the questions that wait for the agent.
    Questions,
    /// A request with the answer to the question with this id.
    Answer(String),
}

impl Call {
    /// The call of a request, if it is one of an agent.
    pub(crate) fn of(head: &request::Parts) -> Option<Self> {
        if head.method != Method::POST {
            return None;
        }
        match head.uri.path() {
            QUESTIONS_PATH => Some(Self::Questions),
            path => {
                let id = path.strip_prefix(ANSWERS_PATH)?;
                let is_id =
                    id.len() == ID_DIGITS && id.bytes().all(|digit| digit.is_ascii_hexdigit());
                is_id.then(|| Self::Answer(id.to_owned()))
            }
        }
    }
}

const ID_DIGITS: usize = 32;
const TRY_AGAIN: &str = "Try again in a moment.";

impl Agents {
    /// The agents in the table. Requests that wait end with `stop`.
    pub(crate) fn new(app: &App, stop: CancellationToken) -> Self {
        Self {
            store: app.store.clone(),
            clock: app.clock.clone(),
            entropy: app.entropy.clone(),
            health: app.health.clone(),
            started_at: app.clock.now(),
            stop,
            inner: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the list of agents. Removed agents are dropped, with the questions that wait for them.
    pub(crate) async fn read(&self) -> Result<(), StoreError> {
        let agents = self.store.agents().await?;
        let mut inner = self.lock();
        inner.read_at = Some(Instant::now());
        let mut before = std::mem::take(&mut inner.agents);
        for agent in agents {
            let known = before.remove(&agent.location).filter(|known| {
                // An agent that was added again, or has a new token, has no questions.
                known.agent.created_at == agent.created_at && known.agent.hash == agent.hash
            });
            let mut known = known.unwrap_or_else(|| Connected::new(agent.clone()));
            known.agent = agent;
            inner.agents.insert(known.agent.location.clone(), known);
        }
        drop(inner);
        for gone in before.into_values() {
            gone.wake.notify_waiters();
        }
        Ok(())
    }

    /// Keeps the list up to date, and reports agents that are silent.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut ticks = interval(READ_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.read().await {
                warn!(error = %ErrorChain(&error), "could not read the list of agents");
                continue;
            }
            self.report_silent();
        }
    }

    /// Reports the agents that have been silent for too long.
    fn report_silent(&self) {
        let now = self.clock.now();
        let inner = self.lock();
        let silent = inner.agents.values().filter(|known| {
            let since = known.seen_at.unwrap_or(self.started_at);
            known.is_remote() && now.duration_since(since) >= SILENT_AFTER
        });
        let names: Vec<&str> = silent.map(|known| known.agent.location.as_str()).collect();
        if names.is_empty() {
            self.health
                .report_over(|problem| matches!(problem, ServiceProblem::AgentsSilent { .. }));
        } else {
            self.health.report(ServiceProblem::AgentsSilent { agents: names.join(", ") }, now);
        }
    }

    /// Responds to an agent; `body` reads the body of its request.
    pub(crate) async fn answer(
        &self,
        call: Call,
        head: &request::Parts,
        body: impl Future<Output = Result<Body, Response>>,
    ) -> Response {
        let location = match self.authenticate(&head.headers).await {
            Ok(location) => location,
            Err(refusal) => return refusal,
        };
        match call {
            Call::Questions => {
                json(StatusCode::OK, &Questions { questions: self.next_questions(&location).await })
            }
            Call::Answer(id) => match body.await {
                Ok(body) => self.take_answer(&location, &id, &body),
                Err(refusal) => refusal,
            },
        }
    }

    /// The agent that a request comes from. The table is read each time, so that revoking a token takes effect at once.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Location, Response> {
        let version = headers.get(VERSION_HEADER).and_then(|version| version.to_str().ok());
        if version != Some(&PROTOCOL_VERSION.to_string()) {
            let message = "The agent and the service have different versions.";
            return Err(refusal(StatusCode::UPGRADE_REQUIRED, message));
        }
        let unknown = || refusal(StatusCode::UNAUTHORIZED, "There is no agent with this token.");
        let sent = headers.get(AUTHORIZATION).and_then(|sent| sent.to_str().ok());
        let secret = sent.and_then(|sent| sent.strip_prefix("Bearer ")).and_then(Secret::parse);
        let hash = secret.ok_or_else(unknown)?.hash();
        let location = match self.find(&hash) {
            Some(location) => location,
            // The agent may be newer than the list.
            None if self.may_read_again() => {
                self.read().await.map_err(|error| unavailable(&error))?;
                self.find(&hash).ok_or_else(unknown)?
            }
            // Not 401, which would stop an agent that was added after the list was read.
            None => return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, TRY_AGAIN)),
        };
        let stored = self.store.agent(&location).await.map_err(|error| unavailable(&error))?;
        let Some(agent) = stored.filter(|agent| agent.hash == hash) else {
            self.forget(&location, &hash);
            return Err(unknown());
        };
        self.note_seen(agent).await;
        Ok(location)
    }

    fn find(&self, hash: &TokenHash) -> Option<Location> {
        let inner = self.lock();
        let found = inner.agents.values().find(|known| known.agent.hash == *hash)?;
        Some(found.agent.location.clone())
    }

    fn may_read_again(&self) -> bool {
        let mut inner = self.lock();
        let may = inner.read_at.is_none_or(|at| at.elapsed() >= READ_AT_MOST_EVERY);
        if may {
            inner.read_at = Some(Instant::now());
        }
        may
    }

    fn forget(&self, location: &Location, hash: &TokenHash) {
        let mut inner = self.lock();
        if inner.agents.get(location).is_some_and(|known| known.agent.hash == *hash) {
            inner.agents.remove(location);
        }
    }

    async fn note_seen(&self, agent: Agent) {
        let now = self.clock.now();
        let seen = agent.seen(now);
        if let Some(known) = self.lock().agents.get_mut(&agent.location) {
            known.seen_at = Some(now);
            known.agent = seen.clone().unwrap_or_else(|| agent.clone());
        }
        let Some(seen) = seen else { return };
        if agent.last_seen_at.is_none() {
            info!(agent = %agent.location, "an agent has connected for the first time");
        }
        match self.store.put_agent(&seen).await {
            // Another request of the agent has already saved this, or the command line has changed the agent.
            Ok(()) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => {
                warn!(error = %ErrorChain(&error), "could not save when an agent was last seen");
            }
        }
    }

    /// Waits for questions to an agent.
    async fn next_questions(&self, location: &Location) -> Vec<AskedQuestion> {
        let deadline = Instant::now() + POLL_TIME;
        let begun = {
            let mut inner = self.lock();
            let Some(known) = inner.agents.get_mut(location) else { return Vec::new() };
            known.poll += 1;
            known.wake.notify_waiters();
            (known.poll, Arc::clone(&known.wake))
        };
        let (poll, wake) = begun;
        loop {
            let mut woken = pin!(wake.notified());
            woken.as_mut().enable();
            {
                let mut inner = self.lock();
                let Some(known) = inner.agents.get_mut(location) else { return Vec::new() };
                if known.poll != poll {
                    return Vec::new();
                }
                if !known.waiting.is_empty() {
                    let count = known.waiting.len().min(QUESTIONS_AT_ONCE);
                    return known.waiting.drain(..count).collect();
                }
            }
            tokio::select! {
                () = woken => {}
                () = sleep_until(deadline) => return Vec::new(),
                () = self.stop.cancelled() => return Vec::new(),
            }
        }
    }

    /// Accepts the first answer to a question that this agent has fetched.
    fn take_answer(&self, location: &Location, id: &str, body: &[u8]) -> Response {
        let asking = {
            let mut inner = self.lock();
            let known = inner.agents.get_mut(location);
            known.and_then(|known| {
                let is_fetched = known.waiting.iter().all(|asked| asked.id != id);
                if is_fetched { known.asking.remove(id) } else { None }
            })
        };
        let Some(asking) = asking else {
            return refusal(StatusCode::GONE, "This question is not open, or no longer.");
        };
        match Answer::parse(body) {
            Ok(answer) => {
                // The run may just have stopped waiting.
                let _ = asking.send(Ok(answer));
                json(StatusCode::OK, &json!({}))
            }
            Err(error) => {
                warn!(agent = %location, %error, "refused an agent's answer");
                let _ = asking.send(Err(NoVote::Unreadable));
                refusal(StatusCode::UNPROCESSABLE_ENTITY, "The body is not an answer.")
            }
        }
    }
}

fn refusal(status: StatusCode, message: &str) -> Response {
    json(status, &json!({ "message": message }))
}

fn unavailable(error: &StoreError) -> Response {
    warn!(error = %ErrorChain(error), "could not handle a request from an agent");
    refusal(StatusCode::SERVICE_UNAVAILABLE, TRY_AGAIN)
}

impl RemoteLocations for Agents {
    fn locations(&self) -> Vec<Location> {
        let inner = self.lock();
        let remote = inner.agents.values().filter(|known| known.is_remote());
        remote.map(|known| known.agent.location.clone()).collect()
    }

    fn ask<'a>(
        &'a self,
        location: &'a Location,
        question: &'a Question,
    ) -> BoxFuture<'a, Result<Answer, NoVote>> {
        Box::pin(async move {
            let Ok(id) = self.entropy.question_id() else { return Err(NoVote::Failed) };
            let (asking, answered) = oneshot::channel();
            {
                let mut inner = self.lock();
                let Some(known) = inner.agents.get_mut(location) else {
                    return Err(NoVote::NoAnswer);
                };
                known
                    .waiting
                    .push_back(AskedQuestion { id: id.clone(), question: question.clone() });
                known.asking.insert(id.clone(), asking);
                known.wake.notify_waiters();
            }
            // When the run stops waiting, the question is removed, too.
            let _forgets = Forgets { agents: self, location, id };
            answered.await.unwrap_or(Err(NoVote::NoAnswer))
        })
    }
}

/// Removes a question when it is dropped.
struct Forgets<'a> {
    agents: &'a Agents,
    location: &'a Location,
    id: String,
}

impl Drop for Forgets<'_> {
    fn drop(&mut self) {
        if let Some(known) = self.agents.lock().agents.get_mut(self.location) {
            known.waiting.retain(|asked| asked.id != self.id);
            known.asking.remove(&self.id);
        }
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agents").field(&self.locations()).finish()
    }
}

#[cfg(test)]
mod tests;
