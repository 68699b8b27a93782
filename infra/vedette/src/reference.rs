//! The reference of the command line: the `--help` of every command, as a page of the documentation.

use std::fmt::Write as _;

use clap::Command;

/// Where the generated part of the page begins. Everything above it is written by hand.
const MARKER: &str = "<!-- `make reference` writes everything below this line. -->\n";

/// The page with its generated part renewed; `None` if it has no marker.
fn renewed(page: &str, command: Command) -> Option<String> {
    let (written, _) = page.split_once(MARKER)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut text = String::new();
    describe(&mut text, &mut command, 0);
    Some(format!("{written}{MARKER}{text}"))
}

/// Describes a command and those below it.
fn describe(text: &mut String, command: &mut Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().mut_args(|arg| arg.hide_env_values(true)).render_long_help();
    let heading = "#".repeat((depth + 2).min(4));
    let lines: Vec<_> = help.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    let _ = write!(text, "\n{heading} `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        describe(text, below, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use vedette_runtime::config::environment;

    use super::*;

    /// With `UPDATE_REFERENCE` set, writes the page.
    #[test]
    fn the_reference_is_up_to_date() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = page.join("../../docs/reference/command-line.md");
        let kept = fs::read_to_string(&page).expect("the page");
        let renewed =
            renewed(&kept, crate::command_line::command()).expect("a page with the marker");
        if environment("UPDATE_REFERENCE").is_some() {
            fs::write(&page, &renewed).expect("written");
            return;
        }
        assert!(kept == renewed, "command-line.md is stale, run `make reference`");
    }
}
