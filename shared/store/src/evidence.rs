//! Evidence and openings of issues.
//!
//! Evidence is deflated, and cut until it takes no more than [`EVIDENCE_MAX`].

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use vedette_domain::checks::evidence::{CheckEvidence, Evidence, EvidenceKind, EvidenceWrite};
use vedette_domain::id::{CheckId, IssueId, Partition};
use vedette_domain::issues::opening::Opening;

use crate::StoreError;
use crate::item::{Item, Stored, expiring, item, key_of, readable, stored};
use crate::keys;
use crate::table::{Condition, Range, Sort, Store};
use crate::transaction::Transaction;

stored!(attributes: StoredEvidence, Opening);

/// The most bytes of one piece of evidence after compression.
pub const EVIDENCE_MAX: usize = 4 * 1024;
/// More than this is not decompressed: bodies and headers are cut before they are stored.
const INFLATE_MAX: u64 = 64 * 1024;
/// The most openings that are read per issue, the newest ones.
const EPISODES_READ: usize = 20;

#[derive(Serialize, Deserialize)]
struct StoredEvidence {
    #[serde(rename = "k")]
    check: CheckId,
    /// MessagePack, compressed with deflate.
    #[serde(rename = "e")]
    evidence: ByteBuf,
}

/// The evidence of an issue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IssueEvidence {
    /// The evidence of the check that last opened the issue.
    pub first: Option<CheckEvidence>,
    /// The evidence of the newest failing check since then with a different response.
    pub newest: Option<CheckEvidence>,
    /// The evidence of a successful check.
    pub good: Option<CheckEvidence>,
}

impl IssueEvidence {
    fn of(&mut self, kind: EvidenceKind) -> &mut Option<CheckEvidence> {
        match kind {
            EvidenceKind::First => &mut self.first,
            EvidenceKind::Newest => &mut self.newest,
            EvidenceKind::Good => &mut self.good,
        }
    }
}

fn deflated(evidence: &Evidence) -> Result<Vec<u8>, StoreError> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&rmp_serde::to_vec_named(evidence)?).map_err(StoreError::corrupt)?;
    encoder.finish().map_err(StoreError::corrupt)
}

fn read(item: Item) -> Result<CheckEvidence, StoreError> {
    let StoredEvidence { check, evidence } = Stored::read(item)?;
    let mut inflated = Vec::new();
    let mut decoder = DeflateDecoder::new(evidence.as_slice()).take(INFLATE_MAX);
    decoder.read_to_end(&mut inflated).map_err(StoreError::corrupt)?;
    Ok(CheckEvidence { check, evidence: rmp_serde::from_slice(&inflated)? })
}

/// Writes evidence together with the tool's state, whose `rev` ensures that nobody else has written.
pub(crate) fn write_evidence<'a>(
    transaction: Transaction<'a>,
    partition: Partition,
    EvidenceWrite { fingerprint, kind, of }: &EvidenceWrite,
) -> Result<Transaction<'a>, StoreError> {
    let CheckEvidence { check, evidence } = &**of;
    let fits = |part: &Evidence| deflated(part).is_ok_and(|bytes| bytes.len() <= EVIDENCE_MAX);
    let evidence = deflated(&evidence.clone().cut_until(fits))?;
    let stored = StoredEvidence { check: *check, evidence: evidence.into() };
    let key = keys::evidence(partition, *fingerprint, *kind);
    Ok(transaction.put(item(&key, &stored)?, Condition::Always))
}

/// Writes an opening, which expires with the checks of its day.
pub(crate) fn write_opening<'a>(
    transaction: Transaction<'a>,
    opening: &Opening,
    expires_at: Timestamp,
) -> Result<Transaction<'a>, StoreError> {
    let fingerprint = opening.issue.fingerprint();
    let key = keys::opening(opening.issue.partition(), fingerprint, opening.opened_at);
    Ok(transaction.put(expiring(item(&key, opening)?, expires_at), Condition::Always))
}

impl Store {
    /// The evidence of an issue, with one query; a piece that cannot be read is left out.
    pub async fn evidence(&self, issue: IssueId) -> Result<IssueEvidence, StoreError> {
        let (partition, fingerprint) = (issue.partition(), issue.fingerprint());
        let pk = keys::site_partition(partition);
        let all = Range::new(&pk, Sort::Prefix(keys::evidence_prefix(fingerprint)));
        let mut evidence = IssueEvidence::default();
        for item in self.query(all).await? {
            let sort = key_of(&item)?.sk;
            let kind = EvidenceKind::ALL.into_iter().find(|kind| sort.ends_with(kind.as_str()));
            if let Some(kind) = kind {
                *evidence.of(kind) = readable(item, read);
            }
        }
        // Evidence that remains from an earlier opening does not belong to this one.
        let opened_at = evidence.first.as_ref().map(CheckEvidence::at);
        evidence.newest = evidence.newest.filter(|newest| Some(newest.at()) > opened_at);
        Ok(evidence)
    }

    /// The newest openings of an issue, newest first.
    pub async fn openings(&self, issue: IssueId) -> Result<Vec<Opening>, StoreError> {
        let pk = keys::site_partition(issue.partition());
        let sort = Sort::Prefix(keys::opening_prefix(issue.fingerprint()));
        let newest =
            Range { newest_first: true, limit: Some(EPISODES_READ), ..Range::new(&pk, sort) };
        let found = self.query(newest).await?;
        Ok(found.into_iter().filter_map(|item| readable(item, Stored::read)).collect())
    }

    /// Some openings, as far as they are kept.
    pub async fn openings_at(
        &self,
        times: impl IntoIterator<Item = (IssueId, Timestamp)>,
    ) -> Result<Vec<Opening>, StoreError> {
        let keys = times.into_iter().map(|(issue, opened_at)| {
            keys::opening(issue.partition(), issue.fingerprint(), opened_at)
        });
        let found = self.batch_get_relaxed(keys).await?;
        Ok(found.into_values().filter_map(|item| readable(item, Stored::read)).collect())
    }
}
