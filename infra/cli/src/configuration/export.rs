//! `vedette export`: a document of everything that a team has.

use clap::Args;
use serde_json::{Map, Value, json};
use vedette_document::write;

use super::TeamArgs;
use crate::Failure;
use crate::api::{Api, Call};
use crate::output::{Output, Show};
use crate::remote::Remote;

/// `vedette export`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(flatten)]
    team: TeamArgs,
    /// The name of the document; by default that of the document that manages the team's objects, or one that follows
    /// from the name of the team
    #[arg(long)]
    name: Option<String>,
    /// Let the document manage its objects from now on
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Export {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let team = self.team.team;
        let mut call = Call::to("configuration.export").of("team", team);
        if let Some(name) = &self.name {
            call = call.with("name", name);
        }
        let document = api.call(&call).await?;
        if self.adopt {
            let mut order = json!({ "document": document });
            // Nothing but the keys changes, so secrets need not be known.
            loop {
                let call = Call::to("configuration.apply").of("team", team).sending(order.clone());
                let made = api.call(&call).await?;
                if made["left"] == 0 {
                    break;
                }
                order["lease"] = made["lease"].clone();
            }
        }
        match document {
            Value::Object(document) => Ok(out.show(&Shown(document))?),
            _ => Ok(()),
        }
    }
}

/// A document, as JSON for programs and as YAML for people.
#[derive(serde::Serialize)]
struct Shown(Map<String, Value>);

impl Show for Shown {
    fn text(&self) -> String {
        write(&self.0)
    }
}
