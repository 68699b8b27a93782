//! What large pages of the dashboard cost: those of a team with very many sites, and of a site with a very long
//! history.

use std::error::Error;
use std::future::ready;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use lambda_http::Body;
use lambda_http::http::header::{ACCEPT_ENCODING, COOKIE};
use lambda_http::http::request::Parts;
use lambda_http::http::{Request, StatusCode};
use serde_json::json;
use vedette_dashboard::{Dashboard, PAGES};
use vedette_domain::accounts::session::{Session, SessionCookie, SignInLink};
use vedette_domain::checks::tool::RunReason;
use vedette_domain::id::SiteId;
use vedette_routing::{find, serve};
use vedette_testkit::{Member, Spent, TestApp};

use crate::alerts::go_down;
use crate::inside::{Ask, Inside};
use crate::report::{line, median_ms, table};
use crate::seed;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Sites of the team
    #[arg(long, default_value_t = 10_000)]
    sites: usize,
    /// How many of these sites are down in the last row
    #[arg(long, default_value_t = 3_000)]
    down: usize,
    /// Checks of the site with the long history
    #[arg(long, default_value_t = 1_000_000)]
    checks: u64,
    /// How often each page is requested
    #[arg(long, default_value_t = 25)]
    rounds: usize,
}

/// Sites with a history, for which the list draws bars: as many as it shows at a time.
const LISTED: usize = 25;
/// Checks of each of these sites: some on each day of a year.
const LISTED_CHECKS: u64 = 2_000;

/// Fills the table, then requests pages.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    let midnight: Timestamp = "2026-11-21T00:00:00Z".parse()?;
    inside.test.set_clock(midnight - SignedDuration::from_secs(1));
    let owner = inside.team().await;
    let began = Instant::now();
    let mut sites = Vec::with_capacity(options.sites);
    for number in 0..options.sites {
        sites.push(inside.new_site(&owner, &format!("https://{number}.shop.example/")).await?);
    }
    let site = *sites.first().ok_or("no sites")?;
    seed::history(&inside, site, options.checks).await?;
    for listed in sites.iter().skip(1).take(LISTED) {
        seed::history(&inside, *listed, LISTED_CHECKS).await?;
    }
    for listed in sites.iter().skip(1 + LISTED) {
        seed::first_checks(&inside, *listed).await?;
    }
    line(&format!("seeded in {:.0} s", began.elapsed().as_secs_f64()))?;

    let cookie = sign_in(&inside.test, &owner).await?;
    let team = format!("/teams/{}", owner.team);
    let of_site = format!("/sites/{site}");
    let mut rows = Vec::new();
    for (name, path) in [
        ("the list of sites", team.clone()),
        ("… those that are up, with their bars", format!("{team}?state=up")),
        ("… a search", format!("{team}?search=77")),
        ("… the last page", format!("{team}?page={}", options.sites.div_ceil(LISTED))),
        ("a site, 24 hours", of_site.clone()),
        ("… 30 days", format!("{of_site}?range=30d")),
        ("… a year", format!("{of_site}?range=1y")),
        ("its history of checks", format!("{of_site}/checks")),
        ("its report of a year", format!("{of_site}/report?from=2025-11-22&to=2026-11-20")),
        ("events", format!("{team}/events")),
        ("settings", format!("{team}/settings")),
    ] {
        rows.push(page(&inside, &cookie, name, &path, options.rounds).await?);
    }
    for (number, site) in sites.iter().enumerate() {
        tag(&inside, &owner, *site, number).await?;
    }
    for (name, path) in [
        ("the list of sites with five tags each", team.clone()),
        ("… filtered by a selector", format!("{team}?selector=env:prod,team%20in%20(t1,t7),!c5")),
    ] {
        rows.push(page(&inside, &cookie, name, &path, options.rounds).await?);
    }
    for reason in [RunReason::Scheduled, RunReason::ConfirmationRetry] {
        inside.test.advance(SignedDuration::from_mins(2));
        for down in sites.iter().rev().take(options.down) {
            go_down(&inside, owner.team, *down, reason).await?;
        }
    }
    let while_down = format!("the list of sites while {} of them are down", options.down);
    rows.push(page(&inside, &cookie, &while_down, &team, options.rounds).await?);
    let headings = [
        "",
        "ms, first request",
        "ms, again",
        "KB",
        "KB gzipped",
        "read units",
        "calls one after another",
    ];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// Gives a site five tags, of which it has some in common with others.
