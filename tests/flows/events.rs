//! The sample events for trying out functions: each has the shape that its trigger sends.

use std::fs;
use std::path::{Path, PathBuf};

use lambda_http::RequestExt as _;
use lambda_http::request::RequestContext;
use serde_json::Value;
use vedette_api::{FALLBACK, ROUTES};
use vedette_checker::Incoming;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::message::{
    AlertMessage, CheckMessage, MailRequest, ReconcileMessage, RunOrder,
};
use vedette_runtime::Destination;

use crate::census::text;

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../events").join(folder);
    let entries = fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder:?}");
    files
}

fn name(file: &Path) -> &str {
    file.file_stem().and_then(|name| name.to_str()).expect("a name")
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).expect("a file")
}

/// The bodies of an SQS event's messages, and their queue.
fn bodies(file: &Path) -> Vec<(String, String)> {
    let event: Value = serde_json::from_str(&read(file)).expect("json");
    let records = event["Records"].as_array().expect("records").clone();
    let sent = |record: &Value| {
        assert!(!text(&record["messageId"]).is_empty(), "{file:?}");
        let sent_at = text(&record["attributes"]["SentTimestamp"]);
        sent_at.parse::<i64>().expect("milliseconds");
        let queue = text(&record["eventSourceARN"]).rsplit_once("vedette-").expect("a queue").1;
        (queue.to_owned(), text(&record["body"]).to_owned())
    };
    records.iter().map(sent).collect()
}

/// Ids contain their location, so the rest of each message is the same.
fn assert_consistent(message: &CheckMessage) {
    let id = message.check_id();
    assert_eq!(id.partition(), message.site.partition());
    assert_eq!(id.tool(), message.tool);
    assert_eq!(id.is_automatic(), matches!(message.order, RunOrder::Automatic { .. }));
}

#[test]
fn events_of_the_checker_hold_check_messages_of_their_queue() {
    for file in files("checker") {
        for (queue, body) in bodies(&file) {
            let tool = match Incoming::parse(&body).expect("a check message") {
                Incoming::Complete(message) => {
                    assert_consistent(&message);
                    assert_ne!(name(&file), "scheduled_unfilled");
                    message.tool
                }
                Incoming::Unfilled { tool, .. } => {
                    assert_eq!(name(&file), "scheduled_unfilled");
                    tool
                }
            };
            assert_eq!(Tool::parse(&queue), Some(tool), "{file:?}");
        }
    }
}

#[test]
fn the_event_of_the_notifier_holds_each_of_its_messages() {
    let mut kinds = Vec::new();
    for file in files("notifier") {
        for (queue, body) in bodies(&file) {
            assert_eq!(queue, Destination::Alerts.name());
            kinds.push(match serde_json::from_str(&body).expect("a message") {
                AlertMessage::Issue { .. } => "issue",
                AlertMessage::Channel { .. } => "channel",
                AlertMessage::Unchecked { .. } => "unchecked",
                AlertMessage::Team(_) => "team",
                AlertMessage::Rebuild(_) => "rebuild",
            });
        }
    }
    assert_eq!(kinds, ["issue", "channel", "team", "rebuild"]);
}

#[test]
fn the_event_of_the_mailer_asks_for_each_kind() {
    let mut kinds = Vec::new();
    for file in files("mailer") {
        for (queue, body) in bodies(&file) {
            assert_eq!(queue, Destination::Mailer.name());
            kinds.push(match serde_json::from_str(&body).expect("a message") {
                MailRequest::SignIn { .. } => "sign_in",
                MailRequest::Invitation { .. } => "invitation",
                MailRequest::Subscription { .. } => "subscription",
                MailRequest::Mailing { .. } => "mailing",
                MailRequest::Report { .. } => "report",
            });
        }
    }
    assert_eq!(kinds, ["sign_in", "invitation", "subscription", "mailing", "report"]);
}

