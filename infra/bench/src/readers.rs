//! What readers of a status page cost while many sites are checked, and whether checks start late because of them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use futures::future::try_join_all;
use reqwest::Client;
use reqwest::header::{ACCEPT_ENCODING, ETAG, IF_NONE_MATCH};
use tokio::time::{Instant, MissedTickBehavior, interval};
use vedette_domain::id::{StatusPageId, TeamId};
use vedette_domain::status_pages::{PublishedComponent, PublishedPage, Slug, StatusPage};
use vedette_embedded::{Reached, reach, store};
use vedette_runtime::{Entropy, EntropyError};
use vedette_store::{Audit, Store};
use vedette_testkit::status_pages::published_page;

use crate::cadence::lags;
use crate::process::{Service, Setup};
use crate::recording_server::{RecordingServer, now};
use crate::report::{line, percentile, table};

/// How much to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// Sites, which are checked every minute in the meantime
    #[arg(long, default_value_t = 1_000)]
    sites: usize,
    /// Components of the status page
    #[arg(long, default_value_t = 10)]
    components: u32,
    /// Requests for the page per minute
    #[arg(long, default_value_t = 10_000)]
    readers: u32,
    /// Connections through which the requests come
    #[arg(long, default_value_t = 50)]
    connections: u32,
    /// Seconds to measure without readers, and with each kind of reader
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

const SLUG: &str = "measured";

/// How readers request the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// There are none.
    None,
    /// Each has never seen the page.
    New,
    /// Each has the page and asks whether it has changed.
    Returning,
}

/// Adds sites and a page, and sends the requests of its readers.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
    let setup =
        Setup { binary: &options.binary, data: data.path(), minute: "60s", fsync: "everysec" };
    let service = Service::start(setup).await?;
    let sites = (0..options.sites).map(|number| ("answer", number));
    let sites = service.watch(&target.address, sites).await?;
    let client = Client::new();
    let url = service.page(&format!("/status/{SLUG}"));
    add_page(data.path(), &service, options.components).await?;
    let first = client.get(&url).header(ACCEPT_ENCODING, "gzip").send().await?;
    let tag = first.headers()[ETAG].to_str()?.to_owned();
    line(&format!("the page has {} KB, compressed", first.bytes().await?.len() / 1_000))?;

    // First runs and schedules settle for a minute.
    tokio::time::sleep(Duration::from_mins(1)).await;
    let mut rows = Vec::new();
    for readers in [Readers::None, Readers::New, Readers::Returning] {
        target.take();
        let (from, cpu) = (now()?, service.usage().cpu_seconds()?);
        let until = Instant::now() + Duration::from_secs(options.seconds);
        let mut times = match readers {
            Readers::None => Vec::new(),
            Readers::New => read(options, &client, &url, None, until).await?,
            Readers::Returning => read(options, &client, &url, Some(&tag), until).await?,
        };
        tokio::time::sleep_until(until).await;
        let (to, cpu) = (now()?, service.usage().cpu_seconds()? - cpu);
        let late = lags(&target, &sites, from, to);
        times.sort_unstable_by(f64::total_cmp);
        let mut row = vec![format!("{readers:?}").to_lowercase(), times.len().to_string()];
        row.extend([0.5, 0.99].map(|share| match times[..] {
            [] => "–".to_owned(),
            _ => format!("{:.1}", percentile(&times, share)),
        }));
        row.push(late.len().to_string());
        row.extend([0.5, 0.99].map(|share| format!("{:.0}", percentile(&late, share))));
        row.push(format!("{:.0}", 100.0 * cpu / options.seconds as f64));
        rows.push(row);
    }
    let headings = [
        "readers",
        "requests",
        "ms, median",
        "99 %",
        "checks",
        "ms late, median",
        "99 %",
        "% of a CPU",
    ];
    table(headings.map(str::to_owned).to_vec(), rows)?;
    service.stop().await
}

/// Publishes a page with this many components through the table's socket.
async fn add_page(data: &Path, service: &Service, components: u32) -> Result<(), Box<dyn Error>> {
    let Reached::Served(socket) = reach(data).await? else {
        return Err("the service has ended".into());
    };
    let (store, entropy, now) = (store(socket.http_client()), Entropy::system(), now()?);
    let teams = service.get("/teams").await?;
    let team = teams["data"][0]["uuid"].as_str().and_then(TeamId::parse).ok_or("no team")?;
    let mut published = published_page(now);
    let one = published.groups.swap_remove(1).components.swap_remove(0);
    let component = |number: u32| {
        let name = format!("Component {number}");
        Ok(PublishedComponent { id: entropy.component_id()?, name, ..one.clone() })
    };
    published.groups[0].components =
        (1..=components).map(component).collect::<Result<_, EntropyError>>()?;
    publish(&store, entropy.status_page_id()?, team, SLUG, &published).await
}

/// Publishes a given page under a slug, without composing it from checks as the reconciler does.
pub(crate) async fn publish(
    store: &Store,
    id: StatusPageId,
    team: TeamId,
    slug: &str,
    published: &PublishedPage,
) -> Result<(), Box<dyn Error>> {
    let page = StatusPage {
        id,
        team,
        slug: Slug::parse(slug)?,
        name: published.name.clone(),
        message: published.message.clone(),
        groups: Vec::new(),
        selector: None,
        publishes_new_sites: false,
        left: Vec::new(),
        link: None,
        names_windows: true,
        offers_subscriptions: published.offers_subscriptions,
        managed_by: None,
        rev: 1,
        created_at: published.generated_at,
        updated_at: published.generated_at,
    };
    store.create_status_page(&page, Audit::None).await?;
    match store.put_published(&page, 1, published).await? {
        true => Ok(()),
        false => Err("the page was not published".into()),
    }
}

/// How long each answer took, in milliseconds.
async fn read(
    options: &Options,
    client: &Client,
    url: &str,
    known: Option<&str>,
    until: Instant,
) -> Result<Vec<f64>, reqwest::Error> {
    let pause = Duration::from_mins(1) * options.connections / options.readers;
    let through = async |connection: u32| {
        tokio::time::sleep(pause * connection / options.connections).await;
        let mut ticks = interval(pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut times = Vec::new();
        loop {
            ticks.tick().await;
            let began = Instant::now();
            if began >= until {
                return Ok(times);
            }
            let mut request = client.get(url).header(ACCEPT_ENCODING, "gzip");
            if let Some(tag) = known {
                request = request.header(IF_NONE_MATCH, tag);
            }
            request.send().await?.error_for_status()?.bytes().await?;
            times.push(began.elapsed().as_secs_f64() * 1_000.0);
        }
    };
    let all = try_join_all((0..options.connections).map(through)).await?;
    Ok(all.into_iter().flatten().collect())
}
