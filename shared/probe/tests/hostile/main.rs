//! Hostile sites: whatever a target does, a check ends in time, does not panic, and uses little memory.
//!
//! There is only one test, so that the peak memory of the process can be read at its end. Deadlines are short, and
//! servers send until the client leaves.

mod http1;
mod http2;
mod server;
mod services;
mod tls;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use jiff::Timestamp;
use url::Url;
use vedette_domain::checks::tool::Tool;
use vedette_domain::expectations::{CheckMethod, Expectation, Expectations, JsonPointer};
use vedette_domain::sites::settings::LinksSettings;
use vedette_probe::dns::{self, DnsProbe, DohServers, Resolvers};
use vedette_probe::links::{self, CrawlBounds, CrawlLimiter, LinksProbe};
use vedette_probe::performance::{self, Auditor, PageSpeed, PerformanceProbe};
use vedette_probe::ssl::{self, SslProbe};
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::status::{self, Expected, StatusProbe};

use self::server::{Authority, Server, blunt, http};

/// The deadline of each check.
const DEADLINE: Duration = Duration::from_secs(1);

/// The deadline of an audit, whose service first has to send megabytes.
const AUDIT_DEADLINE: Duration = Duration::from_secs(3);

/// How much longer than its deadline a check may take: a step of work, on a busy machine, in an unoptimized build.
const MARGIN: Duration = Duration::from_secs(3);

/// The most memory that the process may ever hold, servers included, in KiB.
const MEMORY: u64 = 256 * 1024;

const HOST: &str = "hostile.example";

/// When the checks run.
fn now() -> Timestamp {
    "2026-11-20T10:05:00Z".parse().expect("a timestamp")
}

/// Runs the cases, and records failures.
struct Suite {
    authority: Authority,
    /// What status checks expect, so that they read and judge bodies.
    expectations: Expectations,
    wrong: Mutex<Vec<String>>,
    /// The tools whose engines were tested against hostile targets.
    tried: Mutex<BTreeSet<Tool>>,
    peak: AtomicU64,
}

#[test]
fn hostile_sites_are_held_to_bounds() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let suite = Suite {
        authority: Authority::new(),
        expectations: expectations(),
        wrong: Mutex::default(),
        tried: Mutex::default(),
        peak: AtomicU64::new(0),
    };
    // Includes panics in tasks that nothing waits for.
    static PANICS: AtomicU64 = AtomicU64::new(0);
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        told(panic);
    }));
    // Concurrently, since most of the time is spent waiting; each thread has its own checks.
    std::thread::scope(|scope| {
        scope.spawn(|| runtime.block_on(suite.over_http1()));
        scope.spawn(|| runtime.block_on(suite.over_tls()));
        scope.spawn(|| runtime.block_on(suite.over_http2()));
    });
    runtime.block_on(suite.of_services());
    suite.note_memory("all");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "something panicked");
    let wrong = suite.wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{wrong:#?}");
    let tried = suite.tried.into_inner().expect("no panic");
    assert_eq!(tried, BTreeSet::from(Tool::ALL), "every engine has hostile targets");
}

/// Of every kind that needs a body.
fn expectations() -> Expectations {
    let text = || "not there".to_owned();
    Expectations {
        expectations: vec![
            Expectation::BodyContains { text: text() },
            Expectation::BodyLacks { text: text() },
            Expectation::JsonEquals {
                pointer: JsonPointer::parse("/status").expect("a pointer"),
                value: "ok".into(),
            },
        ],
        ..Expectations::default()
    }
}

impl Suite {
    async fn over_http1(&self) {
        for case in http1::cases() {
            let answer = Arc::clone(&case.answer);
            let server = Server::start(http(move |path| answer(path)), None).await;
            let guard = self.guard(&server);
            let page = |path| format!("http://{}{path}", server.address).parse().expect("a URL");
            self.status(case.name, &guard, &page("/page1")).await;
            self.links(case.name, &guard, &page("/")).await;
        }
    }

    async fn over_tls(&self) {
        let url = format!("https://{HOST}/").parse().expect("a URL");
        for (name, pieces) in tls::cases() {
            let server = Server::start(blunt(pieces), None).await;
            let guard = self.guard(&server);
            self.ssl(name, &guard, &url).await;
            self.status(name, &guard, &url).await;
            self.links(name, &guard, &url).await;
        }
        for (name, copies, names) in [
            ("a chain of 90 certificates", 90, 0),
            ("a chain of 1 MB", 2_500, 0),
            ("a certificate of a thousand names", 0, 1_000),
        ] {
            let config = self.authority.server(HOST, "h2", copies, |params| {
                let name = |n| format!("n{n}.example").try_into().expect("a name");
                let names = (0..names).map(|n| rcgen::SanType::DnsName(name(n)));
                params.subject_alt_names.extend(names);
            });
            let server = Server::start(blunt(|| vec![server::Piece::Hang]), Some(config)).await;
            let guard = self.guard(&server);
            self.ssl(name, &guard, &url).await;
        }
    }

    async fn over_http2(&self) {
        let url = format!("https://{HOST}/").parse().expect("a URL");
        for (name, pieces) in http2::cases() {
            let config = self.authority.server(HOST, "h2", 0, |_| {});
            let server = Server::start(blunt(pieces), Some(config)).await;
            let guard = self.guard(&server);
            self.ssl(name, &guard, &url).await;
            self.status(name, &guard, &url).await;
            self.links(name, &guard, &url).await;
            self.dns(name, &guard).await;
        }
    }

