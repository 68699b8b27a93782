//! Backs up a service that is busy. Each backup is restored, and must contain everything that was answered before it
//! began.
//!
//! `make backups` makes a hundred backups of a larger table, and prints how late checks were in the meantime. It can
//! name a program to measure, because the tests' own program is not optimized.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement: whoever runs it says how much, and it prints what it found by the machine's clock"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser as _;
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::sleep;
use vedette_cli::{Cli, Failure};
use vedette_domain::id::{CheckId, SiteId};
use vedette_embedded::{Database, Fsync, Reached, reach};
use vedette_store::Store;
use vedette_testkit::WebServer;

use crate::client::Client;
use crate::process::{announced, command_of, signal};
use crate::start;

/// Sites that are checked each second while backups are made.
const SITES: usize = 10;
/// The time between their slots: the length of a minute of the schedule in these tests.
const CADENCE: SignedDuration = SignedDuration::from_secs(1);

/// A number that an environment variable can increase.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The program to measure.
fn program() -> OsString {
    std::env::var_os("VEDETTE_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_vedette").into())
}

/// Runs a command of the program to measure.
async fn run(data: &Path, words: &[&str]) {
    let ran = Command::new(program()).arg("--data").arg(data).args(words).output().await;
    let ran = ran.expect("started");
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

async fn vedette(data: &Path, words: &[&str]) -> Result<(), Failure> {
    let data = data.to_str().expect("text");
    let first = ["vedette", "--json", "--data", data];
    let arguments = first.iter().chain(words);
    Cli::try_parse_from(arguments).expect("arguments").execute().await
}

async fn back_up(data: &Path, file: &Path) -> Result<(), Failure> {
    vedette(data, &["backup", file.to_str().expect("text")]).await
}

/// A busy service on loopback, in a separate process.
async fn at_work(data: &Path, target: &WebServer) -> (Child, Arc<Client>) {
    let mut command = command_of(program(), data);
    command.env("VEDETTE_ALLOW_TARGETS", "127.0.0.0/8").env("VEDETTE_THROTTLE", "1000000");
    command.env("VEDETTE_AUDITOR", "none").env("VEDETTE_RDAP", "none");
    command.env("VEDETTE_DOH", "nobody=https://127.0.0.1:1/dns-query");
    let (child, client) = announced(command, data).await;
    let path = client.sites_path().await;
    for number in 0..SITES {
        let off = json!({ "enabled": false });
        let body = json!({
            "url": format!("{}/{number}", target.url),
            "monitoring_settings": { "tools": {
                "status": { "enabled": true, "cadence_minutes": 1 },
                "ssl": off, "dns": off, "broken-links": off, "performance": off,
            } },
        });
        let created = client.send("POST", &path, body.to_string().as_bytes()).await;
        assert_eq!(created.status, 201, "{created:?}");
    }
    (child, Arc::new(client))
}

/// Writes notes of sites as fast as the service answers, and records each note that was acknowledged.
#[derive(Default)]
struct Writers {
    acknowledged: Mutex<BTreeMap<String, u64>>,
    stop: AtomicBool,
}

impl Writers {
    async fn write(self: Arc<Self>, client: Arc<Client>, site: String) {
        let path = format!("/api/v1/sites/{site}");
        let url = client.get(&path).await.body["data"]["url"].clone();
        for number in 1.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let body = json!({ "url": url, "notes": number.to_string() }).to_string();
            let changed = client.send("PATCH", &path, body.as_bytes()).await;
            assert_eq!(changed.status, 200, "{changed:?}");
            self.acknowledged.lock().expect("notes").insert(site.clone(), number);
        }
    }

    fn acknowledged(&self) -> BTreeMap<String, u64> {
        self.acknowledged.lock().expect("notes").clone()
    }
}

/// The newest checks that the service has shown, of some sites.
async fn shown(client: &Client, sites: &[String]) -> Vec<CheckId> {
    let mut checks = Vec::new();
    for site in sites {
        for check in client.ended_checks(site, 1).await {
            checks.push(CheckId::parse(check["uuid"].as_str().expect("an id")).expect("an id"));
        }
    }
    checks
}

