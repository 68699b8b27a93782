//! Status codes that are not among the selectable ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use vedette_checker::Handled;
use vedette_domain::checks::check::Check;
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_domain::locations::NoVote;
use vedette_testkit::{Member, TestLocations};
use vedette_tests::Service;

/// A server that answers `/CODE` with this code, and other paths with the code that is set.
struct Server {
    url: String,
    code: Arc<AtomicU16>,
}

impl Server {
    async fn start() -> Self {
        Self::with_page(String::new()).await
    }

    /// A server whose home page is this HTML. Its redirects lead to it.
    async fn with_page(page: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let set = Arc::new(AtomicU16::new(200));
        let code = Arc::clone(&set);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 1024];
                let read = stream.read(&mut request).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&request[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().trim_matches('/');
                let code = path.parse().unwrap_or_else(|_| set.load(Ordering::SeqCst));
                let location = if page.is_empty() { "" } else { "Location: /\r\n" };
                let body = if path.is_empty() { &*page } else { "" };
                let answer = format!(
                    "HTTP/1.1 {code} X\r\nContent-Type: text/html\r\n{location}\
                     Content-Length: {}\r\n\r\n{body}",
                    body.len()
                );
                // A client that has gone needs no answer.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, code }
    }

    fn answer(&self, code: u16) {
        self.code.store(code, Ordering::SeqCst);
    }
}

