//! The operator of the service, whose command line calls the API in its own process.

use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::audit::Actor;
use vedette_domain::id::{CheckId, IssueId, SiteId, TeamId, UserId};
use vedette_http::access::Caller;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::validation::Errors;
use vedette_routing::Request;
use vedette_runtime::App;

/// The refusal of a request that names neither a user nor anything of a team.
const NEEDS_USER: &str =
    "This request is not about one team. Name the user in whose name you work.";

/// The operator of the service. They may do what the user may in whose name they work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operator {
    /// This user; an owner of the team if nobody is named.
    pub user: Option<UserId>,
}

impl Operator {
    /// The user in whose name the operator works.
    pub(crate) async fn caller(self, request: Request<'_>) -> Result<Caller, ApiError> {
        let app = request.app;
        let user = match self.user {
            Some(user) => user,
            None => owner(app, team(request).await?).await?,
        };
        let account = app.store.account(user).await?.ok_or(ApiError::NotFound)?;
        let now = app.clock.now();
        let caller = Caller::new(account.user, account.memberships, now);
        Ok(Caller { actor: Actor::Operator, ..caller })
    }
}

async fn owner(app: &App, team: TeamId) -> Result<UserId, ApiError> {
    let members = app.store.members(team).await?;
    let owner = members.into_iter().find(|member| member.role == Role::Owner);
    Ok(owner.ok_or(ApiError::NotFound)?.user)
}

/// The team that a request is about.
async fn team(Request { app, head, parameters }: Request<'_>) -> Result<TeamId, ApiError> {
    let given = |name| Some(parameters.value(name)).filter(|value| !value.is_empty());
    let query = Query::parse(head.uri.query());
    let asked = query.uuid("team", TeamId::parse, &mut Errors::new());
    if let Some(team) = given("team").and_then(TeamId::parse).or(asked) {
        return Ok(team);
    }
    let (site, check, issue) = (given("site"), given("check"), given("issue"));
    if site.or(check).or(issue).is_none() {
        return Err(ApiError::Forbidden(NEEDS_USER.to_owned()));
    }
    let partition = (site.and_then(SiteId::parse).map(SiteId::partition))
        .or_else(|| check.and_then(CheckId::parse).map(CheckId::partition))
        .or_else(|| issue.and_then(IssueId::parse).map(IssueId::partition));
    let site = app.store.site(partition.ok_or(ApiError::NotFound)?).await?;
    Ok(site.ok_or(ApiError::NotFound)?.site.team)
}
