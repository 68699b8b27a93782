//! The list of commands, in groups, in an order that suits a newcomer.

use std::fmt::Write as _;

use clap::Command;

/// Each group's heading, and its commands.
const GROUPS: [(&str, &[&str]); 8] = [
    ("Monitor", &["serve", "probe", "site", "expectations", "heartbeat", "agent"]),
    ("People and teams", &["user", "team", "member", "plan", "sign-in", "token"]),
    ("Issues and alerts", &["issue", "channel", "maintenance", "status-page"]),
    ("Configuration as code", &["validate", "apply", "export"]),
    ("Any service", &["login", "logout", "api"]),
    ("Backups and moves", &["backup", "restore", "copy"]),
    ("Operation", &["browser", "health", "metrics", "doctor", "reconcile", "dlq"]),
    ("This program", &["completions", "man", "help"]),
];

/// Makes a command list its subcommands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    let (heading, literal) = (*built.get_styles().get_header(), *built.get_styles().get_literal());
    let width = built.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(template, "{heading}{group}:{heading:#}");
        for command in names.iter().filter_map(|name| built.find_subcommand(name)) {
            let (name, about) =
                (command.get_name(), command.get_about().cloned().unwrap_or_default());
            let _ = writeln!(template, "  {literal}{name:width$}{literal:#}  {about}");
        }
        template.push('\n');
    }
    let _ = write!(template, "{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_newcomer_reads_it_top_to_bottom() {
        assert_snapshot!(crate::command_line::command().render_help(), @r#"
        Monitors websites, and alerts you when something is wrong

        Usage: vedette [OPTIONS] <COMMAND>

        Monitor:
          serve         Run the whole service on this machine: API, dashboard, checks and alerts
          probe         Run one tool on a URL
          site          Sites, and their tags
          expectations  What the status checks of a site expect
          heartbeat     Heartbeats: jobs that must report
          agent         Confirm outages from another location

        People and teams:
          user          People who use the API
          team          Teams, the owners of sites
          member        Who belongs to a team, and who is invited
          plan          What a team may use
          sign-in       Create a one-time link that signs a user in
          token         Access tokens for the API

        Issues and alerts:
          issue         Issues, and decisions about them
          channel       Channels: where a team's alerts go
          maintenance   Maintenance windows, in which problems with sites are expected
          status-page   What people outside a team see of its sites and jobs

        Configuration as code:
          validate      Validate a document that describes a team
          apply         Make a team match a document
          export        Print a team as a document

        Any service:
          login         Sign in to a service, for commands with --url
          logout        Forget the token of a service
          api           Send any request to the API, and print its answer as JSON

        Backups and moves:
          backup        Back up the data of the service on this machine to a file, even while it runs
          restore       Restore a backup into an empty data folder
          copy          Copy teams with their history between data folders and deployments

        Operation:
          browser       Install the browser that performance checks need
          health        Report whether the service on this machine runs and works
          metrics       Print the metrics of the service on this machine
          doctor        Show problems with the service, and what to do about them
          reconcile     Rebuild the schedules of a deployment from the table
          dlq           Dead letters: messages that a deployment has given up on

        This program:
          completions   Print completions for a shell
          man           Write the manual pages into a folder
          help          Print this message or the help of the given subcommand(s)

        Options:
              --data <DIR>    The data folder of the service on this machine, whether it is running or not [env: VEDETTE_DATA] [default: data]
              --aws           Work on a deployment on AWS instead of --data
              --stack <NAME>  The deployment's CloudFormation stack; without it, environment variables name its parts
              --json          Print one JSON document instead of tables for people
          -h, --help          Print help
          -V, --version       Print version

        Exit codes:
          0  done
          1  refused or failed: not found, in conflict, not allowed in this state
          2  wrong usage: arguments, configuration, or a command that does not apply to this table
          3  the table does not answer
          4  the service on this machine runs, but does not answer in time; for `apply --dry-run --exit-code`, something would
             change

        VEDETTE_LOG=debug sends logs to standard error. Logs contain no secrets.
        "#);
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = crate::command_line::command();
        command.build();
        let mut listed: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut known: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}
