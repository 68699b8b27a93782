//! Which evidence is stored, according to the tool's state, and when it is rewritten.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{CheckEvidence, Evidence};
use crate::clock::is_ahead;
use crate::id::CheckId;
use crate::issues::Fingerprint;

/// Evidence of a successful check is rewritten after this time, even if the response is the same.
const REFRESHED_AFTER: SignedDuration = SignedDuration::from_hours(24);
/// If the response has changed, the evidence is rewritten after this time: a page with different words at each check
/// costs four writes a day.
const REWRITTEN_AFTER: SignedDuration = SignedDuration::from_hours(6);

/// Which check a piece of evidence belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceKind {
    /// The check that last opened the issue.
    First,
    /// The newest failing check whose response differed from the one of the previous failing check. It may belong to an
    /// earlier opening.
    Newest,
    /// A successful check.
    Good,
}

impl EvidenceKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::First, Self::Newest, Self::Good];

    /// The kind in a key.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Newest => "newest",
            Self::Good => "good",
        }
    }
}

/// Evidence to write, which replaces the evidence of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceWrite {
    /// The issue that it is about.
    pub fingerprint: Fingerprint,
    /// Its kind.
    pub kind: EvidenceKind,
    /// The evidence.
    pub of: Box<CheckEvidence>,
}

/// What a check says about an issue for which evidence is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The check was successful.
    Good {
        /// Whether the check resolved an issue.
        resolved: bool,
    },
    /// The check failed, and the issue opened.
    Opened,
    /// The check failed, and the issue is active.
    Active,
}

/// Which evidence is stored about an issue. Each check reads and writes this, so it is only 12 bytes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct EvidenceMarks {
    /// Digest of the evidence of a successful check, and when it was written.
    good: Option<(u32, Timestamp)>,
    /// Digest of the newest evidence of a failing check.
    failing: Option<u32>,
}

impl EvidenceMarks {
    /// What to write for a check, and the marks after it.
    pub(crate) fn after(
        self,
        fingerprint: Fingerprint,
        check: CheckId,
        seen: Seen,
        evidence: &Evidence,
        now: Timestamp,
    ) -> (Self, Option<EvidenceWrite>) {
        let digest = evidence.digest();
        let put = |kind, evidence| {
            Some(EvidenceWrite {
                fingerprint,
                kind,
                of: Box::new(CheckEvidence { check, evidence }),
            })
        };
        match seen {
            Seen::Good { resolved } => {
                let failing = self.failing.filter(|_| !resolved);
                let due = self.good.is_none_or(|(known, at)| {
                    let age = now.duration_since(at);
                    let is_another = known != digest && (resolved || age >= REWRITTEN_AFTER);
                    is_another || age >= REFRESHED_AFTER || is_ahead(at, now)
                });
                if !due {
                    return (Self { failing, ..self }, None);
                }
                let kept = put(EvidenceKind::Good, evidence.clone().without_text());
                (Self { good: Some((digest, minute_of(now))), failing }, kept)
            }
            Seen::Opened => {
                let first = put(EvidenceKind::First, evidence.clone());
                (Self { failing: Some(digest), ..self }, first)
            }
            Seen::Active if self.failing == Some(digest) => (self, None),
            Seen::Active => {
                let newest = put(EvidenceKind::Newest, evidence.clone());
                (Self { failing: Some(digest), ..self }, newest)
            }
        }
    }
}

/// The minute of an instant, as stored.
fn minute_of(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second().div_euclid(60) * 60).unwrap_or(at)
}

/// Eight bytes for the successful check, with the time in minutes, and four for the failing one; a time of zero means
/// none.
impl Serialize for EvidenceMarks {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(12);
        let (digest, minute) = self.good.map_or((0, 0), |(digest, at)| {
            (digest, u32::try_from(at.as_second() / 60).unwrap_or_default())
        });
        bytes.extend(digest.to_be_bytes());
        bytes.extend(minute.to_be_bytes());
        bytes.extend(self.failing.into_iter().flat_map(u32::to_be_bytes));
        serializer.serialize_bytes(&bytes)
    }
}

impl TryFrom<ByteBuf> for EvidenceMarks {
    type Error = &'static str;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        let (words, []) = bytes.as_chunks::<4>() else { return Err("not of four bytes each") };
        let (digest, minute, failing) = match *words {
            [digest, minute] => (digest, minute, None),
            [digest, minute, failing] => (digest, minute, Some(u32::from_be_bytes(failing))),
            _ => return Err("neither eight bytes nor twelve"),
        };
        let [digest, minute] = [digest, minute].map(u32::from_be_bytes);
        let at = Timestamp::from_second(i64::from(minute) * 60).map_err(|_| "no instant")?;
        Ok(Self { good: (minute > 0).then_some((digest, at)), failing })
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::{BytesDeserializer, Error};

