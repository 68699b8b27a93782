//! The table of what each interface can do with each resource, from the routes, the pages and the commands.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Command;
use vedette_api::ROUTES;
use vedette_dashboard::PAGES;

/// The resources: their names, and where routes, pages and commands have them. The name of a route or a page begins with
/// that of a resource; the longest one counts.
const RESOURCES: [(&str, [&[&str]; 3]); 29] = [
    (
        "Teams",
        [
            &["teams"],
            &["names.ask-to-create", "names.create", "names.show-team", "names.rename"],
            &["team"],
        ],
    ),
    ("Plans", [&[], &["plan"], &["plan"]]),
    (
        "Users",
        [
            &["me"],
            &["setup", "sign-in", "names.show-user", "names.rename-own"],
            &["user", "sign-in"],
        ],
    ),
    ("Members", [&["members"], &["members"], &["member"]]),
    (
        "Invitations",
        [
            &["invitations"],
            &[
                "members.mail",
                "members.withdraw",
                "members.renew",
                "members.ask-to-join",
                "members.accept",
                "members.decline",
            ],
            &["member invite", "member invitations", "member withdraw"],
        ],
    ),
    ("Tokens", [&["tokens"], &["tokens"], &["token"]]),
    ("Time zones of teams", [&["time-zone"], &["time-zone"], &[]]),
    ("Time zones of users", [&["user-time-zone"], &["user-time-zone"], &[]]),
    ("Sites", [&["sites"], &["sites"], &["site"]]),
    ("Groups of sites", [&["site-groups"], &["site-groups"], &[]]),
    ("Heartbeats", [&["heartbeats"], &["heartbeats"], &["heartbeat"]]),
    ("Ping keys", [&["ping-key"], &["heartbeats.replace-key"], &["heartbeat key"]]),
    ("Configuration", [&["configuration"], &[], &["apply", "export"]]),
    ("Monitoring settings", [&["monitoring"], &["settings"], &[]]),
    ("Expectations", [&["expectations"], &[], &["expectations"]]),
    ("Checks", [&["checks"], &["checks"], &[]]),
    ("Reports of sites", [&["reports"], &["reports"], &[]]),
    ("Reports of teams", [&["team-reports"], &["team-reports"], &[]]),
    ("Issues", [&["issues"], &["issues"], &["issue"]]),
    ("Outages", [&["outages"], &["outages"], &[]]),
    ("Channels", [&["channels"], &["channels"], &["channel"]]),
    ("Maintenance windows", [&["maintenance-windows"], &["maintenance"], &["maintenance"]]),
    (
        "Calendar feeds",
        [
            &["maintenance-calendar"],
            &["maintenance.share", "maintenance.unshare", "maintenance.calendar"],
            &["maintenance calendar"],
        ],
    ),
    ("Status pages", [&["status-pages"], &["status-pages"], &["status-page"]]),
    (
        "Incidents",
        [
            &["incidents"],
            &[
                "status-pages.create-incident",
                "status-pages.incident",
                "status-pages.update-incident",
                "status-pages.delete-incident",
            ],
            &["status-page incident"],
        ],
    ),
    ("Subscriptions", [&[], &["subscriptions"], &[]]),
    ("Events", [&["events"], &["events"], &[]]),
    ("Audit log", [&["audit-log"], &["audit-log"], &[]]),
    ("Agents", [&[], &[], &["agent"]]),
];

/// What belongs to no resource.
const OTHERS: [&str; 5] = ["metrics", "assets", "oidc", "browser", "dlq"];

/// The table, and the names that are in no row of it.
pub(super) fn table(command: &Command) -> (String, BTreeSet<String>) {
    let interfaces: [Vec<String>; 3] = [
        ROUTES.iter().map(|route| route.name.to_owned()).collect(),
        PAGES.iter().map(|page| page.name.to_owned()).collect(),
        commands(command, ""),
    ];
    let mut text = "| | API | Dashboard | Command line |\n|---|---|---|---|\n".to_owned();
    for (name, _) in RESOURCES {
        let columns = [0, 1, 2].map(|column| cell(name, column, &interfaces[column]));
        let _ = writeln!(text, "| {name} | {} |", columns.join(" | "));
    }
    let all = (0..)
        .zip(interfaces)
        .flat_map(|(column, names)| names.into_iter().map(move |name| (column, name)));
    let is_other = |name: &str| OTHERS.iter().any(|prefix| continues(name, prefix));
    let missing = all.filter(|(column, name)| resource(name, *column).is_none() && !is_other(name));
    (text, missing.map(|(_, name)| name).collect())
}

/// What an interface can do with a resource: the last parts of names. A page that only asks is not shown beside the one
/// that acts.
fn cell(of: &str, column: usize, names: &[String]) -> String {
    let here = names.iter().filter(|name| resource(name, column) == Some(of));
    let verbs = here.filter_map(|name| name.rsplit(['.', ' ']).next());
    let verbs = verbs.filter(|verb| !verb.starts_with("ask")).map(|verb| format!("`{verb}`"));
    let verbs: Vec<_> = verbs.collect();
    if verbs.is_empty() { "–".to_owned() } else { verbs.join(", ") }
}

/// The resource to which a name belongs.
fn resource(name: &str, column: usize) -> Option<&'static str> {
    let prefixes = RESOURCES.iter().flat_map(|(resource, prefixes)| {
        prefixes[column].iter().map(move |prefix| (prefix.len(), prefix, *resource))
    });
    let found = prefixes.filter(|(_, prefix, _)| continues(name, prefix));
    found.max_by_key(|(length, ..)| *length).map(|(.., resource)| resource)
}

fn continues(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
}

/// The commands below a command, without those that only group others.
fn commands(command: &Command, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let name = format!("{path}{}", below.get_name());
        match below.has_subcommands() {
            true => found.extend(commands(below, &format!("{name} "))),
            // A command without others is about the service, not about a resource, except to sign in.
            false if path.is_empty() && name != "sign-in" => {}
            false => found.push(name),
        }
    }
    found
}
