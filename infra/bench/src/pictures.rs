//! A month of history for pictures of the pages: written by the service's own handlers into a folder, on
//! which `vedette serve` then runs. A link that signs in there is printed, as a path.

use std::error::Error;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::SignInLink;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::link;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId, UserId};
use vedette_embedded::{Database, Folder, Fsync, Reached, reach};
use vedette_runtime::Clock;
use vedette_testkit::{Client, Member, TestApp, status_result, store_team};

use crate::report::line;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The data folder: empty, or not there yet
    folder: PathBuf,
    /// Further sites, which are checked once a day
    #[arg(long, default_value_t = 0)]
    more: u32,
}

/// Days of history.
const DAYS: i64 = 30;
/// A site, and how it fares.
struct Story {
    name: &'static str,
    url: &'static str,
    /// Milliseconds of an ordinary answer.
    usual: f64,
    /// Hours before now at which it is down: from, until.
    down: &'static [(i64, i64)],
    score: u32,
}

const SITES: [Story; 8] = [
    Story {
        name: "Shop",
        url: "https://shop.example/",
        usual: 182.0,
        down: &[(211, 208)],
        score: 94,
    },
    Story {
        name: "Checkout",
        url: "https://pay.shop.example/",
        usual: 240.0,
        down: &[(405, 404), (2, 0)],
        score: 88,
    },
    Story {
        name: "Search",
        url: "https://search.shop.example/",
        usual: 95.0,
        down: &[],
        score: 97,
    },
    Story {
        name: "Blog",
        url: "https://blog.shop.example/",
        usual: 310.0,
        down: &[(640, 630)],
        score: 91,
    },
    Story { name: "Docs", url: "https://docs.shop.example/", usual: 120.0, down: &[], score: 99 },
    Story {
        name: "Orders API",
        url: "https://api.shop.example/health",
        usual: 64.0,
        down: &[(96, 95), (90, 89)],
        score: 90,
    },
    Story {
        name: "Newsletter",
        url: "https://news.shop.example/",
        usual: 205.0,
        down: &[],
        score: 86,
    },
    Story {
        name: "Careers",
        url: "https://careers.shop.example/",
        usual: 150.0,
        down: &[],
        score: 93,
    },
];

/// Writes the history up to now.
pub(crate) async fn write(options: &Options) -> Result<(), Box<dyn Error>> {
    Folder::make(&options.folder)?;
    let Reached::Free(folder) = reach(&options.folder).await? else {
        return Err("somebody uses the folder".into());
    };
    let database = Database::open(&folder, Fsync::EverySecond).await?;
    let mut test = TestApp::start().await;
    test.app.store = database.store();
    test.app.service.tools = Tool::ALL.to_vec();
    let now = Clock::system().now();
    test.advance(now.duration_since(test.now()) - SignedDuration::from_hours(24 * DAYS));
    let owner = team(&test).await?;
    let mut sites = Vec::new();
    for story in &SITES {
        sites.push((story, site(&test, &owner, story.url, story.name).await?));
    }
    let mut more = Vec::new();
    for number in 0..options.more {
        let url = format!("https://{number}.shop.example/");
        more.push((site(&test, &owner, &url, &format!("Branch {number}")).await?, url));
    }
    for hour in (0..24 * DAYS).rev() {
        test.advance(SignedDuration::from_hours(1));
        for (story, id) in &sites {
            end(&test, *id, Tool::Status, status(story, hour)).await;
            if hour % 24 == 12 {
                end(&test, *id, Tool::Performance, audit(story, hour)?).await;
                end(&test, *id, Tool::Ssl, certificate(story, test.now())?).await;
                end(&test, *id, Tool::Dns, records(story)?).await;
            }
            if hour % 168 == 36 {
                end(&test, *id, Tool::BrokenLinks, links(story)?).await;
            }
        }
        for (number, (id, url)) in more.iter().enumerate().filter(|_| hour % 24 == 6) {
            let code = if number % 50 == 0 && hour < 72 { 503 } else { 200 };
            end(&test, *id, Tool::Status, ToolResult::Status(status_result(url, code, 120.0)))
                .await;
        }
    }
    line(&link(&test, &owner).await?)?;
    database.close().await;
    Ok(())
}

