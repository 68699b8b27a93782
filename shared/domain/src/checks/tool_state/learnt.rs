//! The records that the first DNS check found. Later checks are compared with them if a site has no expected records of
//! its own.

use serde::{Deserialize, Serialize};

use super::ToolState;
use crate::checks::check::RecordHashes;
use crate::id::CheckId;

/// The records of a site that its DNS checks have learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// The check that found the records.
    #[serde(rename = "c", with = "packed")]
    pub check: CheckId,
    /// The hashes that later checks are compared with.
    #[serde(rename = "b")]
    pub baseline: RecordHashes,
    /// What the last check found, if it differs. A resolution by a person accepts it.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<RecordHashes>,
}

/// A check's id as its 16 bytes, because the item of a tool should stay below a kilobyte.
mod packed {
    use serde::{Deserializer, Serializer};
    use uuid::Uuid;

    use crate::bytes;
    use crate::id::CheckId;

    pub(super) fn serialize<S: Serializer>(id: &CheckId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(id.as_uuid().as_bytes())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<CheckId, D::Error> {
        bytes::deserialize(deserializer, |bytes| {
            let uuid = Uuid::from_slice(bytes).map_err(|_| "not 16 bytes")?;
            CheckId::try_from(uuid).map_err(|_| "not the id of a check")
        })
    }
}

impl ToolState {
    /// Learns from a check that looked up records.
    pub(super) fn learn(&mut self, check: CheckId, hashes: RecordHashes) {
        if hashes.is_empty() {
            return;
        }
        self.learnt = Some(match self.learnt.take() {
            None => Learnt { check, baseline: hashes, seen: None },
            Some(Learnt { check, baseline, .. }) => {
                let baseline = baseline.completed_by(&hashes);
                // A type that was not looked up says nothing.
                let seen = hashes.completed_by(&baseline);
                Learnt { check, seen: (seen != baseline).then_some(seen), baseline }
            }
        });
    }

    /// Accepts the records that the last check found as the correct ones.
    pub(super) fn accept_records(&mut self) {
        let accepted = self.evaluated.zip(self.learnt.as_mut().and_then(|it| it.seen.take()));
        if let Some((check, baseline)) = accepted {
            self.learnt = Some(Learnt { check: check.id, baseline, seen: None });
        }
    }

    /// The state without the learned records; the next DNS check learns them again.
    #[must_use]
    pub fn forgetting_records(self) -> Self {
        Self { learnt: None, ..self }
    }
}
