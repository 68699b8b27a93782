//! What it costs to notify three channels of a new issue, and to repeat all open issues to an Alertmanager: units of the
//! table, and processor time.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::routing::post;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use vedette_domain::alerts::channel::alertmanager::Alertmanager;
use vedette_domain::alerts::channel::slack::Slack;
use vedette_domain::alerts::channel::webhook::Webhook;
use vedette_domain::alerts::channel::{
    Channel, Filter, SecretUrl, SigningKey, SigningKeys, Target,
};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId, TeamId};
use vedette_domain::message::{AlertMessage, Message};
use vedette_notifier::send::{MailConfig, MailTransport, Sender};
use vedette_probe::ssrf_guard::SsrfGuard;
use vedette_runs::record_run;
use vedette_runtime::Destination;
use vedette_testkit::channels::add_channel;
use vedette_testkit::{Spent, loopback};

use crate::inside::Inside;
use crate::process::Usage;
use crate::report::{line, table};
use crate::seed;
use vedette_store::Audit;

/// How many alerts to send.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Issues that open, each of a different site
    #[arg(long, default_value_t = 1_000)]
    openings: u32,
}

/// The sender of the emails.
const FROM: &str = "alerts@vedette.test";

/// Opens issues, notifies a chat, an email address and a webhook of each, and prints what that cost.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    let (test, owner) = (&inside.test, inside.team().await);
    let before = test.now();
    let mut opening = Spent::default();
    for number in 0..options.openings {
        let site = inside.new_site(&owner, &format!("https://shop-{number}.example")).await?;
        go_down(&inside, owner.team, site, RunReason::Scheduled).await?;
        // The time of the confirmation retry.
        test.advance(SignedDuration::from_mins(2));
        test.meter().start();
        go_down(&inside, owner.team, site, RunReason::ConfirmationRetry).await?;
        opening = test.meter().stop();
    }
    let mails = tempfile::tempdir()?;
    let receiver = receiver()?;
    for channel in channels(receiver) {
        add(&inside, owner.team, channel, before).await?;
    }
    let read = |name: &str| (name == "VEDETTE_MAIL_FROM").then(|| FROM.to_owned());
    let mail = MailConfig::read(&read, MailTransport::Folder(mails.path().to_owned()))?;
    let sender = Sender::new(Arc::new(SsrfGuard::new(loopback())?), mail);

    let issues: Vec<_> = test.queue.drain(Destination::Alerts);
    let (mut fan_out, mut tell) = (Spent::default(), Spent::default());
    let usage = Usage::own();
    let (used, began) = (usage.cpu_seconds()?, Instant::now());
    let mut sent = 0;
    for (number, (message, _)) in issues.iter().enumerate() {
        // Counting takes time, so only one of them is counted.
        let is_counted = number == issues.len() / 2;
        // Otherwise, one alert would be about several issues.
        test.advance(SignedDuration::from_mins(2));
        let taken = handle(&inside, &sender, message, is_counted).await?;
        fan_out = if is_counted { taken } else { fan_out };
        for (message, _) in test.queue.drain(Destination::Alerts) {
            let Message::Alert(AlertMessage::Channel { .. }) = message else { continue };
            let taken = handle(&inside, &sender, &message, is_counted).await?;
            tell = if is_counted { plus(tell, taken) } else { tell };
            sent += 1;
        }
        test.queue.drain(Destination::Alerts);
    }
    let (cpu, took) = (usage.cpu_seconds()? - used, began.elapsed());
    let arrived = std::fs::read_dir(mails.path())?.count();
    if arrived != options.openings as usize || sent != 3 * options.openings {
        return Err(format!("{arrived} mails and {sent} messages").into());
    }
    let repeat = repeat(&inside, &sender, (owner.team, receiver), before).await?;
    let row = |name: &str, Spent { reads, writes, round_trips, rounds }: Spent| {
        let figures = [reads.to_string(), writes.to_string()];
        let trips = [round_trips.to_string(), rounds.to_string()];
        [name.to_owned()].into_iter().chain(figures).chain(trips).collect::<Vec<_>>()
    };
    let rows = vec![
        row("the check that opens an issue, with the entry of the outbox", opening),
        row("recording it for the channels", fan_out),
        row("sending the three messages", tell),
        row(&format!("repeating {} open issues to an Alertmanager", options.openings), repeat),
    ];
    let headings = ["", "read units", "write units", "round trips", "one after another"];
    table(headings.map(str::to_owned).to_vec(), rows)?;
    line(&format!(
        "{sent} alerts in {:.1} s: {:.0} a processor second, receivers in this process",
        took.as_secs_f64(),
        f64::from(sent) / cpu,
    ))?;
    Ok(())
}

