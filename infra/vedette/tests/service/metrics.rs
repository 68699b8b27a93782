//! The metrics of the process, at a separate address and at the socket.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use vedette_embedded::{Reached, Report, reach};
use vedette_local::{Options, Service};
use vedette_testkit::WebServer;

use crate::client::Client;
use crate::{config, mail, options};

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().expect("a number")
}

#[tokio::test]
async fn prometheus_reads_what_the_process_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let metrics = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let options = Options { metrics, ..options(folder.path()) };
    let service = Service::start(options, config(), mail(folder.path()), None).await;
    let service = service.expect("started");
    let client = Client::with_token_file(service.listen(), &service.token_file());
    let scraper = Client::without_token(service.metrics_listen().expect("an address"));

    let target = WebServer::start().await;
    let teams = client.get("/api/v1/teams").await;
    let team = teams.body["data"][0]["uuid"].as_str().expect("a team").to_owned();
    let off = json!({ "enabled": false });
    let only_status = json!({ "tools": {
        "ssl": off, "dns": off, "broken-links": off, "performance": off,
    } });
    let site = json!({ "url": target.url, "monitoring_settings": only_status });
    let path = format!("/api/v1/teams/{team}/sites");
    assert_eq!(client.send("POST", &path, site.to_string().as_bytes()).await.status, 201);
    let stranger = Client::without_token(service.listen());
    assert_eq!(stranger.get("/api/v1/me").await.status, 401);

    let completed = "vedette_checks_total{tool=\"status\",status=\"completed\"}";
    let read = async || scraper.get("/metrics").await;
    while value(&read().await.text, completed) < 3.0 {
        sleep(Duration::from_millis(20)).await;
    }
    let answer = read().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = &answer.text;
    assert!(value(text, "vedette_check_lag_seconds_count{tool=\"status\"}") >= 1.0, "{text}");
    assert!(value(text, "vedette_http_responses_total{code=\"201\"}") >= 1.0, "{text}");
    for line in [
        concat!("vedette_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1"),
        "vedette_problems 0",
        "vedette_checks_total{tool=\"ssl\",status=\"completed\"} 0",
        "vedette_queue_slow_messages{queue=\"status\"} 0",
        "vedette_messages_given_up_total{queue=\"status\"} 0",
        "vedette_deliveries_total{outcome=\"delivered\"} 0",
        "vedette_http_responses_total{code=\"401\"} 1",
        "vedette_http_responses_total{code=\"503\"} 0",
    ] {
        assert!(text.lines().any(|other| other == line), "no {line} in\n{text}");
    }

    assert_eq!(scraper.get("/").await.status, 404);
    assert_eq!(scraper.send("POST", "/metrics", b"").await.status, 405);
    // A web page in a browser on this machine cannot read them under its own host name.
    let request = b"GET /metrics HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n";
    assert_eq!(scraper.send_raw(request).await.expect("an answer").status, 421);
    // Checks cannot reach them, either.
    let url = format!("http://{}/metrics", service.metrics_listen().expect("an address"));
    let own = json!({ "url": url, "monitoring_settings": only_status });
    let created = client.send("POST", &path, own.to_string().as_bytes()).await;
    let to_site =
        format!("/api/v1/sites/{}", created.body["data"]["uuid"].as_str().expect("a site"));
    loop {
        let site = client.get(&to_site).await;
        match site.body["data"]["latest_checks"]["status"]["status"].as_str() {
            None | Some("pending") => sleep(Duration::from_millis(20)).await,
            status => break assert_eq!(status, Some("failed"), "{}", site.text),
        }
    }

    let Ok(Reached::Served(socket)) = reach(folder.path()).await else { panic!("it runs") };
    let report = socket.report(Report::Metrics).await.expect("an answer").expect("metrics");
    assert!(value(&String::from_utf8_lossy(&report), completed) >= 3.0);
    service.stop().await;
}
