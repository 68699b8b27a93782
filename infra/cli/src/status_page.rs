//! `vedette status-page`: what a team publishes about its sites.

mod incident;

use clap::{Args, Subcommand};
use serde_json::Value;
use vedette_actions::{create_status_page, delete_status_page, edit_status_page};
use vedette_domain::accounts::audit::By;
use vedette_domain::alerts::link;
use vedette_domain::id::{ComponentId, TeamId};
use vedette_domain::status_pages::{
    ComponentInput, GroupInput, NewPage, PageEdit, StatusPage, StatusPageResource,
};
use vedette_runtime::App;
use vedette_store::{TeamWithSettings, budget, retry_on_conflict};

use self::incident::IncidentCommand;
use crate::given::Given;
use crate::maintenance::sites;
use crate::output::{Output, Record, Records, table};
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
        #[arg(value_parser = ComponentId::RULE.parse)]
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
    #[command(flatten)]
    page: Given<NewPage>,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    edit: Given<PageEdit>,
}

#[derive(Debug, Args)]
pub(crate) struct AddComponent {
    #[command(flatten)]
    which: Which,
    /// The site, by its UUID or URL
    #[arg(long)]
    site: String,
    #[command(flatten)]
    component: Given<ComponentInput>,
    #[command(flatten)]
    group: Given<GroupInput>,
}

impl Command {
    pub(crate) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        match self {
            Self::List { team } => {
                team::find(app, *team).await?;
                let mut pages = app.store.status_pages(*team).await?;
                pages.sort_by_key(|page| (page.created_at, page.id));
                let shown = pages.iter().map(|page| shown(app, page));
                let listed = &["page", "name", "slug", "components"];
                Ok(out.show(&Records::new("There are no status pages.\n", listed, shown))?)
            }
            Self::Create(new) => Ok(out.show(&shown(app, &new.run(app).await?))?),
            Self::Show { which } => Ok(out.show(&shown(app, &which.find(app).await?.1))?),
            Self::Edit(edit) => {
                let page = change(app, &edit.which, |_| edit.edit.read([])).await?;
                Ok(out.show(&shown(app, &page))?)
            }
            Self::AddComponent(new) => Ok(out.show(&shown(app, &new.run(app).await?))?),
            Self::RemoveComponent { which, component } => {
                let page = change(app, which, |page| without(page, *component)).await?;
                Ok(out.show(&shown(app, &page))?)
            }
            Self::Delete { which } => {
                retry_on_conflict(budget::WRITE, || async {
                    let (team, page) = which.find(app).await?;
                    let by = By::operator(app.clock.now());
                    Ok::<_, Failure>(delete_status_page(app, &team.team, &page, by).await?)
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
        let by = By::operator(app.clock.now());
        let team = team::find(app, self.team).await?.team;
        Ok(create_status_page(app, &team, self.page.read([])?, by).await?)
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
            let component = self.component.read([("site", site.to_string().into())])?;
            let mut new = self.group.read([("components", Value::Array(Vec::new()))])?;
            match groups.iter_mut().find(|group| group.name == new.name) {
                Some(group) => group.components.push(component),
                None => {
                    new.components.push(component);
                    groups.push(new);
                }
            }
            Ok(PageEdit { groups: Some(groups), ..PageEdit::default() })
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
                uuid: Some(component.id),
                name: component.name.clone(),
                site: component.site,
                response_time: component.publishes_response_time,
            })
            .collect(),
    });
    groups.collect()
}

fn without(page: &StatusPage, component: ComponentId) -> Result<PageEdit, Failure> {
    if page.component(component).is_none() {
        return Err(Failure::refused(format!("the status page has no component {component}")));
    }
    let mut groups = chosen(page);
    for group in &mut groups {
        group.components.retain(|known| known.uuid != Some(component));
    }
    groups.retain(|group| !group.components.is_empty());
    Ok(PageEdit { groups: Some(groups), ..PageEdit::default() })
}

/// Changes a page. After a conflict, applies the change to the current page.
async fn change(
    app: &App,
    which: &Which,
    edit: impl Fn(&StatusPage) -> Result<PageEdit, Failure>,
) -> Result<StatusPage, Failure> {
    retry_on_conflict(budget::WRITE, || async {
        let page = which.find(app).await?.1;
        let (edit, now) = (edit(&page)?, app.clock.now());
        Ok::<_, Failure>(edit_status_page(app, &page, edit, By::operator(now)).await?)
    })
    .await
}

/// A status page as the API shows it, and in words for people.
fn shown(app: &App, page: &StatusPage) -> Record<StatusPageResource> {
    let base = app.service.pages_base();
    let url = base.map(|base| link::status_page(base, &page.address()));
    let rows = page.groups.iter().flat_map(|group| {
        let name = group.name.as_deref().unwrap_or("-");
        group.components.iter().map(move |component| {
            let (id, site) = (component.id.to_string(), component.site.to_string());
            [id, name.to_owned(), component.name.clone(), site]
        })
    });
    let mut rows = rows.peekable();
    let details = match rows.peek() {
        None => String::new(),
        Some(_) => format!("\n{}", table(["COMPONENT", "GROUP", "NAME", "SITE"], rows)),
    };
    Record::of(StatusPageResource::new(page, base))
        .labeled("page", page.id.to_string())
        .labeled("name", page.name.as_str())
        .labeled("slug", page.slug.to_string())
        .labeled("components", page.components().count().to_string())
        // Where readers find it, if the service knows its own address.
        .labeled("url", url.as_deref().unwrap_or("-"))
        .with_details(details)
}

#[cfg(test)]
mod tests;
