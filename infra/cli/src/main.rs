//! `vedette`: the operator's command line.

use std::process::ExitCode;

use clap::Parser as _;
use vedette_cli::{Cli, finish};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    finish(cli.execute().await)
}
