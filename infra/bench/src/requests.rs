//! What requests and checks cost: read and write units, round trips, how many of these one after another, and time.

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Args;
use futures::stream::{self, TryStreamExt as _};
use jiff::SignedDuration;
use serde_json::{Value, json};
use vedette_checker::{EngineConfig, Engines, Handled};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::tool::{RunReason, Tool};
use vedette_domain::id::{CheckId, SiteId};
use vedette_domain::message::{CheckMessage, Message, RunOrder};
use vedette_runs::record_run;
use vedette_runtime::Destination;
use vedette_store::TeamWithSettings;
use vedette_testkit::{Member, Spent, WebServer, loopback};

use crate::inside::{Ask, Inside, uuid};
use crate::report::{line, median_ms, table};
use crate::seed;

/// The size of the measurement.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Sites of the large team, in hundreds
    #[arg(long, default_value_t = 100)]
    hundreds: u32,
    /// How often each request is sent
    #[arg(long, default_value_t = 9)]
    rounds: u32,
}

const URL: &str = "https://shop.example";

/// The measurements so far.
struct Bench {
    inside: Inside,
    engines: Engines,
    rounds: u32,
    rows: Vec<Vec<String>>,
}

/// Fills the table, and sends one kind of request after the other.
pub(crate) async fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let inside = Inside::start().await?;
    let engines = Engines::new(loopback(), EngineConfig::default())?;
    let mut bench = Bench { inside, engines, rounds: options.rounds, rows: Vec::new() };
    bench.of_lists("100", 1).await?;
    bench.of_lists(&format!("{}", options.hundreds * 100), options.hundreds).await?;
    bench.of_reports().await?;
    let owner = bench.inside.team().await;
    bench.of_sites(&owner).await?;
    bench.of_checks(&owner).await?;
    bench.of_runs(&owner).await?;
    let headings = ["", "read units", "write units", "round trips", "one after another", "ms"];
    Ok(table(headings.map(str::to_owned).to_vec(), bench.rows)?)
}

impl Bench {
    /// Measures lists of a team with `hundreds` × 100 sites, each with a check and some with an issue.
    async fn of_lists(&mut self, name: &str, hundreds: u32) -> Result<(), Box<dyn Error>> {
        let owner = self.inside.team().await;
        let team = owner.team;
        let began = Instant::now();
        let mut sites = Vec::new();
        for hundred in 0..hundreds {
            let (created, _) = self.inside.ask(&owner, &bulk(&owner, hundred)).await?;
            let ids = created["data"]["created"].as_array().into_iter().flatten();
            sites.extend(ids.filter_map(|site| SiteId::parse(uuid(site)?)));
            self.take_messages();
        }
        let configured = self.inside.settings_of(&owner).await?;
        let check = |reason, is_up| {
            let (bench, configured) = (&*self, &configured);
            move |site| bench.record(configured, site, reason, is_up)
        };
        // The newest forty are down.
        let (up, down) = sites.split_at(sites.len() - 40);
        let up = stream::iter(up.iter().map(|&site| Ok(site)));
        up.try_for_each_concurrent(8, check(RunReason::Scheduled, true)).await?;
        for reason in [RunReason::Scheduled, RunReason::ConfirmationRetry] {
            let down = stream::iter(down.iter().map(|&site| Ok(site)));
            down.try_for_each_concurrent(8, check(reason, false)).await?;
            self.inside.test.advance(SignedDuration::from_mins(2));
        }
        self.take_messages();
        line(&format!("{} sites seeded in {:.1} s", sites.len(), began.elapsed().as_secs_f64()))?;

        let list = || Ask::of("sites.list").at("team", team);
        let last = format!("page={}", hundreds * 4);
        for (part, query) in [
            ("first page", ""),
            ("last page", last.as_str()),
            ("search", "search=shop-42"),
            ("filtered", "tool=status&status=completed"),
            ("by name", "sort=name"),
        ] {
            let ask = list().query(query);
            self.asked(&format!("GET sites of {name}, {part}"), &owner, |_| ask.clone()).await?;
        }
        let issues = Ask::of("issues.list");
        self.asked(&format!("GET issues, {name} sites"), &owner, |_| issues.clone()).await
    }

    async fn of_reports(&mut self) -> Result<(), Box<dyn Error>> {
        let owner = self.inside.team().await;
        let site = self.inside.new_site(&owner, URL).await?;
        seed::history(&self.inside, site, 100_000).await?;
        for (route, name) in [
            ("reports.uptime", "GET uptime report of a year"),
            ("reports.performance", "GET performance report of a year"),
        ] {
            let ask = Ask::of(route).at("site", site).query("days=365");
            self.asked(name, &owner, |_| ask.clone()).await?;
        }
        Ok(())
    }

