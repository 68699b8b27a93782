//! The reference of the command line: the `--help` of every command, as a page of the documentation.

use std::fmt::Write as _;

use clap::{Arg, Command};
use vedette_cli::OVER_HTTP;

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
    // A group of commands has its options for a service over HTTP once.
    let is_repeated = |arg: &Arg| depth > 1 && arg.get_help_heading() == Some(OVER_HTTP);
    let mut described = command.clone().mut_args(|arg| {
        let hide = arg.is_hide_set() || is_repeated(&arg);
        arg.hide_env_values(true).hide(hide)
    });
    let help = described.render_long_help();
    let heading = "#".repeat((depth + 2).min(4));
    let lines: Vec<_> = help.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    let _ = write!(text, "\n{heading} `{name}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        describe(text, below, depth + 1);
    }
}

#[cfg(test)]
mod resources;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use clap::error::ErrorKind;
    use vedette_runtime::config::environment;

    use super::*;

    /// A page of the reference. With `UPDATE_REFERENCE` set, writes it.
    fn check(file: &str, renewed: impl FnOnce(&str) -> Option<String>) {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(file);
        let kept = fs::read_to_string(&page).expect("the page");
        let renewed = renewed(&kept).expect("a page with the marker");
        if environment("UPDATE_REFERENCE").is_some() {
            fs::write(&page, &renewed).expect("written");
            return;
        }
        assert!(kept == renewed, "{file} is stale, run `make reference`");
    }

    #[test]
    fn the_reference_is_up_to_date() {
        check("command-line.md", |page| renewed(page, crate::command_line::command()));
    }

    #[test]
    fn the_reference_says_what_each_interface_can_do() {
        let (table, missing) = resources::table(&crate::command_line::command());
        assert!(missing.is_empty(), "add these to `RESOURCES`: {missing:?}");
        check("resources.md", |page| {
            let (written, _) = page.split_once(MARKER)?;
            Some(format!("{written}{MARKER}\n{table}"))
        });
    }

    /// Tests run the commands of the tutorial and the guides. Those in blocks that no test can run, such as commands for a
    /// deployment, must at least exist.
    #[test]
    fn every_command_in_the_documentation_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md"), root.join("CHANGELOG.md")];
        for folder in ["", "guides", "explanation", "reference"] {
            let entries = fs::read_dir(root.join("docs").join(folder)).expect("a folder");
            pages.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
        let mut found = 0;
        for page in pages.iter().filter(|path| is_page(path)) {
            let text = fs::read_to_string(page).expect("a page");
            for line in shell_lines(&text) {
                let words = words(&line);
                let Some(at) = words.iter().position(|word| word == "vedette") else { continue };
                // Other programs have arguments of that name, such as a user of systemd.
                if words[..at].iter().any(|word| word != "sudo" && !word.contains('=')) {
                    continue;
                }
                found += 1;
                let parsed = crate::command_line::command().try_get_matches_from(&words[at..]);
                // A placeholder, such as TEAM, is no id.
                let is_wrong =
                    |kind| kind != ErrorKind::ValueValidation && kind != ErrorKind::DisplayHelp;
                if let Some(error) = parsed.err().filter(|error| is_wrong(error.kind())) {
                    panic!("{}: {line}\n{error}", page.display());
                }
            }
        }
        assert!(found > 50, "{found} commands");
    }

    /// The lines of a page's blocks of shell commands. A command that goes on after a backslash is one line.
    fn shell_lines(page: &str) -> Vec<String> {
        let blocks = page.split("```").skip(1).step_by(2);
        let blocks = blocks.filter_map(|block| {
            block.strip_prefix("sh\n").or_else(|| block.strip_prefix("sh,ignore\n"))
        });
        let lines = |block: &str| -> Vec<String> {
            block
                .replace("\\\n", " ")
                .lines()
                .map(|line| line.trim_start_matches("$ ").to_owned())
                .collect()
        };
        blocks.flat_map(lines).collect()
    }

    /// The words of the first command in a line, without quotes.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in line.chars() {
            match (quote, letter) {
                (Some(open), _) if open == letter => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (None, ' ') => words.extend(word.take()),
                (None, '#' | '|' | '&' | ';' | '<' | '>' | ')') => break,
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }
}
