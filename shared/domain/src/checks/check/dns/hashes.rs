//! What is stored to notice that a site's records changed: a hash for each type and for the addresses seen, small enough
//! to be part of a tool's state.

use std::collections::BTreeMap;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;
use sha2::{Digest, Sha256};

use super::DnsResult;
use super::records::DnsRecords;
use crate::sites::settings::DnsRecordType;

/// The most addresses of a type that are known. With those of both types, the tool's item of a site without issues stays
/// in one write unit.
const KNOWN_ADDRESSES: usize = 16;

/// The hash of one or all values of a type: the first 4 bytes of their SHA-256. One change in four billion goes
/// unnoticed.
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
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

impl TryFrom<ByteBuf> for RecordHashes {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (types, hashes) = bytes.split_first().ok_or("no bytes")?;
        let kinds = DnsRecordType::ALL.into_iter().enumerate();
        let kinds: Vec<_> = kinds.filter(|(place, _)| types & (1 << place) != 0).collect();
        if hashes.len() != kinds.len() * 4 {
            return Err("not as many hashes as types");
        }
        let hashes = hashes.chunks_exact(4).filter_map(|hash| hash.try_into().ok());
        let kinds = kinds.into_iter().map(|(_, kind)| kind);
        Ok(Self(kinds.zip(hashes.map(RecordHash)).collect()))
    }
}

impl RecordHashes {
    /// The hashes of `host`'s records, for the types that are known.
    fn of(records: &DnsRecords, host: &str, is_known: impl Fn(DnsRecordType) -> bool) -> Self {
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
}

/// The hash of each address, by type, without types that have none. The address that was seen most recently is last.
///
/// Stored as bytes: the number of IPv4 addresses, followed by the hashes of these and of the IPv6 addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct AddressHashes(BTreeMap<DnsRecordType, Vec<RecordHash>>);

impl Serialize for AddressHashes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let count = u8::try_from(self.get(DnsRecordType::A).len()).map_err(S::Error::custom)?;
        let hashes = DnsRecordType::ADDRESSES.into_iter().flat_map(|kind| self.get(kind));
        let bytes: Vec<u8> = [count].into_iter().chain(hashes.flat_map(|hash| hash.0)).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for AddressHashes {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (count, hashes) = bytes.split_first().ok_or("no bytes")?;
        let (hashes, rest) = hashes.as_chunks();
        let hashes: Vec<_> = hashes.iter().copied().map(RecordHash).collect();
        let (a, aaaa) = hashes.split_at_checked((*count).into()).ok_or("too few hashes")?;
        if !rest.is_empty() {
            return Err("a part of a hash");
        }
        let mut addresses = Self::default();
        addresses.see(DnsRecordType::A, a);
        addresses.see(DnsRecordType::Aaaa, aaaa);
        Ok(addresses)
    }
}

impl AddressHashes {
    /// Whether there are no addresses.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn get(&self, kind: DnsRecordType) -> &[RecordHash] {
        self.0.get(&kind).map_or(&[], Vec::as_slice)
    }

    fn share(&self, others: &Self, kind: DnsRecordType) -> bool {
        let ours = self.get(kind);
        others.get(kind).iter().any(|address| ours.contains(address))
    }

    /// Makes addresses known. Those that were not seen for longest are forgotten, so that a pool is known once each of
    /// its members has been seen, whatever was seen before.
    fn see(&mut self, kind: DnsRecordType, found: &[RecordHash]) {
        if found.is_empty() {
            return;
        }
        let known = self.0.entry(kind).or_default();
        known.retain(|hash| !found.contains(hash));
        known.extend(found);
        known.drain(..known.len().saturating_sub(KNOWN_ADDRESSES));
    }
}

/// The records of a site, as far as they are needed to notice a change: those that a check found, or those that are
/// known from earlier checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownRecords {
    /// The hashes of all values of each type.
    pub hashes: RecordHashes,
    /// The addresses. Those of a type can be missing in what earlier versions stored.
    pub addresses: AddressHashes,
}

impl KnownRecords {
    /// What a check found, without the types that are unknown.
    pub fn found_by(result: &DnsResult) -> Self {
        let DnsResult { records, host, .. } = result;
        let hashes = RecordHashes::of(records, host, |kind| result.is_known(kind));
        let of_kind = |kind: &DnsRecordType| -> Vec<_> {
            let values = records.watched(*kind, host);
            values.chunks(1).map(RecordHash::of).collect()
        };
        let kinds = DnsRecordType::ADDRESSES.into_iter().filter(|kind| hashes.get(*kind).is_some());
        let addresses = kinds.map(|kind| (kind, of_kind(&kind)));
        let addresses = addresses.filter(|(_, hashes)| !hashes.is_empty()).collect();
        Self { hashes, addresses: AddressHashes(addresses) }
    }

