//! Keys of the openings and the evidence of an issue.

use jiff::Timestamp;
use vedette_domain::checks::evidence::EvidenceKind;
use vedette_domain::id::Partition;
use vedette_domain::issues::Fingerprint;

use super::{Key, millis, site_partition};

/// Prefix of the evidence of an issue.
pub(crate) fn evidence_prefix(fingerprint: Fingerprint) -> String {
    format!("V#{fingerprint}#")
}

/// Evidence of an issue, of one kind.
pub(crate) fn evidence(partition: Partition, fingerprint: Fingerprint, kind: EvidenceKind) -> Key {
    let sort = format!("{}{}", evidence_prefix(fingerprint), kind.as_str());
    Key::new(site_partition(partition), sort)
}

/// Prefix of the openings of an issue.
pub(crate) fn opening_prefix(fingerprint: Fingerprint) -> String {
    format!("E#{fingerprint}#")
}

/// What an issue said when it opened at an instant.
pub(crate) fn opening(partition: Partition, fingerprint: Fingerprint, opened_at: Timestamp) -> Key {
    let sort = format!("{}{}", opening_prefix(fingerprint), millis(opened_at));
    Key::new(site_partition(partition), sort)
}
