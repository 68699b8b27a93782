//! Certificates of sites with http, on other ports, and with a chain that expires before its leaf.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use vedette_checker::{EngineConfig, Engines};
use vedette_domain::checks::tool::Tool;
use vedette_domain::id::SiteId;
use vedette_testkit::{ApiResponse, Member, loopback};
use vedette_tests::Service;

/// The hosts whose ports lead to the server.
const HOSTS: [&str; 2] = ["site.test", "other.test"];

/// The ports that do.
const PORTS: [u16; 2] = [443, 8443];

/// Year, month and day.
type Date = (i32, u8, u8);

const NEXT_YEAR: Date = (2027, 6, 1);
/// Five days after the tests begin.
const SOON: Date = (2026, 11, 25);
const PAST: Date = (2026, 11, 1);

fn params(name: &str, end: Date, is_ca: bool) -> CertificateParams {
    let hosts = if is_ca { Vec::new() } else { HOSTS.map(str::to_owned).into() };
    let mut params = CertificateParams::new(hosts).expect("names");
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2026, 1, 1);
    params.not_after = date_time_ymd(end.0, end.1, end.2);
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    params
}

type Authority = CertifiedIssuer<'static, KeyPair>;

fn root() -> Authority {
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params("root", NEXT_YEAR, true), key).expect("a certificate")
}

/// Intermediates, the highest first: each has a name and one or more certificates, which differ only in their ends.
type Intermediates<'a> = &'a [(&'a str, &'a [Date])];

/// A server that presents a leaf until `end`, issued through intermediates.
fn chain(root: &Authority, intermediates: Intermediates<'_>, end: Date) -> ServerConfig {
    let mut presented = Vec::new();
    let mut above: Option<(CertificateParams, KeyPair)> = None;
    let sign = |params: &CertificateParams, key: &KeyPair, above: &Option<_>| {
        let signed = match above {
            Some((issuer, issuer_key)) => {
                params.signed_by(key, &Issuer::from_params(issuer, issuer_key))
            }
            None => params.signed_by(key, root),
        };
        signed.expect("a certificate").der().clone()
    };
    for (name, ends) in intermediates {
        let key = KeyPair::generate().expect("a key");
        for end in *ends {
            presented.insert(0, sign(&params(name, *end, true), &key, &above));
        }
        above = Some((params(name, NEXT_YEAR, true), key));
    }
    let key = KeyPair::generate().expect("a key");
    presented.insert(0, sign(&params("leaf", end, false), &key, &above));
    serving(presented, &key)
}

fn self_signed() -> ServerConfig {
    let key = KeyPair::generate().expect("a key");
    let certificate = params("leaf", NEXT_YEAR, false).self_signed(&key).expect("a certificate");
    serving(vec![certificate.der().clone()], &key)
}

fn serving(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("a key pair")
}

/// A server on loopback that presents certificates, or speaks no TLS.
struct TlsServer {
    address: SocketAddr,
    presents: watch::Sender<Option<Arc<ServerConfig>>>,
    task: JoinHandle<()>,
}

