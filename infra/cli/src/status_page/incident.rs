//! `vedette status-page incident`: what the readers of a status page are told about a problem.

use clap::{Args, Subcommand};
use vedette_actions::{create_incident, delete_incident, edit_incident};
use vedette_domain::accounts::audit::By;
use vedette_domain::id::IncidentId;
use vedette_domain::status_pages::{
    IncidentEdit, IncidentResource, NewIncident, PageIncident, StatusPage,
};
use vedette_runtime::App;
use vedette_store::{budget, retry_on_conflict};

use super::Which;
use crate::Failure;
use crate::given::Given;
use crate::output::{Output, Record, Records, moment};

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
    pub(super) async fn run(&self, app: &App, out: &mut Output<'_>) -> Result<(), Failure> {
        let by = By::operator(app.clock.now());
        match self {
            Self::List { which } => {
                let page = which.find(app).await?.1;
                let incidents = app.store.incidents(page.team, page.id).await?;
                let listed = &["incident", "title", "impact", "status", "started"];
                let shown = incidents.iter().map(shown);
                Ok(out.show(&Records::new("There are no incidents.\n", listed, shown))?)
            }
            Self::Write(new) => {
                let page = new.which.find(app).await?.1;
                let incident = create_incident(app, &page, new.incident.read([])?, by).await?;
                Ok(out.show(&shown(&incident))?)
            }
            Self::Update(update) => {
                let incident = retry_on_conflict(budget::WRITE, || async {
                    let (page, incident) = find(app, &update.which, update.incident).await?;
                    let edit = update.edit.read([])?;
                    Ok::<_, Failure>(edit_incident(app, &page, &incident, edit, by).await?)
                });
                Ok(out.show(&shown(&incident.await?))?)
            }
            Self::Delete { which, incident } => {
                retry_on_conflict(budget::WRITE, || async {
                    let (page, incident) = find(app, which, *incident).await?;
                    Ok::<_, Failure>(delete_incident(app, &page, &incident, by).await?)
                })
                .await
            }
        }
    }
}

async fn find(
    app: &App,
    which: &Which,
    incident: IncidentId,
) -> Result<(StatusPage, PageIncident), Failure> {
    let page = which.find(app).await?.1;
    let found = app.store.incident(page.team, page.id, incident).await?;
    let found = found
        .ok_or_else(|| Failure::refused(format!("the status page has no incident {incident}")))?;
    Ok((page, found))
}

/// An incident as the API shows it, and in words for people.
fn shown(incident: &PageIncident) -> Record<IncidentResource> {
    Record::of(IncidentResource::from(incident))
        .labeled("incident", incident.id.to_string())
        .labeled("title", incident.title.as_str())
        .labeled("impact", incident.impact.to_string())
        .labeled("status", incident.status().to_string())
        .labeled("started", moment(incident.started_at))
}
