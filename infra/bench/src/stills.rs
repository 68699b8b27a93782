//! Writes the pages at a fixed instant as files. These have the same bytes on every machine and day, so that pictures
//! of them can be compared.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::future::ready;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use lambda_http::Body;
use lambda_http::http::Request;
use serde_json::json;
use vedette_api::answer_ping;
use vedette_dashboard::{Dashboard, StatusPages, find_public};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::ReconcileMessage;
use vedette_domain::sites::site_url::MAX_LENGTH;
use vedette_domain::sites::tag::Tags;
use vedette_domain::status_pages::{ComponentState, PublishedPage};
use vedette_routing::serve;
use vedette_testkit::status_pages::published_page;
use vedette_testkit::{Client, Member, TestApp, status_result};

use crate::pages::{get, head, sign_in};
use crate::pictures::{live, notify, site, team};
use crate::readers::publish;
use crate::report::line;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder for the pages. It is emptied first
    folder: PathBuf,
    /// Sites of the team that has very many of them
    #[arg(long, default_value_t = 1_000)]
    many: u32,
}

/// The instant that the pages show.
const NOW: &str = "2026-11-20T14:31:20Z";
/// A word that does not fit into one line of a phone.
const LONG: &str =
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft";
/// Days of history: fewer than in the pictures of the documentation, because every run of the tests writes them.
const DAYS: i64 = 3;

/// Writes the pages.
pub(crate) async fn write(options: &Options) -> Result<(), Box<dyn Error>> {
    let folder = &options.folder;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder.join("assets"))?;
    let mut test = TestApp::start().await;
    test.app.service.tools = Tool::ALL.to_vec();
    let now: Timestamp = NOW.parse()?;
    test.set_clock(now);
    let (shop, others) = (shop(&test, now).await?, others(&test, now, options.many).await?);
    let (mut written, owner) = (Vec::new(), shop.0.clone());
    for (owner, pages) in [shop].into_iter().chain(others) {
        let cookie = sign_in(&test, &owner).await?;
        for (name, path) in pages {
            let cookie = if name == "sign-in" { "" } else { cookie.as_str() };
            written.push((name, String::from_utf8(ask(&test, cookie, &path).await?)?));
        }
    }
    test.set_clock(now);
    written.extend(status_pages(&mut test, &owner).await?);
    let mut assets = BTreeSet::new();
    for (name, page) in &written {
        let links = page.split("\"/assets/").skip(1);
        assets.extend(links.filter_map(|rest| Some(rest.split('"').next()?.to_owned())));
        fs::write(folder.join(format!("{name}.html")), page)?;
    }
    for asset in &assets {
        let path = Path::new("assets").join(asset);
        fs::write(folder.join(&path), ask(&test, "", &format!("/assets/{asset}")).await?)?;
    }
    line(&format!("{} pages, {} files", written.len(), assets.len()))?;
    Ok(())
}

/// Status pages as their readers see them: with an incident, without one, and with names that are long. Then the form for
/// subscriptions, and what members see.
async fn status_pages(
    test: &mut TestApp,
    owner: &Member,
) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let team = owner.team;
    test.app.service.sends_mail = true;
    let all = published_page(test.now());
    let mut calm = PublishedPage { message: None, incidents: Vec::new(), ..all.clone() };
    calm.unchanged_since = Some(test.now() - SignedDuration::from_hours(2));
    let mut long = all.clone();
    for component in calm.groups.iter_mut().flat_map(|group| &mut group.components) {
        component.state = ComponentState::Operational;
    }
    (calm.offers_subscriptions, long.offers_subscriptions) = (true, true);
    long.name = LONG.to_owned();
    long.incidents[0].title = LONG.repeat(2);
    for component in long.groups.iter_mut().flat_map(|group| &mut group.components) {
        component.name = LONG.to_owned();
    }
    let mut written = Vec::new();
    for (name, page) in [("status", all), ("status-calm", calm), ("status-long", long)] {
        publish(&test.app.store, test.app.entropy.status_page_id()?, team, name, &page).await?;
        let head = head("", &format!("/status/{name}"), "identity")?;
        let found = find_public(&head).ok_or("no page")?;
        let served = serve(&StatusPages, &test.app, found, &head, |_| ready(Ok(Body::Empty))).await;
        let Body::Text(text) = served.into_body() else { return Err(name.into()) };
        written.push((name, text));
    }
    let list = format!("/teams/{team}/status-pages");
    let last = test.app.store.status_pages(team).await?.pop().ok_or("no page")?.id;
    let cookie = sign_in(test, owner).await?;
    for (name, path) in [
        ("subscribe", "/subscribe/status-long".to_owned()),
        ("status-pages", list.clone()),
        ("status-page", format!("{list}/{last}")),
        ("status-page-edit", format!("{list}/{last}/edit")),
    ] {
        let cookie = if name == "subscribe" { "" } else { cookie.as_str() };
        written.push((name, String::from_utf8(ask(test, cookie, &path).await?)?));
    }
    Ok(written)
}

