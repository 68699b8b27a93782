//! The descriptions of the routes, one file per resource.

mod audit_log;
mod channels;
mod checks;
mod configuration;
mod events;
mod expectations;
mod heartbeats;
mod incidents;
mod invitations;
mod issues;
mod maintenance_calendar;
mod maintenance_windows;
mod me;
mod members;
mod metrics;
mod monitoring;
mod outages;
mod ping_key;
mod reports;
mod site_groups;
mod sites;
mod status_pages;
mod team_reports;
mod teams;
mod time_zone;
mod tokens;
mod user_time_zone;

use serde_json::{Value, json};

use crate::operation::Operation;
use crate::schemas::Schemas;

/// Every operation.
pub(crate) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let of_resources = [
        me::operations,
        teams::operations,
        monitoring::operations,
        sites::operations,
        checks::operations,
        reports::operations,
        issues::operations,
        time_zone::operations,
        user_time_zone::operations,
        site_groups::operations,
        configuration::operations,
        metrics::operations,
        maintenance_windows::operations,
        maintenance_calendar::operations,
        expectations::operations,
        heartbeats::operations,
        ping_key::operations,
        status_pages::operations,
        incidents::operations,
        outages::operations,
        team_reports::operations,
        audit_log::operations,
        events::operations,
        tokens::operations,
        members::operations,
        invitations::operations,
        channels::operations,
    ];
    of_resources.iter().flat_map(|operations| operations(schemas)).collect()
}

/// The groups of operations.
pub(crate) fn tags() -> Vec<Value> {
    let tags = [
        ("me", "The owner of the token."),
        ("teams", "Teams and what their plans allow."),
        ("monitoring", "The settings that all sites of a team start from."),
        ("sites", "Monitored URLs."),
        ("checks", "Runs of a tool, automatic and on demand."),
        ("reports", "Uptime and performance of a site, day by day."),
        ("time-zone", "The time zone of a team."),
        ("user-time-zone", "The time zone of the owner of the token."),
        ("site-groups", "Saved selectors of a team's sites."),
        ("configuration", "Documents that describe teams."),
        ("metrics", "A team's sites for Prometheus."),
        ("maintenance-windows", "Times at which problems with sites are expected."),
        ("maintenance-calendar", "A feed of a team's maintenance windows for calendar programs."),
        ("heartbeats", "Jobs that must report that they have run."),
        ("ping-key", "The key with which slugs of heartbeats form addresses."),
        ("expectations", "What the status checks of a site expect."),
        ("status-pages", "What people outside a team see of its sites and jobs."),
        ("incidents", "What a team tells the readers of a status page about a problem."),
        ("issues", "Problems with sites."),
        ("team-reports", "Reports about all sites of a team for a week or a month."),
        ("outages", "When sites were down, how long, and why."),
        ("audit-log", "Who changed what in a team."),
        ("events", "Issues that opened and were resolved."),
        ("tokens", "The caller's tokens."),
        ("members", "The members of a team and their roles."),
        ("invitations", "Invitations to a team."),
        ("channels", "Where a team's alerts go, and what became of them."),
    ];
    tags.map(|(name, description)| json!({ "name": name, "description": description })).into()
}
