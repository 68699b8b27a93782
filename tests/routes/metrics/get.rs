//! `GET /teams/{team}/metrics`: the state of a team's sites and heartbeats for Prometheus.

use jiff::SignedDuration;
use serde_json::json;
use vedette_domain::accounts::account::Role;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::alerts::channel::Filter;
use vedette_domain::alerts::channel_state::ChannelState;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::{SiteId, TeamId};
use vedette_store::{Audit, ChannelRef};
use vedette_testkit::channels::{add_channel, chat, mail};
use vedette_testkit::{ApiResponse, Member, WebServer, new_team};
use vedette_tests::Service;

use crate::support::{assert_invalid, assert_refused, colleague, new_site, new_site_with};

async fn get(service: &Service, caller: &Member, team: TeamId) -> ApiResponse {
    service.client(caller).get(&format!("/teams/{team}/metrics")).await
}

/// The series of the next minute's metrics, with names for what differs from run to run.
async fn shown(service: &Service, owner: &Member, names: &[(&str, &str)]) -> String {
    service.advance_minutes(1);
    let answer = get(service, owner, owner.team).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let text = answer.body.as_str().expect("a text").to_owned();
    let text = names.iter().fold(text, |text, (from, to)| text.replace(from, to));
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let times = ["vedette_site_response_time_seconds", "vedette_site_phase_seconds"];
        let is_time = times.iter().any(|name| line.starts_with(name));
        match line.rsplit_once(' ') {
            Some((series, value)) if is_time => {
                assert!((0.0..30.0).contains(&value.parse::<f64>().expect("seconds")), "{line}");
                format!("{series} <s>")
            }
            _ => line.to_owned(),
        }
    });
    // Sites come in the order of their hashed URLs.
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines.join("\n")
}

/// Status checks alone, whose first failure opens an issue.
async fn watched(service: &Service, owner: &Member, target: &WebServer) -> SiteId {
    let off = json!({ "enabled": false });
    let settings = json!({ "tools": {
        "status": { "settings": { "failures_to_open": 1 } },
        "ssl": off, "dns": off, "broken-links": off, "performance": off,
    } });
    let site = new_site_with(service, owner, &target.url, &settings).await;
    service.consume().await;
    site
}

