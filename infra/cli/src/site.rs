//! `vedette site`: manages the sites of a team, and their tags.

mod named;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use vedette_domain::id::TeamId;
use vedette_domain::sites::input::NewSite;
use vedette_domain::sites::selector::{SELECTOR_HELP, Selector};
use vedette_domain::sites::tag::Tag;

use self::named::find;
use crate::api::{Api, Call};
use crate::given::{Given, Offer};
use crate::output::{Output, Record, Records, text_at};
use crate::{Failure, args};

pub(crate) use named::{NamedSite, site};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List a team's sites by name
    List(List),
    /// Show a site
    Show {
        #[command(flatten)]
        which: Which,
    },
    /// Add a site to a team
    Add(Add),
    /// Add tags to a site, or remove them
    Tag {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        change: TagChange,
    },
    /// Delete a site with its checks and issues
    Delete {
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The site, by its UUID or URL
    site: String,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The team
    #[arg(long, value_parser = args::team_id)]
    team: TeamId,
    /// Only sites whose tags match, such as env:prod
    #[arg(long, value_parser = Selector::parse, long_help = SELECTOR_HELP)]
    selector: Option<Selector>,
    /// Only sites whose name or URL contains this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// The team
    #[arg(long, value_parser = args::team_id)]
    team: TeamId,
    /// The URL to monitor
    // The id `url` is that of the option for the service.
    #[arg(value_name = "URL")]
    address: String,
    #[command(flatten)]
    described: Given<Described>,
    /// A tag, such as legacy or env:prod; may be repeated
    #[arg(long = "tag", value_name = "TAG", value_parser = Tag::parse)]
    tags: Vec<Tag>,
}

/// A new site, without what its command names in another way.
#[derive(Debug)]
pub(crate) struct Described;

impl Offer for Described {
    type Input = NewSite;
    const NAMES: &'static [&'static str] = &["name"];
}

/// How the tags of a site change.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct TagChange {
    /// Add a tag, such as legacy or env:prod; may be repeated
    #[arg(long, value_name = "TAG", value_parser = Tag::parse)]
    add: Vec<Tag>,
    /// Remove a tag; may be repeated
    #[arg(long, value_name = "TAG", value_parser = Tag::parse)]
    remove: Vec<Tag>,
}

impl Command {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let site = match self {
            Self::List(list) => {
                let sites = list.run(api).await?.into_iter().map(shown);
                let listed = &["site", "name", "url", "last check", "tags"];
                let none = list.none();
                return Ok(out.show(&Records::new(none, listed, sites))?);
            }
            Self::Show { which } => which.find(api).await?,
            Self::Add(new) => new.run(api).await?,
            Self::Tag { which, change } => {
                let site = which.find(api).await?;
                // Every change of a site names its URL.
                let TagChange { add, remove } = change;
                let edit = json!({ "url": site["url"], "add_tags": add, "remove_tags": remove });
                api.call(&call("sites.update", &site).sending(edit)).await?
            }
            Self::Delete { which } => {
                let site = which.find(api).await?;
                api.call(&call("sites.delete", &site)).await?;
                let said = format!("{} is no longer monitored.", text_at(&site, "/name"));
                return Ok(out.show(&shown(site).saying(said))?);
            }
        };
        Ok(out.show(&shown(site))?)
    }
}

impl Which {
    async fn find(&self, api: &Api<'_>) -> Result<Value, Failure> {
        find(api, &self.site, None).await
    }
}

/// A call of a route below the site.
fn call(route: &'static str, site: &Value) -> Call {
    Call::to(route).of("site", text_at(site, "/uuid"))
}

impl List {
    /// What is said if there are none.
    const fn none(&self) -> &'static str {
        match self.selector.is_some() || self.search.is_some() {
            true => "No site matches.\n",
            false => "The team has no sites.\n",
        }
    }

    async fn run(&self, api: &Api<'_>) -> Result<Vec<Value>, Failure> {
        let mut list = Call::to("sites.list").of("team", self.team).with("sort", "name");
        if let Some(selector) = &self.selector {
            list = list.with("selector", selector);
        }
        if let Some(search) = &self.search {
            list = list.with("search", search);
        }
        api.all(&list).await
    }
}

impl Add {
    async fn run(&self, api: &Api<'_>) -> Result<Value, Failure> {
        let others = [("url", self.address.as_str().into()), ("tags", json!(self.tags))];
        let create = Call::to("sites.create").of("team", self.team);
        api.call(&create.sending(self.described.body(others)?)).await
    }
}

/// A site as the API shows it, and in words for people.
fn shown(site: Value) -> Record<Value> {
    let checked = last_check(&site);
    Record::of(site)
        .field("site", "/uuid")
        .field("team", "/team_uuid")
        .field("name", "/name")
        .field("url", "/url")
        .labeled("last check", checked)
        .field("tags", "/tags")
        .instant("created", "/created_at")
}

/// What the newest status check of a site has found, or its state if it has found nothing.
fn last_check(site: &Value) -> String {
    let check = &site["latest_checks"]["status"];
    match check["result"]["up"].as_bool() {
        Some(true) => "up".to_owned(),
        Some(false) => "down".to_owned(),
        None => text_at(check, "/status"),
    }
}

#[cfg(test)]
mod tests;