    async fn of_services(&self) {
        for case in services::resolvers() {
            let config = self.authority.server(HOST, "h2", 0, |_| {});
            let server = services::serve(&case, config).await;
            self.dns(case.name, &self.guard(&server)).await;
        }
        for case in services::auditors() {
            let config = self.authority.server(HOST, "h2", 0, |_| {});
            let server = services::serve(&case, config).await;
            self.performance(case.name, &self.guard(&server)).await;
        }
    }

    /// Resolves the name to `server`, and admits its address.
    fn guard(&self, server: &Server) -> SsrfGuard {
        let outbound = Outbound {
            allow: vec!["127.0.0.0/8".parse().expect("a network")],
            connect_to: vec![format!("{HOST}:443:{}", server.address).parse().expect("a detour")],
            extra_roots: vec![self.authority.root()],
            ..Outbound::default()
        };
        SsrfGuard::with_resolver(outbound, ResolverConfig::default(), ResolverOpts::default())
            .expect("a guard")
    }

    async fn status(&self, name: &str, guard: &SsrfGuard, url: &Url) {
        let probe = StatusProbe {
            url,
            method: CheckMethod::Get,
            post: None,
            header: None,
            deadline: DEADLINE,
            connectivity: None,
            expected: Some(Expected {
                expectations: &self.expectations,
                incident_codes: &BTreeSet::new(),
            }),
        };
        let result = self.timed(Tool::Status, name, status::probe(guard, &probe)).await;
        match result {
            Err(error) => self.note(format!("{name}: status: {error:?}")),
            // It must not read them until its deadline.
            Ok(result) if name.starts_with("long interim answers") => {
                let expected = Some("too much data before a final response");
                if result.error.as_deref() != expected {
                    self.note(format!("{name}: status: {:?}", result.error));
                }
            }
            Ok(_) => {}
        }
    }

    async fn links(&self, name: &str, guard: &SsrfGuard, url: &Url) {
        let settings = LinksSettings::default();
        let (limits, deadline) = (CrawlBounds::default(), DEADLINE);
        let probe = LinksProbe {
            url,
            header: None,
            settings: &settings,
            browser: None,
            limits,
            deadline,
            connectivity: None,
            now: now(),
        };
        let limiter = CrawlLimiter::default();
        let crawl = links::probe(guard, &limiter, &probe, |_| {});
        let result = self.timed(Tool::BrokenLinks, name, crawl).await;
        if let Err(error) = result {
            self.note(format!("{name}: links: {error:?}"));
        }
    }

    async fn ssl(&self, name: &str, guard: &SsrfGuard, url: &Url) {
        let probe = SslProbe {
            url,
            port: ssl::HTTPS_PORT,
            deadline: DEADLINE,
            now: now(),
            connectivity: None,
        };
        let result = self.timed(Tool::Ssl, name, ssl::probe(guard, &probe)).await;
        if let Err(error) = result {
            self.note(format!("{name}: ssl: {error:?}"));
        }
    }

    /// The server acts as the resolver and as the registry.
    async fn dns(&self, name: &str, guard: &SsrfGuard) {
        let servers = DohServers::new(vec![
            format!("one=https://{HOST}/dns-query").parse().expect("a server"),
            format!("two=https://{HOST}/dns-query").parse().expect("a server"),
        ]);
        let rdap = format!("https://{HOST}/domain/").parse().expect("a URL");
        let resolvers = Resolvers::new(&servers.expect("servers"), Some(rdap));
        let url = "https://www.example.com/".parse().expect("a URL");
        let probe = DnsProbe { url: &url, deadline: DEADLINE, now: now() };
        // A resolver without a useful answer gives no result.
        let _ = self.timed(Tool::Dns, name, dns::probe(guard, &resolvers, &probe)).await;
    }

    /// The server acts as PageSpeed Insights, and the page is an ordinary one.
    async fn performance(&self, name: &str, guard: &SsrfGuard) {
        let endpoint = format!("https://{HOST}/run").parse().expect("a URL");
        let auditor = Auditor::PageSpeed(PageSpeed::new("key".to_owned(), endpoint));
        let url = format!("https://{HOST}/page").parse().expect("a URL");
        let probe = PerformanceProbe { url: &url, header: None, deadline: AUDIT_DEADLINE };
        let _ =
            self.timed(Tool::Performance, name, performance::probe(guard, &auditor, &probe)).await;
    }

    async fn timed<T>(&self, tool: Tool, name: &str, check: impl Future<Output = T>) -> T {
        self.tried.lock().expect("no panic").insert(tool);
        let deadline = if tool == Tool::Performance { AUDIT_DEADLINE } else { DEADLINE };
        let started = Instant::now();
        let result = check.await;
        let took = started.elapsed();
        if took > deadline + MARGIN {
            self.note(format!("{name}: {tool} took {took:?}"));
        }
        self.note_memory(&format!("{name}: {tool} ({took:.1?})"));
        result
    }

    /// Prints how much memory the process has held so far, and after which case it was too much.
    #[expect(clippy::print_stdout, reason = "told where the test fails")]
    fn note_memory(&self, what: &str) {
        let peak = held_at_most();
        println!("{} MiB after {what}", peak / 1024);
        if self.peak.swap(peak, Ordering::Relaxed) <= MEMORY && peak > MEMORY {
            self.note(format!("{} MiB held after {what}", peak / 1024));
        }
    }

    fn note(&self, wrong: String) {
        self.wrong.lock().expect("no panic").push(wrong);
    }
}

/// The peak memory of this process in KiB; 0 if it is unknown.
fn held_at_most() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
