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

use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use vedette_checker::BROWSER;
use vedette_domain::checks::browser_job::{BrowserJob, BrowserWork};
use vedette_domain::checks::check::{Finish, ToolResult};
use vedette_domain::checks::limits::BROWSER_TIMEOUT;
use vedette_domain::sites::settings::LinksSettings;
use vedette_runtime::config::environment;
use vedette_testkit::WebServer;
use vedette_testkit::lambda::{self, RuntimeApi};

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

    /// Starts the function.
    fn start(&self, runtime_api: &RuntimeApi) -> Child {
        let mut command = Command::new("prlimit");
        command.args(["--nofile=1024", &self.bwrap]);
        // Neither names nor rights, nor a way to more of them.
        command.args(["--unshare-user", "--uid", "993", "--gid", "990", "--disable-userns"]);
        command.args(["--cap-drop", "ALL", "--unshare-pid", "--as-pid-1", "--unshare-ipc"]);
        command.args(["--die-with-parent", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]);
        let of_lambda = lambda::process("", runtime_api).into_iter();
        let of_lambda = of_lambda.filter(|(name, _)| *name != "_HANDLER");
        let of_lambda = of_lambda.map(|(name, value)| (name.to_owned(), value));
        let of_template = ("VEDETTE_ALLOW_TARGETS".to_owned(), "127.0.0.0/8".to_owned());
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
        command.args(["perl", "-e", FIRST_PROCESS, &self.entry_point, BROWSER]);
        command.stdin(Stdio::null()).kill_on_drop(true).spawn().expect("bubblewrap")
    }
}

fn project_root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Has the image do a job; how the check ends.
async fn run(image: &Image, job: &BrowserJob) -> Finish {
    let runtime_api = RuntimeApi::start().await;
    let function = image.start(&runtime_api);
    let began = Instant::now();
    let polled = timeout(MOMENT, runtime_api.first_poll()).await.expect("in time");
    let start = polled.expect("it begins") - began;
    let idle = processes_below(&function);
    let tool = job.tool();
    let event = serde_json::to_value(job).expect("JSON");
    let invoked = runtime_api.invoke(&event, BROWSER_TIMEOUT).await;
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
    let answer = invoked.response.expect("an answer").to_string();
    job.finish(answer.as_bytes()).expect("an answer to the job")
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
    let target = WebServer::with_pages(&PAGES).await;
    let job = |work| BrowserJob { url: target.url.parse().expect("a URL"), header: None, work };
    let crawl = run(&image, &job((&LinksSettings::default()).into())).await;
    let Finish::Completed(ToolResult::BrokenLinks(crawl)) = crawl else { panic!("{crawl:?}") };
    assert_eq!((crawl.crawled, crawl.found), (2, 1), "{crawl:?}");
    assert_eq!(crawl.urls[0].status, 404, "{crawl:?}");
    assert!(crawl.urls[0].url.ends_with("/gone"), "{crawl:?}");
    let audit = run(&image, &job(BrowserWork::Audit)).await;
    let Finish::Completed(ToolResult::Performance(audit)) = audit else { panic!("{audit:?}") };
    let score = audit.speed_metrics.performance_score.unwrap_or_default();
    assert!((50..=100).contains(&score), "a page of one line: {audit:?}");
}

#[test]
#[ignore = "needs the root of the image: make test-image"]
fn every_file_in_the_image_is_readable_by_all_users() {
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