#[test]
fn events_of_the_reconciler_hold_maintenance_or_ask_for_redelivery() {
    let mut kinds = Vec::new();
    for file in files("reconciler") {
        if ["redelivery", "rebuild", "dispatch"].contains(&name(&file)) {
            let event: Value = serde_json::from_str(&read(&file)).expect("json");
            assert!(event["Records"].is_null(), "{file:?} has messages");
            continue;
        }
        for (queue, body) in bodies(&file) {
            assert_eq!(queue, "reconcile");
            kinds.push(match serde_json::from_str(&body).expect("reconcile") {
                ReconcileMessage::Sync { .. } => "sync",
                ReconcileMessage::Purge { .. } => "purge",
                ReconcileMessage::SyncTeam(_) => "resync",
                ReconcileMessage::Rebuild { .. } => "rebuild",
                ReconcileMessage::Deadline { .. } => "deadline",
                ReconcileMessage::Report(_) => "report",
                ReconcileMessage::Publish { .. } => "publish",
            });
        }
    }
    assert_eq!(kinds, ["sync", "purge", "resync", "rebuild", "publish", "deadline", "report"]);
}

#[test]
fn events_of_the_api_are_requests_of_its_routes() {
    for file in files("api") {
        let event = read(&file);
        let request = lambda_http::request::from_str(&event).expect("a request");
        let RequestContext::ApiGatewayV2(context) = request.request_context() else {
            panic!("{file:?} is not of an HTTP API")
        };
        let key = context.route_key.expect("a route key");
        let route = ROUTES
            .iter()
            .find(|route| format!("{} {}", route.method, route.path) == key)
            .unwrap_or(&FALLBACK);
        assert_eq!(route.name, name(&file), "{key}");
        if route.name == FALLBACK.name {
            assert_eq!(key, FALLBACK.path);
            continue;
        }
        assert_eq!(request.method().as_str(), route.method, "{file:?}");
        assert_eq!(filled(route.path, &request), request.raw_http_path(), "{file:?}");
    }
}

/// A route's path with the parameters of a request, each of which must be a uuid, except periods, and the hash of a token
/// or an invitation.
fn filled(path: &str, request: &lambda_http::Request) -> String {
    let parameters = request.path_parameters();
    let parts = path.split('/').map(|part| {
        let Some(parameter) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
            return part.to_owned();
        };
        let value = parameters.first(parameter).expect("the parameter").to_owned();
        let is_other = ["token", "invitation", "period"].contains(&parameter);
        assert!(SiteId::parse(&value).is_some() || is_other, "{value}");
        value
    });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn every_route_has_a_sample_event() {
    let names: Vec<String> = files("api").iter().map(|file| name(file).to_owned()).collect();
    for route in ROUTES.iter().chain([&FALLBACK]) {
        assert!(names.iter().any(|name| name == route.name), "{} has none", route.name);
    }
}

#[test]
fn all_sample_events_have_the_same_site_and_team() {
    let mut sites = Vec::new();
    let mut teams = Vec::new();
    for (_, body) in files("checker").iter().flat_map(|file| bodies(file)) {
        let message: Value = serde_json::from_str(&body).expect("json");
        teams.extend(TeamId::parse(text(&message["team"])));
        sites.extend(SiteId::parse(text(&message["site"])));
    }
    for file in files("reconciler").iter().filter(|file| name(file) == "reconcile") {
        for (_, body) in bodies(file) {
            match serde_json::from_str(&body).expect("reconcile") {
                ReconcileMessage::Sync { team, site } | ReconcileMessage::Purge { team, site } => {
                    teams.push(team);
                    sites.push(site);
                }
                ReconcileMessage::SyncTeam(team)
                | ReconcileMessage::Report(team)
                | ReconcileMessage::Rebuild { team, .. }
                | ReconcileMessage::Deadline { team, .. }
                | ReconcileMessage::Publish { team, .. } => teams.push(team),
            }
        }
    }
    for file in files("api") {
        let request = lambda_http::request::from_str(&read(&file)).expect("a request");
        let parameters = request.path_parameters();
        sites.extend(parameters.first("site").and_then(SiteId::parse));
        teams.extend(parameters.first("team").and_then(TeamId::parse));
    }
    assert!(sites.iter().all(|site| *site == sites[0]), "{sites:?}");
    assert!(teams.iter().all(|team| *team == teams[0]), "{teams:?}");
}
