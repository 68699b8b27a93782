//! How long clients of the API wait while the same process checks many sites every minute.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use futures::future::try_join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};
use vedette_domain::accounts::account::{Membership, Role};
use vedette_domain::accounts::plan::Plan;
use vedette_domain::accounts::team::Team;
use vedette_domain::id::{SiteId, TeamId};
use vedette_domain::sites::settings::Settings;
use vedette_embedded::{Reached, reach, store};
use vedette_runtime::Entropy;

use crate::cadence::lags;
use crate::process::{Service, Setup};
use crate::recording_server::{RecordingServer, now};
use crate::report::{line, percentile, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The service's binary
    #[arg(long, default_value = "target/release/vedette")]
    binary: PathBuf,
    /// Sites of another team, which the service checks every minute in the meantime
    #[arg(long, default_value_t = 10_000)]
    sites: usize,
    /// Sites of the team whose sites the clients read and change; the service checks these every minute, too
    #[arg(long, default_value_t = 100)]
    own: usize,
    /// Clients, each of which has one request in progress
    #[arg(long, default_value_t = 50)]
    clients: usize,
    /// Milliseconds between the starts of a client's requests. The default is the rate limit of a token. With 1,
    /// clients send the next request as soon as they have a response
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    pause: u64,
    /// Seconds to measure
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// The requests that clients send in turn.
const REQUESTS: [&str; 3] = ["a site", "a list of sites", "a change of a site's name"];

/// Adds sites, and sends the clients' requests.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let (target, data) = (RecordingServer::start()?, tempfile::tempdir()?);
    let setup =
        Setup { binary: &options.binary, data: data.path(), minute: "60s", fsync: "everysec" };
    let service = Service::start(setup).await?;
    let began = Instant::now();
    let page = |number| ("answer", number);
    let others = service.watch(&target.address, (0..options.sites).map(page)).await?;
    let team = new_team(data.path(), &service).await?;
    let numbers = options.sites..options.sites + options.own;
    let own = service.watch_for(team, &target.address, numbers.clone().map(page)).await?;
    let urls = numbers.map(|number| format!("{}/answer/{number}", target.address));
    let own: Vec<_> = own.into_iter().zip(urls).collect();
    line(&format!(
        "{} sites created in {:.1} s",
        others.len() + own.len(),
        began.elapsed().as_secs_f64()
    ))?;

    // Wait a minute for the sites' first runs.
    tokio::time::sleep(Duration::from_mins(1)).await;
    target.take();
    let (from, cpu) = (now()?, service.usage().cpu_seconds()?);
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let (asked, own) = (&service, &own);
    let clients = (0..options.clients).map(|client| {
        let request = move |round| request(asked, team, own, client, round);
        ask(options, client, until, request)
    });
    let mut answers: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    for (kind, answer) in try_join_all(clients).await?.into_iter().flatten() {
        answers.entry(kind).or_default().push(answer);
    }
    let (to, cpu) = (now()?, service.usage().cpu_seconds()? - cpu);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let late = lags(&target, &others, from, to);

    let mut rows = Vec::new();
    for (kind, answers) in answers {
        let mut times: Vec<f64> =
            answers.iter().map(|answer| answer.took.as_secs_f64() * 1_000.0).collect();
        times.sort_unstable_by(f64::total_cmp);
        let failed = answers.iter().filter(|answer| !answer.is_success).count();
        let mut row = vec![REQUESTS[kind].to_owned(), times.len().to_string(), failed.to_string()];
        let at = [0.5, 0.95, 0.99, 1.0].map(|share| percentile(&times, share));
        row.extend(at.iter().map(|ms| format!("{ms:.0}")));
        rows.push(row);
    }
    let headings = ["", "requests", "failed", "ms, median", "95 %", "99 %", "worst"];
    table(headings.map(str::to_owned).to_vec(), rows)?;
    line(&format!(
        "{} checks due meanwhile, {:.0} ms late at the median, {:.0} ms at 99 %, {:.0} ms at worst; \
         {:.1} CPU s in {} s, {:.0} MB",
        late.len(),
        percentile(&late, 0.5),
        percentile(&late, 0.99),
        percentile(&late, 1.0),
        cpu,
        options.seconds,
        service.usage().megabytes()?.0,
    ))?;
    service.stop().await
}

/// Adds another team of the service's user through the table's socket, as the operator's command line does.
async fn new_team(data: &Path, service: &Service) -> Result<TeamId, Box<dyn Error>> {
    let Reached::Served(socket) = reach(data).await? else {
        return Err("the service has ended".into());
    };
    let me = service.get("/me").await?;
    let email = me["data"]["user"]["email"].as_str().ok_or("no user")?;
    let store = store(socket.http_client());
    let user = store.user_by_email(email).await?.ok_or("no user")?.id;
    let team = Team::new(Entropy::system().team_id()?, "Measured", Plan::Agency, now()?);
    let membership = Membership { team: team.id, user, role: Role::Owner };
    let settings = Settings::defaults(team.plan);
    store.create_team(&team, &settings, &membership).await?;
    Ok(team.id)
}

/// The request of a client in a round, and which of [`REQUESTS`] it is. The clients begin with different ones.
fn request(
    service: &Service,
    team: TeamId,
    sites: &[(SiteId, String)],
    client: usize,
    round: usize,
) -> (usize, RequestBuilder) {
    let kind = (client + round) % REQUESTS.len();
    let (site, url) = &sites[(client + round * 7) % sites.len()];
    let request = match kind {
        0 => service.request(Method::GET, &format!("/sites/{site}")),
        1 => service.request(Method::GET, &format!("/teams/{team}/sites")),
        _ => service
            .request(Method::PATCH, &format!("/sites/{site}"))
            .json(&json!({ "url": url, "name": format!("Shop {client} {round}") })),
    };
    (kind, request)
}

/// How long it took to receive the whole response.
struct Answer {
    took: Duration,
    is_success: bool,
}

/// Sends a client's requests.
async fn ask(
    options: &Options,
    client: usize,
    until: Instant,
    request: impl Fn(usize) -> (usize, RequestBuilder),
) -> Result<Vec<(usize, Answer)>, reqwest::Error> {
    let pause = Duration::from_millis(options.pause);
    // The clients' starts are spread out.
    tokio::time::sleep(pause * client as u32 / options.clients as u32).await;
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut answers = Vec::new();
    for round in 0.. {
        ticks.tick().await;
        let began = Instant::now();
        if began >= until {
            break;
        }
        let (kind, request) = request(round);
        let response = request.send().await?;
        let is_success = response.status().is_success();
        response.bytes().await?;
        answers.push((kind, Answer { took: began.elapsed(), is_success }));
    }
    Ok(answers)
}
