//! What is stored to notice that a site's records changed: a hash for each type, small enough to be part of a tool's
//! state.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::records::DnsRecords;
use crate::bytes;
use crate::sites::settings::DnsRecordType;

/// The hash of all values of a type, however many there are: the first 4 bytes of their SHA-256. One change in four
/// billion goes unnoticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHash([u8; 4]);

impl RecordHash {
    /// The hash of values in normal form, ascending and without duplicates.
    fn of(values: &[String]) -> Self {
        let mut hash = Sha256::new();
        for value in values {
            // Each value is hashed with its length, so that no value can look like two.
            hash.update((value.len() as u64).to_be_bytes());
            hash.update(value.as_bytes());
        }
        let digest = hash.finalize();
        Self(std::array::from_fn(|index| digest[index]))
    }
}

/// The hashes of a site's records, for the types that were looked up. A type without records has a hash too. Order,
/// TTL, case and trailing dots do not change a hash.
///
/// Stored as bytes: a bit for each type that has a hash, in the order of [`DnsRecordType::ALL`], followed by the hashes
/// in that order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordHashes(BTreeMap<DnsRecordType, RecordHash>);

impl Serialize for RecordHashes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = vec![0];
        for (place, kind) in DnsRecordType::ALL.into_iter().enumerate() {
            if let Some(RecordHash(hash)) = self.get(kind) {
                bytes[0] |= 1 << place;
                bytes.extend(hash);
            }
        }
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for RecordHashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bytes::deserialize(deserializer, |bytes| {
            let (types, hashes) = bytes.split_first().ok_or("no bytes")?;
            let kinds = DnsRecordType::ALL.into_iter().enumerate();
            let kinds: Vec<_> = kinds.filter(|(place, _)| types & (1 << place) != 0).collect();
            if hashes.len() != kinds.len() * 4 {
                return Err("not as many hashes as types");
            }
            let hashes = hashes.chunks_exact(4).filter_map(|hash| hash.try_into().ok());
            let kinds = kinds.into_iter().map(|(_, kind)| kind);
            Ok(Self(kinds.zip(hashes.map(RecordHash)).collect()))
        })
    }
}

impl RecordHashes {
    /// The hashes of `host`'s records, for the types that are known.
    pub(super) fn of(
        records: &DnsRecords,
        host: &str,
        is_known: impl Fn(DnsRecordType) -> bool,
    ) -> Self {
        let known = DnsRecordType::ALL.into_iter().filter(|kind| is_known(*kind));
        Self(known.map(|kind| (kind, RecordHash::of(&records.watched(kind, host)))).collect())
    }

    /// The hash of a type, if it was looked up.
    pub fn get(&self, kind: DnsRecordType) -> Option<RecordHash> {
        self.0.get(&kind).copied()
    }

    /// Whether no type was looked up, so that there is nothing to learn.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These hashes, with those of `later` for types that have none here: a type that could not be looked up at first
    /// is monitored from the first time that it could.
    #[must_use]
    pub fn completed_by(mut self, later: &Self) -> Self {
        for (kind, hash) in &later.0 {
            self.0.entry(*kind).or_insert(*hash);
        }
        self
    }
}

