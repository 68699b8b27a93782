//! `vedette status-page`: what a team publishes about its sites.

mod incident;

use clap::{Args, Subcommand};
use serde::Serialize;
use vedette_actions::{create_status_page, delete_status_page, edit_status_page};
use vedette_domain::accounts::audit::Actor;
use vedette_domain::alerts::link;
use vedette_domain::id::{ComponentId, SiteId, StatusPageId, TeamId};
use vedette_domain::status_pages::{ComponentInput, GroupInput, PageInput, Slug, StatusPage};
use vedette_runtime::App;
use vedette_store::{TeamWithSettings, budget, retry_on_conflict};

use self::incident::IncidentCommand;
use crate::maintenance::sites;
use crate::output::{Output, Show, record, table};
use crate::{Failure, args, team};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's status pages
    List {
        /// The team
        #[arg(value_parser = args::team_id)]
        team: TeamId,
    },
    /// Create a status page
    Create(Create),
    /// Show a status page with its components
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Change the address, the name, the message or another setting of a status page
    Edit(Edit),
    /// Show the state of a site on a status page, under a published name
    AddComponent(AddComponent),
    /// Remove a component from a status page
    RemoveComponent {
        #[command(flatten)]
        which: Which,
        /// The component
        #[arg(value_parser = args::component_id)]
        component: ComponentId,
    },
    /// Delete a status page with its incidents
    Delete {
        #[command(flatten)]
        which: Which,
    },
    /// Incidents: what the readers of a status page are told about a problem
    #[command(subcommand)]
    Incident(IncidentCommand),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// The status page, by its slug or UUID
    page: String,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The team
    #[arg(value_parser = args::team_id)]
    team: TeamId,
    /// The last part of its address: lowercase letters, digits and hyphens
    #[arg(long, value_parser = args::slug)]
    slug: Slug,
    /// Its name, usually the organization's
    #[arg(long, value_parser = args::published_name)]
    name: String,
    /// Only people with its long link can open the page
    #[arg(long)]
    unlisted: bool,
    /// Readers can subscribe to its incidents by email
    #[arg(long)]
    subscriptions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    which: Which,
    /// The last part of its address
    #[arg(long, value_parser = args::slug)]
    slug: Option<Slug>,
    /// Its name
    #[arg(long, value_parser = args::published_name)]
    name: Option<String>,
    /// A message to all readers; empty for none
    #[arg(long, value_parser = args::page_message)]
    message: Option<String>,
    /// Only people with its long link can open the page
    #[arg(long, conflicts_with = "listed")]
    unlisted: bool,
    /// Anybody can open the page at its slug; the long link stops working
    #[arg(long)]
    listed: bool,
    /// Readers can subscribe to its incidents by email
    #[arg(long, conflicts_with = "no_subscriptions")]
    subscriptions: bool,
    /// Nobody can subscribe, and subscribers get no emails
    #[arg(long)]
    no_subscriptions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AddComponent {
    #[command(flatten)]
    which: Which,
    /// The site, by its UUID or URL
    #[arg(long)]
    site: String,
    /// The name that readers see
    #[arg(long, value_parser = args::published_name)]
    name: String,
    /// The group that it belongs to
    #[arg(long, value_parser = args::published_name)]
    group: Option<String>,
    /// Publish its response time
    #[arg(long)]
    response_time: bool,
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        let now = app.clock.now();
        match self {
            Self::List { team } => {
                team::find(app, *team).await?;
                let mut pages = app.store.status_pages(*team).await?;
                pages.sort_by_key(|page| (page.created_at, page.id));
                let shown: Vec<_> = pages.iter().map(|page| Shown::new(app, page)).collect();
                Ok(out.show(&shown)?)
            }
            Self::Create(new) => Ok(out.show(&Shown::new(app, &new.run(app).await?))?),
            Self::Show { which } => Ok(out.show(&Shown::new(app, &which.find(app).await?.1))?),
            Self::Edit(edit) => {
                let page = change(app, &edit.which, |_| Ok(edit.input())).await?;
                Ok(out.show(&Shown::new(app, &page))?)
            }
            Self::AddComponent(new) => Ok(out.show(&Shown::new(app, &new.run(app).await?))?),
            Self::RemoveComponent { which, component } => {
                let page = change(app, which, |page| without(page, *component)).await?;
                Ok(out.show(&Shown::new(app, &page))?)
            }
            Self::Delete { which } => {
                retry_on_conflict(budget::WRITE, || async {
                    let (team, page) = which.find(app).await?;
                    let by = Actor::Operator;
                    Ok::<_, Failure>(delete_status_page(app, &team.team, &page, by, now).await?)
                })
                .await
            }
            Self::Incident(command) => command.run(app, out).await,
        }
    }
}

impl Which {
    async fn find(&self, app: &App) -> Result<(TeamWithSettings, StatusPage), Failure> {
        let team = team::find(app, self.team).await?;
        let pages = app.store.status_pages(self.team).await?;
        let page = pages.into_iter().find(|page| {
            page.slug.as_str() == self.page || page.id.to_string() == self.page.to_lowercase()
        });
        let name = &self.page;
        let page =
            page.ok_or_else(|| Failure::refused(format!("the team has no status page {name}")))?;
        Ok((team, page))
    }
}

