//! Completions for shells, and manual pages, generated from the command line.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use vedette_cli::Failure;

/// Print completions for a shell
///
/// In bash, for example: source <(vedette completions bash)
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut program: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "vedette", &mut script);
        Ok(io::stdout().write_all(&script)?)
    }
}

/// Write the manual pages into a folder
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder; created if it is missing
    folder: PathBuf,
}

impl Man {
    pub(crate) fn run(&self, program: Command) -> Result<(), Failure> {
        let written = fs::create_dir_all(&self.folder)
            .and_then(|()| clap_mangen::generate_to(program, &self.folder));
        written.map_err(|error| Failure::Refused(format!("{}: {error}", self.folder.display())))
    }
}
