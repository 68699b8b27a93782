//! The table of routes.

use vedette_domain::accounts::account::Permission::{
    ManageChannels, ManageMembers, ManageSites, ManageStatusPages, RenameTeam, RunChecks,
    UpdateMonitoring, View, WriteIncidents,
};
use vedette_domain::accounts::account::Scope::{
    self, AuditRead, ChannelsRead, ChannelsWrite, ChecksDelete, ChecksRead, ChecksRun,
    ConfigurationRead, ConfigurationWrite, HeartbeatsRead, HeartbeatsWrite, IssuesRead,
    IssuesWrite, MembersRead, MembersWrite, MetricsRead, SitesDelete, SitesRead, SitesWrite,
    TeamsManage, TeamsRead, TeamsWrite, TokensRead, TokensWrite,
};
use vedette_routing::Endpoint::{
    Channel, Check, Heartbeat, Incident, Invitation, Issue, Request, Site, StatusPage, Team,
    TeamMember, TeamMemberOrSelf, Teams, Window,
};
use vedette_store::Grant;

use crate::surface::{ApiAudience, Endpoint, Route};
use crate::{
    audit_log, channels, checks, configuration, events, expectations, grants, heartbeats,
    incidents, invitations, issues, maintenance_calendar, maintenance_windows, me, members,
    metrics, monitoring, outages, ping_key, reports, site_groups, sites, status_pages,
    team_reports, teams, time_zone, tokens, user_time_zone,
};