async fn tag(
    inside: &Inside,
    owner: &Member,
    site: SiteId,
    number: usize,
) -> Result<(), Box<dyn Error>> {
    let environment = if number.is_multiple_of(4) { "env:test" } else { "env:prod" };
    let tags = [
        environment.to_owned(),
        format!("team:t{}", number % 20),
        format!("region:r{}", number % 5),
        format!("tier:{}", number % 3),
        format!("c{}", number % 100),
    ];
    let body = json!({ "url": format!("https://{number}.shop.example/"), "tags": tags });
    inside.ask(owner, &Ask::of("sites.update").at("site", site).body(body)).await?;
    Ok(())
}

/// The cookie of a new session.
pub(crate) async fn sign_in(test: &TestApp, owner: &Member) -> Result<String, Box<dyn Error>> {
    let (app, now) = (&test.app, test.now());
    let secret = app.entropy.session_secret()?;
    let link = SignInLink::new(&secret, owner.user, now);
    app.store.create_sign_in_link(&link).await?;
    let session = Session::new(&secret, owner.user, "", now);
    app.store.begin_session(&link, &session, false).await?;
    let cookie = SessionCookie { user: owner.user, secret };
    Ok(format!("__Host-vedette={}", cookie.reveal()))
}

async fn page(
    inside: &Inside,
    cookie: &str,
    name: &str,
    path: &str,
    rounds: usize,
) -> Result<Vec<String>, Box<dyn Error>> {
    let ask = async |dashboard: &Dashboard, encoding| {
        ask(inside, dashboard, cookie, path, encoding).await
    };
    let dashboard = Dashboard::default();
    let (whole, _) = ask(&dashboard, "identity").await?;
    inside.test.meter().start();
    let (packed, _) = ask(&Dashboard::default(), "gzip").await?;
    let Spent { reads, rounds: trips, .. } = inside.test.meter().stop();
    let (mut first, mut again) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    for _ in 0..rounds {
        first.push(ask(&Dashboard::default(), "gzip").await?.1);
        again.push(ask(&dashboard, "gzip").await?.1);
    }
    let kilobytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1_000.0);
    Ok(vec![
        name.to_owned(),
        format!("{:.1}", median_ms(&first)),
        format!("{:.1}", median_ms(&again)),
        kilobytes(whole),
        kilobytes(packed),
        format!("{reads}"),
        trips.to_string(),
    ])
}

/// Requests a page. Returns its bytes, compressed as they are sent, and how long this took.
async fn ask(
    inside: &Inside,
    dashboard: &Dashboard,
    cookie: &str,
    path: &str,
    encoding: &str,
) -> Result<(usize, Duration), Box<dyn Error>> {
    let head = head(cookie, path, encoding)?;
    let began = Instant::now();
    let served = get(&inside.test, dashboard, &head).await?;
    Ok((served.len(), began.elapsed()))
}

/// The response of a page.
pub(crate) async fn get(
    test: &TestApp,
    dashboard: &Dashboard,
    head: &Parts,
) -> Result<Body, Box<dyn Error>> {
    let page = find(PAGES, head).ok_or("no page")?;
    let served = serve(dashboard, &test.app, page, head, |_| ready(Ok(Body::Empty))).await;
    if served.status() != StatusCode::OK {
        return Err(format!("{}: {}", head.uri, served.status()).into());
    }
    Ok(served.into_body())
}

pub(crate) fn head(cookie: &str, path: &str, encoding: &str) -> Result<Parts, Box<dyn Error>> {
    let request = Request::get(format!("https://monitor.test{path}"))
        .header(COOKIE, cookie)
        .header(ACCEPT_ENCODING, encoding);
    Ok(request.body(())?.into_parts().0)
}
