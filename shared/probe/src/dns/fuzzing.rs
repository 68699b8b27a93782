//! The entry points of DNS checks for fuzzing; see [`crate::fuzzing`].

use hickory_resolver::proto::rr::Name;
use vedette_domain::sites::settings::DnsRecordType;

use super::message;

/// Reads a resolver's answer to a question for `www.example.com`, of any type.
pub fn answer(data: &[u8]) {
    let name: Name = "www.example.com.".parse().expect("a name");
    for kind in DnsRecordType::ALL {
        let Ok(message) = message::answer(data, &name, message::record_type(kind)) else {
            continue;
        };
        let answer = message::read(&message, &name, kind);
        assert!(answer.records.len() <= message::CHAIN_LIMIT + message::RECORD_LIMIT);
        assert!(message::texts(&message, &name).len() <= message::RECORD_LIMIT);
    }
}