/// All routes, in the order of the specification, then those that are additions to it. Each has a name, a path, the
/// scope that the token needs, the resource with the permission that the caller needs and the handler, and what the
/// handler may write.
#[rustfmt::skip]
pub const ROUTES: &[Route] = &[
    get("me.get", "/api/v1/me", TeamsRead, Request(&me::get::handle)),
    get("teams.list", "/api/v1/teams", TeamsRead, Request(&teams::list::handle)),
    get("teams.get", "/api/v1/teams/{team}", TeamsRead, Team(View, &teams::get::handle)),
    get("monitoring.get", "/api/v1/teams/{team}/monitoring", TeamsRead, Team(View, &monitoring::get::handle)),
    patch("monitoring.update", "/api/v1/teams/{team}/monitoring", TeamsWrite, Team(UpdateMonitoring, &monitoring::update::handle), &grants::SAVE_MONITORING),
    get("sites.list", "/api/v1/teams/{team}/sites", SitesRead, Team(View, &sites::list::handle)),
    post("sites.create", "/api/v1/teams/{team}/sites", SitesWrite, Team(ManageSites, &sites::create::handle), &grants::CREATE_SITE),
    post("sites.bulk", "/api/v1/teams/{team}/sites/bulk", SitesWrite, Team(ManageSites, &sites::bulk::handle), &grants::CREATE_SITE),
    get("sites.get", "/api/v1/sites/{site}", SitesRead, Site(View, &sites::get::handle)),
    patch("sites.update", "/api/v1/sites/{site}", SitesWrite, Site(ManageSites, &sites::update::handle), &grants::UPDATE_SITE),
    delete("sites.delete", "/api/v1/sites/{site}", SitesDelete, Site(ManageSites, &sites::delete::handle), &grants::DELETE_SITE),
    get("checks.list", "/api/v1/sites/{site}/checks", ChecksRead, Site(View, &checks::list::handle)),
    post("checks.create", "/api/v1/sites/{site}/checks", ChecksRun, Site(RunChecks, &checks::create::handle), &grants::ORDER_CHECKS),
    get("checks.get", "/api/v1/checks/{check}", ChecksRead, Check(View, &checks::get::handle)),
    delete("checks.delete", "/api/v1/checks/{check}", ChecksDelete, Check(RunChecks, &checks::delete::handle), &grants::DELETE_CHECK),
    get("reports.uptime", "/api/v1/sites/{site}/reports/uptime", SitesRead, Site(View, &reports::uptime::handle)),
    get("reports.performance", "/api/v1/sites/{site}/reports/performance", SitesRead, Site(View, &reports::performance::handle)),
    get("issues.list", "/api/v1/issues", IssuesRead, Teams(View, &issues::list::handle)),
    get("issues.get", "/api/v1/issues/{issue}", IssuesRead, Issue(View, &issues::get::handle)),
    get("issues.evidence", "/api/v1/issues/{issue}/evidence", IssuesRead, Issue(View, &issues::evidence::handle)),
    post("issues.acknowledge", "/api/v1/issues/{issue}/acknowledge", IssuesWrite, Issue(RunChecks, &issues::acknowledge::handle), &grants::DECIDE_ISSUE),
    post("issues.unacknowledge", "/api/v1/issues/{issue}/unacknowledge", IssuesWrite, Issue(RunChecks, &issues::unacknowledge::handle), &grants::DECIDE_ISSUE),
    post("issues.resolve", "/api/v1/issues/{issue}/resolve", IssuesWrite, Issue(RunChecks, &issues::resolve::handle), &grants::DECIDE_ISSUE),
    post("issues.snooze", "/api/v1/issues/{issue}/snooze", IssuesWrite, Issue(RunChecks, &issues::snooze::handle), &grants::DECIDE_ISSUE),
    post("issues.note", "/api/v1/issues/{issue}/notes", IssuesWrite, Issue(RunChecks, &issues::note::handle), &grants::DECIDE_ISSUE),
    read("team-reports.get", "/api/v1/teams/{team}/reports/{period}", SitesRead, Team(View, &team_reports::get::handle), &grants::READ_REPORTS),
    get("outages.list", "/api/v1/teams/{team}/outages", IssuesRead, Team(View, &outages::list::handle)),
    read("audit-log.list", "/api/v1/teams/{team}/audit-log", AuditRead, Team(View, &audit_log::list::handle), &grants::READ_AUDIT_LOG),
    get("events.list", "/api/v1/teams/{team}/events", AuditRead, Team(View, &events::list::handle)),
    post("teams.create", "/api/v1/teams", TeamsManage, Request(&teams::create::handle), &grants::CREATE_TEAM),
    patch("teams.update", "/api/v1/teams/{team}", TeamsManage, Team(RenameTeam, &teams::update::handle), &grants::RENAME_TEAM),
    read("tokens.list", "/api/v1/me/tokens", TokensRead, Request(&tokens::list::handle), &grants::READ_TOKENS),
    post("tokens.create", "/api/v1/me/tokens", TokensWrite, Request(&tokens::create::handle), &grants::CREATE_TOKEN),
    delete("tokens.revoke", "/api/v1/me/tokens/{token}", TokensWrite, Request(&tokens::revoke::handle), &grants::REVOKE_TOKEN),
    read("members.list", "/api/v1/teams/{team}/members", MembersRead, Team(View, &members::list::handle), &grants::READ_MEMBERS),
    patch("members.update", "/api/v1/teams/{team}/members/{user}", MembersWrite, TeamMember(ManageMembers, &members::update::handle), &grants::CHANGE_ROLE),
    delete("members.remove", "/api/v1/teams/{team}/members/{user}", MembersWrite, TeamMemberOrSelf(ManageMembers, &members::remove::handle), &grants::REMOVE_MEMBER),
    read("invitations.list", "/api/v1/teams/{team}/invitations", MembersRead, Team(View, &invitations::list::handle), &grants::READ_MEMBERS),
    post("invitations.create", "/api/v1/teams/{team}/invitations", MembersWrite, Team(ManageMembers, &invitations::create::handle), &grants::INVITE),
    delete("invitations.withdraw", "/api/v1/teams/{team}/invitations/{invitation}", MembersWrite, Invitation(ManageMembers, &invitations::withdraw::handle), &grants::WITHDRAW_INVITATION),
    read("channels.list", "/api/v1/teams/{team}/channels", ChannelsRead, Team(View, &channels::list::handle), &grants::READ_CHANNELS),
    post("channels.create", "/api/v1/teams/{team}/channels", ChannelsWrite, Team(ManageChannels, &channels::create::handle), &grants::ADD_CHANNEL),
    read("channels.get", "/api/v1/teams/{team}/channels/{channel}", ChannelsRead, Channel(View, &channels::get::handle), &grants::READ_CHANNELS),
    patch("channels.update", "/api/v1/teams/{team}/channels/{channel}", ChannelsWrite, Channel(ManageChannels, &channels::update::handle), &grants::EDIT_CHANNEL),
    post("channels.enable", "/api/v1/teams/{team}/channels/{channel}/enable", ChannelsWrite, Channel(ManageChannels, &channels::enable::handle), &grants::CHANGE_CHANNEL),
    post("channels.disable", "/api/v1/teams/{team}/channels/{channel}/disable", ChannelsWrite, Channel(ManageChannels, &channels::disable::handle), &grants::CHANGE_CHANNEL),
    post("channels.test", "/api/v1/teams/{team}/channels/{channel}/test", ChannelsWrite, Channel(ManageChannels, &channels::test::handle), &grants::CHANGE_CHANNEL),
    post("channels.resend", "/api/v1/teams/{team}/channels/{channel}/resend", ChannelsWrite, Channel(ManageChannels, &channels::resend::handle), &grants::CHANGE_CHANNEL),
    delete("channels.delete", "/api/v1/teams/{team}/channels/{channel}", ChannelsWrite, Channel(ManageChannels, &channels::delete::handle), &grants::DELETE_CHANNEL),
    get("time-zone.get", "/api/v1/teams/{team}/time-zone", TeamsRead, Team(View, &time_zone::get::handle)),
    patch("time-zone.update", "/api/v1/teams/{team}/time-zone", TeamsWrite, Team(UpdateMonitoring, &time_zone::update::handle), &grants::SAVE_TIME_ZONE),
    get("user-time-zone.get", "/api/v1/me/time-zone", TeamsRead, Request(&user_time_zone::get::handle)),
    patch("user-time-zone.update", "/api/v1/me/time-zone", TeamsWrite, Request(&user_time_zone::update::handle), &grants::SAVE_USER_TIME_ZONE),
    get("site-groups.get", "/api/v1/teams/{team}/groups", SitesRead, Team(View, &site_groups::get::handle)),
    put("site-groups.update", "/api/v1/teams/{team}/groups", SitesWrite, Team(ManageSites, &site_groups::update::handle), &grants::SAVE_SITE_GROUPS),
    read("configuration.export", "/api/v1/teams/{team}/configuration", ConfigurationRead, Team(View, &configuration::export::handle), &grants::EXPORT_CONFIGURATION),
    post("configuration.apply", "/api/v1/teams/{team}/configuration", ConfigurationWrite, Team(ManageChannels, &configuration::apply::handle), &grants::APPLY_CONFIGURATION),
    read("metrics.get", "/api/v1/teams/{team}/metrics", MetricsRead, Team(View, &metrics::get::handle), &grants::READ_METRICS),
    get("maintenance-windows.list", "/api/v1/teams/{team}/maintenance-windows", SitesRead, Team(View, &maintenance_windows::list::handle)),
    post("maintenance-windows.create", "/api/v1/teams/{team}/maintenance-windows", SitesWrite, Team(ManageSites, &maintenance_windows::create::handle), &grants::CREATE_WINDOW),
    get("maintenance-windows.get", "/api/v1/teams/{team}/maintenance-windows/{window}", SitesRead, Window(View, &maintenance_windows::get::handle)),
    patch("maintenance-windows.update", "/api/v1/teams/{team}/maintenance-windows/{window}", SitesWrite, Window(ManageSites, &maintenance_windows::update::handle), &grants::CHANGE_WINDOW),
    delete("maintenance-windows.delete", "/api/v1/teams/{team}/maintenance-windows/{window}", SitesWrite, Window(ManageSites, &maintenance_windows::delete::handle), &grants::CHANGE_WINDOW),
    post("maintenance-windows.end", "/api/v1/teams/{team}/maintenance-windows/{window}/end", SitesWrite, Window(ManageSites, &maintenance_windows::end::handle), &grants::CHANGE_WINDOW),
    get("maintenance-calendar.get", "/api/v1/teams/{team}/maintenance-calendar", SitesRead, Team(ManageSites, &maintenance_calendar::get::handle)),
    post("maintenance-calendar.create", "/api/v1/teams/{team}/maintenance-calendar", SitesWrite, Team(ManageSites, &maintenance_calendar::create::handle), &grants::CHANGE_CALENDAR),
    delete("maintenance-calendar.delete", "/api/v1/teams/{team}/maintenance-calendar", SitesWrite, Team(ManageSites, &maintenance_calendar::delete::handle), &grants::CHANGE_CALENDAR),
    get("expectations.get", "/api/v1/sites/{site}/expectations", SitesRead, Site(View, &expectations::get::handle)),
    put("expectations.update", "/api/v1/sites/{site}/expectations", SitesWrite, Site(ManageSites, &expectations::update::handle), &grants::SAVE_EXPECTATIONS),
    get("status-pages.list", "/api/v1/teams/{team}/status-pages", SitesRead, Team(View, &status_pages::list::handle)),
    post("status-pages.create", "/api/v1/teams/{team}/status-pages", SitesWrite, Team(ManageStatusPages, &status_pages::create::handle), &grants::CREATE_STATUS_PAGE),
    get("status-pages.get", "/api/v1/teams/{team}/status-pages/{status_page}", SitesRead, StatusPage(View, &status_pages::get::handle)),
    patch("status-pages.update", "/api/v1/teams/{team}/status-pages/{status_page}", SitesWrite, StatusPage(ManageStatusPages, &status_pages::update::handle), &grants::UPDATE_STATUS_PAGE),
    delete("status-pages.delete", "/api/v1/teams/{team}/status-pages/{status_page}", SitesWrite, StatusPage(ManageStatusPages, &status_pages::delete::handle), &grants::DELETE_STATUS_PAGE),
    read("heartbeats.list", "/api/v1/teams/{team}/heartbeats", HeartbeatsRead, Team(View, &heartbeats::list::handle), &grants::READ_HEARTBEATS),
    post("heartbeats.create", "/api/v1/teams/{team}/heartbeats", HeartbeatsWrite, Team(ManageSites, &heartbeats::create::handle), &grants::CREATE_HEARTBEAT),
    get("heartbeats.get", "/api/v1/teams/{team}/heartbeats/{heartbeat}", HeartbeatsRead, Heartbeat(View, &heartbeats::get::handle)),
    patch("heartbeats.update", "/api/v1/teams/{team}/heartbeats/{heartbeat}", HeartbeatsWrite, Heartbeat(ManageSites, &heartbeats::update::handle), &grants::UPDATE_HEARTBEAT),
    delete("heartbeats.delete", "/api/v1/teams/{team}/heartbeats/{heartbeat}", HeartbeatsWrite, Heartbeat(ManageSites, &heartbeats::delete::handle), &grants::DELETE_HEARTBEAT),
    get("heartbeats.runs", "/api/v1/teams/{team}/heartbeats/{heartbeat}/runs", HeartbeatsRead, Heartbeat(View, &heartbeats::runs::handle)),
    read("ping-key.get", "/api/v1/teams/{team}/ping-key", HeartbeatsRead, Team(View, &ping_key::get::handle), &grants::READ_PING_KEY),
    put("ping-key.update", "/api/v1/teams/{team}/ping-key", HeartbeatsWrite, Team(ManageSites, &ping_key::update::handle), &grants::REPLACE_PING_KEY),
    get("incidents.list", "/api/v1/teams/{team}/status-pages/{status_page}/incidents", SitesRead, StatusPage(View, &incidents::list::handle)),
    post("incidents.create", "/api/v1/teams/{team}/status-pages/{status_page}/incidents", SitesWrite, StatusPage(WriteIncidents, &incidents::create::handle), &grants::WRITE_INCIDENT),
    get("incidents.get", "/api/v1/teams/{team}/status-pages/{status_page}/incidents/{incident}", SitesRead, Incident(View, &incidents::get::handle)),
    patch("incidents.update", "/api/v1/teams/{team}/status-pages/{status_page}/incidents/{incident}", SitesWrite, Incident(WriteIncidents, &incidents::update::handle), &grants::WRITE_INCIDENT),
    delete("incidents.delete", "/api/v1/teams/{team}/status-pages/{status_page}/incidents/{incident}", SitesWrite, Incident(WriteIncidents, &incidents::delete::handle), &grants::DELETE_INCIDENT),
];

const fn get(name: &'static str, path: &'static str, scope: Scope, endpoint: Endpoint) -> Route {
    row("GET", name, path, scope, endpoint, &Grant::NONE)
}

/// A route that reads more than every route may.
const fn read(
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    reads: &'static Grant,
) -> Route {
    row("GET", name, path, scope, endpoint, reads)
}

const fn post(
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    writes: &'static Grant,
) -> Route {
    row("POST", name, path, scope, endpoint, writes)
}

const fn put(
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    writes: &'static Grant,
) -> Route {
    row("PUT", name, path, scope, endpoint, writes)
}

const fn patch(
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    writes: &'static Grant,
) -> Route {
    row("PATCH", name, path, scope, endpoint, writes)
}

const fn delete(
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    writes: &'static Grant,
) -> Route {
    row("DELETE", name, path, scope, endpoint, writes)
}

const fn row(
    method: &'static str,
    name: &'static str,
    path: &'static str,
    scope: Scope,
    endpoint: Endpoint,
    writes: &'static Grant,
) -> Route {
    Route { name, method, path, audience: ApiAudience::Token(scope), endpoint, function: writes }
}
