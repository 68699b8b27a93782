//! The image with the browser, run as Lambda runs it: `make test-image`. Its root is read-only but for
//! 512 MB of /tmp, it has no /dev/shm and no user namespaces, its user has no rights, and its first process
//! reaps none but its own children. What asks it for runs is a stub of Lambda's Runtime API.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use vedette_domain::id::SiteId;
use vedette_domain::plan::Plan;
use vedette_domain::tool::Tool;
use vedette_runtime::Clock;
use vedette_runtime::config::environment;
use vedette_testkit::aws::Aws;
use vedette_testkit::lambda::{self, Endpoint, RuntimeApi};
use vedette_testkit::{Member, WebServer, new_team};
use vedette_tests::{Service, scheduled};

/// Its links are there once its script has run.
const PAGES: [(&str, &str); 2] = [
    (
        "/",
        "<!doctype html><title>Shop</title><h1>Shop</h1><script>
        for (const path of ['/next', '/gone']) {
            const link = document.createElement('a');
            link.href = link.textContent = path;
            document.body.append(link);
        }
        </script>",
    ),
    ("/next", "<!doctype html><title>Next</title><p>That is all."),
];

/// What the first process of a Lambda function does for others: it waits for the one that it started.
const FIRST_PROCESS: &str = "my $started = fork; exec @ARGV unless $started; waitpid $started, 0;";

/// How long a process may take to start, and those that it leaves to vanish.
const MOMENT: Duration = Duration::from_secs(20);

/// The image, taken apart.
struct Image {
    root: PathBuf,
    bwrap: String,
    function: String,
    entry_point: String,
    environment: Vec<(String, String)>,
}

impl Image {
    fn read() -> Self {
        let named = |name: &str| environment(name).unwrap_or_else(|| panic!("{name} is not set"));
        let dockerfile = project_root().join("infra/browser-image/Dockerfile");
        let dockerfile = fs::read_to_string(dockerfile).expect("a Dockerfile");
        let all = |instruction: &'static str| {
            dockerfile.lines().filter_map(move |line| line.strip_prefix(instruction))
        };
        let entry_point = all("ENTRYPOINT ").next().expect("an entry point");
        let [entry_point]: [String; 1] = serde_json::from_str(entry_point).expect("a program");
        let pair = |line: &str| {
            line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        Self {
            root: named("IMAGE_ROOT").into(),
            bwrap: named("BWRAP"),
            function: named("CHECKER"),
            entry_point,
            environment: all("ENV ").map(|line| pair(line).expect("a variable")).collect(),
        }
    }

    /// Starts the function of a tool.
    fn start(&self, tool: Tool, runtime_api: &RuntimeApi, endpoint: &Endpoint) -> Child {
        let mut command = Command::new("prlimit");
        command.args(["--nofile=1024", &self.bwrap]);
        // Neither names nor rights, nor a way to more of them.
        command.args(["--unshare-user", "--uid", "993", "--gid", "990", "--disable-userns"]);
        command.args(["--cap-drop", "ALL", "--unshare-pid", "--as-pid-1", "--unshare-ipc"]);
        command.args(["--die-with-parent", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]);
        let of_lambda = lambda::environment("", runtime_api, endpoint).into_iter();
        let of_lambda = of_lambda.filter(|(name, _)| *name != "_HANDLER");
        let of_lambda = of_lambda.map(|(name, value)| (name.to_owned(), value));
        let of_template = ("VEDETTE_AUDITOR".to_owned(), "lighthouse".to_owned());
        let variables = of_lambda.chain(self.environment.clone()).chain([of_template]);
        for (name, value) in variables {
            command.args(["--setenv", &name, &value]);
        }
        command.arg("--bind").arg(&self.root).args(["/", "--proc", "/proc"]);
        for device in ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"] {
            command.args(["--dev-bind", device, device]);
        }
        command.args(["--size", &(512 << 20).to_string(), "--tmpfs", "/tmp"]);
        command.args(["--ro-bind", &self.function, &self.entry_point, "--remount-ro", "/"]);
        command.args(["perl", "-e", FIRST_PROCESS, &self.entry_point, tool.as_str()]);
        command.stdin(Stdio::null()).kill_on_drop(true).spawn().expect("bubblewrap")
    }
}

fn project_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A deployment whose function is in the image, and a site that it watches.
struct Scene {
    service: Service,
    owner: Member,
    endpoint: Endpoint,
    site: SiteId,
    _target: WebServer,
}

