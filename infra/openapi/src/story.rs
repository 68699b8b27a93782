//! The examples: a team adds a shop, sees it go down, and looks at what is known.
//!
//! The story is played through the real handlers, so that each example is what the service answers.

mod scene;

use lambda_http::http::StatusCode;
use serde_json::{Map, Value, json};
use vedette_testkit::ApiResponse;

use self::scene::Scene;

/// What was asked and answered.
pub(crate) struct Story {
    scene: Scene,
    told: Vec<Exchange>,
    /// What was sent to a webhook.
    events: Vec<Value>,
}

/// A request and its answer.
struct Exchange {
    route: &'static str,
    /// Names the example; beside it, its summary.
    name: (&'static str, &'static str),
    body: Option<Value>,
    status: StatusCode,
    answer: Value,
}

impl Story {
    /// Tells the story.
    pub(crate) async fn play() -> Self {
        let mut story = Self { scene: Scene::start().await, told: Vec::new(), events: Vec::new() };
        story.scene.try_webhook().await;
        story.scene.turn_webhook_on_too_late().await;
        story.of_the_team().await;
        let site = story.of_new_sites().await;
        story.of_checks(&site).await;
        story.of_an_issue(&site).await;
        story.of_changes(&site).await;
        story.of_members().await;
        story.of_a_report().await;
        story
    }

    /// Bodies that were sent to a route and served.
    pub(crate) fn requests(&self, route: &str) -> Map<String, Value> {
        let served = |exchange: &&Exchange| exchange.route == route && exchange.status.is_success();
        let bodies = self.told.iter().filter(served);
        let bodies = bodies.filter_map(|exchange| Some(exchange.example(exchange.body.as_ref()?)));
        bodies.collect()
    }

    /// Answers of a route with this status.
    pub(crate) fn answers(&self, route: &str, status: StatusCode) -> Map<String, Value> {
        let alike = |exchange: &&Exchange| exchange.route == route && exchange.status == status;
        self.told.iter().filter(alike).map(|exchange| exchange.example(&exchange.answer)).collect()
    }

    /// An event of a type, as it was sent.
    pub(crate) fn event(&self, name: &str) -> &Value {
        self.events.iter().find(|event| event["type"] == name).unwrap_or(&Value::Null)
    }

