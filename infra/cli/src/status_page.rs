//! `vedette status-page`: what a team publishes about its sites.

mod incident;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vedette_domain::id::{ComponentId, TeamId};
use vedette_domain::status_pages::{ComponentInput, GroupInput, NewPage, PageEdit};

use self::incident::IncidentCommand;
use crate::api::{Api, Call};
use crate::given::Given;
use crate::heartbeat::heartbeat;
use crate::output::{Output, Record, Records, table, text_at};
use crate::site::site;
use crate::{Failure, args};

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
    /// Show the state of a site or heartbeat on a status page, under a published name
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
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    component: Given<ComponentInput>,
    #[command(flatten)]
    group: Given<GroupInput>,
}

/// What a component shows.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Shown {
    /// The site, by its UUID or URL
    #[arg(long)]
    site: Option<String>,
    /// The heartbeat, by its slug or UUID
    #[arg(long)]
    heartbeat: Option<String>,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let page = match self {
            Self::List { team } => {
                let pages = pages(api, *team).await?.into_iter().map(shown);
                let listed = &["page", "name", "slug", "components"];
                return Ok(out.show(&Records::new(
                    "There are no status pages.\n",
                    listed,
                    pages,
                ))?);
            }
            Self::Create(new) => {
                let create = Call::to("status-pages.create").of("team", new.team);
                api.call(&create.sending(new.page.body([])?)).await?
            }
            Self::Show { which } => which.find(api).await?,
            Self::Edit(edit) => {
                let page = edit.which.find(api).await?;
                api.call(&edit.which.update(&page, edit.edit.body([])?)).await?
            }
            Self::AddComponent(new) => new.run(api).await?,
            Self::RemoveComponent { which, component } => {
                let page = which.find(api).await?;
                let groups = without(&page, &component.to_string())?;
                api.call(&which.update(&page, json!({ "groups": groups }))).await?
            }
            Self::Delete { which } => {
                let page = which.find(api).await?;
                api.call(&which.call("status-pages.delete", &page)).await?;
                return Ok(());
            }
            Self::Incident(command) => return command.run(api, out).await,
        };
        Ok(out.show(&shown(page))?)
    }
}

impl Which {
    async fn find(&self, api: &Api<'_>) -> Result<Value, Failure> {
        let is_meant =
            |page: &Value| page["slug"] == *self.page || page["uuid"] == *self.page.to_lowercase();
        let pages = pages(api, self.team).await?;
        let name = &self.page;
        let page = pages.into_iter().find(is_meant);
        page.ok_or_else(|| Failure::refused(format!("the team has no status page {name}")))
    }

    /// A call of a route below the page.
    fn call(&self, route: &'static str, page: &Value) -> Call {
        Call::to(route).of("team", self.team).of("status_page", text_at(page, "/uuid"))
    }

    fn update(&self, page: &Value, edit: impl Into<Value>) -> Call {
        self.call("status-pages.update", page).sending(edit)
    }
}

async fn pages(api: &Api<'_>, team: TeamId) -> Result<Vec<Value>, Failure> {
    api.list(&Call::to("status-pages.list").of("team", team)).await
}

impl AddComponent {
    async fn run(&self, api: &Api<'_>) -> Result<Value, Failure> {
        let team = self.which.team;
        let shown = match (&self.shown.site, &self.shown.heartbeat) {
            (_, Some(name)) => ("heartbeat", heartbeat(api, team, name).await?["uuid"].clone()),
            (name, None) => {
                let name = name.as_deref().unwrap_or_default();
                ("site", site(api, name, Some(team)).await?.uuid.into())
            }
        };
        let page = self.which.find(api).await?;
        let component = self.component.body([shown])?;
        let group = self.group.body([("components", Value::Array(Vec::new()))])?;
        let mut groups = groups(&page);
        let name = group.get("name").cloned().unwrap_or_default();
        match groups.iter_mut().find(|group| group["name"] == name) {
            Some(group) => {
                if let Value::Array(components) = &mut group["components"] {
                    components.push(component.into());
                }
            }
            None => groups.push(json!({ "name": name, "components": [component] })),
        }
        api.call(&self.which.update(&page, json!({ "groups": groups }))).await
    }
}

fn groups(page: &Value) -> Vec<Value> {
    page["groups"].as_array().cloned().unwrap_or_default()
}

fn components(group: &Value) -> &[Value] {
    group["components"].as_array().map_or(&[], Vec::as_slice)
}

/// The groups of a page without a component, and without groups that are empty then.
fn without(page: &Value, component: &str) -> Result<Vec<Value>, Failure> {
    let mut groups = groups(page);
    if !groups.iter().flat_map(components).any(|known| known["uuid"] == component) {
        return Err(Failure::refused(format!("the status page has no component {component}")));
    }
    for group in &mut groups {
        if let Value::Array(components) = &mut group["components"] {
            components.retain(|known| known["uuid"] != component);
        }
    }
    groups.retain(|group| !components(group).is_empty());
    Ok(groups)
}

fn shown(page: Value) -> Record<Value> {
    let groups = groups(&page);
    let rows = groups.iter().flat_map(|group| {
        let name = text_at(group, "/name");
        components(group).iter().map(move |component| {
            let text = |pointer| text_at(component, pointer);
            let kind = if component["site"].is_null() { "heartbeat" } else { "site" };
            let shown = format!("{kind} {}", text_at(component, &format!("/{kind}")));
            [text("/uuid"), name.clone(), text("/name"), shown]
        })
    });
    let rows: Vec<_> = rows.collect();
    let count = rows.len().to_string();
    let details = match rows.is_empty() {
        true => String::new(),
        false => format!("\n{}", table(["COMPONENT", "GROUP", "NAME", "SHOWS"], rows)),
    };
    Record::of(page)
        .field("page", "/uuid")
        .field("name", "/name")
        .field("slug", "/slug")
        .labeled("components", count)
        // Where readers find it, if the service knows its own address.
        .field("url", "/url")
        .with_details(details)
}

#[cfg(test)]
mod tests;
