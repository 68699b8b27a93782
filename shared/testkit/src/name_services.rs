//! The services that checks ask about names: a resolver with DNS over HTTPS, a registry with RDAP, and the machine's
//! own name server. All of them are on loopback, and can be made unreachable.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use vedette_domain::expectations::OwnershipRecord;
use vedette_probe::ssrf_guard::{Outbound, SsrfGuard};
use vedette_probe::txt::TxtResolver;
use vedette_runtime::TxtRecords;

/// No such name (RFC 1035, section 4.1.1).
const NXDOMAIN: u8 = 3;

/// The server fails (RFC 1035, section 4.1.1).
const SERVFAIL: u8 = 2;

/// The type A (RFC 1035, section 3.2.2).
const A: u8 = 1;

/// The type AAAA (RFC 3596, section 2.1).
const AAAA: u8 = 28;

/// The type TXT (RFC 1035, section 3.2.2).
const TXT: u16 = 16;

/// A resolver for which every name has the address 127.0.0.1, a registry in which every domain is
/// registered (both unless a test says otherwise), and a name server that knows no address, and the TXT records that a test publishes.
#[derive(Debug)]
pub struct NameServices {
    https: SocketAddr,
    udp: SocketAddr,
    certificate: CertificateDer<'static>,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct State {
    /// Whether resolver and registry can be reached.
    is_up: watch::Sender<bool>,
    /// The end of every registration; `None` if the registry does not tell.
    registered_until: watch::Sender<Option<&'static str>>,
    /// The registry's objects by domain; if there are none, every domain is registered.
    registrations: watch::Sender<HashMap<String, Value>>,
    /// The addresses of every name according to the resolver.
    addresses: watch::Sender<Vec<IpAddr>>,
    /// Connections to resolver and registry that were accepted or refused.
    connections: AtomicUsize,
    /// The value of the TXT record of each name, in lower case; `None` if the name server fails.
    texts: watch::Sender<HashMap<String, Option<String>>>,
    /// Queries to the name server.
    queries: AtomicUsize,
}

impl NameServices {
    /// Starts reachable services, whose registry does not tell the ends of registrations.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let (https, udp) =
            (listener.local_addr().expect("bound"), socket.local_addr().expect("bound"));
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let certified = certified.expect("a certificate");
        let certificate = certified.cert.der().clone();
        let acceptor = TlsAcceptor::from(Arc::new(tls(&certified)));
        let state = Arc::new(State {
            is_up: watch::Sender::new(true),
            registered_until: watch::Sender::new(None),
            registrations: watch::Sender::new(HashMap::new()),
            addresses: watch::Sender::new(vec![Ipv4Addr::LOCALHOST.into()]),
            connections: AtomicUsize::new(0),
            texts: watch::Sender::new(HashMap::new()),
            queries: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&state);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                connections.spawn(connection(stream, acceptor.clone(), Arc::clone(&shared)));
            }
        });
        let shared = Arc::clone(&state);
        tasks.spawn(async move {
            let mut query = [0; 1_500];
            while let Ok((length, client)) = socket.recv_from(&mut query).await {
                shared.queries.fetch_add(1, Ordering::SeqCst);
                let answer = of_name_server(&query[..length], &shared.texts.borrow());
                socket.send_to(&answer, client).await.expect("loopback");
            }
        });
        Self { https, udp, certificate, state, _tasks: tasks }
    }

    /// The resolver, in the form of `VEDETTE_DOH`.
    pub fn doh(&self) -> String {
        format!("here=https://{}/dns-query", self.https)
    }

    /// The registry, in the form of `VEDETTE_RDAP`.
    pub fn rdap(&self) -> String {
        format!("https://{}/domain/", self.https)
    }

    /// The certificate that clients of both must trust.
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.clone()
    }

    /// A guard for a machine with this name server.
    pub fn guard(&self, outbound: Outbound) -> SsrfGuard {
        let servers = self.name_servers();
        SsrfGuard::with_resolver(outbound, servers, ResolverOpts::default()).expect("a guard")
    }

    /// TXT records, as a process on a machine with this name server looks them up.
    pub fn txt_records(&self) -> TxtRecords {
        let resolver = TxtResolver::new(self.name_servers(), ResolverOpts::default());
        TxtRecords::from_fn(resolver.into_fn())
    }

    fn name_servers(&self) -> ResolverConfig {
        let mut connection = ConnectionConfig::udp();
        connection.port = self.udp.port();
        let server = NameServerConfig::new(self.udp.ip(), true, vec![connection]);
        ResolverConfig::from_parts(None, Vec::new(), vec![server])
    }

    /// Publishes a TXT record.
    pub fn publish(&self, record: &OwnershipRecord) {
        let OwnershipRecord { name, value } = record.clone();
        self.state.texts.send_modify(|texts| drop(texts.insert(name, Some(value))));
    }

    /// Withdraws a TXT record.
    pub fn withdraw(&self, record: &OwnershipRecord) {
        self.state.texts.send_modify(|texts| drop(texts.remove(&record.name)));
    }

    /// Makes the name server fail for the name of a TXT record.
    pub fn fail(&self, record: &OwnershipRecord) {
        self.state.texts.send_modify(|texts| drop(texts.insert(record.name.clone(), None)));
    }

    /// Queries to the name server so far.
    pub fn queries(&self) -> usize {
        self.state.queries.load(Ordering::SeqCst)
    }

    /// Makes the resolver and the registry unreachable, or reachable again.
    pub fn set_up(&self, is_up: bool) {
        self.state.is_up.send_replace(is_up);
    }

    /// Sets when registrations end according to the registry, as in RFC 3339; with `None` it does not tell.
    pub fn register_until(&self, end: Option<&'static str>) {
        self.state.registered_until.send_replace(end);
    }

    /// Registers a domain with the registry, which from then on knows only such domains. `fields` are added to its
    /// object, and replace those of the same name.
    pub fn register(&self, domain: &str, fields: Value) {
        let mut object = json!({ "objectClassName": "domain", "ldhName": domain, "events": [] });
        let fields = fields.as_object().expect("fields").clone();
        object.as_object_mut().expect("an object").extend(fields);
        self.state.registrations.send_modify(|all| drop(all.insert(domain.to_owned(), object)));
    }

    /// Sets the addresses of every name according to the resolver.
    pub fn resolve_to(&self, addresses: &[IpAddr]) {
        self.state.addresses.send_replace(addresses.to_vec());
    }

    /// Connections to the resolver and the registry so far, including failed ones.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