    async fn of_sites(&mut self, owner: &Member) -> Result<(), Box<dyn Error>> {
        let post = Ask::of("sites.create").at("team", owner.team);
        let new = |round| json!({ "url": format!("https://new.example/{round}"), "name": "New" });
        self.asked("POST site", owner, |round| post.clone().body(new(round))).await?;
        let member = owner.clone();
        self.asked("POST 100 sites", owner, |round| bulk(&member, round)).await?;

        let site = self.watched(owner, URL).await?;
        let get = Ask::of("sites.get").at("site", site);
        self.asked("GET site", owner, |_| get.clone()).await?;
        let patch = Ask::of("sites.update").at("site", site);
        let name = |round| json!({ "url": URL, "name": format!("Shop {round}") });
        self.asked("PATCH site, name", owner, |round| patch.clone().body(name(round))).await?;
        let cadence = |round| {
            let minutes = if round % 2 == 0 { 10 } else { 5 };
            let status = json!({ "cadence_minutes": minutes });
            json!({ "url": URL, "monitoring_settings": { "tools": { "status": status } } })
        };
        self.asked("PATCH site, settings", owner, |round| patch.clone().body(cadence(round)))
            .await?;

        let mut doomed = Vec::new();
        for number in 0..2 * self.rounds {
            let url = format!("https://old.example/{number}");
            doomed.push(self.watched(owner, &url).await?);
        }
        let delete = Ask::of("sites.delete");
        self.asked("DELETE site", owner, |round| delete.clone().at("site", doomed[round as usize]))
            .await
    }

    async fn of_checks(&mut self, owner: &Member) -> Result<(), Box<dyn Error>> {
        let target = WebServer::start().await;
        let site = self.watched(owner, &target.url).await?;
        let list = Ask::of("checks.list").at("site", site);
        let (checks, _) = self.inside.ask(owner, &list).await?;
        let automatic = uuid(&checks["data"][0]).ok_or("no check")?.to_owned();
        let get = Ask::of("checks.get");
        self.asked("GET check, automatic", owner, |_| get.clone().at("check", &automatic)).await?;

        let order = Ask::of("checks.create").at("site", site).body(json!({ "tools": ["status"] }));
        let mut ordered = Vec::new();
        let (mut orders, mut runs, mut deletions) = (Costs::new(), Costs::new(), Costs::new());
        for round in 0..2 * self.rounds {
            self.inside.test.advance(SignedDuration::from_mins(1));
            let answer = orders.one(self, round, owner, &order).await?;
            ordered.push(uuid(&answer["data"][0]).ok_or("no check")?.to_owned());
            for message in self.take_messages() {
                if let Message::Check(message) = message {
                    runs.run(self, round, &message).await?;
                }
            }
        }
        let on_demand = ordered[0].clone();
        self.asked("GET check, on demand", owner, |_| get.clone().at("check", &on_demand)).await?;
        for (round, check) in (0..).zip(&ordered) {
            let delete = Ask::of("checks.delete").at("check", check);
            deletions.one(self, round, owner, &delete).await?;
        }
        self.rows.push(orders.row("POST checks, one tool"));
        self.rows.push(deletions.row("DELETE check"));
        self.rows.push(runs.row("run of an on-demand check"));
        Ok(())
    }

    /// Measures automatic runs, from the message to the saved check.
    async fn of_runs(&mut self, owner: &Member) -> Result<(), Box<dyn Error>> {
        let (mut calm, mut opening, mut resolving) = (Costs::new(), Costs::new(), Costs::new());
        let target = WebServer::start().await;
        for round in 0..2 * self.rounds {
            let site = self.watched(owner, &format!("{}/{round}", target.url)).await?;
            // The first check of a site also marks the site as checked.
            self.inside.test.advance(SignedDuration::from_mins(5));
            Costs::new().run(self, round, &self.message(owner, site, RunReason::Scheduled)).await?;
            self.inside.test.advance(SignedDuration::from_mins(5));
            calm.run(self, round, &self.message(owner, site, RunReason::Scheduled)).await?;
            target.answer(503);
            self.inside.test.advance(SignedDuration::from_mins(5));
            Costs::new().run(self, round, &self.message(owner, site, RunReason::Scheduled)).await?;
            self.inside.test.advance(SignedDuration::from_mins(2));
            opening
                .run(self, round, &self.message(owner, site, RunReason::ConfirmationRetry))
                .await?;
            target.answer(200);
            self.inside.test.advance(SignedDuration::from_mins(5));
            resolving
                .run(self, round, &self.message(owner, site, RunReason::IncidentFollowUp))
                .await?;
            self.take_messages();
        }
        self.rows.push(calm.row("automatic status check, uneventful"));
        self.rows.push(opening.row("… that opens an issue"));
        self.rows.push(resolving.row("… that resolves one"));
        Ok(())
    }

