//! A name server on loopback.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::{CNAME, SOA, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use crate::ssrf_guard::{Outbound, SsrfGuard};
use crate::txt::TxtResolver;

/// The most bytes of an answer over UDP; a longer one is cut, so that clients ask again over TCP.
const UDP_MAX: usize = 1_232;

/// What the server does with a name.
pub(crate) enum Entry {
    /// Gives these addresses, by family; an empty list is a name without addresses.
    Addresses(Vec<IpAddr>),
    /// Gives TXT records.
    Texts(Vec<String>),
    /// Points to another name of the zone.
    Alias(&'static str),
    /// Answers SERVFAIL.
    Fails,
    /// Never answers.
    Silent,
}

impl Entry {
    pub(crate) fn addresses(addresses: &[&str]) -> Self {
        Self::Addresses(addresses.iter().map(|text| text.parse().expect("an address")).collect())
    }
}

/// Answers for its entries, and NXDOMAIN for every other name.
pub(crate) struct NameServer {
    config: NameServerConfig,
    /// The port at which it answers over TCP.
    tcp: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _task: JoinSet<()>,
}

impl NameServer {
    /// The names in `entries` have no trailing dot.
    pub(crate) async fn start(entries: impl IntoIterator<Item = (&'static str, Entry)>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        let mut connection = ConnectionConfig::udp();
        connection.port = socket.local_addr().expect("bound").port();
        let config = NameServerConfig::new(IpAddr::from([127, 0, 0, 1]), true, vec![connection]);
        let entries: Arc<HashMap<_, _>> = Arc::new(entries.into_iter().collect());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let mut task = JoinSet::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let tcp = listener.local_addr().expect("bound").port();
        let known = Arc::clone(&entries);
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer_stream(stream, Arc::clone(&known)));
            }
        });
        let log = Arc::clone(&asked);
        task.spawn(async move {
            let mut packet = [0; 1500];
            while let Ok((length, client)) = socket.recv_from(&mut packet).await {
                let query = Message::from_vec(&packet[..length]).expect("a DNS message");
                let name = query.queries[0].name().to_ascii();
                log.lock().expect("no panic").push(name);
                if let Some(mut answer) = answer(&entries, query) {
                    let mut bytes = answer.to_vec().expect("an answer");
                    if bytes.len() > UDP_MAX {
                        answer.answers.clear();
                        answer.metadata.truncation = true;
                        bytes = answer.to_vec().expect("an answer");
                    }
                    socket.send_to(&bytes, client).await.expect("loopback");
                }
            }
        });
        Self { config, tcp, asked, _task: task }
    }

    /// Names that it was asked for so far, in order, without repetitions.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut names = self.asked.lock().expect("no panic").clone();
        names.sort();
        names.dedup();
        names
    }

    /// How often `name`, with its trailing dot, was asked for.
    pub(crate) fn queries(&self, name: &str) -> usize {
        self.asked.lock().expect("no panic").iter().filter(|asked| *asked == name).count()
    }

    /// Looks up TXT records at this server only, also over TCP.
    pub(crate) fn txt_resolver(&self) -> TxtResolver {
        let mut tcp = ConnectionConfig::tcp();
        tcp.port = self.tcp;
        let mut config = self.config.clone();
        config.connections.push(tcp);
        let mut options = ResolverOpts::default();
        options.timeout = Duration::from_secs(1);
        options.attempts = 0;
        TxtResolver::new(ResolverConfig::from_parts(None, Vec::new(), vec![config]), options)
    }

    /// A guard that asks this server only, from a machine in the domain `corp.example`.
    pub(crate) fn guard(&self, outbound: Outbound) -> SsrfGuard {
        let search: Name = "corp.example.".parse().expect("a name");
        let config = ResolverConfig::from_parts(
            Some(search.clone()),
            vec![search],
            vec![self.config.clone()],
        );
        let mut options = ResolverOpts::default();
        options.ndots = 2;
        options.timeout = Duration::from_secs(1);
        options.attempts = 0;
        options.use_hosts_file = ResolveHosts::Never;
        SsrfGuard::with_resolver(outbound, config, options).expect("a guard")
    }
}

/// Answers the queries on a TCP connection, each preceded by its length.
async fn answer_stream(mut stream: TcpStream, entries: Arc<HashMap<&'static str, Entry>>) {
    while let Ok(length) = stream.read_u16().await {
        let mut packet = vec![0; usize::from(length)];
        if stream.read_exact(&mut packet).await.is_err() {
            return;
        }
        let query = Message::from_vec(&packet).expect("a DNS message");
        let Some(answer) = answer(&entries, query) else { return };
        let bytes = answer.to_vec().expect("an answer");
        let length = u16::try_from(bytes.len()).expect("a message");
        let _ = stream.write_u16(length).await;
        let _ = stream.write_all(&bytes).await;
    }
}

fn answer(entries: &HashMap<&'static str, Entry>, query: Message) -> Option<Message> {
    let question = query.queries[0].clone();
    let mut name = question.name().clone();
    let mut answer = query.into_response();
    answer.metadata.recursion_available = true;
    loop {
        let key = name.to_ascii().to_lowercase();
        match entries.get(key.trim_end_matches('.')) {
            Some(Entry::Addresses(addresses)) => {
                let wanted = addresses.iter().filter(|address| {
                    address.is_ipv4() == (question.query_type() == RecordType::A)
                });
                for address in wanted {
                    answer.add_answer(Record::from_rdata(name.clone(), 60, (*address).into()));
                }
                return Some(answer);
            }
            Some(Entry::Texts(texts)) => {
                let texts = texts.iter().filter(|_| question.query_type() == RecordType::TXT);
                for text in texts {
                    let strings = text.as_bytes().chunks(255).collect();
                    let data = RData::TXT(TXT::from_bytes(strings));
                    answer.add_answer(Record::from_rdata(name.clone(), 60, data));
                }
                return Some(answer);
            }
            Some(Entry::Alias(target)) => {
                let target: Name = format!("{target}.").parse().expect("a name");
                let alias = RData::CNAME(CNAME(target.clone()));
                answer.add_answer(Record::from_rdata(name, 60, alias));
                name = target;
            }
            Some(Entry::Fails) => {
                answer.metadata.response_code = ResponseCode::ServFail;
                return Some(answer);
            }
            Some(Entry::Silent) => return None,
            None => {
                answer.metadata.response_code = ResponseCode::NXDomain;
                // Its TTL allows resolvers to remember that there is nothing (RFC 2308).
                let soa = SOA::new(Name::root(), Name::root(), 1, 3600, 600, 86_400, 300);
                answer.add_authority(Record::from_rdata(Name::root(), 300, RData::SOA(soa)));
                return Some(answer);
            }
        }
    }
}
