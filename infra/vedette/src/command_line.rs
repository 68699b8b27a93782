//! The commands of the program: the one that runs the service, those of the operator, and those about the program
//! itself.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args as _, Command, CommandFactory as _};
use vedette_cli::Cli;
use vedette_local::Options;

use crate::help;
use crate::shell::{Completions, Man};

pub(crate) const SERVE: &str = "serve";
pub(crate) const COMPLETIONS: &str = "completions";
pub(crate) const MAN: &str = "man";

/// Commands that do not take all global options, and those that they take.
const TAKES: [(&str, &[&str]); 9] = [
    (SERVE, &["data"]),
    ("login", &["json"]),
    ("logout", &["json"]),
    ("probe", &["json"]),
    ("browser", &["data", "json"]),
    ("health", &["data", "json"]),
    ("metrics", &["data"]),
    (COMPLETIONS, &[]),
    (MAN, &[]),
];

/// Names that the program had up to version 0.1, each with the command that it stands for. They work as links
/// to the program until version 0.3.
const FORMER_NAMES: [(&str, &str); 1] = [("vedette-local", SERVE)];

/// The whole command line.
pub(crate) fn command() -> Command {
    let command = Cli::command()
        .subcommand(Options::augment_args(Command::new(SERVE)))
        .subcommand(Completions::augment_args(Command::new(COMPLETIONS)))
        .subcommand(Man::augment_args(Command::new(MAN)));
    help::grouped(TAKES.into_iter().fold(command, hide_the_others))
}

/// Hides global options that a command does not use from its help.
fn hide_the_others(command: Command, (name, takes): (&str, &[&str])) -> Command {
    // Some commands exist only with a feature.
    if command.find_subcommand(name).is_none() {
        return command;
    }
    let others = command.get_arguments().filter(|argument| argument.is_global_set());
    let others = others.filter(|argument| !takes.contains(&argument.get_id().as_str()));
    let others: Vec<_> = others.map(|argument| argument.clone().global(false).hide(true)).collect();
    command.mut_subcommand(name, |command| command.args(others))
}

/// The arguments as [`command`] understands them, whatever name the program was called by.
pub(crate) fn arguments(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut given = given.into_iter();
    let called = given.next().unwrap_or_default();
    let former = Path::new(&called).file_name().and_then(|called| {
        FORMER_NAMES.into_iter().find(|(name, _)| called == *name).map(|(_, command)| command)
    });
    ["vedette"].into_iter().chain(former).map(OsString::from).chain(given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_former_name_is_a_command() {
        let words = |words: &[&str]| arguments(words.iter().map(OsString::from));
        assert_eq!(words(&["/usr/bin/vedette-local", "--quiet"]), ["vedette", "serve", "--quiet"]);
        assert_eq!(words(&["./vedette", "team", "list"]), ["vedette", "team", "list"]);
        assert_eq!(words(&[]), ["vedette"]);
    }

    #[test]
    fn the_folder_may_stand_before_or_after_the_command() {
        for words in [["vedette", "--data", "x", "serve"], ["vedette", "serve", "--data", "x"]] {
            let matches = command().try_get_matches_from(words).expect("understood");
            let (_, serve) = matches.subcommand().expect("a command");
            let options = <Options as clap::FromArgMatches>::from_arg_matches(serve);
            assert_eq!(options.expect("options").data, Path::new("x"));
        }
    }

    #[test]
    fn every_command_is_well_formed() {
        command().debug_assert();
    }
}
