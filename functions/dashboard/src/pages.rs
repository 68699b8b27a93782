//! The table of pages.

use lambda_http::http::Method;
use lambda_http::http::request::Parts;
use vedette_domain::accounts::account::Permission::{
    ManageChannels, ManageMembers, ManageSites, ManageStatusPages, RenameTeam, RunChecks,
    UpdateMonitoring, View, WriteIncidents,
};
use vedette_domain::alerts::link;
use vedette_routing::Endpoint::{
    Channel, Check, Heartbeat, Incident, Invitation, Issue, IssueIfSignedIn, OnlyTeam, Request,
    Site, StatusPage, Team, TeamMember, TeamMemberOrSelf, Window,
};
use vedette_routing::{RouteMatch, find_with_head};

use crate::surface::Audience::{self, Anybody, CheckRunner, Linked, Member, Overview};
use crate::surface::{Endpoint, Function, Page};
use crate::{
    Dashboard, assets, audit_log, channels, checks, events, heartbeats, issues, layout,
    maintenance, members, names, oidc, outages, plan, reports, settings, setup, sign_in,
    site_groups, sites, status_pages, subscriptions, team_reports, time_zone, tokens,
    user_time_zone,
};

/// All pages: name, path, audience, what the page works on with the permission it needs, and the handler. GET shows a
/// page and changes nothing, because email scanners follow links; POST acts. The one exception is the answer of an
/// OpenID provider, which comes by GET and signs in, but only in the browser that has asked for it.
#[rustfmt::skip]
pub const PAGES: &[Page] = &[
    get("channels.ask-to-confirm", link::CONFIRM, Linked, Request(&channels::ask_to_confirm)),
    post("channels.confirm", link::CONFIRM, Linked, Request(&channels::confirm)),
    get("channels.ask-to-unsubscribe", link::UNSUBSCRIBE, Linked, Request(&channels::ask_to_unsubscribe)),
    post("channels.unsubscribe", link::UNSUBSCRIBE, Linked, Request(&channels::unsubscribe)),
    get("channels.ask-to-respond", link::READER, Linked, Request(&channels::respond::ask_to_respond)),
    post("channels.respond", link::READER, Linked, Request(&channels::respond::respond)),
    get("subscriptions.ask", link::SUBSCRIBE, Anybody, Request(&subscriptions::ask)),
    account_form("subscriptions.request", link::SUBSCRIBE, Anybody, Request(&subscriptions::request)),
    get("subscriptions.ask-to-confirm", link::CONFIRM_SUBSCRIPTION, Linked, Request(&subscriptions::ask_to_confirm)),
    post("subscriptions.confirm", link::CONFIRM_SUBSCRIPTION, Linked, Request(&subscriptions::confirm)),
    get("subscriptions.ask-to-unsubscribe", link::END_SUBSCRIPTION, Linked, Request(&subscriptions::ask_to_unsubscribe)),
    post("subscriptions.end", link::END_SUBSCRIPTION, Linked, Request(&subscriptions::end)),
    get("assets.show", "/assets/{asset}", Linked, Request(&assets::show)),
    get("sign-in.explain", link::SIGN_IN, Anybody, Request(&sign_in::explain)),
    account_form("sign-in.mail", link::SIGN_IN, Anybody, Request(&sign_in::mail)),
    get("sign-in.ask", link::SIGN_IN_LINK, Anybody, Request(&sign_in::ask)),
    account_form("sign-in.confirm", link::SIGN_IN_LINK, Anybody, Request(&sign_in::confirm)),
    provider_page("oidc.begin", link::SIGN_IN_WITH_PROVIDER, Anybody, Request(&oidc::begin)),
    provider_page("oidc.answer", link::PROVIDER_ANSWER, Anybody, Request(&oidc::answer)),
    post("sign-in.out", "/sign-out", Member, Request(&sign_in::out)),
    get("sign-in.sessions", "/sessions", Member, Request(&sign_in::sessions)),
    post("sign-in.end", "/sessions/{session}/end", Member, Request(&sign_in::end)),
    get("sites.home", "/", Overview, OnlyTeam(View, &sites::list::home)),
    get("sites.list", "/teams/{team}", Overview, Team(View, &sites::list::list)),
    get("issues.list", "/teams/{team}/issues", Member, Team(View, &issues::list::list)),
    post("issues.acknowledge-all", "/teams/{team}/issues/acknowledge", Member, Team(RunChecks, &issues::acknowledge_all)),
    get("outages.show", "/teams/{team}/outages", Member, Team(View, &outages::show)),
    get("outages.csv", "/teams/{team}/outages.csv", Member, Team(View, &outages::csv)),
    get("team-reports.list", "/teams/{team}/reports", Member, Team(View, &team_reports::list)),
    get("team-reports.show", link::REPORT, Member, Team(View, &team_reports::show)),
    get("team-reports.csv", "/teams/{team}/reports/{period}/figures.csv", Member, Team(View, &team_reports::csv)),
    account_form("team-reports.send", "/teams/{team}/reports/{period}/send", Member, Team(View, &team_reports::recipients::send)),
    account_form("team-reports.add-recipient", "/teams/{team}/recipients", Member, Team(ManageChannels, &team_reports::recipients::add_recipient)),
    post("team-reports.remove-recipient", "/teams/{team}/recipients/{subscription}/remove", Member, Team(ManageChannels, &team_reports::recipients::remove_recipient)),
    get("events.show", link::EVENTS, Member, Team(View, &events::show)),
    get("sites.ask-to-add", "/teams/{team}/sites/new", Member, Team(ManageSites, &sites::new::ask_to_add)),
    post("sites.add", "/teams/{team}/sites", Member, Team(ManageSites, &sites::new::add)),
    post("sites.change-selected", "/teams/{team}/sites/selected", Member, Team(ManageSites, &sites::selected::change_selected)),
    get("site-groups.ask", "/teams/{team}/groups", Member, Team(ManageSites, &site_groups::ask)),
    post("site-groups.save", "/teams/{team}/groups", Member, Team(ManageSites, &site_groups::save)),
    get("heartbeats.list", "/teams/{team}/heartbeats", Member, Team(View, &heartbeats::list)),
    get("heartbeats.ask-to-add", "/teams/{team}/heartbeats/new", Member, Team(ManageSites, &heartbeats::ask_to_add)),
    post("heartbeats.add", "/teams/{team}/heartbeats", Member, Team(ManageSites, &heartbeats::add)),
    post("heartbeats.replace-key", "/teams/{team}/ping-key", Member, Team(ManageSites, &heartbeats::replace_key)),
    get("heartbeats.show", link::HEARTBEAT, Member, Heartbeat(View, &heartbeats::show)),
    get("heartbeats.edit", "/teams/{team}/heartbeats/{heartbeat}/edit", Member, Heartbeat(ManageSites, &heartbeats::edit)),
    post("heartbeats.save", "/teams/{team}/heartbeats/{heartbeat}/edit", Member, Heartbeat(ManageSites, &heartbeats::save)),
    post("heartbeats.pause", "/teams/{team}/heartbeats/{heartbeat}/pause", Member, Heartbeat(ManageSites, &heartbeats::pause)),
    post("heartbeats.resume", "/teams/{team}/heartbeats/{heartbeat}/resume", Member, Heartbeat(ManageSites, &heartbeats::resume)),
    get("heartbeats.ask-to-delete", "/teams/{team}/heartbeats/{heartbeat}/delete", Member, Heartbeat(ManageSites, &heartbeats::ask_to_delete)),
    post("heartbeats.delete", "/teams/{team}/heartbeats/{heartbeat}/delete", Member, Heartbeat(ManageSites, &heartbeats::delete)),
    get("settings.show", "/teams/{team}/settings", Member, Team(View, &settings::show::show)),
    get("settings.section", "/teams/{team}/settings/{section}", Member, Team(View, &settings::show::section)),
    post("settings.update", "/teams/{team}/settings/{section}", Member, Team(UpdateMonitoring, &settings::update::update)),
    get("time-zone.show", "/teams/{team}/time-zone", Member, Team(View, &time_zone::show)),
    post("time-zone.update", "/teams/{team}/time-zone", Member, Team(UpdateMonitoring, &time_zone::update)),
    get("names.show-team", "/teams/{team}/name", Member, Team(View, &names::show_team)),
    post("names.rename", "/teams/{team}/name", Member, Team(RenameTeam, &names::rename)),
    get("maintenance.list", "/teams/{team}/maintenance", Member, Team(View, &maintenance::list)),
    post("maintenance.add", "/teams/{team}/maintenance", Member, Team(ManageSites, &maintenance::add)),
    post("maintenance.share", "/teams/{team}/maintenance/share", Member, Team(ManageSites, &maintenance::calendar::share)),
    post("maintenance.unshare", "/teams/{team}/maintenance/unshare", Member, Team(ManageSites, &maintenance::calendar::unshare)),
    get("maintenance.calendar", link::CALENDAR, Linked, Request(&maintenance::calendar::calendar)),
    get("maintenance.edit", "/teams/{team}/maintenance/{window}/edit", Member, Window(ManageSites, &maintenance::edit)),
    post("maintenance.save", "/teams/{team}/maintenance/{window}/edit", Member, Window(ManageSites, &maintenance::save)),
    post("maintenance.end", "/teams/{team}/maintenance/{window}/end", Member, Window(ManageSites, &maintenance::end)),
    post("maintenance.remove", "/teams/{team}/maintenance/{window}/remove", Member, Window(ManageSites, &maintenance::remove)),
    get("status-pages.list", "/teams/{team}/status-pages", Member, Team(View, &status_pages::list)),
    post("status-pages.create", "/teams/{team}/status-pages", Member, Team(ManageStatusPages, &status_pages::create)),
    get("status-pages.show", "/teams/{team}/status-pages/{status_page}", Member, StatusPage(View, &status_pages::incidents::show)),
    get("status-pages.edit", "/teams/{team}/status-pages/{status_page}/edit", Member, StatusPage(ManageStatusPages, &status_pages::edit::edit)),
    post("status-pages.save", "/teams/{team}/status-pages/{status_page}/edit", Member, StatusPage(ManageStatusPages, &status_pages::edit::save)),
    post("status-pages.delete", "/teams/{team}/status-pages/{status_page}/delete", Member, StatusPage(ManageStatusPages, &status_pages::delete)),
    post("status-pages.create-incident", "/teams/{team}/status-pages/{status_page}/incidents", Member, StatusPage(WriteIncidents, &status_pages::incidents::create_incident)),
    get("status-pages.incident", "/teams/{team}/status-pages/{status_page}/incidents/{incident}", Member, Incident(View, &status_pages::incidents::incident)),
    post("status-pages.update-incident", "/teams/{team}/status-pages/{status_page}/incidents/{incident}", Member, Incident(WriteIncidents, &status_pages::incidents::update_incident)),
    post("status-pages.delete-incident", "/teams/{team}/status-pages/{status_page}/incidents/{incident}/delete", Member, Incident(WriteIncidents, &status_pages::incidents::delete_incident)),
    get("channels.list", link::CHANNELS, Member, Team(View, &channels::list::list)),
    get("channels.ask-to-add", "/teams/{team}/channels/new", Member, Team(ManageChannels, &channels::add::ask_to_add)),
    post("channels.add", link::CHANNELS, Member, Team(ManageChannels, &channels::add::add)),
    get("channels.edit", "/teams/{team}/channels/{channel}/edit", Member, Channel(ManageChannels, &channels::edit::edit)),
    post("channels.save", "/teams/{team}/channels/{channel}/edit", Member, Channel(ManageChannels, &channels::edit::save)),
    post("channels.test", "/teams/{team}/channels/{channel}/test", Member, Channel(ManageChannels, &channels::change::test)),
    post("channels.enable", "/teams/{team}/channels/{channel}/enable", Member, Channel(ManageChannels, &channels::change::enable)),
    post("channels.disable", "/teams/{team}/channels/{channel}/disable", Member, Channel(ManageChannels, &channels::change::disable)),
    post("channels.resend", "/teams/{team}/channels/{channel}/resend", Member, Channel(ManageChannels, &channels::change::resend)),
    post("channels.remove", "/teams/{team}/channels/{channel}/remove", Member, Channel(ManageChannels, &channels::change::remove)),
    get("members.list", "/teams/{team}/members", Member, Team(View, &members::list::list)),
    account_form("members.add", "/teams/{team}/members", Member, Team(ManageMembers, &members::add::add)),
    account_form("members.role", "/teams/{team}/members/{user}/role", Member, TeamMember(ManageMembers, &members::change::role)),
    account_form("members.remove", "/teams/{team}/members/{user}/remove", Member, TeamMemberOrSelf(ManageMembers, &members::change::remove)),
    account_form("members.mail", "/teams/{team}/invitations/{invitation}/mail", Member, Invitation(ManageMembers, &members::change::mail)),
    account_form("members.withdraw", "/teams/{team}/invitations/{invitation}/withdraw", Member, Invitation(ManageMembers, &members::change::withdraw)),
    account_form("members.renew", "/teams/{team}/invitations/{invitation}/renew", Member, Invitation(ManageMembers, &members::add::renew)),
    get("members.ask-to-join", link::INVITATION, Anybody, Request(&members::join::ask_to_join)),
    account_form("members.accept", link::INVITATION, Anybody, Request(&members::join::accept)),
    account_form("members.decline", link::DECLINED_INVITATION, Anybody, Request(&members::join::decline)),
    get("audit-log.show", "/teams/{team}/audit-log", Member, Team(View, &audit_log::show)),
    get("plan.show", "/teams/{team}/plan", Member, Team(View, &plan::show)),
    get("tokens.list", "/tokens", Member, Request(&tokens::list)),
    account_form("tokens.create", "/tokens", Member, Request(&tokens::create)),
    account_form("tokens.revoke", "/tokens/{token}/revoke", Member, Request(&tokens::revoke)),
    get("user-time-zone.show", "/time-zone", Member, Request(&user_time_zone::show)),
    account_form("user-time-zone.update", "/time-zone", Member, Request(&user_time_zone::update)),
    get("names.show-user", "/name", Member, Request(&names::show_user)),
    account_form("names.rename-own", "/name", Member, Request(&names::rename_own)),
    get("names.ask-to-create", layout::NEW_TEAM, Member, Request(&names::ask_to_create)),
    account_form("names.create", layout::NEW_TEAM, Member, Request(&names::create)),
    get("sites.show", link::SITE, Member, Site(View, &sites::show::show)),
    get("checks.list", "/sites/{site}/checks", Member, Site(View, &checks::list::list)),
    get("checks.show", "/checks/{check}", Member, Check(View, &checks::show::show)),
    post("sites.run", "/sites/{site}/checks", CheckRunner, Site(RunChecks, &sites::show::run)),
    get("sites.response-times", "/sites/{site}/response-times.csv", Member, Site(View, &sites::show::response_times)),
    get("reports.show", "/sites/{site}/report", Member, Site(View, &reports::show)),
    get("reports.csv", "/sites/{site}/report.csv", Member, Site(View, &reports::csv)),
    get("sites.ask-to-edit", "/sites/{site}/edit", Member, Site(ManageSites, &sites::edit::ask_to_edit)),
    post("sites.save", "/sites/{site}/edit", Member, Site(ManageSites, &sites::edit::save)),
    post("sites.pause", "/sites/{site}/pause", Member, Site(ManageSites, &sites::edit::pause)),
    post("sites.resume", "/sites/{site}/resume", Member, Site(ManageSites, &sites::edit::resume)),
    post("maintenance.start", "/sites/{site}/maintenance", Member, Site(ManageSites, &maintenance::start)),
    get("sites.ask-to-delete", "/sites/{site}/delete", Member, Site(ManageSites, &sites::delete::ask_to_delete)),
    post("sites.delete", "/sites/{site}/delete", Member, Site(ManageSites, &sites::delete::delete)),
    get("issues.show", link::ISSUE, Anybody, IssueIfSignedIn(View, &issues::show)),
    post("issues.acknowledge", "/issues/{issue}/acknowledge", Member, Issue(RunChecks, &issues::acknowledge)),
    post("issues.unacknowledge", "/issues/{issue}/unacknowledge", Member, Issue(RunChecks, &issues::unacknowledge)),
    post("issues.resolve", "/issues/{issue}/resolve", Member, Issue(RunChecks, &issues::resolve)),
    post("issues.snooze", "/issues/{issue}/snooze", Member, Issue(RunChecks, &issues::snooze)),
    post("issues.note", "/issues/{issue}/note", Member, Issue(RunChecks, &issues::note)),
];