    async fn of_the_team(&mut self) {
        let team = self.scene.owner.team.to_string();
        self.ask("me.get", ("owner", "The owner of a team"), &[], "", None).await;
        self.ask("teams.list", ("one_team", "The caller's only team"), &[], "", None).await;
        let of_team = [("team", &*team)];
        self.ask("teams.get", ("growth", "A team on the growth plan"), &of_team, "", None).await;
        let name = json!({ "name": "Meridian Goods" });
        self.ask("teams.update", ("renamed", "A longer name"), &of_team, "", Some(name)).await;
        let name = json!({ "name": "Trial" });
        self.ask("teams.create", ("trial", "A second team"), &[], "", Some(name)).await;
        let new = json!({ "name": "Deploy", "days": 30, "scopes": ["sites:read", "sites:write"] });
        let made = self.ask("tokens.create", ("deploy", "For a script"), &[], "", Some(new)).await;
        self.ask("tokens.list", ("two", "Two tokens"), &[], "", None).await;
        let of_token = [("token", made["data"]["hash"].as_str().unwrap_or_default())];
        self.ask("tokens.revoke", ("deploy", "A token is revoked"), &of_token, "", None).await;
        self.of_channels(&team).await;
        self.ask("monitoring.get", ("defaults", "What a new team starts with"), &of_team, "", None)
            .await;
        let stricter = json!({ "monitoring_settings": {
            "tools": {
                "status": {
                    "enabled": true,
                    "cadence_minutes": 10,
                    "settings": { "failures_to_open": 2, "successes_to_resolve": 2 },
                },
                "performance": { "enabled": false, "cadence_minutes": 1440 },
            },
            "request_header": { "name": "X-Monitored-By", "value": "vedette" },
            "quiet_time": { "enabled": true, "starts_at": "22:00", "ends_at": "06:30" },
            "escalation": { "enabled": true, "intervals": [0, 60, 1440] },
        } });
        let name = ("stricter", "Status checks every ten minutes, no audits, quiet nights");
        self.ask("monitoring.update", name, &of_team, "", Some(stricter)).await;
        let too_fast = json!({ "monitoring_settings": { "tools": {
            "status": { "enabled": true, "cadence_minutes": 1 },
        } } });
        let name = ("too_fast", "A cadence that the plan does not allow");
        self.ask("monitoring.update", name, &of_team, "", Some(too_fast)).await;
        self.ask("time-zone.get", ("utc", "None was chosen"), &of_team, "", None).await;
        let berlin = json!({ "time_zone": "Europe/Berlin" });
        self.ask("time-zone.update", ("berlin", "A team in Berlin"), &of_team, "", Some(berlin))
            .await;
        let unknown = json!({ "time_zone": "Europe/Atlantis" });
        let name = ("unknown", "A name that the database does not have");
        self.ask("time-zone.update", name, &of_team, "", Some(unknown.clone())).await;
        self.ask("user-time-zone.get", ("none", "None was chosen"), &[], "", None).await;
        let new_york = json!({ "time_zone": "America/New_York" });
        let name = ("new_york", "A user in New York");
        self.ask("user-time-zone.update", name, &[], "", Some(new_york)).await;
        let name = ("unknown", "A name that the database does not have");
        self.ask("user-time-zone.update", name, &[], "", Some(unknown)).await;
        self.ask("site-groups.get", ("none", "None was saved"), &of_team, "", None).await;
        let groups = json!({ "groups": [
            { "name": "Shop", "selector": "team:shop, !legacy" },
            {
                "name": "Production",
                "selector": "env:prod",
                "objective": { "percentage": 99.5, "period": "month" },
            },
        ] });
        let name = ("two", "Two groups");
        self.ask("site-groups.update", name, &of_team, "", Some(groups)).await;
        let nobody = json!({ "groups": [{ "name": "All", "selector": "" }] });
        let name = ("no_tags", "A selector without a tag");
        self.ask("site-groups.update", name, &of_team, "", Some(nobody)).await;
        self.of_documents(&of_team).await;
        self.of_windows(&team).await;
    }