impl TlsServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (presents, presented) = watch::channel(None::<Arc<ServerConfig>>);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some(config) = presented.borrow().clone() else { continue };
                // The other end may give up at any time.
                if let Ok(mut stream) = TlsAcceptor::from(config).accept(stream).await {
                    let _ = stream.read(&mut [0; 16]).await;
                }
            }
        });
        Self { address, presents, task }
    }

    fn present(&self, config: Option<ServerConfig>) {
        self.presents.send_replace(config.map(Arc::new));
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A team whose sites lead to one server.
struct Scene {
    service: Service,
    owner: Member,
    server: TlsServer,
    root: Authority,
}

impl Scene {
    async fn start() -> Self {
        let (root, server) = (root(), TlsServer::start().await);
        let address = server.address;
        let detours = HOSTS.into_iter().flat_map(|host| {
            PORTS.map(|port| format!("{host}:{port}:{address}").parse().expect("a detour"))
        });
        let mut outbound = loopback();
        outbound.connect_to = detours.collect();
        outbound.extra_roots = vec![root.der().clone()];
        let (mut service, owner) = Service::with_team().await;
        service.test.app.service.tools = vec![Tool::Ssl];
        service.engines = Engines::new(outbound, EngineConfig::default()).expect("engines");
        Self { service, owner, server, root }
    }

    /// A certificate of the trusted root.
    fn leaf(&self, end: Date) -> Option<ServerConfig> {
        Some(chain(&self.root, &[], end))
    }

    async fn patch(&self, path: &str, body: &Value) -> ApiResponse {
        let patched = self.service.client(&self.owner).patch(path, body).await;
        assert_eq!(patched.status, 200, "{patched:?}");
        patched
    }

    /// Adds a site with these settings of its certificate check.
    async fn site(&self, url: &str, ssl: &Value) -> SiteId {
        let body = json!({ "url": url, "monitoring_settings": { "tools": { "ssl": ssl } } });
        let path = format!("/teams/{}/sites", self.owner.team);
        let created = self.service.client(&self.owner).post(&path, &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        SiteId::parse(&created.data("uuid")).expect("an id")
    }

    /// The result of a scheduled check of the certificate, ten minutes later.
    async fn check(&self, site: SiteId) -> Value {
        self.service.advance_minutes(10);
        self.service.run_scheduled(site, Tool::Ssl).await;
        self.service.waiting();
        let path = format!("/sites/{site}/checks?type=ssl&per_page=1");
        let checks = self.service.client(&self.owner).get(&path).await;
        checks.body["data"][0]["result"].clone()
    }

    /// The active issues, oldest first.
    async fn issues(&self) -> Vec<Value> {
        let listed = self.service.client(&self.owner).get("/issues").await;
        listed.body["data"].as_array().expect("a list").iter().rev().cloned().collect()
    }

    /// Their fingerprints.
    async fn open(&self) -> Vec<String> {
        let issues = self.issues().await;
        issues.iter().map(|one| one["fingerprint"].as_str().expect("a text").to_owned()).collect()
    }
}

/// What a server presents.
#[derive(Clone, Copy, Debug)]
enum Presents {
    Valid,
    Expiring,
    Expired,
    SelfSigned,
    NoTls,
}

impl Presents {
    fn by(self, scene: &Scene) -> Option<ServerConfig> {
        match self {
            Self::Valid => scene.leaf(NEXT_YEAR),
            Self::Expiring => scene.leaf(SOON),
            Self::Expired => scene.leaf(PAST),
            Self::SelfSigned => Some(self_signed()),
            Self::NoTls => None,
        }
    }
}

#[tokio::test]
async fn a_site_with_http_needs_no_certificate_unless_it_had_or_wants_one() {
    use Presents::{Expired, Expiring, NoTls, SelfSigned, Valid};
    let (inherits, slow) = (json!({}), json!({ "cadence_minutes": 60 }));
    let on = json!({ "enabled": true });
    let (invalid, expiring) = (&["ssl:invalid"][..], &["ssl:expiring"][..]);
    for (url, ssl, steps, expected) in [
        ("http://site.test", &inherits, &[NoTls, NoTls, NoTls][..], &[][..]),
        ("http://site.test:8080/a", &inherits, &[SelfSigned, SelfSigned, SelfSigned], &[]),
        ("http://site.test", &slow, &[Expired, Expired, Expired], &[]),
        // The first check is not an earlier one.
        ("http://site.test", &inherits, &[Expiring, Expiring], &[]),
        ("http://site.test", &inherits, &[Expiring, Expiring, Expiring], expiring),
        ("http://site.test", &inherits, &[Valid, NoTls, NoTls], invalid),
        ("http://site.test", &inherits, &[NoTls, Valid, Expired, Expired], invalid),
        ("http://site.test", &inherits, &[Valid, Expiring, Expiring], expiring),
        ("http://site.test", &inherits, &[Valid, NoTls, NoTls, Valid], &[]),
        ("http://site.test", &on, &[NoTls, NoTls], invalid),
        ("http://site.test", &on, &[Expiring, Expiring], expiring),
        ("https://site.test", &inherits, &[NoTls, NoTls], invalid),
    ] {
        let scene = Scene::start().await;
        let site = scene.site(url, ssl).await;
        for presents in steps {
            scene.server.present(presents.by(&scene));
            scene.check(site).await;
        }
        assert_eq!(scene.open().await, expected, "{url} {ssl} {steps:?}");
    }
}

#[tokio::test]
async fn the_team_enabling_the_tool_is_not_a_choice_of_the_site() {
    let scene = Scene::start().await;
    let ssl = json!({ "enabled": true, "cadence_minutes": 60 });
    let path = format!("/teams/{}/monitoring", scene.owner.team);
    scene.patch(&path, &json!({ "monitoring_settings": { "tools": { "ssl": ssl } } })).await;
    let site = scene.site("http://site.test", &json!({})).await;
    for _ in 0..3 {
        assert_eq!(scene.check(site).await["is_valid"], false, "it still runs");
    }
    assert_eq!(scene.open().await, [""; 0]);
}

#[tokio::test]
async fn a_certificate_counts_for_its_host_alone() {
    for (moved_to, expected) in [
        ("http://site.test/other", &["ssl:invalid"][..]),
        ("http://site.test:8080", &["ssl:invalid"]),
        ("https://site.test", &["ssl:invalid"]),
        ("http://other.test", &[]),
    ] {
        let scene = Scene::start().await;
        let site = scene.site("http://site.test", &json!({})).await;
        scene.server.present(scene.leaf(NEXT_YEAR));
        scene.check(site).await;
        scene.patch(&format!("/sites/{site}"), &json!({ "url": moved_to })).await;
        scene.server.present(None);
        for _ in 0..2 {
            scene.check(site).await;
        }
        assert_eq!(scene.open().await, expected, "{moved_to}");
    }
}

#[tokio::test]
async fn an_issue_ends_when_its_site_no_longer_needs_a_certificate() {
    let scene = Scene::start().await;
    let site = scene.site("https://site.test", &json!({})).await;
    for _ in 0..2 {
        scene.check(site).await;
    }
    assert_eq!(scene.open().await, ["ssl:invalid"]);
    scene.patch(&format!("/sites/{site}"), &json!({ "url": "http://site.test" })).await;
    scene.check(site).await;
    assert_eq!(scene.open().await, [""; 0]);
}

#[tokio::test]
async fn the_certificate_of_another_port_is_checked_if_the_settings_name_it() {
    let scene = Scene::start().await;
    scene.server.present(scene.leaf(NEXT_YEAR));
    for (url, ssl, port) in [
        ("https://site.test", json!({}), None),
        // The URL alone changes nothing: the specification says 443.
        ("https://site.test:8443", json!({}), None),
        ("https://site.test/a", json!({ "settings": { "port": 443 } }), None),
        ("https://site.test/b", json!({ "settings": { "port": 8443 } }), Some(8443)),
        ("http://site.test:81", json!({ "settings": { "port": 8443 } }), Some(8443)),
    ] {
        let site = scene.site(url, &ssl).await;
        let result = scene.check(site).await;
        assert_eq!(result["is_valid"], true, "{url} {result}");
        assert_eq!(result.get("port"), port.map(Value::from).as_ref(), "{url}");
        let own = ssl["settings"].get("port");
        let shown = scene.service.client(&scene.owner).get(&format!("/sites/{site}")).await;
        let shown = &shown.body["data"];
        let settings = &shown["monitoring"]["settings"]["tools"]["ssl"]["settings"];
        assert_eq!(settings.get("port"), own, "omitted until it is set");
        assert_eq!(shown["issue_settings"]["ssl"].get("port"), own);
    }
}

#[tokio::test]
async fn a_team_sets_the_port_of_its_sites_and_null_is_the_default() {
    let scene = Scene::start().await;
    scene.server.present(scene.leaf(NEXT_YEAR));
    let path = format!("/teams/{}/monitoring", scene.owner.team);
    let team = async |port: Value| {
        let ssl = json!({ "enabled": true, "cadence_minutes": 60, "settings": { "port": port } });
        scene.patch(&path, &json!({ "monitoring_settings": { "tools": { "ssl": ssl } } })).await
    };
    team(json!(8443)).await;
    let inherits = scene.site("https://site.test", &json!({})).await;
    let own = json!({ "settings": { "port": null } });
    let own = scene.site("https://other.test", &own).await;
    assert_eq!(scene.check(inherits).await["port"], 8443);
    assert_eq!(scene.check(own).await.get("port"), None);
    // What was read can be written back.
    let read = scene.service.client(&scene.owner).get(&format!("/sites/{own}")).await;
    let settings = &read.body["data"]["monitoring"]["settings"];
    let body = json!({ "url": "https://other.test", "monitoring_settings": settings });
    scene.patch(&format!("/sites/{own}"), &body).await;
    assert_eq!(scene.check(own).await.get("port"), None);
    let reset = team(json!(null)).await;
    let settings = &reset.body["data"]["monitoring_settings"]["tools"]["ssl"]["settings"];
    assert_eq!(settings.get("port"), None, "{reset:?}");
    assert_eq!(scene.check(inherits).await.get("port"), None);
}

#[tokio::test]
async fn a_failure_on_another_port_names_it() {
    let scene = Scene::start().await;
    let settings = json!({ "port": 8443, "failures_to_open": 1 });
    let site = scene.site("https://site.test", &json!({ "settings": settings })).await;
    let result = scene.check(site).await;
    assert_eq!((&result["is_valid"], &result["port"]), (&json!(false), &json!(8443)));
    let issues = scene.issues().await;
    let summary = issues[0]["summary"].as_str().expect("a summary");
    assert!(summary.starts_with("site.test on port 8443 has no valid certificate: "), "{summary}");
    assert_eq!(issues[0]["context"]["measured"]["port"], 8443);
}

#[tokio::test]
async fn a_chain_that_ends_before_its_leaf_expires_soon() {
    const LATER: Date = (2026, 12, 20);
    let direct: Intermediates<'_> = &[];
    let cases = [
        (direct, None, false),
        (&[("issuer", &[NEXT_YEAR])], None, false),
        // Within the usual 14 days, and after them.
        (&[("issuer", &[SOON])], Some(("CN=issuer", "2026-11-25 00:00:00")), true),
        (&[("issuer", &[LATER])], Some(("CN=issuer", "2026-12-20 00:00:00")), false),
        // The first of two, wherever it is in the chain.
        (
            &[("upper", &[SOON]), ("lower", &[LATER])],
            Some(("CN=upper", "2026-11-25 00:00:00")),
            true,
        ),
        (
            &[("upper", &[NEXT_YEAR]), ("lower", &[SOON])],
            Some(("CN=lower", "2026-11-25 00:00:00")),
            true,
        ),
        // Another certificate of the same issuer goes on, whatever the order.
        (&[("issuer", &[SOON, NEXT_YEAR])], None, false),
        (&[("issuer", &[NEXT_YEAR, SOON])], None, false),
        (&[("issuer", &[LATER, SOON])], Some(("CN=issuer", "2026-12-20 00:00:00")), false),
        (&[("issuer", &[PAST, SOON])], Some(("CN=issuer", "2026-11-25 00:00:00")), true),
    ];
    for (intermediates, first, is_soon) in cases {
        let scene = Scene::start().await;
        let site = scene.site("https://site.test", &json!({})).await;
        scene.server.present(Some(chain(&scene.root, intermediates, (2027, 5, 1))));
        let mut result = Value::Null;
        for _ in 0..2 {
            result = scene.check(site).await;
        }
        assert_eq!(result["is_valid"], true, "{intermediates:?} {result}");
        assert_eq!(result["days_left"], 161, "that of the leaf");
        let named = first.map(|(subject, end)| json!({ "subject": subject, "valid_to": end }));
        assert_eq!(result.get("first_to_expire"), named.as_ref(), "{intermediates:?}");
        let issues = scene.issues().await;
        assert_eq!(issues.len(), usize::from(is_soon), "{intermediates:?} {issues:?}");
        if let (Some((subject, end)), Some(issue)) = (first, issues.first()) {
            let summary = format!(
                "the certificate of site.test expires soon: \"{subject}\" in its chain expires on {end} UTC"
            );
            assert_eq!(issue["fingerprint"], "ssl:expiring");
            assert_eq!(issue["summary"], summary.as_str());
        }
    }
}

#[tokio::test]
async fn a_chain_counts_from_its_own_limit_and_ends_with_its_renewal() {
    let scene = Scene::start().await;
    let settings = json!({ "settings": { "expiry_days": 40, "failures_to_open": 1 } });
    let site = scene.site("https://site.test", &settings).await;
    scene.server.present(Some(chain(&scene.root, &[("issuer", &[(2026, 12, 20)])], NEXT_YEAR)));
    scene.check(site).await;
    assert_eq!(scene.open().await, ["ssl:expiring"]);
    scene.server.present(Some(chain(&scene.root, &[("issuer", &[NEXT_YEAR])], NEXT_YEAR)));
    scene.check(site).await;
    assert_eq!(scene.open().await, [""; 0]);
}