    /// The types, in order, whose records in `found` are not the known ones. Pools answer with a few of their
    /// addresses at a time, so it is enough if one of the addresses is known.
    pub fn changed_types(&self, found: &Self) -> Vec<DnsRecordType> {
        let differs = |kind: &DnsRecordType| {
            let [known, now] = [&self.hashes, &found.hashes].map(|hashes| hashes.get(*kind));
            known.is_some() && known != now
        };
        let is_pool = |kind: &DnsRecordType| self.addresses.share(&found.addresses, *kind);
        found.types().into_iter().filter(|kind| differs(kind) && !is_pool(kind)).collect()
    }

    /// The types that were looked up, in order.
    pub fn types(&self) -> Vec<DnsRecordType> {
        self.hashes.0.keys().copied().collect()
    }

    /// Whether these records and the others have an address in common.
    pub fn shares_an_address_with(&self, others: &Self) -> bool {
        let mut kinds = DnsRecordType::ADDRESSES.into_iter();
        kinds.any(|kind| self.addresses.share(&others.addresses, kind))
    }

    /// These records, with those of `later` for types that have none here: a type that could not be looked up at first
    /// is monitored from the first time that it could.
    #[must_use]
    pub fn completed_by(mut self, later: &Self) -> Self {
        for (kind, hash) in &later.hashes.0 {
            self.hashes.0.entry(*kind).or_insert_with(|| {
                self.addresses.see(*kind, later.addresses.get(*kind));
                *hash
            });
        }
        self
    }

    /// These known records after a check: its addresses are known as well, except those of the types that changed.
    #[must_use]
    pub fn after(self, found: &Self, changed: &[DnsRecordType]) -> Self {
        let mut known = self.completed_by(found);
        for (kind, addresses) in
            found.addresses.0.iter().filter(|(kind, _)| !changed.contains(kind))
        {
            known.addresses.see(*kind, addresses);
        }
        known
    }

    /// The records of these types.
    #[must_use]
    pub fn only(mut self, kinds: &[DnsRecordType]) -> Self {
        self.hashes.0.retain(|kind, _| kinds.contains(kind));
        self.addresses.0.retain(|kind, _| kinds.contains(kind));
        self
    }
}

/// The records that later checks are compared with if a site expects none explicitly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baseline {
    /// The known records, which decide.
    pub known: KnownRecords,
    /// The records of the first check, to show what changed; `None` if their check is gone.
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
        let hashes_but = |unknown: Option<DnsRecordType>, records| {
            let records = DnsRecords::new(records);
            let hashes =
                RecordHashes::of(&records, "www.example.com", |kind| Some(kind) != unknown);
            KnownRecords { hashes, ..KnownRecords::default() }
        };
        let known = hashes_but(Some(DnsRecordType::Txt), vec![]);
        assert_eq!(known.hashes.get(DnsRecordType::Txt), None);
        assert!(known.hashes.get(DnsRecordType::A).is_some() && !known.hashes.is_empty());
        let later = hashes_but(None, vec![txt("one"), cname("www.example.com", "x")]);
        let both = known.clone().completed_by(&later).hashes;
        assert_eq!(both.get(DnsRecordType::Txt), later.hashes.get(DnsRecordType::Txt));
        assert_eq!(both.get(DnsRecordType::Cname), known.hashes.get(DnsRecordType::Cname));
        assert!(RecordHashes::of(&DnsRecords::default(), "a", |_| false).is_empty());
    }

    #[test]
    fn known_addresses_are_small_and_the_first_to_go_are_those_not_seen_for_longest() {
        let read = |bytes: &[u8]| {
            AddressHashes::deserialize(BytesDeserializer::<serde::de::value::Error>::new(bytes))
        };
        let hash = |number: u8| RecordHash([number; 4]);
        let mut known = AddressHashes::default();
        known.see(DnsRecordType::Aaaa, &[hash(9)]);
        for number in 0..16 {
            known.see(DnsRecordType::A, &[hash(number)]);
        }
        known.see(DnsRecordType::A, &[hash(0), hash(16)]);
        let expected: Vec<_> = (2..16).chain([0, 16]).map(hash).collect();
        assert_eq!(known.get(DnsRecordType::A), expected);
        assert_eq!(known.get(DnsRecordType::Aaaa), [hash(9)]);
        let stored = serde_json::to_value(&known).expect("json");
        let bytes: Vec<u8> = serde_json::from_value(stored).expect("bytes");
        assert_eq!((bytes.len(), bytes[0]), (1 + 17 * 4, 16));
        assert_eq!(read(&bytes).expect("readable"), known);
        assert_eq!(read(&[0]).expect("readable"), AddressHashes::default());
        for wrong in [&[][..], &[1], &[1, 2, 3, 4], &[0, 1], &[2, 1, 1, 1, 1]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
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