/// A site on which one tool runs, with these settings of its own.
async fn add(service: &Service, owner: &Member, url: &str, tool: Tool, settings: &Value) -> SiteId {
    let mut tools = json!({});
    for other in Tool::ALL {
        tools[other.as_str()] = json!({ "enabled": other == tool });
    }
    tools[tool.as_str()]["settings"] = settings.clone();
    let body = json!({ "url": url, "monitoring_settings": { "tools": tools } });
    let created = service.client(owner).post(&format!("/teams/{}/sites", owner.team), &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    service.waiting();
    SiteId::parse(&created.data("uuid")).expect("an id")
}

async fn check(service: &Service, site: SiteId, tool: Tool) -> Check {
    match service.run_scheduled(site, tool).await {
        Handled::Finished(finished) => finished.check,
        other => panic!("{other}"),
    }
}

/// The active issues of each site, with their fingerprints and summaries.
async fn active(service: &Service, owner: &Member) -> BTreeMap<String, (String, String)> {
    let listed = service.client(owner).get("/issues?status=active&per_page=100").await;
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let issues = listed.body["data"].as_array().expect("issues");
    let described = issues.iter().map(|issue| {
        (text(&issue["site"]["uuid"]), (text(&issue["fingerprint"]), text(&issue["summary"])))
    });
    described.collect()
}

#[tokio::test]
async fn a_code_that_cannot_be_selected_counts_like_its_class() {
    let server = Server::start().await;
    for (selected, failing, good) in [
        // The default.
        (
            None,
            &[101, 400, 406, 418, 421, 431, 444, 499, 506, 510, 555, 599, 601, 799, 999][..],
            &[200, 206, 226, 299, 304, 399][..],
        ),
        (Some(json!([400])), &[101, 400, 406, 423, 451], &[404, 429, 500, 506, 530, 700]),
        (Some(json!([500])), &[101, 500, 506, 530, 700, 999], &[400, 404, 418, 499, 503, 524]),
        (Some(json!([404, 503])), &[101, 404, 503], &[400, 406, 418, 500, 506, 555, 700, 999]),
        (Some(json!([])), &[101], &[204, 302, 404, 406, 503, 511, 999]),
    ] {
        let (service, owner) = Service::with_team().await;
        let mut settings = json!({ "failures_to_open": 1 });
        if let Some(codes) = selected {
            settings["incident_status_codes"] = codes;
        }
        for (codes, fails) in [(failing, true), (good, false)] {
            for code in codes {
                let url = format!("{}/{code}", server.url);
                let site = add(&service, &owner, &url, Tool::Status, &settings).await;
                let checked = check(&service, site, Tool::Status).await;
                let seen = checked.result.expect("a completed check");
                assert_eq!(seen["code"], *code, "{seen}");
                let up = (200..400).contains(code);
                assert_eq!(seen["up"], up, "the specification decides this: {code}");
                let issues = active(&service, &owner).await;
                let issue = issues.get(&site.to_string());
                assert_eq!(issue.is_some(), fails, "{code} with {settings}");
                if let Some((fingerprint, summary)) = issue {
                    assert_eq!(fingerprint, "status:down");
                    let says = format!("127.0.0.1 is down: HTTP {code}");
                    assert!(summary.starts_with(&says), "{summary}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_issue_stays_open_while_the_code_changes_within_a_class() {
    let server = Server::start().await;
    let (service, owner) = Service::with_team().await;
    let site = add(&service, &owner, &server.url, Tool::Status, &json!({})).await;
    for (code, is_open) in [
        (200, false),
        (506, false),
        // The second failure in a row, whichever code it is.
        (444, true),
        (503, true),
        (555, true),
        (999, true),
        (101, true),
        (226, false),
        (418, false),
        (200, false),
        (418, false),
    ] {
        server.answer(code);
        service.advance_minutes(5);
        check(&service, site, Tool::Status).await;
        assert_eq!(!active(&service, &owner).await.is_empty(), is_open, "{code}");
    }
}

#[tokio::test]
async fn a_check_fails_before_expectations_are_judged() {
    let server = Server::start().await;
    let (service, owner) = Service::with_team().await;
    let site = add(&service, &owner, &server.url, Tool::Status, &json!({})).await;
    let expected = json!({ "expectations": [{ "kind": "body_contains", "text": "Shop" }] });
    let path = format!("/sites/{site}/expectations");
    assert_eq!(service.client(&owner).put(&path, &expected).await.status, 200);
    service.waiting();
    for (code, unmet) in [(200, 1), (418, 0), (506, 0), (777, 0), (101, 0)] {
        server.answer(code);
        service.advance_minutes(5);
        assert_eq!(check(&service, site, Tool::Status).await.unmet.len(), unmet, "{code}");
    }
}

#[tokio::test]
async fn another_location_judges_codes_as_home_does() {
    for (seen, expected) in [
        (Ok(555), "status:down"),
        (Ok(999), "status:down"),
        (Ok(101), "status:down"),
        (Ok(406), "status:down"),
        (Ok(226), "status:partial"),
    ] {
        let server = Server::start().await;
        let (mut service, owner) = Service::with_team().await;
        let locations = TestLocations::default();
        locations.sees("eu-west-1", seen);
        locations.sees("us-east-1", Err(NoVote::NoAnswer));
        service.test.app.remote_checks = locations.port();
        let settings = json!({ "failures_to_open": 1 });
        let site = add(&service, &owner, &server.url, Tool::Status, &settings).await;
        server.answer(530);
        // An outage that other locations deny is a warning after some checks.
        for _ in 0..5 {
            service.advance_minutes(5);
            check(&service, site, Tool::Status).await;
        }
        let issues = active(&service, &owner).await;
        let fingerprint = issues.get(&site.to_string()).map(|(fingerprint, _)| &**fingerprint);
        assert_eq!(fingerprint, Some(expected), "{seen:?}");
    }
}

#[tokio::test]
async fn the_selectable_codes_stay_as_they_are() {
    let (service, owner) = Service::with_team().await;
    for code in [100, 302, 418, 451, 520, 530, 600] {
        let settings = json!({ "incident_status_codes": [500, code] });
        let body = json!({
            "url": "https://site.test/",
            "monitoring_settings": { "tools": { "status": { "settings": settings } } },
        });
        let path = format!("/teams/{}/sites", owner.team);
        let refused = service.client(&owner).post(&path, &body).await;
        assert_eq!(refused.status, 422, "{code}");
        let field = "monitoring_settings.tools.status.settings.incident_status_codes.1";
        assert!(refused.body["errors"][field].is_array(), "{refused:?}");
    }
}

/// Which links are broken, according to the specification, and which of these are not if redirects are ignored.
#[tokio::test]
async fn a_link_with_another_code_than_200_301_302_and_303_is_broken() {
    const CODES: [u16; 12] = [200, 204, 226, 300, 301, 302, 303, 307, 308, 406, 506, 777];
    let page = CODES.iter().map(|code| format!("<a href=/{code}>")).collect();
    let server = Server::with_page(page).await;
    for (ignores, broken) in
        [(false, &[204, 226, 300, 307, 308, 406, 506, 777][..]), (true, &[204, 226, 406, 506, 777])]
    {
        let (mut service, owner) = Service::with_team().await;
        service.test.app.service.tools = Tool::ALL.to_vec();
        let settings = json!({ "ignore_redirects": ignores });
        let site = add(&service, &owner, &server.url, Tool::BrokenLinks, &settings).await;
        let checked = check(&service, site, Tool::BrokenLinks).await;
        let result = checked.result.expect("a completed check");
        let urls = result["urls"].as_array().expect("links");
        let found: Vec<_> = urls.iter().filter_map(|link| link["status"].as_u64()).collect();
        assert_eq!(found, broken, "{result}");
    }
}
