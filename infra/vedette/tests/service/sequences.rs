//! Random sequences of what operators do with one data folder: start, stop, kill, back up, restore, copy and upgrade.
//! Whatever the sequence, the service has everything that it has acknowledged, and never starts with an empty table in
//! place of data.
//!
//! `VEDETTE_SEQUENCES=500` runs more sequences than CI, and `VEDETTE_SEQUENCE_SEED=7` repeats the one of seed 7.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::process::{announced, command, signal};
use crate::upgrade;

/// How many sequences CI runs, and how many of them at once.
const SEQUENCES: u64 = 24;
const AT_ONCE: usize = 4;
/// The steps of a sequence.
const STEPS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(60);

/// A number from an environment variable.
#[expect(clippy::disallowed_methods, reason = "not a setting of the service")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Random numbers (SplitMix64), the same for each run with the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn is_one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// The URL of each site, and the number that was last acknowledged as its notes.
type Acknowledged = BTreeMap<String, (String, u64)>;

/// A data folder, and everything that it must contain.
struct Folder {
    random: Random,
    place: TempDir,
    data: PathBuf,
    running: Option<(Child, Client)>,
    acknowledged: Acknowledged,
    /// Complete backups, and what had been acknowledged when they began.
    backups: Vec<(PathBuf, Acknowledged)>,
    /// Rises with each name and each note.
    count: u64,
    /// What has happened so far.
    log: String,
}