/// Restores a backup into a new folder, and looks for everything that was acknowledged.
async fn compare(backup: &Path, notes: &BTreeMap<String, u64>, checks: &[CheckId]) {
    let folder = tempfile::tempdir().expect("a folder");
    run(folder.path(), &["restore", backup.to_str().expect("text")]).await;
    let Ok(Reached::Free(alone)) = reach(folder.path()).await else { panic!("nobody has it") };
    let database = Database::open(&alone, Fsync::EverySecond).await.expect("opened");
    let store: Store = database.store();
    for (site, number) in notes {
        let id = SiteId::parse(site).expect("an id");
        let found = store.site(id.partition()).await.expect("read").expect("a site").site;
        let restored: u64 = found.notes.expect("notes").parse().expect("a number");
        assert!(restored >= *number, "{site}: {restored} of {number}");
    }
    for check in checks {
        let found = store.check(*check).await.expect("read");
        assert!(found.is_some(), "a check that was shown before the backup");
    }
    database.close().await;
}

/// Makes the table larger with rows of old checks, which nothing reads.
fn fill(data: &Path, megabytes: u64) {
    let table = Connection::open(data.join("vedette.db")).expect("opened");
    let pages = |name: &str| -> u64 {
        table.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).expect("a number")
    };
    for step in 0.. {
        if pages("page_count") * pages("page_size") >= megabytes * 1_000_000 {
            break;
        }
        table
            .execute(
                "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 255) \
                 INSERT INTO vedette (pk, sk, item_json, item_size) SELECT printf('S:R#fill%08d', ?1), \
                 printf('S:%04d', i), printf('{\"pk\":{\"S\":\"R#fill%08d\"},\"sk\":{\"S\":\"%04d\"},\"x\":{\"S\":\"%s\"}}', \
                 ?1, i, hex(randomblob(2000))), 4060 FROM n",
                [step],
            )
            .expect("filled");
    }
    table.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("written");
}

/// When the target got a request for each path.
type Requests = Arc<Mutex<BTreeMap<String, Vec<Timestamp>>>>;

/// A target that records the time of each request.
async fn observed_target() -> (WebServer, Requests) {
    let requests = Requests::default();
    let seen = Arc::clone(&requests);
    let target = WebServer::observed(move |path| {
        let now = Timestamp::now();
        seen.lock().expect("requests").entry(path.to_owned()).or_default().push(now);
    });
    (target.await, requests)
}

