//! Writes the history that pictures of the pages show, with the service's own handlers, into a folder on which `vedette
//! serve` then runs. Prints the path of a link that signs in there.

use std::error::Error;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vedette_domain::accounts::account::User;
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::session::SignInLink;
use vedette_domain::accounts::team::Team;
use vedette_domain::alerts::channel::{EventKind, Filter};
use vedette_domain::alerts::link;
use vedette_domain::alerts::notification::Notification;
use vedette_domain::alerts::send_outcome::SendOutcome;
use vedette_domain::checks::check::{Finish, Phases, StatusResult, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, IssueId, SiteId, UserId};
use vedette_domain::sites::tag::Tags;
use vedette_embedded::{Database, Folder, Fsync, Reached, reach};
use vedette_local::{DemoSite, SITES};
use vedette_runtime::Clock;
use vedette_testkit::{
    Client, Member, TestApp, channels, status_evidence, status_result, store_team,
};

use crate::report::line;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The data folder, which must be empty or not exist yet
    folder: PathBuf,
    /// More sites, which are checked once a day
    #[arg(long, default_value_t = 0)]
    more: u32,
}

/// Days of history.
const DAYS: i64 = 30;
/// A site, and what happens to it.
struct Story {
    site: &'static DemoSite,
    /// When it is down: from and until this many hours before now.
    down: &'static [(i64, i64)],
    score: u32,
}

/// When the sites are down and how fast their pages are, in their order. The third one has just begun to fail.
const FATES: [(&[(i64, i64)], u32); SITES.len()] = [
    (&[(211, 208)], 94),
    (&[(405, 404), (2, 0)], 88),
    (&[(1, 0)], 97),
    (&[(640, 630)], 91),
    (&[], 99),
    (&[(96, 95), (90, 89)], 90),
    (&[], 86),
    (&[], 93),
    (&[], 84),
    (&[], 89),
    (&[], 98),
    (&[], 71),
];

fn stories() -> impl Iterator<Item = Story> {
    SITES.iter().zip(FATES).map(|(site, (down, score))| Story { site, down, score })
}

/// The site that somebody has paused.
const PAUSED: &DemoSite = &SITES[SITES.len() - 1];

/// The response of a site that is down.
const UNAVAILABLE: &str = "<html>\n<head><title>503 Service Temporarily Unavailable</title></head>\n<body>\n<center><h1>503 Service Temporarily Unavailable</h1></center>\n<hr><center>nginx</center>\n</body>\n</html>\n";

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
    test.set_clock(now);
    let owner = team(&test, "Example Shop", "ada@example.com").await?;
    let sites = live(&test, &owner, DAYS, options.more).await?;
    let [_, down, ..] = sites[..] else { return Err("no sites".into()) };
    test.set_clock(now);
    notify(&test, &owner, down).await?;
    line(&link(&test, &owner).await?)?;
    database.close().await;
    Ok(())
}

/// Has a team monitor the sites for this many days up to now.
pub(crate) async fn live(
    test: &TestApp,
    owner: &Member,
    days: i64,
    more: u32,
) -> Result<Vec<SiteId>, Box<dyn Error>> {
    let now = test.now();
    test.set_clock(now - SignedDuration::from_hours(24 * days));
    let mut sites = Vec::new();
    for story in stories() {
        let id = site(test, owner, (story.site.url, story.site.name), story.site.tags()).await?;
        sites.push((story, id));
    }
    let mut others = Vec::new();
    for number in 0..more {
        let url = format!("https://{number}.shop.example/");
        others.push((
            site(test, owner, (&url, &format!("Branch {number}")), Tags::new()).await?,
            url,
        ));
    }
    for hour in (0..24 * days).rev() {
        test.advance(SignedDuration::from_hours(1));
        for (story, id) in &sites {
            if story.site.url == PAUSED.url && hour < 24 {
                continue;
            }
            end(test, *id, Tool::Status, status(story, hour)).await;
            if hour % 24 == 12 {
                end(test, *id, Tool::Performance, audit(story, hour)?).await;
                end(test, *id, Tool::Ssl, certificate(story, now, test.now())?).await;
                end(test, *id, Tool::Dns, records(story)?).await;
            }
            if hour % 168 == 36 {
                end(test, *id, Tool::BrokenLinks, links(story)?).await;
            }
        }
        for (number, (id, url)) in others.iter().enumerate().filter(|_| hour % 24 == 6) {
            let code = if number % 50 == 0 && hour < 72 { 503 } else { 200 };
            end(test, *id, Tool::Status, ToolResult::Status(status_result(url, code, 120.0))).await;
        }
    }
    let off = json!({ "enabled": false });
    let tools: Value = Tool::ALL.into_iter().map(|tool| (tool.to_string(), off.clone())).collect();
    for (_, id) in sites.iter().filter(|(story, _)| story.site.url == PAUSED.url) {
        let paused = json!({ "url": PAUSED.url, "monitoring_settings": { "tools": tools } });
        let api = Client::new(&test.app, owner).without_grants();
        let answer = api.patch(&format!("/sites/{id}"), &paused).await;
        if answer.status != 200 {
            return Err(format!("the site is not paused: {answer:?}").into());
        }
    }
    Ok(sites.into_iter().map(|(_, id)| id).collect())
}

pub(crate) async fn team(
    test: &TestApp,
    name: &str,
    email: &str,
) -> Result<Member, Box<dyn Error>> {
    let now = test.now();
    let user = User {
        id: UserId(test.app.entropy.user_id()?.0),
        name: "Ada".to_owned(),
        email: email.to_owned(),
        email_verified_at: Some(now),
        zone: None,
        created_at: now,
    };
    let team = Team::new(test.app.entropy.team_id()?, name, Plan::Agency, now);
    Ok(store_team(test, &team, &user).await)
}

