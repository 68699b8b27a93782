//! `vedette api`: any request to the API.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use lambda_http::http::Method;
use serde::Serialize;
use serde_json::Value;
use vedette_api::BODY_MAX;

use crate::api::{Api, refusal};
use crate::output::{Output, Show};
use crate::remote::Remote;
use crate::{Failure, args};

/// Where paths of the API begin.
const ROOT: &str = "/api/v1/";

/// A request.
#[derive(Debug, Args)]
pub(crate) struct AnyRequest {
    /// The method
    #[arg(value_parser = |text: &str| text.to_ascii_uppercase().parse::<Method>())]
    method: Method,
    /// The path below /api/v1, with a query: "/issues?status=active"
    path: String,
    /// A file with the JSON to send; `-` for standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Email address of the user in whose name the operator works; by default an owner of the team. With --url, it is the
    /// owner of the token
    #[arg(long = "as", value_name = "EMAIL", value_parser = args::email)]
    email: Option<String>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

impl AnyRequest {
    pub(crate) async fn run(&self, api: &Api<'_>, out: &mut Output<'_>) -> Result<(), Failure> {
        let acting = match &self.email {
            Some(email) => Some(api.acting_as("--as", Some(email)).await?),
            None => None,
        };
        let api = acting.as_ref().unwrap_or(api);
        let body = self.input.as_deref().map(read_input).transpose()?.unwrap_or_default();
        let path = self.path.trim_start_matches('/');
        let target = format!("{ROOT}{}", path.strip_prefix(&ROOT[1..]).unwrap_or(path));
        let (status, answer) = api.send(self.method.clone(), &target, body).await?;
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        if !status.is_success() {
            return Err(refusal(&target, status, &answer));
        }
        if !answer.is_null() {
            out.show(&Document(answer))?;
        }
        Ok(())
    }
}

fn read_input(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut input: Box<dyn Read> = match file.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(File::open(file).map_err(|error| Failure::unreadable(file, &error))?),
    };
    let mut body = Vec::new();
    let limit = BODY_MAX as u64 + 1;
    input
        .by_ref()
        .take(limit)
        .read_to_end(&mut body)
        .map_err(|error| Failure::unreadable(file, &error))?;
    Ok(body)
}

/// An answer of the API, for programs and for people.
#[derive(Serialize)]
struct Document(Value);

impl Show for Document {
    fn text(&self) -> String {
        serde_json::to_string_pretty(&self.0).unwrap_or_default()
    }
}
