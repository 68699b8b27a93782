//! The records that the first DNS check found. Later checks are compared with them if a site has no expected records of
//! its own.

use serde::{Deserialize, Serialize};

use super::ToolState;
use crate::checks::check::{AddressHashes, KnownRecords, RecordHashes};
use crate::id::CheckId;

/// The records of a site that its DNS checks have learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Learnt {
    /// The check that found the records.
    pub check: CheckId,
    /// The records that later checks are compared with, with the addresses that were seen since.
    pub baseline: KnownRecords,
    /// What the last check found of the types that changed, if any did. A resolution by a person accepts it.
    pub seen: Option<KnownRecords>,
    /// Whether the check before the last one found some of the same addresses as `seen`.
    pub is_repeated: bool,
}

/// The stored form. Earlier versions did not know addresses, and ignore them.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(rename = "c", with = "packed")]
    check: CheckId,
    #[serde(rename = "b")]
    baseline: RecordHashes,
    #[serde(rename = "k", default, skip_serializing_if = "AddressHashes::is_empty")]
    known: AddressHashes,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    seen: Option<RecordHashes>,
    #[serde(rename = "sk", default, skip_serializing_if = "AddressHashes::is_empty")]
    seen_addresses: AddressHashes,
    #[serde(rename = "sr", default, skip_serializing_if = "std::ops::Not::not")]
    is_repeated: bool,
}

impl From<Stored> for Learnt {
    fn from(stored: Stored) -> Self {
        let Stored { check, baseline, known, seen, seen_addresses, is_repeated } = stored;
        let records = |hashes, addresses| KnownRecords { hashes, addresses };
        let seen = seen.map(|hashes| records(hashes, seen_addresses));
        Self { check, baseline: records(baseline, known), seen, is_repeated }
    }
}

impl From<Learnt> for Stored {
    fn from(learnt: Learnt) -> Self {
        let KnownRecords { hashes: baseline, addresses: known } = learnt.baseline;
        let (seen, seen_addresses) = learnt.seen.map(|seen| (seen.hashes, seen.addresses)).unzip();
        let seen_addresses = seen_addresses.unwrap_or_default();
        let Learnt { check, is_repeated, .. } = learnt;
        Self { check, baseline, known, seen, seen_addresses, is_repeated }
    }
}

/// A check's id as its 16 bytes, because the item of a tool should stay below a kilobyte.
mod packed {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_bytes::ByteBuf;
    use uuid::Uuid;

    use crate::id::CheckId;

    pub(super) fn serialize<S: Serializer>(id: &CheckId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(id.as_uuid().as_bytes())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<CheckId, D::Error> {
        let bytes = ByteBuf::deserialize(deserializer)?;
        let uuid = Uuid::from_slice(&bytes).map_err(|_| D::Error::custom("not 16 bytes"))?;
        CheckId::try_from(uuid).map_err(|_| D::Error::custom("not the id of a check"))
    }
}

impl ToolState {
    /// Learns from a check that found these records.
    pub(super) fn learn(&mut self, check: CheckId, found: &KnownRecords) {
        if found.hashes.is_empty() {
            return;
        }
        let learnt = self.learnt.take();
        let Learnt { check, mut baseline, seen, is_repeated } = learnt.unwrap_or_else(|| Learnt {
            check,
            baseline: KnownRecords::default(),
            seen: None,
            is_repeated: false,
        });
        let changed = baseline.changed_types(found);
        let shares = seen.as_ref().is_some_and(|seen| seen.shares_an_address_with(found));
        if let Some(seen) = seen.filter(|_| !shares && !is_repeated) {
            // The answers of some pools share nothing. Addresses that the next answer replaces belong to a pool; after
            // a move or an attack, they stay.
            baseline = baseline.after(&seen.only(&found.types()), &[]);
        }
        let seen = KnownRecords::default().completed_by(found).only(&changed);
        let seen = (!changed.is_empty()).then_some(seen);
        let baseline = baseline.after(found, &changed);
        let is_repeated = shares && seen.is_some();
        self.learnt = Some(Learnt { check, baseline, seen, is_repeated });
    }

    /// Accepts the records that the last check found as the correct ones.
    pub(super) fn accept_records(&mut self) {
        let Some((check, learnt)) = self.evaluated.zip(self.learnt.as_mut()) else { return };
        let Some(seen) = learnt.seen.take() else { return };
        let baseline = seen.completed_by(&learnt.baseline);
        *learnt = Learnt { check: check.id, baseline, seen: None, is_repeated: false };
    }

    /// The state without the learned records; the next DNS check learns them again.
    #[must_use]
    pub fn forgetting_records(self) -> Self {
        Self { learnt: None, ..self }
    }
}
