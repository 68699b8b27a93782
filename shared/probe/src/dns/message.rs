//! DNS messages: encodes questions, decodes answers.

use hickory_resolver::proto::op::{Edns, Message, MessageType, OpCode, Query};
use hickory_resolver::proto::rr::{DNSClass, Name, RData, Record, RecordType};
use vedette_domain::checks::check::{DnsAnswer, DnsRecord, Rcode, RecordData};
use vedette_domain::sites::settings::DnsRecordType;

/// The most bytes in an answer. Real answers stay under a tenth of it. With the 64 KiB that DNS allows, from every
/// resolver for every type, a target could choose how much we store.
pub(super) const MESSAGE_LIMIT: usize = 16 * 1024;

/// Links of a CNAME chain followed; resolvers give up earlier.
pub(super) const CHAIN_LIMIT: usize = 16;

/// Records of a type kept, the first in order of their values.
pub(super) const RECORD_LIMIT: usize = 100;

/// The type in the protocol's terms.
pub(super) const fn record_type(kind: DnsRecordType) -> RecordType {
    match kind {
        DnsRecordType::A => RecordType::A,
        DnsRecordType::Aaaa => RecordType::AAAA,
        DnsRecordType::Cname => RecordType::CNAME,
        DnsRecordType::Mx => RecordType::MX,
        DnsRecordType::Ns => RecordType::NS,
        DnsRecordType::Txt => RecordType::TXT,
    }
}

/// Encodes a question; `None` if it does not fit into a message.
pub(super) fn question(name: &Name, kind: RecordType) -> Option<Vec<u8>> {
    // The id is always 0, as RFC 8484 advises: HTTP streams distinguish answers.
    let mut message = Message::new(0, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name.clone(), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(MESSAGE_LIMIT as u16);
    message.set_edns(edns);
    message.to_vec().ok()
}

/// Decodes the answer to a question. Errors are in words for people.
pub(super) fn answer(bytes: &[u8], name: &Name, kind: RecordType) -> Result<Message, String> {
    let message =
        Message::from_vec(bytes).map_err(|_| "the answer is not a DNS message".to_owned())?;
    let answers_it = message.metadata.message_type == MessageType::Response
        && matches!(&*message.queries, [query] if query.name() == name && query.query_type() == kind);
    if !answers_it {
        return Err("the answer is to another question".to_owned());
    }
    if message.metadata.truncation {
        return Err("the answer is cut short".to_owned());
    }
    Ok(message)
}

/// What an answer says about `host`'s records of a type. Other records are ignored.
pub(super) fn read(message: &Message, host: &Name, kind: DnsRecordType) -> DnsAnswer {
    let mut records = Vec::new();
    let mut owner = host;
    if kind != DnsRecordType::Cname {
        for _ in 0..CHAIN_LIMIT {
            let Some((record, next)) = alias(&message.answers, owner) else {
                break;
            };
            records.push(record);
            owner = next;
        }
    }
    let mut found: Vec<_> = message
        .answers
        .iter()
        .filter(|record| is_of(record, owner))
        .filter_map(record)
        .filter(|record| record.data.kind() == kind)
        .collect();
    found.sort_by(|a, b| a.data.cmp(&b.data));
    found.truncate(RECORD_LIMIT);
    records.append(&mut found);
    DnsAnswer {
        rcode: Rcode(message.metadata.response_code.into()),
        records,
        has_soa: message.authorities.iter().any(|it| it.record_type() == RecordType::SOA),
    }
}

/// The TXT records in an answer for `name`, each as one text.
pub(super) fn texts(message: &Message, name: &Name) -> Vec<String> {
    let answer = read(message, name, DnsRecordType::Txt);
    let text = |record: DnsRecord| match record.data {
        RecordData::Txt { txt } => Some(txt),
        _ => None,
    };
    answer.records.into_iter().filter_map(text).collect()
}

/// The CNAME record of `owner`, and where it points to.
fn alias<'a>(answers: &'a [Record], owner: &Name) -> Option<(DnsRecord, &'a Name)> {
    answers.iter().filter(|it| is_of(it, owner)).find_map(|it| match &it.data {
        RData::CNAME(target) => Some((record(it)?, &target.0)),
        _ => None,
    })
}

fn is_of(record: &Record, owner: &Name) -> bool {
    record.dns_class == DNSClass::IN && record.name == *owner
}