impl Scene {
    async fn start() -> Self {
        let service = Service::start().await;
        // The function has a clock of its own.
        service.test.set_clock(Clock::system().now());
        let owner = new_team(&service.test, Plan::Agency).await;
        let target = WebServer::with_pages(&PAGES).await;
        let body = json!({ "url": target.url, "js_rendered": true });
        let sites = format!("/teams/{}/sites", owner.team);
        let created = service.client(&owner).post(&sites, &body).await;
        let site = SiteId::parse(&created.data("uuid")).expect("a site");
        let endpoint = Endpoint::start(&Aws::default(), &service.test.table.database).await;
        Self { service, owner, endpoint, site, _target: target }
    }

    /// Has the image run a tool on the site, as its schedule does; the check's result.
    async fn run(&self, image: &Image, tool: Tool) -> Value {
        let runtime_api = RuntimeApi::start().await;
        let function = image.start(tool, &runtime_api, &self.endpoint);
        let began = Instant::now();
        let polled = timeout(MOMENT, runtime_api.first_poll()).await.expect("in time");
        let start = polled.expect("it begins") - began;
        let idle = processes_below(&function);
        let slot = Clock::system().now();
        let message = scheduled(self.owner.team, self.site, tool, slot);
        let invoked = runtime_api.invoke(&event(&message), tool.limits().function_timeout).await;
        assert_eq!(invoked.response, Ok(json!({ "batchItemFailures": [] })));
        report(&format!(
            "{tool}: starts in {} ms, runs for {:.1} s",
            start.as_millis(),
            invoked.took.as_secs_f64()
        ));
        let gone = async {
            while processes_below(&function) != idle {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let left = timeout(MOMENT, gone).await;
        left.unwrap_or_else(|_| panic!("{tool} leaves {:?}", processes_below(&function)));
        let site = self.service.client(&self.owner).get(&format!("/sites/{}", self.site)).await;
        let check = &site.body["data"]["latest_checks"][tool.as_str()];
        assert_eq!(check["status"], "completed", "{check}");
        check["result"].clone()
    }
}

/// The message as an event source hands it over.
fn event(message: &impl serde::Serialize) -> Value {
    let body = serde_json::to_string(message).expect("JSON");
    let sent_at = Clock::system().now().as_millisecond().to_string();
    json!({ "Records": [{
        "messageId": "6b01f32b-21b8-4c9a-8027-c6f92baed9b1",
        "receiptHandle": "of-a-test",
        "body": body,
        "attributes": { "ApproximateReceiveCount": "1", "SentTimestamp": sent_at },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
    }] })
}

/// All descendants of a process: their names and states, with their numbers.
fn processes_below(child: &Child) -> BTreeSet<(u32, String)> {
    let stats = fs::read_dir("/proc").expect("/proc").flatten();
    let stats = stats.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let all: Vec<(u32, u32, String)> = stats
        .filter_map(|stat| {
            let (before, after) = stat.rsplit_once(')')?;
            let (number, name) = before.split_once(" (")?;
            let parent = after.split_whitespace().nth(1)?;
            Some((number.parse().ok()?, parent.parse().ok()?, name.to_owned()))
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut parents = vec![child.id().expect("a process")];
    while let Some(above) = parents.pop() {
        for (number, _, name) in all.iter().filter(|(_, parent, _)| *parent == above) {
            parents.push(*number);
            found.insert((*number, name.clone()));
        }
    }
    found
}

fn report(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("written");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the root of the image: make test-image"]
async fn the_image_crawls_rendered_pages_and_audits() {
    let image = Image::read();
    let scene = Scene::start().await;
    let crawl = scene.run(&image, Tool::BrokenLinks).await;
    assert_eq!((&crawl["crawled"], &crawl["found"]), (&json!(2), &json!(1)), "{crawl}");
    let broken = &crawl["urls"][0];
    assert_eq!(broken["status"], 404, "{crawl}");
    assert!(broken["url"].as_str().is_some_and(|url| url.ends_with("/gone")), "{crawl}");
    let audit = scene.run(&image, Tool::Performance).await;
    let score = audit["speed_metrics"]["performance_score"].as_u64().unwrap_or_default();
    assert!((50..=100).contains(&score), "a page of one line: {audit}");
}

#[test]
#[ignore = "needs the root of the image: make test-image"]
fn everybody_may_read_what_is_in_the_image() {
    let mut folders = vec![Image::read().root.join("opt/vedette")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let metadata = entry.path().symlink_metadata().expect("metadata");
            if metadata.is_symlink() {
                continue;
            }
            let needed = if metadata.is_dir() { 0o005 } else { 0o004 };
            assert_eq!(metadata.permissions().mode() & needed, needed, "{:?}", entry.path());
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
}
