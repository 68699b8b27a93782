//! What DNS checks are compared with if a site expects no records explicitly: the records that the
//! first check found.

use serde::{Deserialize, Serialize};

use super::ToolState;
use crate::checks::check::RecordHashes;
use crate::id::CheckId;

/// The records of a site that its DNS checks learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learnt {
    /// The check whose records they are.
    #[serde(rename = "c", with = "packed")]
    pub check: CheckId,
    /// What later checks are compared with.
    #[serde(rename = "b")]
    pub baseline: RecordHashes,
    /// What the last check saw, where it differs: what a resolution by hand accepts.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<RecordHashes>,
}

/// A check's id as its 16 bytes: the item of a tool is to stay below a kilobyte.
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
    /// Learns from a check that looked records up.
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

    /// Takes the records as the last check saw them for what they should be.
    pub(super) fn accept_records(&mut self) {
        let accepted = self.evaluated.zip(self.learnt.as_mut().and_then(|it| it.seen.take()));
        if let Some((check, baseline)) = accepted {
            self.learnt = Some(Learnt { check: check.id, baseline, seen: None });
        }
    }

    /// The state without what DNS checks learnt: the next one learns them again.
    #[must_use]
    pub fn forgetting_records(self) -> Self {
        Self { learnt: None, ..self }
    }
}