impl Folder {
    fn new(seed: u64) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let data = place.path().join("data");
        fs::create_dir(place.path().join("backups")).expect("made");
        let mut random = Random(seed);
        let mut log = format!("seed {seed}:");
        if random.is_one_in(3) {
            let table = random.below(upgrade::TABLES.len() as u64) as usize;
            fs::create_dir(&data).expect("made");
            upgrade::restore(&data, upgrade::TABLES[table]);
            write!(log, " format {};", upgrade::TABLES[table].0).expect("text");
        }
        let (running, acknowledged, backups) = (None, BTreeMap::new(), Vec::new());
        Self { random, place, data, running, acknowledged, backups, count: 0, log }
    }

    fn note(&mut self, step: &str) {
        write!(self.log, " {step};").expect("text");
    }

    fn name(&mut self, stem: &str) -> PathBuf {
        self.count += 1;
        self.place.path().join(format!("{stem}-{}", self.count))
    }

    async fn step(&mut self) {
        match (self.running.is_some(), self.random.below(8)) {
            (false, 0..4) => self.start().await,
            (true, 0..3) => self.write().await,
            (true, 3) => self.end("-TERM").await,
            (true, 4 | 5) => self.end("-KILL").await,
            (_, 6) => self.back_up().await,
            (false, 4) => self.copy_files().await,
            (false, 5) => self.upgrade().await,
            (true, _) => self.is_kept_from_others().await,
            (false, _) if self.random.is_one_in(3) => self.copy_teams().await,
            (false, _) => self.restore().await,
        }
    }

    /// Starts the service, which must have everything that was acknowledged.
    async fn start(&mut self) {
        self.note("start");
        let mut starting = command(&self.data);
        starting.env("VEDETTE_DOH", "nobody=https://127.0.0.1:1/dns-query");
        starting.env("VEDETTE_AUDITOR", "none").env("VEDETTE_RDAP", "none");
        starting.env("VEDETTE_THROTTLE", "1000000");
        let (child, client) = announced(starting, &self.data).await;
        for (site, (_, number)) in &self.acknowledged {
            let found = client.get(&format!("/api/v1/sites/{site}")).await;
            assert_eq!(found.status, 200, "{site} is lost. {}", self.log);
            let notes = found.body["data"]["notes"].as_str().and_then(|it| it.parse::<u64>().ok());
            assert!(notes >= Some(*number), "{site}: {notes:?} of {number}. {}", self.log);
        }
        self.running = Some((child, client));
    }

    /// Adds a site, and writes the notes of all.
    async fn write(&mut self) {
        self.note("write");
        let Some((_, client)) = &self.running else { return };
        if self.acknowledged.len() < 4 {
            self.count += 1;
            let url = format!("https://192.0.2.1/{}", self.count);
            let off = json!({ "enabled": false });
            let tools = json!({
                "status": off, "ssl": off, "dns": off, "broken-links": off, "performance": off,
            });
            let body = json!({ "url": url, "monitoring_settings": { "tools": tools } });
            let body = body.to_string();
            let path = client.sites_path().await;
            let created = client.send("POST", &path, body.as_bytes()).await;
            assert_eq!(created.status, 201, "{created:?}");
            let site = created.body["data"]["uuid"].as_str().expect("an id").to_owned();
            self.acknowledged.insert(site, (url, 0));
        }
        for (site, (url, number)) in &mut self.acknowledged {
            self.count += 1;
            let body = json!({ "url": url, "notes": self.count.to_string() }).to_string();
            let path = format!("/api/v1/sites/{site}");
            let changed = client.send("PATCH", &path, body.as_bytes()).await;
            assert_eq!(changed.status, 200, "{changed:?}");
            *number = self.count;
        }
    }

    async fn end(&mut self, how: &str) {
        self.note(how);
        let Some((mut child, _)) = self.running.take() else { return };
        signal(&mut child, how).await;
    }

    /// Runs a command, which may be killed at any moment. Returns whether it has succeeded; `None` if it was killed.
    async fn run(&mut self, words: &[&Path], may_be_killed: bool) -> Option<bool> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vedette"));
        command.arg("--data").arg(&self.data).args(words).kill_on_drop(true);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("started");
        if may_be_killed && self.random.is_one_in(2) {
            sleep(Duration::from_millis(self.random.below(60))).await;
            if child.try_wait().expect("a state").is_none() {
                self.note("killed");
                child.kill().await.expect("killed");
                return None;
            }
        }
        let ended = timeout(PATIENCE, child.wait()).await.expect("in time").expect("ended");
        Some(ended.success())
    }

    async fn back_up(&mut self) {
        if !self.data.join("vedette.db").exists() {
            return;
        }
        self.note("backup");
        let (file, acknowledged) = (self.name("backups/backup"), self.acknowledged.clone());
        let done = self.run(&[Path::new("backup"), &file], true).await;
        if done.is_some() {
            assert_eq!(done, Some(true), "{}", self.log);
            // The command is the only one that backs up to this folder.
            let names = fs::read_dir(self.place.path().join("backups")).expect("a folder");
            let names = names.map(|entry| entry.expect("an entry").file_name());
            let is_left = |name: &std::ffi::OsString| name.to_string_lossy().contains("partial");
            assert_eq!(names.filter(is_left).count(), 0, "{}", self.log);
        }
        if file.exists() {
            self.backups.push((file, acknowledged));
        }
    }

    /// Restores a backup in place of the folder.
    async fn restore(&mut self) {
        if self.backups.is_empty() {
            return;
        }
        self.note("restore");
        let chosen = self.random.below(self.backups.len() as u64) as usize;
        let (file, acknowledged) = self.backups[chosen].clone();
        if self.data.join("vedette.db").exists() {
            let refused = self.run(&[Path::new("restore"), &file], false).await;
            assert_eq!(refused, Some(false), "it would replace data. {}", self.log);
            let aside = self.name("aside");
            fs::rename(&self.data, aside).expect("moved");
        }
        while self.run(&[Path::new("restore"), &file], true).await != Some(true) {
            let has = |name: &str| self.data.join(name).exists();
            if has("vedette.db") {
                // It was killed after its last step.
                break;
            }
            if has("vedette.db.new") || has("format") {
                self.refuses_to_start().await;
            }
        }
        self.acknowledged = acknowledged;
        // Only the folder has the token file.
        self.start().await;
    }

    async fn refuses_to_start(&mut self) {
        let ended = timeout(PATIENCE, command(&self.data).arg("--quiet").output()).await;
        let ended = ended.expect("in time").expect("ended");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said} {}", self.log);
    }

    /// Continues with a copy of all files, as after a move to another machine.
    async fn copy_files(&mut self) {
        self.note("cp");
        if !self.data.exists() {
            return;
        }
        let copy = self.name("copy");
        let copied = Command::new("cp").arg("-a").arg(&self.data).arg(&copy).status().await;
        assert!(copied.expect("cp").success());
        self.data = copy;
    }

    /// Continues with a folder into which all teams were copied.
    async fn copy_teams(&mut self) {
        if !self.data.join("token").exists() {
            return;
        }
        self.note("copy");
        let copy = self.name("teams");
        let words = [Path::new("copy"), &self.data.clone(), &copy];
        while self.run(&words, true).await != Some(true) {}
        fs::copy(self.data.join("token"), copy.join("token")).expect("copied");
        self.data = copy;
    }

    /// Makes the folder one of an earlier version, which the next start upgrades. A folder of a later version is
    /// refused.
    async fn upgrade(&mut self) {
        if !self.data.join("vedette.db").exists() {
            return;
        }
        self.note("upgrade");
        let format = self.data.join("format");
        fs::write(&format, "1000").expect("written");
        self.refuses_to_start().await;
        fs::write(&format, "3").expect("written");
    }

    /// Another service, or a restore, must not get the folder.
    async fn is_kept_from_others(&mut self) {
        self.note("second");
        let Some((file, _)) = self.backups.last().cloned() else { return };
        let refused = self.run(&[Path::new("restore"), &file], false).await;
        assert_eq!(refused, Some(false), "{}", self.log);
    }
}

async fn sequence(seed: u64) {
    let mut folder = Folder::new(seed);
    for _ in 0..STEPS {
        folder.step().await;
    }
    if folder.running.is_some() {
        folder.end("-KILL").await;
    }
    folder.start().await;
    folder.end("-TERM").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_sequence_loses_what_was_acknowledged_or_starts_empty_over_data() {
    let seeds = match number("VEDETTE_SEQUENCE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("VEDETTE_SEQUENCES").unwrap_or(SEQUENCES),
    };
    let mut running = JoinSet::new();
    for seed in seeds {
        if running.len() == AT_ONCE {
            running.join_next().await.expect("running").expect("a sequence");
        }
        running.spawn(sequence(seed));
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("a sequence");
    }
}
