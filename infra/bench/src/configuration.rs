//! What it costs to apply a document of many sites.

use std::error::Error;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::inside::{Ask, Inside};
use crate::report::{line, table};

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Sites of the document
    #[arg(long, default_value_t = 2_000)]
    sites: usize,
}

/// Applies a document to an empty team, and once more without changes.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    let owner = inside.team().await;
    let site = |number: usize| {
        json!({
            "key": format!("site-{number}"),
            "url": format!("https://shop-{number}.example"),
            "name": format!("Shop {number}"),
            "tags": ["env:prod", format!("team:{}", number % 20)],
        })
    };
    let document =
        json!({ "name": "shop", "sites": (0..options.sites).map(site).collect::<Value>() });
    let mut rows = Vec::new();
    for (what, is_dry_run) in [
        ("dry run of a first apply", true),
        ("first apply", false),
        ("dry run without changes", true),
    ] {
        let (mut order, mut requests) = (json!({ "document": document, "dry_run": is_dry_run }), 0);
        let (mut changes, mut took) = (0, Duration::ZERO);
        let meter = inside.test.meter();
        meter.start();
        loop {
            let ask = Ask::of("configuration.apply").at("team", owner.team).body(order.clone());
            let (answer, time) = inside.ask(&owner, &ask).await?;
            let answer = &answer["data"];
            (requests, took) = (requests + 1, took + time);
            changes += answer["changes"].as_array().map_or(0, Vec::len);
            if is_dry_run || answer["left"] == 0 {
                break;
            }
            order["lease"] = answer["lease"].clone();
        }
        let spent = meter.stop();
        rows.push(vec![
            what.to_owned(),
            changes.to_string(),
            requests.to_string(),
            spent.reads.to_string(),
            spent.writes.to_string(),
            format!("{:.2}", took.as_secs_f64()),
        ]);
    }
    let bytes = document.to_string().len() / 1024;
    line(&format!("a document of {} sites, {bytes} KB of JSON", options.sites))?;
    let headings = ["", "changes", "requests", "read units", "write units", "s"];
    Ok(table(headings.map(str::to_owned).to_vec(), rows)?)
}