    use super::super::tests::answered;
    use super::*;
    use crate::checks::tool::{RunReason, Tool};
    use crate::id::SiteId;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_795_168_440 + hour * 3_600).expect("a timestamp")
    }

    fn check(hour: i64) -> CheckId {
        let site = SiteId::parse("0b2c7a52-9f1d-4e43-8a55-6c1f3b7d9e01").expect("a site id");
        CheckId::automatic(site, Tool::Status, RunReason::Scheduled, at(hour))
    }

    /// What checks see in turn, and the kinds of evidence that are written.
    fn written(checks: &[(i64, Seen, &str)]) -> Vec<&'static str> {
        let mut marks = EvidenceMarks::default();
        let write = |(hour, seen, body): &(i64, Seen, &str)| {
            let evidence = answered("HTTP/1.1 200 OK", body);
            let (next, write) =
                marks.after(Fingerprint::StatusDown, check(*hour), *seen, &evidence, at(*hour));
            marks = next;
            write.map_or("", |write| write.kind.as_str())
        };
        checks.iter().map(write).collect()
    }

    const GOOD: Seen = Seen::Good { resolved: false };
    const RESOLVED: Seen = Seen::Good { resolved: true };

    #[test]
    fn an_uneventful_check_writes_nothing() {
        let checks =
            [(0, GOOD, "a"), (1, GOOD, "a"), (23, GOOD, "a"), (24, GOOD, "a"), (25, GOOD, "a")];
        assert_eq!(written(&checks), ["good", "", "", "good", ""]);
        let checks =
            [(0, GOOD, "a"), (1, GOOD, "b"), (5, GOOD, "c"), (6, GOOD, "d"), (7, GOOD, "e")];
        assert_eq!(written(&checks), ["good", "", "", "good", ""], "four times a day at most");
    }

    #[test]
    fn an_issue_has_its_first_evidence_and_the_newest_that_differs() {
        let checks = [
            (0, Seen::Opened, "a"),
            (1, Seen::Active, "a"),
            (2, Seen::Active, "b"),
            (3, Seen::Active, "b"),
            (4, Seen::Active, "a"),
            (5, RESOLVED, "ok"),
            (6, Seen::Opened, "a"),
        ];
        let expected = ["first", "", "newest", "", "newest", "good", "first"];
        assert_eq!(written(&checks), expected);
        // The first evidence could not be kept.
        assert_eq!(written(&[(0, Seen::Active, "a"), (1, Seen::Active, "a")]), ["newest", ""]);
    }

    #[test]
    fn a_changed_response_is_kept_when_an_issue_is_resolved() {
        let checks = [(0, GOOD, "a"), (1, RESOLVED, "a"), (2, RESOLVED, "b"), (3, GOOD, "c")];
        assert_eq!(written(&checks), ["good", "", "good", ""]);
    }

    #[test]
    fn a_time_in_the_future_is_of_a_clock_that_was_set_back() {
        let checks = [(100, GOOD, "a"), (0, GOOD, "a"), (1, GOOD, "a")];
        assert_eq!(written(&checks), ["good", "good", ""]);
    }

    #[test]
    fn the_text_of_a_successful_check_is_not_kept() {
        let evidence = answered("HTTP/1.1 200 OK", "a");
        let (_, write) = EvidenceMarks::default().after(
            Fingerprint::StatusDown,
            check(0),
            GOOD,
            &evidence,
            at(0),
        );
        let body = write.expect("evidence").of.evidence.body.expect("what is known of it");
        assert_eq!((body.text.as_deref(), body.is_cut, body.bytes), (None, true, 1));
    }

    #[test]
    fn twelve_bytes_hold_them() {
        let good = Some((7, at(0)));
        for marks in [
            EvidenceMarks::default(),
            EvidenceMarks { good, failing: None },
            EvidenceMarks { good, failing: Some(0) },
            EvidenceMarks { good: None, failing: Some(9) },
        ] {
            let stored = serde_json::to_value(marks).expect("json");
            let bytes: Vec<u8> = serde_json::from_value(stored).expect("bytes");
            assert!(bytes.len() <= 12);
            let read = EvidenceMarks::deserialize(BytesDeserializer::<Error>::new(&bytes));
            assert_eq!(read, Ok(marks));
        }
        for wrong in [&[1, 2, 3][..], &[0; 4], &[0; 16], &[]] {
            assert!(EvidenceMarks::deserialize(BytesDeserializer::<Error>::new(wrong)).is_err());
        }
    }
}
