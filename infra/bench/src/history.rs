//! Whether a page of a history costs more if the same days have more checks.

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use vedette_domain::id::SiteId;
use vedette_testkit::{Member, Spent};

use crate::inside::{Ask, Inside};
use crate::report::{line, median_ms, table};
use crate::seed;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Checks in each history, the smallest first
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000])]
    checks: Vec<u64>,
    /// How often each page is requested
    #[arg(long, default_value_t = 25)]
    rounds: usize,
}

/// The lists to request.
const LISTS: [(&str, &str); 10] = [
    ("all", ""),
    ("one tool", "type=dns"),
    ("completed", "status=completed"),
    ("automatic", "automatic=true"),
    ("on demand", "automatic=false"),
    ("one reason", "run_reason=incident_follow_up"),
    ("half of the days", "from=2026-03-01&to=2026-08-31"),
    ("several filters", "type=status&status=completed&automatic=true&from=2026-03-01"),
    ("25 failed automatic checks", RARE_FAILED),
    ("25 skipped on-demand checks", RARE_SKIPPED),
];
const RARE_FAILED: &str = "status=failed&automatic=true";
const RARE_SKIPPED: &str = "status=skipped";

/// Returns the number of a page, given the number of the last one.
type Number = fn(u64) -> u64;

/// The pages of each list.
const PAGES: [(&str, Number); 3] =
    [("first", |_| 1), ("middle", |last| last.div_ceil(2)), ("last", |last| last)];

/// One page of one site's list.
struct Page {
    ask: Ask,
    spent: Spent,
    times: Vec<Duration>,
}

/// Fills the histories, then requests their pages in turn.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    // So the whole of today is counted.
    let midnight: Timestamp = "2026-11-21T00:00:00Z".parse()?;
    inside.test.set_clock(midnight - SignedDuration::from_secs(1));
    let owner = inside.team().await;
    let mut sites = Vec::new();
    for &checks in &options.checks {
        let site = inside.new_site(&owner, &format!("https://shop.example/{checks}")).await?;
        let began = Instant::now();
        seed::history(&inside, site, checks).await?;
        line(&format!("{checks:>9} checks seeded in {:.1} s", began.elapsed().as_secs_f64()))?;
        sites.push((site, checks));
    }

    // One entry for each list and page, with one page for each site.
    let mut pages = Vec::new();
    for (list, query) in LISTS {
        for (name, number) in PAGES {
            let mut of_sites = Vec::new();
            for &(site, checks) in &sites {
                of_sites.push(page(&inside, &owner, site, query, number, checks).await?);
            }
            pages.push((format!("{list}, {name}"), of_sites));
        }
    }
    for _ in 0..options.rounds {
        for page in pages.iter_mut().flat_map(|(_, of_sites)| of_sites) {
            page.times.push(inside.ask(&owner, &page.ask).await?.1);
        }
    }
    report(&options.checks, &pages)
}

/// A page with the units that it takes.
async fn page(
    inside: &Inside,
    owner: &Member,
    site: SiteId,
    query: &str,
    number: Number,
    checks: u64,
) -> Result<Page, Box<dyn Error>> {
    let list = Ask::of("checks.list").at("site", site);
    let (first, _) = inside.ask(owner, &list.clone().query(query)).await?;
    let (total, last) = (first["meta"]["total"].as_u64(), first["meta"]["last_page"].as_u64());
    let expected = match query {
        "" => Some(checks),
        RARE_FAILED | RARE_SKIPPED => Some(seed::RARE),
        _ => total,
    };
    if total != expected {
        return Err(format!("{total:?} checks, and not {expected:?}").into());
    }
    let number = number(last.ok_or("no last page")?);
    let ask = list.query(format!("{query}&page={number}"));
    inside.test.meter().start();
    let (shown, _) = inside.ask(owner, &ask).await?;
    let spent = inside.test.meter().stop();
    let rows = shown["data"].as_array().map_or(0, Vec::len) as u64;
    let due = total.unwrap_or_default().saturating_sub((number - 1) * 25).min(25);
    if rows != due {
        return Err(format!("{rows} rows, and not {due}: {query}, page {number}").into());
    }
    Ok(Page { ask, spent, times: Vec::new() })
}

fn report(sizes: &[u64], pages: &[(String, Vec<Page>)]) -> Result<(), Box<dyn Error>> {
    let mut headings = vec!["list".to_owned()];
    headings.extend(sizes.iter().map(|size| format!("ms at {size}")));
    headings.push("ratio".to_owned());
    headings.extend(sizes.iter().map(|size| format!("read units at {size}")));
    headings.extend(["ratio", "round trips"].map(str::to_owned));
    let mut rows = Vec::new();
    let (mut slowest, mut dearest) = (0.0_f64, 0.0_f64);
    for (name, of_sites) in pages {
        let times: Vec<f64> = of_sites.iter().map(|page| median_ms(&page.times)).collect();
        let units: Vec<f64> = of_sites.iter().map(|page| page.spent.reads).collect();
        let (slower, dearer) = (growth(&times), growth(&units));
        (slowest, dearest) = (slowest.max(slower), dearest.max(dearer));
        let mut row = vec![name.clone()];
        row.extend(times.iter().map(|ms| format!("{ms:.1}")));
        row.push(format!("{slower:.2}"));
        row.extend(units.iter().map(|units| format!("{units}")));
        row.push(format!("{dearer:.2}"));
        let trips = of_sites.iter().map(|page| page.spent.round_trips).max();
        row.push(trips.unwrap_or_default().to_string());
        rows.push(row);
    }
    table(headings, rows)?;
    line(&format!("largest to smallest, at most: {slowest:.2} in time, {dearest:.2} in units"))?;
    Ok(())
}

/// The last value divided by the first.
fn growth(values: &[f64]) -> f64 {
    values.first().zip(values.last()).map_or(f64::NAN, |(first, last)| last / first)
}
