//! `vedette`: the service, single runs of an engine, and the operator's commands, in one program.

mod command_line;
mod help;
#[cfg(test)]
mod reference;
mod shell;

use std::env;
use std::process::ExitCode;

use clap::FromArgMatches as _;
use vedette_cli::{Cli, finish};
use vedette_local::{Options, serve};

use crate::command_line::{COMPLETIONS, MAN, SERVE, arguments, command};
use crate::shell::{Completions, Man};

/// Half of the cost of a check is small allocations, for the conversion of items to and from JSON.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = command().get_matches_from(arguments(env::args_os()));
    let ended = match matches.subcommand() {
        Some((SERVE, matches)) => Options::from_arg_matches(matches).map(|options| serve(&options)),
        Some((COMPLETIONS, matches)) => Completions::from_arg_matches(matches)
            .map(|completions| finish(completions.run(command()))),
        Some((MAN, matches)) => {
            Man::from_arg_matches(matches).map(|man| finish(man.run(command())))
        }
        _ => Cli::from_arg_matches(&matches).map(|cli| cli.run_and_report()),
    };
    ended.unwrap_or_else(|error| error.exit())
}