    async fn of_documents(&mut self, of_team: &[(&'static str, &str)]) {
        let document = |tags: Value| {
            json!({
                "name": "shop",
                "groups": [{ "key": "prod", "name": "Production", "selector": "env:prod" }],
                "sites": [{ "key": "blog", "url": "https://blog.example", "tags": tags }],
            })
        };
        let route = "configuration.apply";
        let order = json!({ "document": document(json!(["env:prod"])), "dry_run": true });
        let name = ("dry_run", "What a document would change");
        self.ask(route, name, of_team, "", Some(order)).await;
        let order = json!({ "document": document(json!("env:prod")) });
        let name = ("tags", "Tags that are not a list");
        self.ask(route, name, of_team, "", Some(order)).await;
        let name = ("everything", "Everything that the team has");
        self.ask("configuration.export", name, of_team, "", None).await;
    }

    async fn of_channels(&mut self, team: &str) {
        let of_team = [("team", team)];
        let slack = json!({
            "kind": "slack",
            "url": "https://hooks.slack.com/services/T00000000/B00000000/x7k2q9",
            "name": "Operations",
            "events": ["opened", "resolved"],
        });
        let name = ("slack", "A channel in Slack");
        let added = self.ask("channels.create", name, &of_team, "", Some(slack)).await;
        let name = ("other", "A URL of another service");
        let other = json!({ "kind": "slack", "url": "https://ntfy.sh/alerts" });
        self.ask("channels.create", name, &of_team, "", Some(other)).await;
        let channel = added["data"]["uuid"].as_str().unwrap_or_default().to_owned();
        let of_channel = [("team", team), ("channel", &*channel)];
        self.ask("channels.list", ("two", "A webhook, and Slack"), &of_team, "", None).await;
        self.ask("channels.get", ("slack", "A channel in Slack"), &of_channel, "", None).await;
        let critical = json!({ "severities": ["critical"] });
        let name = ("critical", "Only what is critical");
        self.ask("channels.update", name, &of_channel, "", Some(critical)).await;
        let name = ("moved", "Another webhook");
        let moved = json!({ "url": "https://hooks.slack.com/services/T00000000/B11111111/m4p8w2" });
        self.ask("channels.update", name, &of_channel, "", Some(moved)).await;
        let name = ("unnamed", "A name that is not one line");
        let unnamed = json!({ "name": "a\nb" });
        self.ask("channels.update", name, &of_channel, "", Some(unnamed)).await;
        self.ask("channels.test", ("queued", "A test is queued"), &of_channel, "", None).await;
        self.ask("channels.disable", ("off", "Disabled"), &of_channel, "", None).await;
        self.ask("channels.test", ("off", "A disabled channel"), &of_channel, "", None).await;
        self.ask("channels.resend", ("off", "A disabled channel"), &of_channel, "", None).await;
        self.ask("channels.enable", ("on", "Enabled again"), &of_channel, "", None).await;
        self.ask("channels.resend", ("on", "Nothing waits"), &of_channel, "", None).await;
        self.ask("channels.delete", ("gone", "Gone"), &of_channel, "", None).await;
    }

    async fn of_status_pages(&mut self, site: &str) {
        let team = self.scene.owner.team.to_string();
        let of_team = [("team", &*team)];
        let page = json!({
            "slug": "meridian",
            "name": "Meridian Goods",
            "groups": [{
                "name": "Shop",
                "components": [{ "name": "Checkout", "site": site, "response_time": true }],
            }],
        });
        let name = ("shop", "A page with a group");
        let added = self.ask("status-pages.create", name, &of_team, "", Some(page.clone())).await;
        let name = ("taken", "A slug that another page has");
        self.ask("status-pages.create", name, &of_team, "", Some(page)).await;
        self.ask("status-pages.list", ("one", "One page"), &of_team, "", None).await;
        let text = |pointer| added.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (page, component) =
            (text("/data/uuid").to_owned(), text("/data/groups/0/components/0/uuid"));
        let of_page = [("team", &*team), ("status_page", &*page)];
        self.ask("status-pages.get", ("shop", "A page with a group"), &of_page, "", None).await;
        let message = json!({ "message": "We move to another data center on Sunday." });
        let name = ("message", "A message to all readers");
        self.ask("status-pages.update", name, &of_page, "", Some(message)).await;
        let incident = json!({
            "title": "Orders are delayed",
            "impact": "major",
            "components": [component],
            "text": "Orders aren't being confirmed. We're looking into it.",
        });
        let name = ("orders", "A problem whose cause is not known yet");
        let written = self.ask("incidents.create", name, &of_page, "", Some(incident)).await;
        let name = ("untitled", "Without a title");
        let untitled = json!({ "text": "Something is wrong." });
        self.ask("incidents.create", name, &of_page, "", Some(untitled)).await;
        self.ask("incidents.list", ("one", "One incident"), &of_page, "", None).await;
        let incident = written.pointer("/data/uuid").and_then(Value::as_str).unwrap_or_default();
        let of_incident = [("team", &*team), ("status_page", &*page), ("incident", incident)];
        let name = ("orders", "An incident with an update");
        self.ask("incidents.get", name, &of_incident, "", None).await;
        let update = json!({ "status": "resolved", "text": "All orders are confirmed." });
        let name = ("resolved", "It is over");
        self.ask("incidents.update", name, &of_incident, "", Some(update)).await;
        let name = ("silent", "A status without a text");
        let silent = json!({ "status": "monitoring" });
        self.ask("incidents.update", name, &of_incident, "", Some(silent)).await;
        self.ask("incidents.delete", ("gone", "Gone"), &of_incident, "", None).await;
        self.ask("status-pages.delete", ("gone", "Gone"), &of_page, "", None).await;
    }

    async fn of_heartbeats(&mut self) {
        let team = self.scene.owner.team.to_string();
        let of_team = [("team", &*team)];
        let backup = json!({
            "name": "Nightly backup",
            "cron": "30 2 * * *",
            "time_zone": "Europe/Berlin",
            "grace_minutes": 30,
            "tags": ["env:prod"],
        });
        let name = ("backup", "A job that runs every night");
        let added = self.ask("heartbeats.create", name, &of_team, "", Some(backup)).await;
        let name = ("both", "A period and a cron expression");
        let both = json!({ "name": "Sync", "period_minutes": 60, "cron": "@hourly" });
        self.ask("heartbeats.create", name, &of_team, "", Some(both)).await;
        self.ask("heartbeats.list", ("one", "One heartbeat"), &of_team, "", None).await;
        let heartbeat = added.pointer("/data/uuid").and_then(Value::as_str).unwrap_or_default();
        let of_one = [("team", &*team), ("heartbeat", heartbeat)];
        self.ask("heartbeats.get", ("backup", "Before its first ping"), &of_one, "", None).await;
        let name = ("longest", "A run may take an hour");
        let longest = json!({ "longest_run_minutes": 60 });
        self.ask("heartbeats.update", name, &of_one, "", Some(longest)).await;
        self.ask("heartbeats.runs", ("none", "The job has not pinged"), &of_one, "", None).await;
        self.ask("heartbeats.delete", ("gone", "Gone"), &of_one, "", None).await;
        self.ask("ping-key.get", ("none", "The team has no key"), &of_team, "", None).await;
        let name = ("random", "A random key");
        self.ask("ping-key.update", name, &of_team, "", Some(json!({}))).await;
    }

    async fn of_windows(&mut self, team: &str) {
        let of_team = [("team", team)];
        let weekly = json!({
            "name": "Updates of the servers",
            "sites": null,
            "starts_at": "2026-11-22T02:00",
            "time_zone": "Europe/Berlin",
            "duration_minutes": 90,
            "recurrence": "FREQ=WEEKLY;BYDAY=SU",
        });
        let name = ("weekly", "Every Sunday at two in the morning");
        let added = self.ask("maintenance-windows.create", name, &of_team, "", Some(weekly)).await;
        let window = added["data"]["uuid"].as_str().unwrap_or_default().to_owned();
        let now = json!({ "name": "Deployment", "duration_minutes": 30 });
        let name = ("now", "Half an hour from now");
        let started = self.ask("maintenance-windows.create", name, &of_team, "", Some(now)).await;
        let unsupported = json!({ "duration_minutes": 30, "recurrence": "FREQ=DAILY;COUNT=3" });
        let name = ("unsupported", "A rule with a part that is not supported");
        self.ask("maintenance-windows.create", name, &of_team, "", Some(unsupported)).await;
        let name = ("two", "One is active");
        self.ask("maintenance-windows.list", name, &of_team, "", None).await;
        let started = started["data"]["uuid"].as_str().unwrap_or_default().to_owned();
        let of_started = [("team", team), ("window", &*started)];
        let name = ("ended", "A window that takes place once is gone after that");
        self.ask("maintenance-windows.end", name, &of_started, "", None).await;
        let of_window = [("team", team), ("window", &*window)];
        let name = ("weekly", "A window that recurs");
        self.ask("maintenance-windows.get", name, &of_window, "", None).await;
        let name = ("not_active", "A window that has not started");
        self.ask("maintenance-windows.end", name, &of_window, "", None).await;
        let longer = json!({ "duration_minutes": 120 });
        let name = ("longer", "Two hours");
        self.ask("maintenance-windows.update", name, &of_window, "", Some(longer)).await;
        let off = json!({ "starts_at": "2026-11-23T02:00" });
        let name = ("monday", "A start that the rule leaves out");
        self.ask("maintenance-windows.update", name, &of_window, "", Some(off)).await;
        self.ask("maintenance-windows.delete", ("gone", "Gone"), &of_window, "", None).await;
        let name = ("none", "No address was created");
        self.ask("maintenance-calendar.get", name, &of_team, "", None).await;
        let name = ("created", "A new address");
        self.ask("maintenance-calendar.create", name, &of_team, "", None).await;
        self.ask("maintenance-calendar.delete", ("revoked", "Revoked"), &of_team, "", None).await;
    }

    /// The uuid of the shop.
    async fn of_new_sites(&mut self) -> String {
        let team = self.scene.owner.team.to_string();
        let of_team = [("team", &*team)];
        let shop = json!({
            "url": "https://shop.example/",
            "name": "Shop",
            "notes": "Ask Ada before a release.",
            "monitoring_settings": {
                "tools": {
                    "status": { "cadence_minutes": 5, "settings": { "failures_to_open": 1 } },
                    "broken-links": { "settings": { "ignore_paths": ["/cart"] } },
                },
            },
            "dns_expected_records": { "A": ["192.0.2.10"] },
        });
        let name = ("shop", "A site with settings of its own");
        let answer = self.ask("sites.create", name, &of_team, "", Some(shop.clone())).await;
        let site = answer["data"]["uuid"].as_str().unwrap_or_default().to_owned();
        let name = ("duplicate", "A URL that the team already monitors");
        self.ask("sites.create", name, &of_team, "", Some(shop)).await;
        self.scene.advance(60);
        let name = ("minimal", "A site with the team's settings");
        let url = json!({ "url": "https://observers.example" });
        self.ask("sites.create", name, &of_team, "", Some(url)).await;
        self.scene.advance(60);
        let sites = json!({ "sites": [
            { "url": "https://blog.example", "name": "Blog" },
            { "url": "https://shop.example" },
            { "url": "blog.example" },
        ] });
        let name = ("three", "One is new, one is already monitored, one is not a URL");
        self.ask("sites.bulk", name, &of_team, "", Some(sites)).await;
        let name = ("none", "Nothing to create");
        self.ask("sites.bulk", name, &of_team, "", Some(json!({ "sites": [] }))).await;
        site
    }

    async fn of_checks(&mut self, site: &str) {
        for ms in [184.2, 201.75, 178.9] {
            self.scene.advance(5 * 60);
            self.scene.check(site, 200, ms).await;
        }
        self.scene.advance(24 * 60 * 60);
        self.scene.check(site, 200, 192.4).await;
        let of_site = [("site", site)];
        let name = ("days", "Two days");
        self.ask("reports.uptime", name, &of_site, "days=2", None).await;
        let (name, team) = (("two_sites", "Two sites"), self.scene.owner.team.to_string());
        self.ask("metrics.get", name, &[("team", &team)], "", None).await;
        let name = ("nothing_yet", "A day without checks");
        self.ask("reports.performance", name, &of_site, "days=1", None).await;
        let name = ("out_of_range", "More days than a report can have");
        self.ask("reports.uptime", name, &of_site, "days=366", None).await;

        self.scene.advance(40);
        let tools = json!({ "tools": ["status"] });
        let name = ("status", "One tool");
        let ordered = self.ask("checks.create", name, &of_site, "", Some(tools.clone())).await;
        let name = ("pending", "The tool has a pending check");
        self.ask("checks.create", name, &of_site, "", Some(tools)).await;
        let name = ("newest", "The newest of a site's status checks");
        let query = "type=status&per_page=2";
        let listed = self.ask("checks.list", name, &of_site, query, None).await;
        let name = ("backwards", "A range that ends before it begins");
        self.ask("checks.list", name, &of_site, "from=2026-11-20&to=2026-11-19", None).await;
        let automatic = listed["data"][1]["uuid"].as_str().unwrap_or_default().to_owned();
        let of_check = [("check", &*automatic)];
        let name = ("completed", "A completed status check");
        self.ask("checks.get", name, &of_check, "", None).await;
        let name = ("automatic", "An automatic check");
        self.ask("checks.delete", name, &of_check, "", None).await;
        let ordered = ordered["data"][0]["uuid"].as_str().unwrap_or_default().to_owned();
        self.ask("checks.delete", ("gone", "Gone"), &[("check", &*ordered)], "", None).await;
    }

    async fn of_an_issue(&mut self, site: &str) {
        self.scene.advance(5 * 60);
        self.scene.check(site, 503, 61.05).await;
        let name = ("down", "A shop that is down");
        let listed = self.ask("issues.list", name, &[], "tool=status", None).await;
        let name = ("unknown_status", "An unknown state");
        self.ask("issues.list", name, &[], "status=all", None).await;
        let issue = listed["data"][0]["uuid"].as_str().unwrap_or_default().to_owned();
        self.events.extend(self.scene.events().await);
        self.scene.advance(60 * 60);
        self.events.extend(self.scene.events().await);
        for ms in [240.1, 188.35] {
            self.scene.advance(5 * 60);
            self.scene.check(site, 200, ms).await;
        }
        self.events.extend(self.scene.events().await);
        let name = ("resolved", "A resolved issue");
        self.ask("issues.get", name, &[("issue", &*issue)], "", None).await;
        self.ask("issues.evidence", name, &[("issue", &*issue)], "", None).await;
        self.of_decisions(site, &issue).await;
    }

    /// The issue opens again, and the owner decides about it.
    async fn of_decisions(&mut self, site: &str, issue: &str) {
        for _ in 0..2 {
            self.scene.advance(5 * 60);
            self.scene.check(site, 503, 61.05).await;
        }
        let of_issue = [("issue", issue)];
        let name = ("taken", "The owner takes care of it");
        self.ask("issues.acknowledge", name, &of_issue, "", None).await;
        self.events.extend(self.scene.events().await);
        let name = ("taken_already", "An issue that is acknowledged already");
        self.ask("issues.acknowledge", name, &of_issue, "", None).await;
        let note = json!({ "note": "The disk of the database is full." });
        self.ask("issues.note", ("cause", "What happened"), &of_issue, "", Some(note)).await;
        let name = ("given_back", "Nobody takes care of it any more");
        self.ask("issues.unacknowledge", name, &of_issue, "", None).await;
        let name = ("not_taken", "An issue that is not acknowledged");
        self.ask("issues.unacknowledge", name, &of_issue, "", None).await;
        let snooze = json!({ "until": "2026-11-30T08:00:00Z" });
        let name = ("weekend", "Until Monday");
        self.ask("issues.snooze", name, &of_issue, "", Some(snooze)).await;
        let name = ("by_hand", "Resolved by a member");
        self.ask("issues.resolve", name, &of_issue, "", None).await;
        let name = ("resolved_already", "An issue that is resolved already");
        self.ask("issues.resolve", name, &of_issue, "", None).await;
        let of_team = [("team", &*self.scene.owner.team.to_string())];
        self.ask("outages.list", ("two", "Two outages of a shop"), &of_team, "", None).await;
        let name = ("newest", "An outage that is over");
        self.ask("events.list", name, &of_team, "per_page=1", None).await;
        let name = ("decisions", "What the owner decided about an issue");
        self.ask("audit-log.list", name, &of_team, "per_page=3", None).await;
        self.scene.advance(5 * 60);
        self.scene.check(site, 200, 188.35).await;
    }

    async fn of_changes(&mut self, site: &str) {
        let team = self.scene.owner.team.to_string();
        self.of_status_pages(site).await;
        self.of_heartbeats().await;
        let of_site = [("site", site)];
        self.ask("sites.get", ("shop", "A site with its newest checks"), &of_site, "", None).await;
        let pinned = json!({ "url": "https://shop.example", "pinned": true, "notes": null });
        let name = ("pinned", "Pinned, and without its notes");
        self.ask("sites.update", name, &of_site, "", Some(pinned)).await;
        let name = ("nothing", "Nothing is expected");
        self.ask("expectations.get", name, &of_site, "", None).await;
        let expected = json!({ "expectations": [
            { "kind": "json_equals", "pointer": "/status", "value": "ok" },
            { "kind": "body_lacks", "text": "Fatal error" },
            { "kind": "response_time", "max_ms": 2000 },
        ] });
        let name = ("healthy", "A shop that says it is well, within two seconds");
        self.ask("expectations.update", name, &of_site, "", Some(expected)).await;
        let headless = json!({ "method": "HEAD", "expectations": [
            { "kind": "body_contains", "text": "Welcome" },
        ] });
        let name = ("no_body", "A response to HEAD has no body");
        self.ask("expectations.update", name, &of_site, "", Some(headless)).await;
        let posting = json!({
            "method": "POST",
            "post": { "content_type": "application/json", "body": "{\"user\": \"probe\"}" },
            "expectations": [{ "kind": "json_equals", "pointer": "/status", "value": "ok" }],
        });
        let name = ("not_proven", "The owner of the host has published no DNS record");
        self.ask("expectations.update", name, &of_site, "", Some(posting.clone())).await;
        self.scene.publish_record(site).await;
        let name = ("posting", "A login, whose host has the DNS record of the team");
        self.ask("expectations.update", name, &of_site, "", Some(posting)).await;
        let name = ("no_url", "A change without the URL");
        self.ask("sites.update", name, &of_site, "", Some(json!({ "pinned": true }))).await;
        let name = ("pinned", "The pinned sites of a team");
        let of_team = [("team", &*team)];
        self.ask("sites.list", name, &of_team, "pinned=true&sort=name", None).await;
        let name = ("unknown_sort", "An unknown order");
        self.ask("sites.list", name, &of_team, "sort=-pinned", None).await;
        let objective = |percentage: f64, period: &str| {
            let objective = json!({ "percentage": percentage, "period": period });
            Some(json!({ "url": "https://shop.example", "objective": objective }))
        };
        let name = ("objective", "99.9 % of the last 30 days");
        self.ask("sites.update", name, &of_site, "", objective(99.9, "30_days")).await;
        let name = ("budget", "A site with an objective");
        self.ask("sites.get", name, &of_site, "", None).await;
        let name = ("untellable", "An objective that its checks cannot tell");
        self.ask("sites.update", name, &of_site, "", objective(99.99, "7_days")).await;
        self.ask("sites.delete", ("gone", "Gone"), &of_site, "", None).await;
    }

    async fn of_members(&mut self) {
        let grace = self.scene.add_member().await.to_string();
        let (team, owner) = (self.scene.owner.team.to_string(), self.scene.owner.user.to_string());
        let of_team = [("team", &*team)];
        self.ask("members.list", ("two", "An owner and a member"), &of_team, "", None).await;
        let of_grace = [("team", &*team), ("user", &*grace)];
        let admin = json!({ "role": "admin" });
        let name = ("admin", "A member becomes an admin");
        self.ask("members.update", name, &of_grace, "", Some(admin)).await;
        self.ask("members.remove", ("gone", "Gone"), &of_grace, "", None).await;
        let of_owner = [("team", &*team), ("user", &*owner)];
        let name = ("last_owner", "The team's last owner");
        self.ask("members.remove", name, &of_owner, "", None).await;
        let alan = json!({ "email": "alan@example.com", "name": "Alan", "role": "viewer" });
        let name = ("viewer", "A service that sends no email");
        let invited = self.ask("invitations.create", name, &of_team, "", Some(alan.clone())).await;
        let name = ("invited_already", "An address that is already invited");
        self.ask("invitations.create", name, &of_team, "", Some(alan)).await;
        self.ask("invitations.list", ("one", "One invitation"), &of_team, "", None).await;
        let hash = invited["data"]["hash"].as_str().unwrap_or_default();
        let of_invitation = [("team", &*team), ("invitation", hash)];
        self.ask("invitations.withdraw", ("gone", "Withdrawn"), &of_invitation, "", None).await;
    }

    async fn of_a_report(&mut self) {
        self.scene.end_week().await;
        let team = self.scene.owner.team.to_string();
        let of_week = [("team", &*team), ("period", "2026-W47")];
        self.ask("team-reports.get", ("week", "A week with an outage"), &of_week, "", None).await;
    }

    /// Sends a request and keeps it with its answer.
    async fn ask(
        &mut self,
        route: &'static str,
        name: (&'static str, &'static str),
        path: &[(&str, &str)],
        query: &str,
        body: Option<Value>,
    ) -> Value {
        let ApiResponse { status, body: answer, .. } =
            self.scene.send(route, path, query, body.as_ref()).await;
        let status = StatusCode::from_u16(status).expect("a status");
        self.told.push(Exchange { route, name, body, status, answer: answer.clone() });
        answer
    }
}

impl Exchange {
    fn example(&self, value: &Value) -> (String, Value) {
        let (name, summary) = self.name;
        (name.to_owned(), json!({ "summary": summary, "value": value }))
    }
}

#[cfg(test)]
mod tests {
    use vedette_api::ROUTES;

    use super::*;

    #[tokio::test]
    async fn every_route_is_served_once_and_the_refusals_are_those_told() {
        let story = Story::play().await;
        for route in ROUTES {
            let mut told = story.told.iter().filter(|exchange| exchange.route == route.name);
            assert!(told.any(|exchange| exchange.status.is_success()), "{}", route.name);
        }
        let refused = story.told.iter().filter(|exchange| !exchange.status.is_success());
        let refused: Vec<_> = refused
            .map(|exchange| (exchange.route, exchange.name.0, exchange.status.as_u16()))
            .collect();
        assert_eq!(
            refused,
            [
                ("channels.create", "other", 422),
                ("channels.update", "unnamed", 422),
                ("channels.test", "off", 422),
                ("channels.resend", "off", 422),
                ("monitoring.update", "too_fast", 422),
                ("time-zone.update", "unknown", 422),
                ("user-time-zone.update", "unknown", 422),
                ("site-groups.update", "no_tags", 422),
                ("configuration.apply", "tags", 422),
                ("maintenance-windows.create", "unsupported", 422),
                ("maintenance-windows.end", "not_active", 422),
                ("maintenance-windows.update", "monday", 422),
                ("sites.create", "duplicate", 422),
                ("sites.bulk", "none", 422),
                ("reports.uptime", "out_of_range", 422),
                ("checks.create", "pending", 422),
                ("checks.list", "backwards", 422),
                ("checks.delete", "automatic", 403),
                ("issues.list", "unknown_status", 422),
                ("issues.acknowledge", "taken_already", 422),
                ("issues.unacknowledge", "not_taken", 422),
                ("issues.resolve", "resolved_already", 422),
                ("status-pages.create", "taken", 422),
                ("incidents.create", "untitled", 422),
                ("incidents.update", "silent", 422),
                ("heartbeats.create", "both", 422),
                ("expectations.update", "no_body", 422),
                ("expectations.update", "not_proven", 422),
                ("sites.update", "no_url", 422),
                ("sites.list", "unknown_sort", 422),
                ("sites.update", "untellable", 422),
                ("members.remove", "last_owner", 422),
                ("invitations.create", "invited_already", 422),
            ]
        );
    }
}
