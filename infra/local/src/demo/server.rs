//! Serves the demo's sites and receives its alerts, on a loopback address.

use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::server::ResolvesServerCertUsingSni;
use tokio_rustls::rustls::sign::CertifiedKey;
use vedette_probe::ssrf_guard::Outbound;
use vedette_runtime::Clock;

use super::sites::{DemoSite, SITES, SUCCEEDS, place, was_down};

/// What can go wrong while the demo is set up or served.
pub(super) type Fault = Box<dyn Error + Send + Sync>;

/// The address at which the sites are served: a loopback address on which nothing else listens.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 77);
/// The address on machines that do not have that one.
const FALLBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// The hosts of the demo's channels.
pub(super) const RECEIVERS: [&str; 4] =
    ["chat.example", "community.example", "push.example", "desk.example"];
/// For how many days a certificate is valid.
pub(super) const VALID_DAYS: i64 = 180;
/// The name of the authority that issues the demo's certificates.
pub(super) const AUTHORITY: &str = "Demo CA";
/// What a site that is down answers.
pub(super) const UNAVAILABLE: &str = "<!doctype html>\n<title>503 Service Unavailable</title>\n<h1>Service Unavailable</h1>\n<p>No server is available to handle this request.</p>\n";

/// The sites and the receiver of alerts.
pub(crate) struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    /// Requests to the site that goes on failing.
    asked: AtomicUsize,
}

impl Server {
    /// Listens, and directs checks and alerts to the address. They may reach no other address of this machine.
    pub(super) async fn listen(
        outbounds: [&mut Outbound; 2],
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let listener = match TcpListener::bind((ADDRESS, 0)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((FALLBACK, 0)).await?,
        };
        let address = listener.local_addr()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, AUTHORITY);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        for outbound in outbounds {
            outbound.allow = format!("{}/32", address.ip()).parse().into_iter().collect();
            outbound.connect_to = hosts()
                .filter_map(|(host, _)| format!("{host}:443:{address}").parse().ok())
                .collect();
            outbound.extra_roots.push(authority.der().clone());
        }
        let acceptor = TlsAcceptor::from(Arc::new(tls(&authority, now)?));
        Ok(Self { listener, acceptor, asked: AtomicUsize::new(1) })
    }

    /// Answers until it is dropped.
    pub(crate) async fn serve(self, clock: Clock) {
        let server = Arc::new(self);
        loop {
            if let Ok((stream, _)) = server.listener.accept().await {
                let (server, clock) = (Arc::clone(&server), clock.clone());
                // A task for each connection, so that a slow client does not delay others.
                tokio::spawn(async move { server.converse(stream, &clock).await });
            }
        }
    }

    async fn converse(&self, stream: TcpStream, clock: &Clock) -> Result<(), Fault> {
        let stream = self.acceptor.accept(stream).await?;
        let service = service_fn(async |request| {
            Ok::<_, Infallible>(self.answer(&request, clock.now()).await)
        });
        Ok(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?)
    }

    async fn answer(&self, request: &Request<Incoming>, now: Timestamp) -> Response<Full<Bytes>> {
        let host = request.headers().get(HOST).map(HeaderValue::as_bytes);
        let asked = |site: &DemoSite| Some(site.host().as_bytes()) == host;
        let Some(place) = SITES.iter().position(asked) else {
            // Some chats confirm a message in this way.
            return Response::new(Full::from("ok"));
        };
        let site = &SITES[place];
        sleep(site.response_time(now).unsigned_abs()).await;
        // What was down when the demo started stays so.
        let is_up = !was_down(place, SignedDuration::ZERO)
            || place == place::SEARCH
                && self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(SUCCEEDS);
        let mut answer = match is_up {
            true => Response::new(Full::from(format!(
                "<!doctype html>\n<title>{}</title>\n",
                site.name
            ))),
            false => Response::new(Full::from(UNAVAILABLE)),
        };
        if !is_up {
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        answer
    }
}

/// All hosts, and for how many days their certificates are valid.
fn hosts() -> impl Iterator<Item = (&'static str, i64)> {
    let sites = SITES.iter().map(|site| (site.host(), site.certificate));
    sites.chain(RECEIVERS.map(|host| (host, 90)))
}

/// The first day on which a certificate is no longer valid.
pub(super) fn certificate_ends(days: i64, now: Timestamp) -> Timestamp {
    let end = (now + SignedDuration::from_hours(24 * (days + 1))).as_second();
    Timestamp::from_second(end - end.rem_euclid(86_400)).unwrap_or(now)
}

/// Serves each host with a certificate of its own.
fn tls(authority: &CertifiedIssuer<'_, KeyPair>, now: Timestamp) -> Result<ServerConfig, Fault> {
    let key = KeyPair::generate()?;
    let private = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let signing = ring::sign::any_supported_type(&private)?;
    let mut certificates = ResolvesServerCertUsingSni::new();
    for (host, days) in hosts() {
        let date = |at: Timestamp| {
            let date = at.to_zoned(TimeZone::UTC).date();
            date_time_ymd(
                date.year().into(),
                date.month().unsigned_abs(),
                date.day().unsigned_abs(),
            )
        };
        let end = certificate_ends(days, now);
        let mut params = CertificateParams::new([host.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, host);
        params.not_before = date(end - SignedDuration::from_hours(24 * VALID_DAYS));
        params.not_after = date(end);
        let certificate = params.signed_by(&key, authority)?;
        let chain = vec![certificate.der().clone(), authority.der().clone()];
        certificates.add(host, CertifiedKey::new(chain, Arc::clone(&signing)))?;
    }
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(config.with_cert_resolver(Arc::new(certificates)))
}