impl Create {
    async fn run(&self, app: &App) -> Result<StatusPage, Failure> {
        let (now, by) = (app.clock.now(), Actor::Operator);
        let team = team::find(app, self.team).await?.team;
        let input = PageInput {
            is_unlisted: Some(self.unlisted),
            offers_subscriptions: Some(self.subscriptions),
            ..PageInput::default()
        };
        let named = (self.slug.clone(), self.name.clone());
        Ok(create_status_page(app, &team, input, named, by, now).await?)
    }
}

impl Edit {
    fn input(&self) -> PageInput {
        let message = self.message.clone();
        PageInput {
            slug: self.slug.clone(),
            name: self.name.clone(),
            message: message.map(|text| Some(text).filter(|text| !text.is_empty())),
            is_unlisted: (self.unlisted || self.listed).then_some(self.unlisted),
            offers_subscriptions: (self.subscriptions || self.no_subscriptions)
                .then_some(self.subscriptions),
            ..PageInput::default()
        }
    }
}

impl AddComponent {
    async fn run(&self, app: &App) -> Result<StatusPage, Failure> {
        let site = match sites(app, std::slice::from_ref(&self.site)).await?[..] {
            [(site, team)] if team == self.which.team => site,
            _ => return Err(Failure::refused("the site belongs to another team")),
        };
        change(app, &self.which, |page| {
            let mut groups = chosen(page);
            let component = ComponentInput {
                id: None,
                name: self.name.clone(),
                site,
                publishes_response_time: self.response_time,
            };
            match groups.iter_mut().find(|group| group.name == self.group) {
                Some(group) => group.components.push(component),
                None => {
                    let components = vec![component];
                    groups.push(GroupInput { name: self.group.clone(), components });
                }
            }
            Ok(PageInput { groups: Some(groups), ..PageInput::default() })
        })
        .await
    }
}

/// The groups of a page as they were chosen.
fn chosen(page: &StatusPage) -> Vec<GroupInput> {
    let groups = page.groups.iter().map(|group| GroupInput {
        name: group.name.clone(),
        components: group
            .components
            .iter()
            .map(|component| ComponentInput {
                id: Some(component.id),
                name: component.name.clone(),
                site: component.site,
                publishes_response_time: component.publishes_response_time,
            })
            .collect(),
    });
    groups.collect()
}

fn without(page: &StatusPage, component: ComponentId) -> Result<PageInput, Failure> {
    if page.component(component).is_none() {
        return Err(Failure::refused(format!("the status page has no component {component}")));
    }
    let mut groups = chosen(page);
    for group in &mut groups {
        group.components.retain(|known| known.id != Some(component));
    }
    groups.retain(|group| !group.components.is_empty());
    Ok(PageInput { groups: Some(groups), ..PageInput::default() })
}

/// Changes a page. After a conflict, applies the change to the current page.
async fn change(
    app: &App,
    which: &Which,
    input: impl Fn(&StatusPage) -> Result<PageInput, Failure>,
) -> Result<StatusPage, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let page = which.find(app).await?.1;
        let (input, now) = (input(&page)?, app.clock.now());
        Ok::<_, Failure>(edit_status_page(app, &page, input, Actor::Operator, now).await?)
    })
    .await
}

#[derive(Serialize)]
struct Shown {
    uuid: StatusPageId,
    slug: String,
    name: String,
    /// Where readers find it, if the service knows its own address.
    url: Option<String>,
    unlisted: bool,
    subscriptions: bool,
    components: Vec<ShownComponent>,
}

#[derive(Serialize)]
struct ShownComponent {
    uuid: ComponentId,
    group: Option<String>,
    name: String,
    site: SiteId,
}

impl Shown {
    fn new(app: &App, page: &StatusPage) -> Self {
        let components = page.groups.iter().flat_map(|group| {
            group.components.iter().map(|component| ShownComponent {
                uuid: component.id,
                group: group.name.clone(),
                name: component.name.clone(),
                site: component.site,
            })
        });
        let base = app.service.pages_base();
        Self {
            uuid: page.id,
            slug: page.slug.to_string(),
            name: page.name.clone(),
            url: base.map(|base| link::status_page(base, &page.address())),
            unlisted: page.is_unlisted(),
            subscriptions: page.offers_subscriptions,
            components: components.collect(),
        }
    }
}

impl Show for Shown {
    fn text(&self) -> String {
        let page = record([
            ("page", self.uuid.to_string()),
            ("name", self.name.clone()),
            ("slug", self.slug.clone()),
            ("url", self.url.clone().unwrap_or_else(|| "-".to_owned())),
        ]);
        let rows = self.components.iter().map(|component| {
            [
                component.uuid.to_string(),
                component.group.clone().unwrap_or_else(|| "-".to_owned()),
                component.name.clone(),
                component.site.to_string(),
            ]
        });
        match self.components.is_empty() {
            true => page,
            false => format!("{page}\n{}", table(["COMPONENT", "GROUP", "NAME", "SITE"], rows)),
        }
    }
}

impl Show for Vec<Shown> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "There are no status pages.\n".to_owned();
        }
        let rows = self.iter().map(|page| {
            [
                page.uuid.to_string(),
                page.name.clone(),
                page.slug.clone(),
                page.components.len().to_string(),
            ]
        });
        table(["PAGE", "NAME", "SLUG", "COMPONENTS"], rows)
    }
}

#[cfg(test)]
mod tests;