#[tokio::test]
async fn a_site_is_shown_before_its_first_check_while_it_is_up_and_while_it_is_down() {
    let (service, owner) = Service::with_team().await;
    assert_eq!(shown(&service, &owner, &[]).await, "");
    let target = WebServer::start().await;
    let site = watched(&service, &owner, &target).await;
    let fresh = new_site(&service, &owner, "https://shop.example").await;
    let path = format!("/sites/{fresh}");
    let off = json!({ "enabled": false });
    let paused = json!({
        "url": "https://shop.example",
        "name": "Shop \"2\"",
        "monitoring_settings": { "tools": {
            "status": off, "ssl": off, "dns": off, "broken-links": off, "performance": off,
        } },
    });
    assert_eq!(service.client(&owner).patch(&path, &paused).await.status, 200);
    let (site_id, fresh_id) = (site.to_string(), fresh.to_string());
    let names = [(&*site_id, "A"), (&*fresh_id, "B"), (&*target.url, "http://a.test")];
    insta::assert_snapshot!(shown(&service, &owner, &names).await, @r#"
    vedette_site_info{site="A",name="127.0.0.1",url="http://a.test"} 1
    vedette_site_info{site="B",name="Shop \"2\"",url="https://shop.example"} 1
    vedette_site_issues{site="A",severity="critical"} 0
    vedette_site_issues{site="A",severity="info"} 0
    vedette_site_issues{site="A",severity="warning"} 0
    vedette_site_issues{site="B",severity="critical"} 0
    vedette_site_issues{site="B",severity="info"} 0
    vedette_site_issues{site="B",severity="warning"} 0
    vedette_site_last_check_timestamp_seconds{site="A"} 1795168500
    vedette_site_monitored{site="A"} 1
    vedette_site_monitored{site="B"} 0
    vedette_site_phase_seconds{site="A",phase="connect"} <s>
    vedette_site_phase_seconds{site="A",phase="first_byte"} <s>
    vedette_site_phase_seconds{site="A",phase="lookup"} <s>
    vedette_site_response_time_seconds{site="A"} <s>
    vedette_site_up{site="A"} 1
    "#);
    target.answer(503);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    insta::assert_snapshot!(shown(&service, &owner, &names).await, @r#"
    vedette_site_info{site="A",name="127.0.0.1",url="http://a.test"} 1
    vedette_site_info{site="B",name="Shop \"2\"",url="https://shop.example"} 1
    vedette_site_issues{site="A",severity="critical"} 1
    vedette_site_issues{site="A",severity="info"} 0
    vedette_site_issues{site="A",severity="warning"} 0
    vedette_site_issues{site="B",severity="critical"} 0
    vedette_site_issues{site="B",severity="info"} 0
    vedette_site_issues{site="B",severity="warning"} 0
    vedette_site_last_check_timestamp_seconds{site="A"} 1795168860
    vedette_site_monitored{site="A"} 1
    vedette_site_monitored{site="B"} 0
    vedette_site_phase_seconds{site="A",phase="connect"} <s>
    vedette_site_phase_seconds{site="A",phase="first_byte"} <s>
    vedette_site_phase_seconds{site="A",phase="lookup"} <s>
    vedette_site_response_time_seconds{site="A"} <s>
    vedette_site_up{site="A"} 0
    "#);
}

#[tokio::test]
async fn heartbeats_have_metrics_of_their_own() {
    let (service, owner) = Service::with_team().await;
    let client = service.client(&owner);
    let path = format!("/teams/{}/heartbeats", owner.team);
    let add = async |name: &str, tags: &[&str]| {
        let made = client.post(&path, &json!({ "name": name, "tags": tags })).await.body;
        ["uuid", "ping_url"].map(|field| made["data"][field].as_str().expect("a text").to_owned())
    };
    let [failed, address] = add("Dump", &["env:prod"]).await;
    let [fresh, _] = add("Sync", &[]).await;
    let (_, key) = address.rsplit_once('/').expect("an address");
    assert_eq!(service.ping(&format!("{key}/start")).await.status, 200);
    assert_eq!(service.ping(&format!("{key}/1")).await.status, 200);
    let at = service.test.now().as_second().to_string();
    let names = [(&*failed, "A"), (&*fresh, "B"), (&*at, "<at>")];
    insta::assert_snapshot!(shown(&service, &owner, &names).await, @r#"
    vedette_heartbeat_info{heartbeat="A",name="Dump"} 1
    vedette_heartbeat_info{heartbeat="B",name="Sync"} 1
    vedette_heartbeat_issues{heartbeat="A",severity="critical"} 1
    vedette_heartbeat_issues{heartbeat="A",severity="info"} 0
    vedette_heartbeat_issues{heartbeat="A",severity="warning"} 0
    vedette_heartbeat_issues{heartbeat="B",severity="critical"} 0
    vedette_heartbeat_issues{heartbeat="B",severity="info"} 0
    vedette_heartbeat_issues{heartbeat="B",severity="warning"} 0
    vedette_heartbeat_last_ping_timestamp_seconds{heartbeat="A"} <at>
    vedette_heartbeat_monitored{heartbeat="A"} 1
    vedette_heartbeat_monitored{heartbeat="B"} 0
    vedette_heartbeat_run_seconds{heartbeat="A"} 0
    vedette_heartbeat_up{heartbeat="A"} 0
    "#);
    service.advance_minutes(1);
    let metrics = format!("/teams/{}/metrics?selector=env:prod&tags=true", owner.team);
    let selected = client.get(&metrics).await.body;
    let text = selected.as_str().expect("a text");
    assert!(
        text.contains(&format!(
            "vedette_heartbeat_tag{{heartbeat=\"{failed}\",tag=\"env:prod\"}} 1"
        )),
        "{text}"
    );
    assert!(!text.contains(&fresh), "{text}");
}

#[tokio::test]
async fn issues_count_under_the_severity_that_the_site_chose() {
    let (service, owner) = Service::with_team().await;
    let target = WebServer::start().await;
    let site = watched(&service, &owner, &target).await;
    let expected = json!({
        "method": "GET",
        "expectations": [{ "kind": "body_contains", "text": "not on this page" }],
        "issues": { "expectation": { "severity": "warning", "failures_to_open": 1 } },
    });
    let path = format!("/sites/{site}/expectations");
    let answer = service.client(&owner).put(&path, &expected).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    service.advance_minutes(5);
    service.run_scheduled(site, Tool::Status).await;
    let site_id = site.to_string();
    let metrics = shown(&service, &owner, &[(&*site_id, "A")]).await;
    let issues: Vec<_> = metrics.lines().filter(|line| line.contains("site_issues")).collect();
    let expected = ["critical\"} 0", "info\"} 0", "warning\"} 1"]
        .map(|rest| format!("vedette_site_issues{{site=\"A\",severity=\"{rest}"));
    assert_eq!(issues, expected);
}

#[tokio::test]
async fn metrics_say_how_fast_channels_are_notified_of_openings() {
    let (service, owner) = Service::with_team().await;
    let app = &service.test.app;
    let channel = add_channel(app, owner.team, ("Ops", chat()), Filter::default()).await;
    add_channel(app, owner.team, ("Other", mail()), Filter::default()).await;
    let place = ChannelRef::from(&channel);
    let mut state = app.store.states_of_channels(&[place]).await.expect("read").remove(0);
    let now = service.test.now();
    for took in [3, 3, 4_000] {
        state.latencies.record(now - SignedDuration::from_secs(took), now);
    }
    let state = ChannelState { rev: state.rev + 1, ..state };
    app.store.put_channel_state(place, &state, Audit::None).await.expect("saved");
    let metrics = shown(&service, &owner, &[(&channel.id.to_string(), "A")]).await;
    insta::assert_snapshot!(metrics, @r#"
    vedette_channel_info{channel="A",name="Ops",kind="slack"} 1
    vedette_channel_notification_seconds{channel="A",quantile="0.5"} 5
    vedette_channel_notification_seconds{channel="A",quantile="0.99"} +Inf
    vedette_channel_notifications{channel="A"} 3
    "#);
}

#[tokio::test]
async fn metrics_are_limited_to_one_read_of_a_team_per_window() {
    let (service, owner) = Service::with_team().await;
    let first = get(&service, &owner, owner.team).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let viewer = colleague(&service, &owner, Role::Viewer).await;
    for caller in [&owner, &viewer] {
        let again = get(&service, caller, owner.team).await;
        assert_refused(&again, 429, "Too many requests. Please slow down.");
        assert_eq!(again.header("retry-after"), "10", "until the next window of 50 seconds");
    }
    // Another team has a limit of its own.
    let other = new_team(&service.test, Plan::Agency).await;
    assert_eq!(get(&service, &other, other.team).await.status, 200);
    for _ in 0..10 {
        service.advance_minutes(1);
        assert_eq!(get(&service, &viewer, owner.team).await.status, 200);
    }
}

#[tokio::test]
async fn metrics_are_about_the_sites_that_a_selector_selects_and_have_tags_if_asked() {
    let (service, owner) = Service::with_team().await;
    for (n, tags) in
        [(1, json!(["env:prod", "team:shop"])), (2, json!(["env:test"])), (3, json!([]))]
    {
        let body = json!({ "url": format!("https://{n}.example"), "tags": tags });
        let path = format!("/teams/{}/sites", owner.team);
        assert_eq!(service.client(&owner).post(&path, &body).await.status, 201);
    }
    let ask = async |query: &str| {
        service.advance_minutes(1);
        let path = format!("/teams/{}/metrics{query}", owner.team);
        service.client(&owner).get(&path).await
    };
    let of = |answer: &ApiResponse, metric: &str| {
        let text = answer.body.as_str().expect("a text");
        let lines = text.lines().filter(|line| line.starts_with(metric));
        lines.map(|line| line.rsplit('"').nth(1).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let all = ask("").await;
    assert_eq!(of(&all, "vedette_site_info").len(), 3);
    assert_eq!(of(&all, "vedette_site_tag"), [""; 0]);
    let selected = ask("?selector=env:prod&tags=true").await;
    assert_eq!(of(&selected, "vedette_site_info"), ["https://1.example"]);
    assert_eq!(of(&selected, "vedette_site_tag"), ["env:prod", "team:shop"]);
    assert_eq!(of(&ask("?selector=x").await, "vedette_site_info"), [""; 0]);
    for (query, field, message) in [
        ("selector=", "selector", "The selector field must name at least one tag."),
        ("tags=yes", "tags", "The tags field must be true or false."),
    ] {
        assert_invalid(&ask(&format!("?{query}")).await, field, message);
    }
}