    /// Measures a request, which is built for each round.
    async fn asked(
        &mut self,
        name: &str,
        member: &Member,
        ask: impl Fn(u32) -> Ask,
    ) -> Result<(), Box<dyn Error>> {
        let mut costs = Costs::new();
        for round in 0..2 * self.rounds {
            costs.one(self, round, member, &ask(round)).await?;
        }
        self.take_messages();
        self.rows.push(costs.row(name));
        Ok(())
    }

    /// Adds a site whose first check was completed a minute ago.
    async fn watched(&self, owner: &Member, url: &str) -> Result<SiteId, Box<dyn Error>> {
        let site = self.inside.new_site(owner, url).await?;
        let configured = self.inside.settings_of(owner).await?;
        self.record(&configured, site, RunReason::Scheduled, true).await?;
        self.take_messages();
        self.inside.test.advance(SignedDuration::from_mins(1));
        Ok(site)
    }

    /// Saves an automatic status check of a site.
    async fn record(
        &self,
        team: &TeamWithSettings,
        site: SiteId,
        reason: RunReason,
        is_up: bool,
    ) -> Result<(), Box<dyn Error>> {
        let (app, now) = (&self.inside.test.app, self.inside.test.now());
        let context = app.store.run_context_relaxed(team.team.id, site, Tool::Status).await?;
        let context = context.ok_or("no site")?;
        let check = CheckId::automatic(site, Tool::Status, reason, now);
        let finish = Finish::Completed(ToolResult::Status(seed::result(is_up)));
        let (run, state) = context.begin(check, app.service.time_scale);
        record_run(app, &run, state, &finish, None).await?;
        Ok(())
    }

    fn message(&self, owner: &Member, site: SiteId, reason: RunReason) -> CheckMessage {
        let order = RunOrder::Automatic { reason, slot: self.inside.test.now() };
        CheckMessage { team: owner.team, site, tool: Tool::Status, order }
    }

    fn take_messages(&self) -> Vec<Message> {
        let queue = &self.inside.test.queue;
        let drained = Destination::ALL.into_iter().flat_map(|destination| queue.drain(destination));
        drained.map(|(message, _)| message).collect()
    }
}

/// A request that adds a hundred sites.
fn bulk(owner: &Member, hundred: u32) -> Ask {
    let site = |number: u32| {
        json!({
            "url": format!("https://shop-{number}.example/{hundred}"),
            "name": format!("Shop {number} of {hundred}"),
        })
    };
    let sites: Vec<Value> = (0..100).map(site).collect();
    Ask::of("sites.bulk").at("team", owner.team).body(json!({ "sites": sites }))
}

/// What one operation cost in each round. Units are counted in every other round, and the other rounds are timed,
/// because counting takes time.
struct Costs {
    spent: Vec<Spent>,
    times: Vec<Duration>,
}

impl Costs {
    fn new() -> Self {
        Self { spent: Vec::new(), times: Vec::new() }
    }

    async fn one(
        &mut self,
        bench: &Bench,
        round: u32,
        member: &Member,
        ask: &Ask,
    ) -> Result<Value, Box<dyn Error>> {
        // The rate limit counts requests by the minute.
        bench.inside.test.advance(SignedDuration::from_secs(7));
        self.begin(bench, round);
        let (answer, took) = bench.inside.ask(member, ask).await?;
        self.end(bench, round, took);
        Ok(answer)
    }

    async fn run(
        &mut self,
        bench: &Bench,
        round: u32,
        message: &CheckMessage,
    ) -> Result<(), Box<dyn Error>> {
        self.begin(bench, round);
        let began = Instant::now();
        let handled =
            vedette_checker::handle(&bench.inside.test.app, &bench.engines, message).await?;
        self.end(bench, round, began.elapsed());
        match handled {
            Handled::Finished(_) => Ok(()),
            Handled::Dropped(reason) => Err(reason.into()),
            Handled::Postponed => Err("no place is free".into()),
        }
    }

    fn begin(&self, bench: &Bench, round: u32) {
        if round.is_multiple_of(2) {
            bench.inside.test.meter().start();
        }
    }

    fn end(&mut self, bench: &Bench, round: u32, took: Duration) {
        if round.is_multiple_of(2) {
            self.spent.push(bench.inside.test.meter().stop());
        } else {
            self.times.push(took);
        }
    }

    /// The median of each.
    fn row(mut self, name: &str) -> Vec<String> {
        self.spent.sort_unstable_by(|a, b| (a.reads + a.writes).total_cmp(&(b.reads + b.writes)));
        let spent = self.spent.get(self.spent.len() / 2).copied().unwrap_or_default();
        vec![
            name.to_owned(),
            spent.reads.to_string(),
            spent.writes.to_string(),
            spent.round_trips.to_string(),
            spent.rounds.to_string(),
            format!("{:.1}", median_ms(&self.times)),
        ]
    }
}
