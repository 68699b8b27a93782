//! A DNS-over-HTTPS server on loopback, with `hickory-server`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_resolver::proto::op::{Metadata, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME, MX, NS, SOA, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use hickory_server::net::runtime::Time;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponseBuilder;
use tokio::net::TcpListener;

use super::certificates::{Authority, CURRENT};
use crate::dns::DohServer;

/// What the server knows about a name.
#[derive(Clone)]
pub(crate) enum Zone {
    /// These records, each with its type and value.
    Holds(&'static [(&'static str, &'static str)]),
    /// Answers with this code. NXDOMAIN has the SOA record of a zone.
    Fails(ResponseCode),
    /// Answers NXDOMAIN in the way Quad9 does for names that it blocks.
    Blocked,
    /// Never answers.
    Silent,
}

/// Answers for its names, and NXDOMAIN for all others.
pub(crate) struct DohZone {
    pub(crate) server: DohServer,
    asked: Asked,
    _server: hickory_server::Server<Handler>,
}

type Asked = Arc<Mutex<Vec<String>>>;

impl DohZone {
    pub(crate) async fn start(
        name: &str,
        authority: &Authority,
        zones: impl IntoIterator<Item = (&'static str, Zone)>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let zones: HashMap<_, _> = zones.into_iter().collect();
        let asked = Asked::default();
        let handler = Handler { zones, asked: Arc::clone(&asked) };
        let mut server = hickory_server::Server::new(handler);
        let tls = authority.server(&["127.0.0.1"], CURRENT, &["h2"]);
        server
            .register_https_listener_with_tls_config(
                listener,
                Duration::from_secs(30),
                Arc::new(tls),
                None,
                "/dns-query".to_owned(),
            )
            .expect("a listener");
        let server_of = format!("{name}=https://{address}/dns-query").parse().expect("a server");
        Self { server: server_of, asked, _server: server }
    }

    /// Names and types that it was asked for so far, in ascending order.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().expect("no panic").clone();
        asked.sort();
        asked
    }
}

struct Handler {
    zones: HashMap<&'static str, Zone>,
    asked: Asked,
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(
        &self,
        request: &Request,
        mut response: R,
    ) -> ResponseInfo {
        let question = request.request_info().expect("one question").query.original().clone();
        let name = question.name().to_ascii().to_lowercase();
        let name = name.trim_end_matches('.');
        let kind = question.query_type();
        self.asked.lock().expect("no panic").push(format!("{name} {kind}"));
        let mut metadata = Metadata::response_from_request(&request.metadata);
        metadata.recursion_available = true;
        let (answers, code, has_soa) = self.find(name, kind).await;
        metadata.response_code = code;
        let soa = SOA::new(Name::root(), Name::root(), 1, 3600, 600, 86_400, 300);
        let soa = has_soa.then(|| Record::from_rdata(Name::root(), 300, RData::SOA(soa)));
        let message = MessageResponseBuilder::from_message_request(request).build(
            metadata,
            &answers,
            [],
            &soa,
            [],
        );
        response.send_response(message).await.expect("a response")
    }
}

impl Handler {
    async fn find(&self, name: &str, kind: RecordType) -> (Vec<Record>, ResponseCode, bool) {
        let mut owner = name.to_owned();
        let mut answers = Vec::new();
        loop {
            let values = match self.zones.get(owner.as_str()) {
                Some(Zone::Holds(values)) => *values,
                Some(Zone::Fails(code)) => {
                    return (answers, *code, *code == ResponseCode::NXDomain);
                }
                Some(Zone::Blocked) => return (answers, ResponseCode::NXDomain, false),
                Some(Zone::Silent) => std::future::pending().await,
                None => return (answers, ResponseCode::NXDomain, true),
            };
            let at = domain(&owner);
            let record = |(kind, value): &(&str, &str)| {
                Record::from_rdata(at.clone(), 300, data(kind, value))
            };
            let of_kind = |kind: RecordType| {
                let kind = kind.to_string();
                values.iter().filter(move |(it, _)| *it == kind)
            };
            let alias = of_kind(RecordType::CNAME).next();
            answers.extend(of_kind(kind).map(record));
            match alias {
                Some((_, target)) if kind != RecordType::CNAME => {
                    answers.push(record(&("CNAME", target)));
                    owner = target.to_lowercase();
                }
                _ => {
                    let is_empty = answers.is_empty();
                    return (answers, ResponseCode::NoError, is_empty);
                }
            }
        }
    }
}

fn domain(text: &str) -> Name {
    let mut name = Name::from_ascii(text).expect("a name");
    name.set_fqdn(true);
    name
}

/// A text of more than 255 bytes is split into the strings of a record.
fn data(kind: &str, value: &str) -> RData {
    match kind {
        "A" => RData::A(A(value.parse().expect("an address"))),
        "AAAA" => RData::AAAA(AAAA(value.parse().expect("an address"))),
        "CNAME" => RData::CNAME(CNAME(domain(value))),
        "MX" => {
            let (priority, target) = value.split_once(' ').expect("two parts");
            RData::MX(MX::new(priority.parse().expect("a number"), domain(target)))
        }
        "NS" => RData::NS(NS(domain(value))),
        "TXT" => {
            let strings: Vec<_> = value.as_bytes().chunks(255).collect();
            RData::TXT(TXT::from_bytes(strings))
        }
        other => panic!("{other} is not known here"),
    }
}
