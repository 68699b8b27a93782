//! `vedette validate`, `vedette apply` and `vedette export`: documents that describe teams.

mod apply;
mod export;
mod files;
mod shown;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::Args;
use vedette_domain::configuration::validate;
use vedette_domain::id::TeamId;
use vedette_runtime::Clock;

use self::files::Files;
use crate::output::{Output, Record};
use crate::{Failure, args};

pub(crate) use apply::Apply;
pub(crate) use export::Export;

/// The files of a document.
#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    /// A file of the document, or a folder with its .yaml files; may be repeated
    #[arg(short = 'f', long = "file", value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// The team of a document.
#[derive(Debug, Args)]
pub(crate) struct TeamArgs {
    /// The team
    #[arg(long, value_parser = args::team_id)]
    team: TeamId,
}

/// `vedette validate`.
#[derive(Debug, Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    document: DocumentArgs,
}

impl Validate {
    /// Validates a document without a service. What depends on a team is not known: its plan, and the sites that the
    /// document names by their URLs.
    pub(crate) fn run(&self, out: &mut Output<'_>) -> Result<(), Failure> {
        let files = Files::read(&self.document.paths)?;
        let document = files.document()?;
        let validated = validate(document.value(), Clock::system().now());
        validated.map_err(|error| files::failure(&document, error.errors()))?;
        let name = document.value()["name"].as_str().unwrap_or_default().to_owned();
        let said = format!("The document {name} is valid.\n");
        Ok(out.show(&Record::default().with("document", "", name).saying(said))?)
    }
}