/// Returns the path of a link that signs in.
async fn link(test: &TestApp, owner: &Member) -> Result<String, Box<dyn Error>> {
    let secret = test.app.entropy.session_secret()?;
    let link = SignInLink::new(&secret, owner.user, Clock::system().now());
    test.app.store.create_sign_in_link(&link).await?;
    Ok(link::sign_in("", &secret))
}

pub(crate) async fn site(
    test: &TestApp,
    owner: &Member,
    (url, name): (&str, &str),
    tags: Tags,
) -> Result<SiteId, Box<dyn Error>> {
    let body = json!({ "url": url, "name": name, "tags": tags });
    let path = format!("/teams/{}/sites", owner.team);
    let created = Client::new(&test.app, owner).without_grants().post(&path, &body).await;
    Ok(SiteId::parse(&created.data("uuid")).ok_or("no site")?)
}

async fn end(test: &TestApp, site: SiteId, tool: Tool, result: ToolResult) {
    let check = CheckId::automatic(site, tool, RunReason::Scheduled, test.now());
    let evidence = match &result {
        ToolResult::Status(result) if result.up => {
            Some(status_evidence(result, "200 OK", "<!doctype html>\n<title>Shop</title>\n"))
        }
        ToolResult::Status(result) => {
            Some(status_evidence(result, "503 Service Unavailable", UNAVAILABLE))
        }
        _ => None,
    };
    test.end_run_with(site, check, Finish::Completed(result), evidence.as_ref()).await;
}

/// Adds a channel that was notified of the active issue of a site. Returns the issue.
pub(crate) async fn notify(
    test: &TestApp,
    owner: &Member,
    site: SiteId,
) -> Result<IssueId, Box<dyn Error>> {
    let name = ("Operations", channels::chat());
    let channel = channels::add_channel(&test.app, owner.team, name, Filter::default()).await;
    let issues = test.app.store.issues_of_site(site.partition()).await?;
    let issue = issues.iter().find(|issue| issue.lifecycle.is_active()).ok_or("no issue")?;
    let at = issue.lifecycle.opened_at() + SignedDuration::from_secs(2);
    let about = (issue.id, EventKind::Opened);
    let notification = Notification::new(about, &channel, &SendOutcome::DELIVERED, at);
    test.app.store.put_notifications([notification].into_iter()).await?;
    Ok(issue.id)
}

/// The result of a check: slower by day than by night, a little different each time, and sometimes down.
fn status(story: &Story, hour: i64) -> ToolResult {
    if story.down.iter().any(|(from, until)| (*until..*from).contains(&hour)) {
        return ToolResult::Status(status_result(story.site.url, 503, story.site.usual * 4.0));
    }
    let of_day = ((hour % 24) as f64 / 24.0 * std::f64::consts::TAU).cos();
    let noise = f64::from(
        u32::try_from((hour * 7_919 + story.site.url.len() as i64 * 31) % 97).unwrap_or(0),
    ) / 97.0;
    let time = story.site.usual * (1.0 + 0.25 * of_day + 0.3 * noise * noise);
    let result = status_result(story.site.url, 200, (time * 10.0).round() / 10.0);
    let [lookup, connect, tls] =
        [0.06, 0.14, 0.22].map(|part| Some((story.site.usual * part) as u32));
    ToolResult::Status(StatusResult { phases: Some(Phases { lookup, connect, tls }), ..result })
}

fn host(story: &Story) -> &str {
    story.site.url.trim_start_matches("https://").split('/').next().unwrap_or_default()
}

fn audit(story: &Story, hour: i64) -> Result<ToolResult, serde_json::Error> {
    let day = u32::try_from(hour / 24).unwrap_or(0);
    let score = story.score - (day * 13 + story.score) % 6;
    let metric =
        |value: f64, text: String| json!({ "value": value, "display_value": text, "score": 0.9 });
    let lcp = 900.0 + f64::from(100 - score) * 95.0;
    let opportunity = |title: &str, ms: f64| json!({ "id": title, "title": title, "score": 0.5, "savings": { "ms": ms, "bytes": null, "text": null } });
    let result = json!({
        "response_time": story.site.usual, "url": story.site.url,
        "speed_metrics": {
            "performance_score": score,
            "core_web_vitals": {
                "lcp": metric(lcp, format!("{:.1} s", lcp / 1_000.0)),
                "fcp": metric(lcp * 0.6, format!("{:.1} s", lcp * 0.6 / 1_000.0)),
                "cls": metric(0.01, "0.01".to_owned()),
                "tbt": metric(40.0, "40 ms".to_owned()),
                "ttfb": metric(story.site.usual, format!("{} ms", story.site.usual)),
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

/// The result of a certificate check at a time. The certificate is valid for this many days after the end of the
/// history.
fn certificate(
    story: &Story,
    end: Timestamp,
    now: Timestamp,
) -> Result<ToolResult, Box<dyn Error>> {
    let day = |days: i64| {
        let at = end.checked_add(SignedDuration::from_hours(24 * days));
        at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
    };
    let (from, to) = (day(story.site.certificate - 90)?, day(story.site.certificate)?);
    let days_left = story.site.certificate + end.duration_since(now).as_hours() / 24;
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
    let urls: Vec<Value> = match story.site.name {
        "Blog" => vec![
            json!({ "url": "https://blog.shop.example/2019/launch", "source": story.site.url, "status": 404 }),
            json!({ "url": "https://partner.example/offer", "source": story.site.url, "status": 410 }),
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
