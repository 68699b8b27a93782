//! Calls of the API: in this process, with the rights of the operator, or over HTTP to any Vedette, with a token.

use std::time::Duration;

use jiff::Timestamp;
use lambda_http::http::header::CONTENT_TYPE;
use lambda_http::http::{Method, Request, StatusCode};
use reqwest::Client;
use serde_json::{Map, Value};
use url::form_urlencoded;
use vedette_api::{Operator, Route, answer_operator, named};
use vedette_domain::id::TeamId;
use vedette_ops::ErrorChain;
use vedette_runtime::{App, Clock};

use crate::{Failure, user};

/// How long a service may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest answer that is read, in bytes. Gateways on AWS allow 6 MB.
const ANSWER_MAX: usize = 64 * 1024 * 1024;
/// Entries of a list that one request asks for.
const PER_PAGE: usize = 100;

/// How a command calls the API.
pub(crate) enum Api<'a> {
    /// On the table, as the operator.
    Here(&'a App, Operator),
    /// On another service, as the owner of a token.
    There(Client, url::Url),
}

/// A request to a route.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    route: &'static str,
    path: Vec<(&'static str, String)>,
    query: Vec<(&'static str, String)>,
    body: Option<Value>,
}

impl Call {
    /// A request to the route with this name.
    pub(crate) const fn to(route: &'static str) -> Self {
        Self { route, path: Vec::new(), query: Vec::new(), body: None }
    }

    /// The same about a resource that the path names.
    pub(crate) fn of(mut self, parameter: &'static str, id: impl ToString) -> Self {
        self.path.push((parameter, id.to_string()));
        self
    }

    /// The same with a parameter in the query.
    pub(crate) fn with(mut self, parameter: &'static str, value: impl ToString) -> Self {
        self.query.push((parameter, value.to_string()));
        self
    }

    /// The same with a body.
    pub(crate) fn sending(self, body: impl Into<Value>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    fn target(&self) -> Result<(Method, String), Failure> {
        let Route { method, path, .. } = named(self.route).ok_or_else(unknown)?;
        let mut target = self
            .path
            .iter()
            .fold((*path).to_owned(), |path, (name, id)| path.replace(&format!("{{{name}}}"), id));
        if !self.query.is_empty() {
            let query =
                form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish();
            target = format!("{target}?{query}");
        }
        Ok((method.parse().map_err(Failure::because)?, target))
    }

    /// What the path names, for people.
    fn subject(&self) -> String {
        let named = self.path.last().or_else(|| self.query.first());
        let named = named.map(|(name, id)| format!("{} {id}", name.replace('_', " ")));
        named.unwrap_or_else(|| "user with this address".to_owned())
    }
}

fn unknown() -> Failure {
    Failure::refused("the API has no such route")
}

impl<'a> Api<'a> {
    /// The API on a table.
    pub(crate) fn here(app: &'a App) -> Self {
        Self::Here(app, Operator::default())
    }

    /// The table, for what only the operator may do.
    pub(crate) fn app(&self) -> Result<&'a App, Failure> {
        match self {
            Self::Here(app, _) => Ok(app),
            Self::There(..) => Err(Failure::Usage(
                "this needs the table: run it on the data folder or the deployment, without --url"
                    .to_owned(),
            )),
        }
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::Here(app, _) => app.clock.now(),
            Self::There(..) => Clock::system().now(),
        }
    }

    /// The same in the name of a user. Over HTTP, this is the owner of the token.
    pub(crate) async fn acting_as(
        &self,
        option: &str,
        email: Option<&str>,
    ) -> Result<Self, Failure> {
        match (self, email) {
            (Self::Here(app, _), Some(email)) => {
                let user = Some(user::by_email(app, email).await?.id);
                Ok(Self::Here(app, Operator { user }))
            }
            (Self::Here(..), None) => {
                Err(Failure::Usage(format!("{option} must name the user who does this")))
            }
            (Self::There(client, service), None) => {
                Ok(Self::There(client.clone(), service.clone()))
            }
            (Self::There(..), Some(_)) => Err(Failure::Usage(format!(
                "with --url, the owner of the token does this; omit {option}"
            ))),
        }
    }

    /// The answer to a call, without its envelope.
    pub(crate) async fn call(&self, call: &Call) -> Result<Value, Failure> {
        let mut answer = self.whole(call).await?;
        Ok(answer.get_mut("data").map_or(Value::Null, Value::take))
    }

    /// The entries of a list that is answered whole, or of one page.
    pub(crate) async fn list(&self, call: &Call) -> Result<Vec<Value>, Failure> {
        match self.call(call).await? {
            Value::Array(entries) => Ok(entries),
            _ => Ok(Vec::new()),
        }
    }

    /// All entries of a list that is answered in pages.
    pub(crate) async fn all(&self, call: &Call) -> Result<Vec<Value>, Failure> {
        let mut entries = Vec::new();
        for page in 1.. {
            let call = call.clone().with("per_page", PER_PAGE).with("page", page);
            let more = self.list(&call).await?;
            let is_last = more.len() < PER_PAGE;
            entries.extend(more);
            if is_last {
                break;
            }
        }
        Ok(entries)
    }

    /// The teams that the caller may work with.
    pub(crate) async fn teams(&self) -> Result<Vec<TeamId>, Failure> {
        if let Self::Here(app, _) = self {
            return Ok(app.store.all_teams().await?);
        }
        let teams = self.list(&Call::to("teams.list")).await?;
        Ok(teams.iter().filter_map(|team| TeamId::parse(team["uuid"].as_str()?)).collect())
    }

    /// The status and the body of the answer to a call.
    pub(crate) async fn ask(&self, call: &Call) -> Result<(StatusCode, Value), Failure> {
        let (method, target) = call.target()?;
        let body = call.body.as_ref().map(Value::to_string).unwrap_or_default();
        let (status, answer) = self.send(method, &target, body.into_bytes()).await?;
        Ok((status, serde_json::from_slice(&answer).unwrap_or_default()))
    }

    async fn whole(&self, call: &Call) -> Result<Value, Failure> {
        let (status, answer) = self.ask(call).await?;
        if status.is_success() {
            Ok(answer)
        } else {
            Err(refusal(&call.subject(), status, &answer))
        }
    }

    /// The status and the body of the answer to a request.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: &str,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Vec<u8>), Failure> {
        match self {
            Self::Here(app, operator) => {
                let request = Request::builder().method(method).uri(target);
                let request = request.header(CONTENT_TYPE, "application/json");
                let request = request.body(body).map_err(Failure::because)?;
                // The future of a route is large.
                let answer = Box::pin(answer_operator(app, *operator, request)).await;
                Ok((answer.status(), answer.into_body().to_vec()))
            }
            Self::There(client, service) => {
                let address = service.join(target).map_err(Failure::because)?;
                let request = client.request(method, address).timeout(PATIENCE);
                let request = request.header(CONTENT_TYPE, "application/json").body(body);
                let unreachable =
                    |why| Failure::Unreachable(format!("{service} does not answer: {why}"));
                read(request).await.map_err(unreachable)
            }
        }
    }
}

/// The status and the body of an answer.
async fn read(request: reqwest::RequestBuilder) -> Result<(StatusCode, Vec<u8>), String> {
    let reason = |error: reqwest::Error| ErrorChain(&error.without_url()).to_string();
    let mut answer = request.send().await.map_err(reason)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(reason)? {
        if body.len() + chunk.len() > ANSWER_MAX {
            return Err("its answer is too long".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    Ok((answer.status(), body))
}

/// Why a call was refused, or failed.
pub(crate) fn refusal(subject: &str, status: StatusCode, answer: &Value) -> Failure {
    let errors = answer["errors"].as_object().into_iter().flat_map(Map::values);
    let errors: Vec<_> =
        errors.filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let message = match (status, answer["message"].as_str()) {
        (StatusCode::NOT_FOUND, _) => format!("there is no {subject}"),
        _ if !errors.is_empty() => errors.join(" "),
        (_, Some(message)) => message.to_owned(),
        (_, None) => format!("the service answered with HTTP {}", status.as_u16()),
    };
    if status.is_server_error() { Failure::Unreachable(message) } else { Failure::refused(message) }
}