async fn team(test: &TestApp) -> Result<Member, Box<dyn Error>> {
    let now = test.now();
    let user = User {
        id: UserId(test.app.entropy.user_id()?.0),
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
        email_verified_at: Some(now),
        created_at: now,
    };
    let team = Team::new(test.app.entropy.team_id()?, "Example Shop", Plan::Agency, now);
    Ok(store_team(test, &team, &user).await)
}

/// The path of a link that signs in.
async fn link(test: &TestApp, owner: &Member) -> Result<String, Box<dyn Error>> {
    let secret = test.app.entropy.session_secret()?;
    let link = SignInLink::new(&secret, owner.user, Clock::system().now());
    test.app.store.create_sign_in_link(&link).await?;
    Ok(link::sign_in("", &secret))
}

async fn site(
    test: &TestApp,
    owner: &Member,
    url: &str,
    name: &str,
) -> Result<SiteId, Box<dyn Error>> {
    let body = json!({ "url": url, "name": name });
    let path = format!("/teams/{}/sites", owner.team);
    let created = Client::new(&test.app, owner).without_grants().post(&path, &body).await;
    Ok(SiteId::parse(&created.data("uuid")).ok_or("no site")?)
}

async fn end(test: &TestApp, site: SiteId, tool: Tool, result: ToolResult) {
    let check = CheckId::automatic(site, tool, RunReason::Scheduled, test.now());
    test.end_run(site, check, Finish::Completed(result)).await;
}

/// Slower by day than by night, a little different each time, and sometimes down.
fn status(story: &Story, hour: i64) -> ToolResult {
    if story.down.iter().any(|(from, until)| (*until..*from).contains(&hour)) {
        return ToolResult::Status(status_result(story.url, 503, story.usual * 4.0));
    }
    let of_day = ((hour % 24) as f64 / 24.0 * std::f64::consts::TAU).cos();
    let noise =
        f64::from(u32::try_from((hour * 7_919 + story.url.len() as i64 * 31) % 97).unwrap_or(0))
            / 97.0;
    let time = story.usual * (1.0 + 0.25 * of_day + 0.3 * noise * noise);
    ToolResult::Status(status_result(story.url, 200, (time * 10.0).round() / 10.0))
}

fn host(story: &Story) -> &str {
    story.url.trim_start_matches("https://").split('/').next().unwrap_or_default()
}

fn audit(story: &Story, hour: i64) -> Result<ToolResult, serde_json::Error> {
    let day = u32::try_from(hour / 24).unwrap_or(0);
    let score = story.score - (day * 13 + story.score) % 6;
    let metric =
        |value: f64, text: String| json!({ "value": value, "display_value": text, "score": 0.9 });
    let lcp = 900.0 + f64::from(100 - score) * 95.0;
    let opportunity = |title: &str, ms: f64| json!({ "id": title, "title": title, "score": 0.5, "savings": { "ms": ms, "bytes": null, "text": null } });
    let result = json!({
        "response_time": story.usual, "url": story.url,
        "speed_metrics": {
            "performance_score": score,
            "core_web_vitals": {
                "lcp": metric(lcp, format!("{:.1} s", lcp / 1_000.0)),
                "fcp": metric(lcp * 0.6, format!("{:.1} s", lcp * 0.6 / 1_000.0)),
                "cls": metric(0.01, "0.01".to_owned()),
                "tbt": metric(40.0, "40 ms".to_owned()),
                "ttfb": metric(story.usual, format!("{} ms", story.usual)),
                "speed_index": metric(lcp * 0.9, format!("{:.1} s", lcp * 0.9 / 1_000.0)),
                "interactive": metric(lcp * 1.1, format!("{:.1} s", lcp * 1.1 / 1_000.0)),
            },
            "real_user_metrics": null, "origin_metrics": null,
            "opportunities": [
                opportunity("Eliminate render-blocking resources", 320.0),
                opportunity("Properly size images", 180.0),
            ],
        },
    });
    Ok(ToolResult::Performance(Box::new(serde_json::from_value(result)?)))
}