/// A record of one of the six types.
fn record(record: &Record) -> Option<DnsRecord> {
    let data = match &record.data {
        RData::A(address) => RecordData::A { ip: address.0 },
        RData::AAAA(address) => RecordData::Aaaa { ip: address.0 },
        RData::CNAME(target) => RecordData::Cname { target: text_of(&target.0) },
        RData::MX(mx) => RecordData::Mx { priority: mx.preference, target: text_of(&mx.exchange) },
        RData::NS(target) => RecordData::Ns { target: text_of(&target.0) },
        RData::TXT(txt) => {
            RecordData::Txt { txt: String::from_utf8_lossy(&txt.txt_data.concat()).into_owned() }
        }
        _ => return None,
    };
    Some(DnsRecord { host: text_of(&record.name), ttl: record.ttl, data })
}

/// In lower case, without a trailing dot.
fn text_of(name: &Name) -> String {
    let mut text = name.to_ascii();
    text.make_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use hickory_resolver::proto::op::ResponseCode;
    use hickory_resolver::proto::rr::rdata::{A, CNAME, MX, TXT};

    use super::*;

    fn name(text: &str) -> Name {
        text.parse().expect("a name")
    }

    fn record_of(owner: &str, data: RData) -> Record {
        Record::from_rdata(name(owner), 60, data)
    }

    fn cname(owner: &str, target: &str) -> Record {
        record_of(owner, RData::CNAME(CNAME(name(target))))
    }

    fn a(owner: &str, last: u8) -> Record {
        record_of(owner, RData::A(A::new(192, 0, 2, last)))
    }

    fn of(answers: Vec<Record>, kind: DnsRecordType) -> Vec<String> {
        let mut message = Message::response(0, OpCode::Query);
        message.metadata.response_code = ResponseCode::NoError;
        message.answers = answers;
        let answer = read(&message, &name("www.example.com."), kind);
        assert_eq!((answer.rcode, answer.has_soa), (Rcode::NO_ERROR, false));
        let told = |record: DnsRecord| format!("{} {}", record.host, record.data.normal());
        answer.records.into_iter().map(told).collect()
    }

    #[test]
    fn a_question_says_what_is_wanted() {
        let bytes = question(&name("www.example.com."), RecordType::AAAA).expect("a question");
        let read = Message::from_vec(&bytes).expect("a message");
        assert_eq!(read.queries, [Query::query(name("www.example.com."), RecordType::AAAA)]);
        assert_eq!((read.metadata.id, read.max_payload()), (0, MESSAGE_LIMIT as u16));
        assert!(read.metadata.recursion_desired);
    }

    #[test]
    fn only_what_was_asked_for_is_read() {
        let answers = || {
            let mut chaos = a("www.example.com.", 9);
            chaos.dns_class = DNSClass::CH;
            vec![
                a("example.com.", 1),
                a("WWW.Example.com.", 2),
                chaos,
                record_of("www.example.com.", RData::TXT(TXT::from_bytes(vec![b"a\xff", b"b"]))),
                record_of("www.example.com.", RData::MX(MX::new(0, Name::root()))),
            ]
        };
        assert_eq!(of(answers(), DnsRecordType::A), ["www.example.com 192.0.2.2"]);
        assert_eq!(of(answers(), DnsRecordType::Txt), ["www.example.com a\u{fffd}b"]);
        assert_eq!(of(answers(), DnsRecordType::Mx), ["www.example.com 0 ."]);
        assert_eq!(of(answers(), DnsRecordType::Ns), [""; 0]);
    }

    #[test]
    fn chains_are_followed_in_whatever_order_they_come() {
        let answers = || {
            vec![
                a("c.example.", 1),
                cname("b.example.", "c.example."),
                cname("x.example.", "y.example."),
                cname("www.example.com.", "b.example."),
            ]
        };
        let chain = ["www.example.com b.example", "b.example c.example", "c.example 192.0.2.1"];
        assert_eq!(of(answers(), DnsRecordType::A), chain);
        assert_eq!(of(answers(), DnsRecordType::Cname), chain[..1]);
    }

    #[test]
    fn circles_and_floods_end() {
        let circle = vec![cname("www.example.com.", "b."), cname("b.", "www.example.com.")];
        assert_eq!(of(circle, DnsRecordType::A).len(), CHAIN_LIMIT);
        let flood = (0..=255).rev().map(|last| a("www.example.com.", last)).collect();
        let taken = of(flood, DnsRecordType::A);
        assert_eq!(taken.len(), RECORD_LIMIT);
        assert_eq!(
            (&*taken[0], &*taken[99]),
            ("www.example.com 192.0.2.0", "www.example.com 192.0.2.99")
        );
    }
}
