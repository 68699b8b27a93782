//! `vedette apply`: makes a team's objects what a document describes.

use clap::Args;
use lambda_http::http::StatusCode;
use serde_json::{Map, Value, json};
use vedette_document::TeamDocument;

use super::files::{Files, failure, resolve};
use super::shown::Shown;
use super::{DocumentArgs, TeamArgs};
use crate::Failure;
use crate::api::{Api, Call, refusal};
use crate::output::Output;
use crate::remote::Remote;

/// `vedette apply`.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    document: DocumentArgs,
    #[command(flatten)]
    team: TeamArgs,
    /// Show the changes without making them. Secrets that cannot be read count as unchanged
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run, exit with 4 if something would change
    #[arg(long, requires = "dry_run")]
    exit_code: bool,
    /// Delete objects that you removed from the document. More than 3, or a tenth of those that it manages, are refused
    #[arg(long)]
    prune: bool,
    /// How many objects --prune may delete
    #[arg(long, value_name = "COUNT", requires = "prune")]
    prune_max: Option<u32>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl Apply {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let mut document = Files::read(&self.document.paths)?.document()?;
        resolve(&mut document, self.dry_run)?;
        let planned = self.ask(api, &document, json!({ "dry_run": true })).await?;
        if self.dry_run {
            let shown = Shown::planned(planned, api);
            let changes = shown.changes();
            out.show(&shown)?;
            return match changes {
                0 => Ok(()),
                _ if !self.exit_code => Ok(()),
                count => Err(Failure::Changes(count)),
            };
        }
        let (mut made, mut keys, mut order) = (Vec::new(), Vec::new(), Map::new());
        loop {
            let mut part = match self.ask(api, &document, order.into()).await {
                Ok(part) => part,
                Err(failure) if made.is_empty() => return Err(failure),
                // The keys of new webhooks are not shown again.
                Err(failure) => {
                    out.show(&Shown::applied(planned, made, keys, api))?;
                    return Err(failure);
                }
            };
            made.extend(part["changes"].as_array_mut().into_iter().flat_map(std::mem::take));
            keys.extend(part["signing_keys"].as_array_mut().into_iter().flat_map(std::mem::take));
            if part["left"] == 0 {
                break;
            }
            order = Map::from_iter([("lease".to_owned(), part["lease"].take())]);
        }
        Ok(out.show(&Shown::applied(planned, made, keys, api))?)
    }

    /// Sends the document. What is wrong with it is shown at its place in the files.
    async fn ask(
        &self,
        api: &Api<'_>,
        document: &TeamDocument,
        order: Value,
    ) -> Result<Value, Failure> {
        let mut body = order;
        body["document"] = document.value().clone().into();
        body["prune"] = self.prune.into();
        if let Some(most) = self.prune_max {
            body["prune_max"] = most.into();
        }
        let call = Call::to("configuration.apply").of("team", self.team.team).sending(body);
        let (status, mut answer) = api.ask(&call).await?;
        if status.is_success() {
            return Ok(answer["data"].take());
        }
        let errors: Vec<(String, String)> = match (status, answer["errors"].as_object()) {
            (StatusCode::UNPROCESSABLE_ENTITY, Some(errors)) => errors
                .iter()
                .flat_map(|(field, messages)| {
                    let messages = messages.as_array().into_iter().flatten();
                    messages.filter_map(move |message| located(field, message.as_str()?))
                })
                .collect(),
            _ => Vec::new(),
        };
        if errors.is_empty() {
            return Err(refusal(&format!("team {}", self.team.team), status, &answer));
        }
        Err(failure(document, &errors))
    }
}

/// An error of a field of the document, under its path there.
fn located(field: &str, message: &str) -> Option<(String, String)> {
    let path = field.strip_prefix("document.")?;
    Some((
        path.to_owned(),
        message.replace(&format!("The {field} field"), &format!("The {path} field")),
    ))
}