/// The delay from each slot in a period to its request, in milliseconds. `slots` has one slot of each site, by path.
fn lags(
    slots: &BTreeMap<String, Timestamp>,
    requests: &Requests,
    from: Timestamp,
    to: Timestamp,
) -> Vec<i64> {
    let requests = requests.lock().expect("requests");
    let mut lags = Vec::new();
    for (path, known) in slots {
        let mut slot = *known;
        while slot < to {
            let request = requests[path].iter().find(|request| **request >= slot);
            if from <= slot
                && let Some(request) = request
            {
                lags.push(request.duration_since(slot).as_millis() as i64);
            }
            slot += CADENCE;
        }
    }
    lags
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_acknowledged_is_missing_from_a_backup() {
    // Tests do not need this.
    let measures = std::env::var_os("VEDETTE_BACKUPS").is_some();
    let (backups, megabytes) = (setting("VEDETTE_BACKUPS", 3), setting("VEDETTE_BACKUP_MB", 1));
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    start(&data).await.0.stop().await;
    fill(&data, megabytes);
    let (target, requests) = observed_target().await;
    let (mut child, client) = at_work(&data, &target).await;
    let listed = client.get(&format!("{}?per_page=100", client.sites_path().await)).await;
    let listed = listed.body["data"].as_array().expect("sites").clone();
    let sites: Vec<String> =
        listed.iter().map(|site| site["uuid"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(sites.len(), SITES);
    let mut slots = BTreeMap::new();
    for site in &listed {
        let path = site["url"].as_str().expect("a URL").trim_start_matches(&target.url);
        // The first check runs when the site is added, and not at a slot.
        let newest = &client.ended_checks(site["uuid"].as_str().expect("an id"), 3).await[0];
        let id = CheckId::parse(newest["uuid"].as_str().expect("an id")).expect("an id");
        slots.insert(path.to_owned(), id.created_at());
    }
    let writers = Arc::new(Writers::default());
    let writing: Vec<_> = sites[..2]
        .iter()
        .map(|site| tokio::spawn(Arc::clone(&writers).write(Arc::clone(&client), site.clone())))
        .collect();
    let wal = data.join("vedette.db-wal");
    let log = move || fs::metadata(&wal).map_or(0, |log| log.len());
    let (log_before, longest_log) = (log(), Arc::new(AtomicU64::new(0)));
    // SQLite may empty the log as soon as a backup is complete.
    let watching = tokio::spawn({
        let longest_log = Arc::clone(&longest_log);
        async move {
            loop {
                longest_log.fetch_max(log(), Ordering::Relaxed);
                sleep(Duration::from_millis(10)).await;
            }
        }
    });
    let (mut took, mut late) = (Vec::new(), Vec::new());
    for number in 0..backups {
        let checks = shown(&client, &sites[..2]).await;
        let notes = writers.acknowledged();
        let file = folder.path().join(format!("{number}.db"));
        let (began, from) = (Instant::now(), Timestamp::now());
        run(&data, &["backup", file.to_str().expect("text")]).await;
        took.push(began.elapsed().as_millis());
        if measures {
            let to = Timestamp::now();
            // Wait until the requests for the last slots have arrived.
            sleep(Duration::from_secs(1)).await;
            late.extend(lags(&slots, &requests, from, to));
        }
        compare(&file, &notes, &checks).await;
        fs::remove_file(&file).expect("removed");
    }
    watching.abort();
    writers.stop.store(true, Ordering::Relaxed);
    for writer in writing {
        writer.await.expect("every write was acknowledged");
    }
    late.sort_unstable();
    took.sort_unstable();
    if !late.is_empty() {
        println!(
            "{backups} backups of a table of {} MB: median {} ms each; {} checks were due meanwhile, and began {} ms \
             (median) and {} ms (worst) after their slots; the log was {} KB before and at most {} KB",
            fs::metadata(data.join("vedette.db")).expect("a table").len() / 1_000_000,
            took[took.len() / 2],
            late.len(),
            late[late.len() / 2],
            late[late.len() - 1],
            log_before / 1_000,
            longest_log.load(Ordering::Relaxed) / 1_000,
        );
    }
    assert!(signal(&mut child, "-TERM").await.success());
}

/// The variable that tells the test which runs on the small disk where the disk is.
const SMALL_DISK: &str = "VEDETTE_TEST_SMALL_DISK";

/// SQLite opens files by path, so the test runs again in the namespace that has the disk.
#[tokio::test]
async fn a_backup_onto_a_full_disk_fails() {
    if let Some(disk) = std::env::var_os(SMALL_DISK) {
        return fill_the_disk(Path::new(&disk)).await;
    }
    let disk = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o size=16m,mode=700 tmpfs \"$0\" && echo mounted && \
                  exec \"$1\" --exact backup::a_backup_onto_a_full_disk_fails";
    let mut again = Command::new("unshare");
    again.args(["-m", "sh", "-c", script]).arg(disk.path());
    again.arg(std::env::current_exe().expect("this test")).env(SMALL_DISK, disk.path());
    // This user may not have the permission to mount anything.
    let Ok(ran) = again.output().await else { return };
    let said = String::from_utf8_lossy(&ran.stdout);
    if said.starts_with("mounted") {
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    }
}

async fn fill_the_disk(disk: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    start(folder.path()).await.0.stop().await;
    fill(folder.path(), 20);
    let failure = back_up(folder.path(), &disk.join("backup.db")).await.expect_err("no room");
    assert_eq!(failure.exit_code(), 1);
    assert!(failure.to_string().starts_with("the disk is full: "), "{failure}");
    let left: Vec<_> = fs::read_dir(disk).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_cannot_be_read_or_replaced_is_said_and_told_by_the_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("backup.db");
    let failure = back_up(&folder.path().join("missing"), &file).await.expect_err("no folder");
    assert_eq!(failure.exit_code(), 3);
    assert!(failure.to_string().contains("missing` has no table"), "{failure}");
    let data = folder.path().join("data");
    let (service, _) = start(&data).await;
    back_up(&data, &file).await.expect("made");
    let failure = back_up(&data, &file).await.expect_err("it exists");
    assert_eq!(failure.exit_code(), 1);
    let name = file.to_str().expect("text");
    let failure = vedette(&data, &["restore", name]).await.expect_err("a service runs on it");
    assert_eq!(failure.exit_code(), 1);
    assert!(
        failure.to_string().ends_with("stop the service, or choose another folder with --data")
    );
    let failure = vedette(&data, &["--aws", "backup", "x.db"]).await.expect_err("not of AWS");
    assert_eq!(failure.exit_code(), 2);
    service.stop().await;
    let again = folder.path().join("again");
    vedette(&again, &["restore", name]).await.expect("restored");
    let (service, client) = start(&again).await;
    assert_eq!(client.get("/api/v1/teams").await.status, 200);
    service.stop().await;
}
