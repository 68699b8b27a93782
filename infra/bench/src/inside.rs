//! The measured service inside this process: the real handlers, the usual client of the SDK, and an embedded table in a
//! file of its own.

use std::error::Error;
use std::time::Duration;

use dynoxide::Database;
use serde_json::{Value, json};
use tempfile::TempDir;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::id::SiteId;
use vedette_store::TeamWithSettings;
use vedette_testkit::{ApiResponse, Client, Member, TestApp, new_team};

/// A running service.
pub(crate) struct Inside {
    pub(crate) test: TestApp,
    pub(crate) database: Database,
    _data: TempDir,
}

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    route: &'static str,
    parameters: Vec<(&'static str, String)>,
    query: String,
    body: Option<Value>,
}

impl Ask {
    /// A request to the route with this name.
    pub(crate) fn of(route: &'static str) -> Self {
        Self { route, parameters: Vec::new(), query: String::new(), body: None }
    }

    /// Adds a path parameter.
    pub(crate) fn at(mut self, name: &'static str, value: impl ToString) -> Self {
        self.parameters.push((name, value.to_string()));
        self
    }

    /// Adds a query.
    pub(crate) fn query(mut self, query: impl Into<String>) -> Self {
        self.query = query.into();
        self
    }

    /// Adds a body.
    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }
}

impl Inside {
    /// Starts a service without users, on an empty table.
    pub(crate) async fn start() -> Result<Self, Box<dyn Error>> {
        let data = tempfile::tempdir()?;
        let file = data.path().join("table.db");
        let database = Database::new(file.to_str().ok_or("a folder that is not Unicode")?)?;
        let test = TestApp::on(vedette_embedded::Database::on(database.clone())?).await;
        Ok(Self { test, database, _data: data })
    }

    /// Adds a team on the agency plan, and returns its owner.
    pub(crate) async fn team(&self) -> Member {
        new_team(&self.test, Plan::Agency).await
    }

    /// Reads the team of a member.
    pub(crate) async fn settings_of(
        &self,
        member: &Member,
    ) -> Result<TeamWithSettings, Box<dyn Error>> {
        let team = self.test.app.store.team(member.team, self.test.now()).await?;
        Ok(team.ok_or("no team")?)
    }

    /// Sends a request as this member. Returns the response, and how long the handler took; a refusal is an error.
    pub(crate) async fn ask(
        &self,
        member: &Member,
        ask: &Ask,
    ) -> Result<(Value, Duration), Box<dyn Error>> {
        let Ask { route, parameters, query, body } = ask;
        let client = Client::new(&self.test.app, member).without_grants();
        let ApiResponse { status, body, took, .. } =
            client.call(route, parameters, query, body.as_ref()).await;
        if (200..300).contains(&status) {
            Ok((body, took))
        } else {
            Err(format!("{status}: {body}").into())
        }
    }

    /// Adds a site. Its first runs wait in the queue.
    pub(crate) async fn new_site(
        &self,
        owner: &Member,
        url: &str,
    ) -> Result<SiteId, Box<dyn Error>> {
        let ask = Ask::of("sites.create").at("team", owner.team).body(json!({ "url": url }));
        let (created, _) = self.ask(owner, &ask).await?;
        Ok(uuid(&created["data"]).and_then(SiteId::parse).ok_or("no site")?)
    }
}

/// The uuid of a resource.
pub(crate) fn uuid(resource: &Value) -> Option<&str> {
    resource["uuid"].as_str()
}