/// Adds a channel that has received alerts since `since`.
async fn add(
    inside: &Inside,
    team: TeamId,
    channel: (&str, Target),
    since: Timestamp,
) -> Result<Channel, Box<dyn Error>> {
    let mut channel = add_channel(&inside.test.app, team, channel, Filter::default()).await;
    (channel.since, channel.rev) = (Some(since), 2);
    inside.test.app.store.put_channel(&channel, Audit::None).await?;
    Ok(channel)
}

/// What it costs to send all open issues once more to an Alertmanager that knows them.
async fn repeat(
    inside: &Inside,
    sender: &Sender,
    (team, receiver): (TeamId, SocketAddr),
    since: Timestamp,
) -> Result<Spent, Box<dyn Error>> {
    let url = SecretUrl::new(format!("http://{receiver}"));
    let target = Target::Alertmanager(Alertmanager { url, token: None });
    let channel = add(inside, team, ("manager", target), since).await?;
    vedette_notifier::rebuild(&inside.test.app, team).await?;
    let look = Message::Alert(AlertMessage::Channel { team, channel: channel.id });
    handle(inside, sender, &look, false).await?;
    inside.test.advance(SignedDuration::from_mins(5));
    handle(inside, sender, &look, true).await
}

fn plus(one: Spent, other: Spent) -> Spent {
    Spent {
        reads: one.reads + other.reads,
        writes: one.writes + other.writes,
        round_trips: one.round_trips + other.round_trips,
        rounds: one.rounds + other.rounds,
    }
}

async fn handle(
    inside: &Inside,
    sender: &Sender,
    message: &Message,
    is_counted: bool,
) -> Result<Spent, Box<dyn Error>> {
    let Message::Alert(message) = message else { return Err("not an alert".into()) };
    if is_counted {
        inside.test.meter().start();
    }
    vedette_notifier::handle(&inside.test.app, sender, message).await?;
    Ok(inside.test.meter().stop())
}

/// Saves a failed status check of a site.
pub(crate) async fn go_down(
    inside: &Inside,
    team: TeamId,
    site: SiteId,
    reason: RunReason,
) -> Result<(), Box<dyn Error>> {
    let app = &inside.test.app;
    let context = app.store.run_context(team, site, Tool::Status).await?.ok_or("no site")?;
    let check = CheckId::automatic(site, Tool::Status, reason, inside.test.now());
    let finish = Finish::Completed(ToolResult::Status(seed::result(false)));
    let (run, state) = context.begin(check, app.service.time_scale);
    record_run(app, &run, state, &finish, None).await?;
    Ok(())
}

fn channels(receiver: SocketAddr) -> [(&'static str, Target); 3] {
    let url = |path: &str| SecretUrl::new(format!("http://{receiver}/{path}"));
    let current = SigningKey::from_random([7; SigningKey::BYTES]);
    let keys = SigningKeys { current, previous: None };
    [
        ("chat", Target::Slack(Slack { url: url("chat") })),
        ("mail", Target::Email { address: "ops@example.com".to_owned() }),
        ("webhook", Target::Webhook(Webhook { url: url("webhook"), keys })),
    ]
}

/// Starts a server that accepts every POST.
fn receiver() -> Result<SocketAddr, Box<dyn Error>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = Router::new().route("/{*kind}", post(async |_: axum::body::Bytes| "ok"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}