fn certificate(story: &Story, now: Timestamp) -> Result<ToolResult, Box<dyn Error>> {
    let day = |days: i64| {
        let at = now.checked_add(SignedDuration::from_hours(24 * days));
        at.map(|at| at.strftime("%Y-%m-%d 00:00:00").to_string())
    };
    let (from, to, days_left) = (day(-29)?, day(61)?, 60);
    let key = json!({ "algorithm": "EC", "bits": 256, "curve": "P-256" });
    let link = |subject: &str, issuer: &str| {
        json!({
            "subject": subject, "issuer": issuer, "serial_number": "01", "valid_from": from,
            "valid_to": to, "key": key, "signature_algorithm": "ecdsa-with-SHA384", "fingerprint": "02",
        })
    };
    let result = json!({
        "domain": host(story), "ip": "192.0.2.10", "is_valid": true, "failure_type": null,
        "failure_message": null, "issuer": "Example CA 1", "issued_to": host(story),
        "valid_from": from, "valid_to": to, "days_left": days_left, "subject": format!("CN={}", host(story)),
        "serial_number": "01", "fingerprint": "02", "verified": true,
        "info": {
            "protocol": "TLSv1.3", "cipher_suite": "TLS_AES_128_GCM_SHA256", "alpn": "h2", "version": 3,
            "serial_number": "01", "subject": [], "issuer": [], "valid_from": from, "valid_to": to,
            "key": key, "signature_algorithm": "ecdsa-with-SHA384",
            "fingerprints": { "sha1": "", "sha256": "02" },
            "subject_alternative_names": { "dns": [host(story)], "ip": [], "other": [], "omitted": 0 },
            "extensions": [], "extensions_omitted": 0,
            "chain": [
                link(&format!("CN={}", host(story)), "CN=Example CA 1"),
                link("CN=Example CA 1", "CN=Example Root"),
            ],
            "chain_omitted": 0,
        },
    });
    Ok(ToolResult::Ssl(Box::new(serde_json::from_value(result)?)))
}

fn records(story: &Story) -> Result<ToolResult, serde_json::Error> {
    let record = |kind: &str, field: &str, value: &str| json!({ "host": host(story), "ttl": 300, "type": kind, field: value });
    let result = json!({
        "host": host(story), "lookup_failure": null, "unanswered_types": [],
        "records": {
            "A": [record("A", "ip", "192.0.2.10")], "AAAA": [], "CNAME": [], "MX": [], "NS": [],
            "TXT": [record("TXT", "txt", "v=spf1 -all")],
        },
        "resolver_observations": {}, "uses_cloudflare": false, "ip_enrichment": {},
        "hosting_provider": null,
        "reputation": {
            "status": "unknown", "flags": [], "risk_score": null, "risk_types": null,
            "suspected_malware_family": null, "ip_reputation": null,
        },
        "registration": {
            "domain": "shop.example", "registrar": "Example Registrar", "registered_at": null,
            "expires_at": "2028-11-01T00:00:00Z",
        },
        "registration_error": null,
    });
    Ok(ToolResult::Dns(Box::new(serde_json::from_value(result)?)))
}

fn links(story: &Story) -> Result<ToolResult, serde_json::Error> {
    let urls: Vec<Value> = match story.name {
        "Blog" => vec![
            json!({ "url": "https://blog.shop.example/2019/launch", "source": story.url, "status": 404 }),
            json!({ "url": "https://partner.example/offer", "source": story.url, "status": 410 }),
        ],
        _ => Vec::new(),
    };
    let result = json!({
        "found": urls.len(), "crawled": 64, "urls": urls,
        "crawl": {
            "finish_reason": "completed",
            "limits": { "pages": 100, "links": 1_000, "depth": 5, "links_per_domain": 100, "seconds": 120 },
            "duration_ms": 8_412, "js_rendered": false, "pages": 64, "links": 512,
            "skipped": { "robots": 0, "over_limit": 0, "rate_limited": 0, "forbidden": 0, "unchecked": 0 },
            "traps": 0, "robots_txt": true, "sitemap_urls": 64, "truncated": false,
        },
    });
    Ok(ToolResult::BrokenLinks(serde_json::from_value(result)?))
}
