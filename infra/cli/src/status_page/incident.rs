//! `vedette status-page incident`: what the readers of a status page are told about a problem.

use clap::{Args, Subcommand};
use serde_json::Value;
use vedette_domain::id::IncidentId;
use vedette_domain::status_pages::{IncidentEdit, NewIncident};

use super::Which;
use crate::Failure;
use crate::api::Api;
use crate::given::Given;
use crate::output::{Output, Record, Records};

#[derive(Debug, Subcommand)]
pub(crate) enum IncidentCommand {
    /// List the incidents of a status page, newest first
    List {
        #[command(flatten)]
        which: Which,
    },
    /// Publish an incident
    Write(Write),
    /// Change an incident, or publish an update of it
    Update(Update),
    /// Delete an incident
    Delete {
        #[command(flatten)]
        which: Which,
        /// The incident
        #[arg(value_parser = IncidentId::RULE.parse)]
        incident: IncidentId,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Write {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    incident: Given<NewIncident>,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    which: Which,
    /// The incident
    #[arg(value_parser = IncidentId::RULE.parse)]
    incident: IncidentId,
    #[command(flatten)]
    edit: Given<IncidentEdit>,
}

impl IncidentCommand {
    pub(super) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let incident = match self {
            Self::List { which } => {
                let list = which.call("incidents.list", &which.find(api).await?);
                let incidents = api.list(&list).await?;
                let listed = &["incident", "title", "impact", "status", "started"];
                let shown = incidents.into_iter().map(shown);
                return Ok(out.show(&Records::new("There are no incidents.\n", listed, shown))?);
            }
            Self::Write(Write { which, incident }) => {
                let create = which.call("incidents.create", &which.find(api).await?);
                api.call(&create.sending(incident.body([])?)).await?
            }
            Self::Update(Update { which, incident, edit }) => {
                let update = which.call("incidents.update", &which.find(api).await?);
                api.call(&update.of("incident", incident).sending(edit.body([])?)).await?
            }
            Self::Delete { which, incident } => {
                let delete = which.call("incidents.delete", &which.find(api).await?);
                api.call(&delete.of("incident", incident)).await?;
                return Ok(());
            }
        };
        Ok(out.show(&shown(incident))?)
    }
}

fn shown(incident: Value) -> Record<Value> {
    Record::of(incident)
        .field("incident", "/uuid")
        .field("title", "/title")
        .field("impact", "/impact")
        .field("status", "/status")
        .instant("started", "/started_at")
}