async fn ask(test: &TestApp, cookie: &str, path: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let head = head(cookie, path, "identity")?;
    Ok(match get(test, &Dashboard::default(), &head).await? {
        Body::Text(text) => text.into_bytes(),
        Body::Binary(bytes) => bytes,
        _ => Vec::new(),
    })
}

/// A person with their pages: the name of each file, and the path of the page.
type Pages = (Member, Vec<(&'static str, String)>);

/// A usual team, with all of its pages.
async fn shop(test: &TestApp, now: Timestamp) -> Result<Pages, Box<dyn Error>> {
    let owner = team(test, "Example Shop", "ada@example.com").await?;
    let sites = live(test, &owner, DAYS, 0).await?;
    test.set_clock(now);
    let [site, down, ..] = sites[..] else { return Err("no sites".into()) };
    let issue = notify(test, &owner, down).await?;
    let client = Client::new(&test.app, &owner).without_grants();
    for window in [
        json!({ "name": "Updates of the servers", "starts_at": "2026-11-22T02:00",
            "time_zone": "Europe/Berlin", "duration_minutes": 90, "recurrence": "FREQ=WEEKLY" }),
        json!({ "name": "Deployment", "sites": [down], "starts_at": "2026-11-21T10:00",
            "duration_minutes": 30 }),
    ] {
        client.post(&format!("/teams/{}/maintenance-windows", owner.team), &window).await;
    }
    let windows = client.get(&format!("/teams/{}/maintenance-windows", owner.team)).await;
    let window = windows.body["data"][0]["uuid"].as_str().ok_or("no window")?.to_owned();
    let check = client.get(&format!("/sites/{down}/checks")).await.body["data"][0]["uuid"].clone();
    let check = check.as_str().ok_or("no check")?.to_owned();
    let heartbeat = heartbeats(test, &owner, now).await?;
    // The report of the week, as its members see it on Monday.
    test.set_clock("2026-11-23T06:00:00Z".parse()?);
    let message = ReconcileMessage::Report(owner.team);
    vedette_reconciler::handle(&test.app, &message).await?;
    test.set_clock(now);
    let reports = test.app.store.reports(owner.team).await?;
    let report = reports.first().ok_or("no report")?.period;
    let team = format!("/teams/{}", owner.team);
    let of_site = |path: &str| format!("/sites/{site}{path}");
    let pages = vec![
        ("sign-in", "/sign-in".to_owned()),
        ("sites", team.clone()),
        ("search", format!("{team}?search=nothing")),
        ("add", format!("{team}/sites/new")),
        ("site", of_site("")),
        ("site-30d", of_site("?range=30d")),
        ("down", format!("/sites/{down}")),
        ("edit", of_site("/edit")),
        ("delete", of_site("/delete")),
        ("history", of_site("/checks")),
        ("check", format!("/checks/{check}")),
        ("report", of_site("/report")),
        ("issue", format!("/issues/{issue}")),
        ("issues", format!("{team}/issues")),
        ("outages", format!("{team}/outages")),
        ("events", format!("{team}/events")),
        ("team-reports", format!("{team}/reports")),
        ("team-report", format!("{team}/reports/{report}")),
        ("heartbeats", format!("{team}/heartbeats")),
        ("heartbeat", heartbeat.clone()),
        ("heartbeat-edit", format!("{heartbeat}/edit")),
        ("heartbeat-add", format!("{team}/heartbeats/new")),
        ("channels", format!("{team}/channels")),
        ("channel-add", format!("{team}/channels/new")),
        ("settings", format!("{team}/settings")),
        ("settings-header", format!("{team}/settings/request-header")),
        ("settings-quiet", format!("{team}/settings/quiet-time")),
        ("settings-reminders", format!("{team}/settings/escalation")),
        ("maintenance", format!("{team}/maintenance")),
        ("maintenance-edit", format!("{team}/maintenance/{window}/edit")),
        ("team-time-zone", format!("{team}/time-zone")),
        ("team-name", format!("{team}/name")),
        ("new-team", "/new-team".to_owned()),
        ("name", "/name".to_owned()),
        ("members", format!("{team}/members")),
        ("plan", format!("{team}/plan")),
        ("audit-log", format!("{team}/audit-log")),
        ("tokens", "/tokens".to_owned()),
        ("sessions", "/sessions".to_owned()),
        ("time-zone", "/time-zone".to_owned()),
    ];
    Ok((owner, pages))
}

/// Adds heartbeats in different states, and returns the path of one whose job has failed.
async fn heartbeats(
    test: &TestApp,
    owner: &Member,
    now: Timestamp,
) -> Result<String, Box<dyn Error>> {
    let client = Client::new(&test.app, owner).without_grants();
    let path = format!("/teams/{}/heartbeats", owner.team);
    let mut paths = Vec::new();
    let export = "Nightly invoice export to the accounting system of the Austrian subsidiary";
    for (body, runs) in [
        (
            json!({ "name": export, "cron": "0 2 * * *", "time_zone": "Europe/Berlin", "grace_minutes": 30, "tags": ["team:finance"] }),
            "bbbbbbfbbf",
        ),
        (
            json!({ "name": "Stock sync", "period_minutes": 15, "longest_run_minutes": 20 }),
            "bbfbbbbbbb",
        ),
        (json!({ "name": "Certificate renewal", "cron": "0 4 * * MON" }), ""),
    ] {
        test.set_clock(now - SignedDuration::from_hours(12));
        let created = client.post(&path, &body).await.body["data"].clone();
        let (id, url) = (created["uuid"].as_str(), created["ping_url"].as_str());
        let (_, key) = url.and_then(|url| url.rsplit_once('/')).ok_or("no address")?;
        paths.push(format!("{path}/{}", id.ok_or("no id")?));
        for (run, kind) in runs.chars().enumerate() {
            let begins_at = now - SignedDuration::from_mins(60 * (10 - i64::try_from(run)?));
            for (after, word) in
                [(0, "start"), (300 + 20 * (run % 5), if kind == 'f' { "1" } else { "0" })]
            {
                test.set_clock(begins_at + SignedDuration::from_secs(i64::try_from(after)?));
                let (ping, ()) =
                    Request::post(format!("/ping/{key}/{word}")).body(())?.into_parts();
                let output = match word {
                    "1" => {
                        "connected to the ledger\n1204 invoices found\nERROR: the server closed the connection"
                    }
                    _ => "",
                };
                answer_ping(&test.app, &ping, output.as_bytes()).await;
            }
        }
    }
    test.set_clock(now);
    Ok(paths.swap_remove(0))
}

/// All pages that show the URL of a site, of a site with the longest URL.
async fn of_long(
    test: &TestApp,
    owner: &Member,
    site: SiteId,
) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    let issues = test.app.store.issues_of_site(site.partition()).await?;
    let issue = issues.first().ok_or("no issue")?.id;
    let client = Client::new(&test.app, owner).without_grants();
    // Its buttons then have the longest words.
    client.post(&format!("/issues/{issue}/acknowledge"), &json!({})).await;
    let check = client.get(&format!("/sites/{site}/checks")).await.body["data"][0]["uuid"].clone();
    let check = check.as_str().ok_or("no check")?.to_owned();
    let team = format!("/teams/{}", owner.team);
    Ok(vec![
        ("long-edit", format!("/sites/{site}/edit")),
        ("long-delete", format!("/sites/{site}/delete")),
        ("long-history", format!("/sites/{site}/checks")),
        ("long-report", format!("/sites/{site}/report")),
        ("long-check", format!("/checks/{check}")),
        ("long-issue", format!("/issues/{issue}")),
        ("long-issues", format!("{team}/issues")),
        ("long-events", format!("{team}/events")),
        ("long-audit-log", format!("{team}/audit-log")),
        ("long-maintenance", format!("{team}/maintenance")),
        ("long-channels", format!("{team}/channels")),
        ("long-name", format!("{team}/name")),
    ])
}

/// Unusual teams: without a site, with one site, with one site whose name and texts are long, and with very many sites.
async fn others(test: &TestApp, now: Timestamp, many: u32) -> Result<Vec<Pages>, Box<dyn Error>> {
    let long_host = format!("{}.{}", "a".repeat(60), "b".repeat(60));
    let mut pages = Vec::new();
    for (team_name, name, list, page, number) in [
        ("New", "", "empty", "", 0),
        ("Solo", "Home", "one", "one-site", 1),
        (LONG, LONG, "long", "long-site", 1),
        ("Very many", "Branch", "many", "many-site", many),
    ] {
        test.set_clock(now - SignedDuration::from_hours(1));
        let owner = team(test, team_name, &format!("{list}@example.com")).await?;
        let mut first = None;
        for number in 0..number {
            let host = if name == LONG { long_host.as_str() } else { "site" };
            let start = format!("https://{host}-{number}.example/");
            // A long URL is a single word.
            let rest = if name == LONG { MAX_LENGTH - start.len() } else { 100 };
            let url = format!("{start}{}", "p".repeat(rest));
            let id = site(test, &owner, (&url, &format!("{name} {number}")), Tags::new()).await?;
            first = first.or(Some((id, url)));
        }
        for minutes in [30, 2] {
            test.set_clock(now - SignedDuration::from_mins(minutes));
            let Some((id, url)) = &first else { continue };
            let result = ToolResult::Status(status_result(url, 503, 30_000.0));
            let check = CheckId::automatic(*id, Tool::Status, RunReason::Scheduled, test.now());
            test.end_run(*id, check, Finish::Completed(result)).await;
        }
        test.set_clock(now);
        let mut of_team = vec![(list, format!("/teams/{}", owner.team))];
        of_team.extend(first.as_ref().map(|(id, _)| (page, format!("/sites/{id}"))));
        if let Some((id, _)) = first.filter(|_| name == LONG) {
            of_team.extend(of_long(test, &owner, id).await?);
        }
        pages.push((owner, of_team));
    }
    Ok(pages)
}