/// The records that later checks are compared with if a site expects none explicitly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The hashes, which decide.
    pub hashes: RecordHashes,
    /// The records themselves, to show what changed; `None` if their check is gone.
    pub records: Option<DnsRecords>,
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use serde::de::value::BytesDeserializer;
    use serde_json::json;

    use super::super::records::{DnsRecord, RecordData};
    use super::*;

    fn hashes(records: Vec<DnsRecord>) -> RecordHashes {
        RecordHashes::of(&DnsRecords::new(records), "www.example.com", |_| true)
    }

    fn record(host: &str, data: RecordData) -> DnsRecord {
        DnsRecord { host: host.to_owned(), ttl: 300, data }
    }

    fn cname(host: &str, target: &str) -> DnsRecord {
        record(host, RecordData::Cname { target: target.to_owned() })
    }

    fn txt(txt: &str) -> DnsRecord {
        record("www.example.com", RecordData::Txt { txt: txt.to_owned() })
    }

    #[test]
    fn prints_are_stable_and_small() {
        let read = |bytes: &[u8]| {
            RecordHashes::deserialize(BytesDeserializer::<serde::de::value::Error>::new(bytes))
        };
        let one = hashes(vec![record("a", RecordData::A { ip: Ipv4Addr::new(192, 0, 2, 1) })]);
        let stored = serde_json::to_value(&one).expect("json");
        let bytes: Vec<u8> = serde_json::from_value(stored).expect("bytes");
        assert_eq!(bytes[..9], [0b11_1111, 0x89, 0x3a, 0x82, 0x85, 0xe3, 0xb0, 0xc4, 0x42]);
        assert_eq!(bytes.len(), 25);
        assert_eq!(read(&bytes).expect("readable"), one);
        let some = RecordHashes::of(&DnsRecords::default(), "a", |kind| kind == DnsRecordType::Mx);
        let stored = serde_json::to_value(&some).expect("json");
        assert_eq!(stored, json!([0b1000, 0xe3, 0xb0, 0xc4, 0x42]));
        assert_eq!(read(&[0b1000, 0xe3, 0xb0, 0xc4, 0x42]).expect("readable"), some);
        for wrong in [&[][..], &[1], &[1, 2, 3, 4], &[1, 2, 3, 4, 5, 6], &[0, 1]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_type_that_is_not_known_has_no_print() {
        let known =
            RecordHashes::of(&DnsRecords::default(), "a", |kind| kind != DnsRecordType::Txt);
        assert_eq!(known.get(DnsRecordType::Txt), None);
        assert!(known.get(DnsRecordType::A).is_some() && !known.is_empty());
        let later = hashes(vec![txt("one"), cname("www.example.com", "x")]);
        let both = known.clone().completed_by(&later);
        assert_eq!(both.get(DnsRecordType::Txt), later.get(DnsRecordType::Txt));
        assert_eq!(both.get(DnsRecordType::Cname), known.get(DnsRecordType::Cname));
        assert!(RecordHashes::of(&DnsRecords::default(), "a", |_| false).is_empty());
    }

    #[test]
    fn values_are_told_apart() {
        let all = [
            hashes(vec![]),
            hashes(vec![txt("")]),
            hashes(vec![txt("ab")]),
            hashes(vec![txt("AB")]),
            hashes(vec![txt("a"), txt("b")]),
            hashes(vec![txt("ab ")]),
        ];
        for (index, one) in all.iter().enumerate() {
            for other in &all[..index] {
                assert_ne!(one, other);
            }
        }
    }

    #[test]
    fn only_the_hosts_own_alias_counts() {
        let hash = |records| hashes(records).get(DnsRecordType::Cname);
        let one = hash(vec![cname("www.example.com", "cdn.example"), cname("cdn.example", "a")]);
        let two = hash(vec![cname("WWW.example.com.", "cdn.example"), cname("cdn.example", "b")]);
        assert_eq!(one, two);
        assert_ne!(one, hash(vec![cname("www.example.com", "other.example")]));
    }

    fn data() -> impl Strategy<Value = RecordData> {
        let name = "[a-z]{1,3}(\\.[a-z]{1,3}){0,2}";
        prop_oneof![
            any::<u32>().prop_map(|bits| RecordData::A { ip: bits.into() }),
            any::<u128>().prop_map(|bits| RecordData::Aaaa { ip: bits.into() }),
            (0_u16..3, name).prop_map(|(priority, target)| RecordData::Mx { priority, target }),
            name.prop_map(|target| RecordData::Ns { target }),
            name.prop_map(|target| RecordData::Cname { target }),
            ".{0,4}".prop_map(|txt| RecordData::Txt { txt }),
        ]
    }

    /// The same value in another spelling.
    fn respelled(data: RecordData) -> RecordData {
        let respell = |name: String| format!("{}.", name.to_uppercase());
        match data {
            RecordData::Cname { target } => RecordData::Cname { target: respell(target) },
            RecordData::Ns { target } => RecordData::Ns { target: respell(target) },
            RecordData::Mx { priority, target } => {
                RecordData::Mx { priority, target: respell(target) }
            }
            other => other,
        }
    }

    proptest! {
        #[test]
        fn order_repeats_spelling_and_ttl_change_no_print(
            records in prop::collection::vec(data(), 0..8),
            order in any::<prop::sample::Index>(),
            ttl: u32,
        ) {
            let host = "www.example.com";
            let before: Vec<_> = records.iter().cloned().map(|data| record(host, data)).collect();
            let mut after: Vec<_> = records
                .iter()
                .cloned()
                .map(|data| DnsRecord { host: host.to_owned(), ttl, data: respelled(data) })
                .collect();
            if !after.is_empty() {
                let places = order.index(after.len());
                after.rotate_left(places);
                after.reverse();
                after.push(after[0].clone());
            }
            prop_assert_eq!(hashes(before), hashes(after));
        }

        #[test]
        fn another_value_is_another_print(
            records in prop::collection::vec(data(), 0..8),
            more in data(),
        ) {
            let host = "www.example.com";
            let fresh = records.iter().all(|data| data.normal() != more.normal());
            prop_assume!(fresh);
            let kind = more.kind();
            let before: Vec<_> = records.into_iter().map(|data| record(host, data)).collect();
            let after = before.iter().cloned().chain([record(host, more)]).collect();
            let (before, after) = (hashes(before), hashes(after));
            prop_assert_ne!(before.get(kind), after.get(kind));
        }
    }
}
