//! What it takes to make the report of a large team, and to read it.

use std::error::Error;
use std::time::Instant;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::date;
use serde_json::json;
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::ReconcileMessage;
use vedette_testkit::Member;

use crate::inside::{Ask, Inside};
use crate::process::Usage;
use crate::report::{line, table};
use crate::seed;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Sites of the team, with a check every five minutes
    #[arg(long, default_value_t = 2_000)]
    sites: usize,
}

/// The sites that were down: one in so many.
const DOWN: usize = 20;

/// Makes the report about a month in a zone other than UTC, so that the checks at both ends are read.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    inside.test.set_clock("2026-10-20T00:00:00Z".parse()?);
    let owner = inside.team().await;
    let zone = json!({ "time_zone": "Europe/Berlin" });
    inside.ask(&owner, &Ask::of("time-zone.update").at("team", owner.team).body(zone)).await?;
    let began = Instant::now();
    let days = (date(2026, 11, 1), date(2026, 11, 30));
    for number in 0..options.sites {
        let site = inside.new_site(&owner, &format!("https://{number}.shop.example/")).await?;
        if number.is_multiple_of(DOWN) {
            go_down(&inside, site).await?;
        }
        seed::counted_days(&inside, site, days, &[days.1]).await?;
    }
    line(&format!("{} sites seeded in {:.0} s", options.sites, began.elapsed().as_secs_f64()))?;

    inside.test.set_clock("2026-12-01T05:00:00Z".parse()?);
    let usage = Usage::own();
    let mut rows = Vec::new();
    rows.push(measured(&inside, &usage, "making the report", make(&inside, &owner)).await?);
    let ask = Ask::of("team-reports.get").at("team", owner.team).at("period", "2026-11");
    let read = async { inside.ask(&owner, &ask).await.map(drop) };
    rows.push(measured(&inside, &usage, "reading it", read).await?);
    let headings =
        ["", "seconds", "CPU s", "MB more", "read units", "write units", "calls one after another"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}

/// A site is down for half an hour at the beginning of the month.
async fn go_down(inside: &Inside, site: SiteId) -> Result<(), Box<dyn Error>> {
    let start: Timestamp = "2026-10-31T23:05:00Z".parse()?;
    for (minutes, is_up) in [(0, false), (2, false), (30, true), (32, true), (34, true)] {
        let slot = start + jiff::SignedDuration::from_mins(minutes);
        inside.test.set_clock(slot);
        let finish = Finish::Completed(ToolResult::Status(seed::result(is_up)));
        let check = CheckId::automatic(site, Tool::Status, RunReason::Scheduled, slot);
        inside.test.end_run(site, check, finish).await;
    }
    Ok(())
}

async fn make(inside: &Inside, owner: &Member) -> Result<(), Box<dyn Error>> {
    let message = ReconcileMessage::Report(owner.team);
    Ok(vedette_reconciler::handle(&inside.test.app, &message).await?)
}

/// What some work takes.
async fn measured(
    inside: &Inside,
    usage: &Usage,
    name: &str,
    work: impl Future<Output = Result<(), Box<dyn Error>>>,
) -> Result<Vec<String>, Box<dyn Error>> {
    let meter = inside.test.meter();
    let (cpu, (before, _)) = (usage.cpu_seconds()?, usage.megabytes()?);
    meter.start();
    let began = Instant::now();
    work.await?;
    let took = began.elapsed().as_secs_f64();
    let spent = meter.stop();
    let (after, _) = usage.megabytes()?;
    Ok(vec![
        name.to_owned(),
        format!("{took:.1}"),
        format!("{:.1}", usage.cpu_seconds()? - cpu),
        format!("{:.0}", (after - before).max(0.0)),
        format!("{:.0}", spent.reads),
        format!("{:.0}", spent.writes),
        spent.rounds.to_string(),
    ])
}
