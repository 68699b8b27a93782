//! How long a reconciliation of many teams takes if each call takes as long as on AWS.

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use vedette_domain::checks::tool::Tool;
use vedette_reconciler::reconcile;
use vedette_runtime::aws::app;
use vedette_runtime::config::Schedules;
use vedette_testkit::aws::{Aws, deployment};

use crate::inside::{Ask, Inside};
use crate::process::Usage;
use crate::report::{line, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Teams
    #[arg(long, default_value_t = 1_000)]
    teams: u64,
    /// Sites of each team
    #[arg(long, default_value_t = 10)]
    sites: u64,
    /// The shortest duration of a call to the table or to EventBridge Scheduler, in milliseconds
    #[arg(long, default_value_t = 20)]
    latency: u64,
}

/// Measures a reconciliation that creates all schedules, and one that finds all of them.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    for number in 0..options.teams {
        let owner = inside.team().await;
        let urls =
            (0..options.sites).map(|site| format!("https://shop-{site}.team-{number}.example"));
        let sites: Vec<_> = urls.map(|url| json!({ "url": url })).collect();
        let bulk = Ask::of("sites.bulk").at("team", owner.team).body(json!({ "sites": sites }));
        inside.ask(&owner, &bulk).await?;
    }
    let test = &inside.test;
    let aws = Aws::default();
    let mut service = test.app.service.clone();
    service.tools = Tool::ALL.to_vec();
    let deployment = deployment(Schedules::Each);
    let mut deployed = app(service, deployment, &aws.sdk(test.table.database.http_client()));
    // Messages are not part of the measurement.
    deployed.queue = test.app.queue.clone();
    let usage = Usage::own();
    let mut rows = Vec::new();
    for what in ["all schedules are new", "all schedules exist"] {
        {
            let mut account = aws.account();
            account.latency = Duration::from_millis(options.latency);
            account.calls.clear();
            account.refused = 0;
        }
        let used = usage.cpu_seconds()?;
        let started = Instant::now();
        let reconciled = reconcile(&deployed, &|_| {}).await?;
        let took = started.elapsed();
        let account = aws.account();
        let calls: u64 = account.calls.values().sum();
        if account.refused > 0 || reconciled.sites != options.teams * options.sites {
            return Err(format!("{reconciled:?}, refused: {}", account.refused).into());
        }
        let in_turn = Duration::from_millis(options.latency) * u32::try_from(calls)?;
        rows.push(vec![
            what.to_owned(),
            reconciled.sites.to_string(),
            calls.to_string(),
            format!("{:.0}", in_turn.as_secs_f64()),
            format!("{:.1}", usage.cpu_seconds()? - used),
            format!("{:.1}", took.as_secs_f64()),
        ]);
    }
    line(&format!(
        "{} teams of {} sites, {} ms a call",
        options.teams, options.sites, options.latency
    ))?;
    let headings =
        ["", "sites", "calls to EventBridge Scheduler", "s, one after another", "CPU s", "s"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}
