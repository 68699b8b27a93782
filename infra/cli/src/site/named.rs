//! Finds the sites that a command names.

use serde_json::Value;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::site_url::SiteUrl;

use crate::Failure;
use crate::api::{Api, Call};
use crate::output::text_at;

/// A site that a command names.
pub(crate) struct NamedSite {
    pub(crate) uuid: String,
    pub(crate) team: TeamId,
}

impl NamedSite {
    fn read(site: &Value) -> Result<Self, Failure> {
        let team = TeamId::parse(&text_at(site, "/team_uuid"));
        let team =
            team.ok_or_else(|| Failure::refused("the service did not answer with a site"))?;
        Ok(Self { uuid: text_at(site, "/uuid"), team })
    }
}

/// The site with a UUID or a URL, in a team if it is known.
pub(crate) async fn site(
    api: &Api<'_>,
    named: &str,
    team: Option<TeamId>,
) -> Result<NamedSite, Failure> {
    let found = NamedSite::read(&find(api, named, team).await?)?;
    match team {
        Some(team) if team != found.team => {
            Err(Failure::refused(format!("the site {named} belongs to the team {}", found.team)))
        }
        _ => Ok(found),
    }
}

/// Finds the site with a UUID, or the one with a URL in a team or in any. Returns it as the API shows it.
pub(super) async fn find(
    api: &Api<'_>,
    named: &str,
    team: Option<TeamId>,
) -> Result<Value, Failure> {
    match SiteId::parse(named) {
        Some(id) => api.call(&Call::to("sites.get").of("site", id)).await,
        None => by_url(api, named, team).await,
    }
}

async fn by_url(api: &Api<'_>, text: &str, team: Option<TeamId>) -> Result<Value, Failure> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let url = SiteUrl::parse(&whole).map_err(|error| Failure::Usage(format!("{text}: {error}")))?;
    let teams = match team {
        Some(team) => vec![team],
        None => api.teams().await?,
    };
    let mut found = Vec::new();
    for team in teams {
        let list = Call::to("sites.list").of("team", team).with("search", url.as_str());
        match api.all(&list).await {
            Ok(sites) => found.extend(sites.into_iter().filter(|site| site["url"] == url.as_str())),
            // Its plan is inactive.
            Err(Failure::Refused(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    match <[_; 1]>::try_from(found) {
        Ok([site]) => Ok(site),
        Err(none) if none.is_empty() => Err(Failure::refused(format!("no team monitors {url}"))),
        Err(_) => {
            Err(Failure::refused(format!("several teams monitor {url}; give the UUID of the site")))
        }
    }
}