/// HTTP/2 on TLS, as long as the services are up.
async fn connection(stream: TcpStream, acceptor: TlsAcceptor, state: Arc<State>) {
    let mut is_up = state.is_up.subscribe();
    let served = async {
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let service = service_fn(|request| respond(request, Arc::clone(&state)));
        // Ends with an error when the client leaves, as it should.
        let _ = http2::Builder::new(TokioExecutor::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    };
    tokio::select! {
        biased;
        _ = is_up.wait_for(|is_up| !is_up) => {}
        () = served => {}
    }
}

async fn respond(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (kind, body) = if request.method() == Method::POST {
        let query = request.into_body().collect().await.expect("a query").to_bytes();
        let addresses = state.addresses.borrow();
        ("application/dns-message", answer_with_addresses(&query, &addresses))
    } else {
        let domain = request.uri().path().rsplit('/').next().expect("a path").to_owned();
        let registrations = state.registrations.borrow();
        let object = if registrations.is_empty() {
            let end = *state.registered_until.borrow();
            let events = end.map(|end| json!({ "eventAction": "expiration", "eventDate": end }));
            json!({
                "objectClassName": "domain", "ldhName": domain, "events": Vec::from_iter(events),
            })
        } else if let Some(object) = registrations.get(&domain) {
            object.clone()
        } else {
            let response = Response::builder().status(404);
            return Ok(response.body(Full::default()).expect("a response"));
        };
        ("application/rdap+json", object.to_string().into_bytes())
    };
    let response = Response::builder().header("content-type", kind);
    Ok(response.body(Full::from(body)).expect("a response"))
}

/// The name server's answer to a DNS query.
fn of_name_server(query: &[u8], texts: &HashMap<String, Option<String>>) -> Vec<u8> {
    let (mut name, mut at) = (Vec::new(), 12);
    while query[at] != 0 {
        let end = at + usize::from(query[at]) + 1;
        name.push(String::from_utf8_lossy(&query[at + 1..end]).to_lowercase());
        at = end;
    }
    let asks_for_text = query[at + 1..at + 3] == TXT.to_be_bytes();
    match texts.get(&name.join(".")) {
        Some(None) => answer(query, SERVFAIL),
        Some(Some(text)) if asks_for_text => {
            let mut answer = answer(query, 0);
            // One answer: the question's name, type TXT, class IN, 60 s, the length of the data and of its text.
            answer[7] = 1;
            let length = u8::try_from(text.len()).expect("a short text");
            answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, length + 1, length]);
            answer.extend(text.as_bytes());
            answer
        }
        _ => answer(query, NXDOMAIN),
    }
}

/// The answer to a DNS query (RFC 1035) with this code, without records.
fn answer(query: &[u8], code: u8) -> Vec<u8> {
    let mut end = 12;
    while query[end] != 0 {
        end += usize::from(query[end]) + 1;
    }
    let mut answer = query[..2].to_vec();
    // A response, recursion desired and available; one question, no further sections.
    answer.extend([0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0]);
    answer.extend(&query[12..end + 5]);
    answer
}

/// The answer to a DNS query with those of the addresses that it asks for.
fn answer_with_addresses(query: &[u8], addresses: &[IpAddr]) -> Vec<u8> {
    let mut answer = answer(query, 0);
    let kind = answer[answer.len() - 3];
    for address in addresses {
        let (of_kind, data) = match address {
            IpAddr::V4(ip) => (A, ip.octets().to_vec()),
            IpAddr::V6(ip) => (AAAA, ip.octets().to_vec()),
        };
        if kind == of_kind {
            answer[7] += 1;
            let length = u8::try_from(data.len()).expect("an address");
            // The question's name, the type, class IN, 300 s, the length of the data.
            answer.extend([0xc0, 12, 0, of_kind, 0, 1, 0, 0, 1, 44, 0, length]);
            answer.extend(data);
        }
    }
    answer
}

fn tls(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a key pair");
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}