/// The pages that only a service on one machine has. In AWS, an operator creates the first user.
pub const SETUP_PAGES: &[Page] = &[
    get("setup.ask", link::SETUP, Anybody, Request(&setup::ask)),
    account_form("setup.create", link::SETUP, Anybody, Request(&setup::create)),
];

/// The page in a table that a request is for. HEAD is served like GET, but only by the function that shows pages: the
/// answer of an OpenID provider signs in.
pub fn find_page(table: &'static [Page], head: &Parts) -> Option<RouteMatch<'static, Dashboard>> {
    let is_shown = |page: &RouteMatch<'_, _>| page.route.function == Function::Read;
    find_with_head(table, head).filter(|page| head.method != Method::HEAD || is_shown(page))
}

const fn get(
    name: &'static str,
    path: &'static str,
    audience: Audience,
    endpoint: Endpoint,
) -> Page {
    Page { name, method: "GET", path, audience, endpoint, function: Function::Read }
}

const fn post(
    name: &'static str,
    path: &'static str,
    audience: Audience,
    endpoint: Endpoint,
) -> Page {
    Page { name, method: "POST", path, audience, endpoint, function: Function::Write }
}

/// A form that writes users, members or tokens.
const fn account_form(
    name: &'static str,
    path: &'static str,
    audience: Audience,
    endpoint: Endpoint,
) -> Page {
    Page { name, method: "POST", path, audience, endpoint, function: Function::Accounts }
}

/// A page that talks to the OpenID provider.
const fn provider_page(
    name: &'static str,
    path: &'static str,
    audience: Audience,
    endpoint: Endpoint,
) -> Page {
    Page { name, method: "GET", path, audience, endpoint, function: Function::Accounts }
}
