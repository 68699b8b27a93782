//! The answers of the resolvers, and the conclusion from all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::records::{DnsRecord, DnsRecords};
use super::{Reputation, ReputationStatus};
use crate::sites::settings::DnsRecordType;

/// Name of the resolver that blocks threats. Quad9 answers NXDOMAIN for what it blocks, without the SOA record of a
/// real answer (docs.quad9.net, FAQ). Its unfiltered service must have another name here.
pub const FILTERING_RESOLVER: &str = "quad9";

/// The failure of a name that exists without an address: a "pseudo RCODE" (RFC 2308, section 1).
pub(super) const NO_DATA: &str = "NODATA";

/// Flag of a host that Quad9 blocks.
const QUAD9_BLOCKED: &str = "quad9_blocked";

/// The most answers of one type that are shown for a resolver.
const MAX_ANSWERS: usize = 20;

/// The most characters that are shown of one such answer.
const MAX_ANSWER_CHARACTERS: usize = 255;

/// Response code of a DNS answer (RFC 6895), written as its name in IANA's registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rcode(pub u16);

impl Rcode {
    /// The name exists, with or without records of the type.
    pub const NO_ERROR: Self = Self(0);
    /// The resolver could not find out.
    pub(crate) const SERV_FAIL: Self = Self(2);
    /// The name does not exist.
    pub(crate) const NX_DOMAIN: Self = Self(3);

    /// Whether it says something about the name. Other codes are about the query or the resolver.
    fn is_telling(self) -> bool {
        [Self::NO_ERROR, Self::SERV_FAIL, Self::NX_DOMAIN].contains(&self)
    }
}

impl std::fmt::Display for Rcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("NOERROR"),
            1 => f.write_str("FORMERR"),
            2 => f.write_str("SERVFAIL"),
            3 => f.write_str("NXDOMAIN"),
            4 => f.write_str("NOTIMP"),
            5 => f.write_str("REFUSED"),
            code => write!(f, "RCODE {code}"),
        }
    }
}

/// A resolver's answer to one query.
#[derive(Debug, Clone, PartialEq)]
pub struct DnsAnswer {
    /// Its response code.
    pub rcode: Rcode,
    /// The records that answer the query, including those of the CNAME chain.
    pub records: Vec<DnsRecord>,
    /// Whether it contains the SOA record with which a zone confirms that there is nothing (RFC 2308).
    pub has_soa: bool,
}

/// One query to one resolver.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The answer, or why there is none, for people.
    pub answer: Result<DnsAnswer, String>,
    /// The time from the query to the answer or the failure, in milliseconds.
    pub latency_ms: f64,
}

impl Lookup {
    fn rcode(&self) -> Option<Rcode> {
        self.answer.as_ref().ok().map(|answer| answer.rcode)
    }

    /// The answer, if the name was found.
    fn found(&self) -> Option<&DnsAnswer> {
        self.answer.as_ref().ok().filter(|answer| answer.rcode == Rcode::NO_ERROR)
    }

    /// What the answer says, in a form for comparison: that there is no such name, or the values of a type.
    fn says(&self, kind: DnsRecordType) -> Option<(Rcode, BTreeSet<String>)> {
        let answer = self.answer.as_ref().ok().filter(|answer| answer.rcode.is_telling())?;
        let of_kind = answer.records.iter().filter(|record| record.data.kind() == kind);
        Some((answer.rcode, of_kind.map(|record| record.data.normal()).collect()))
    }
}

/// All answers of one resolver about a host.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolverAnswers {
    /// The resolver's name.
    pub resolver: String,
    /// The lookups by type.
    pub lookups: BTreeMap<DnsRecordType, Lookup>,
}

impl ResolverAnswers {
    fn says(&self, kind: DnsRecordType) -> Option<(Rcode, BTreeSet<String>)> {
        self.lookups.get(&kind)?.says(kind)
    }

    fn found(&self, kind: DnsRecordType) -> Option<&DnsAnswer> {
        self.lookups.get(&kind)?.found()
    }

    fn has_address(&self) -> bool {
        DnsRecordType::ADDRESSES.into_iter().any(|kind| {
            let mut records = self.found(kind).into_iter().flat_map(|answer| &answer.records);
            records.any(|record| record.data.kind() == kind)
        })
    }
}

/// The answers of one resolver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolverObservation {
    /// Whether it gives the same answer for every type as most resolvers. (If several answers are equally common, an
    /// answer that found the name counts, and otherwise the first.) Null if there is no other resolver's answer to
    /// compare with.
    pub agrees: Option<bool>,
    /// The types for which it gives a different answer.
    pub differing_types: Vec<DnsRecordType>,
    /// Each lookup, by type.
    pub lookups: BTreeMap<DnsRecordType, LookupObservation>,
}

/// One lookup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookupObservation {
    /// The response code, such as `NOERROR` or `NXDOMAIN`; null if no answer came.
    pub rcode: Option<String>,
    /// The values of the type in ascending order; at most 20, with at most 255 characters each.
    pub answers: Vec<String>,
    /// The time from the query to the answer or the failure, in milliseconds.
    pub latency_ms: f64,
    /// Why no answer came.
    pub error: Option<String>,
}

/// The conclusion from the answers of all resolvers.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The records.
    pub records: DnsRecords,
    /// Why the name cannot be looked up, if it cannot: the name of a response code, or [`NO_DATA`].
    pub lookup_failure: Option<String>,
    /// The types whose records are not known.
    pub unanswered_types: Vec<DnsRecordType>,
    /// The answers of each resolver.
    pub observations: BTreeMap<String, ResolverObservation>,
    /// The position of the first resolver that found an address. If none did: of the first that found the name, or else
    /// of the first that said anything about it.
    pub spokesman: usize,
    /// The reputation according to the filtering resolver.
    pub reputation: Reputation,
}

/// Draws the conclusion from the answers of the resolvers, in the order of their configuration. `None` if no resolver
/// said anything about the name.
///
/// The records of a type come from the first resolver that found the name, so that a resolver that blocks or misses it
/// hides nothing. Resolvers that found an address come first, because some block a name with an empty answer.
pub fn conclude(answers: &[ResolverAnswers]) -> Option<Conclusion> {
    let spokesman = answers
        .iter()
        .position(|one| DnsRecordType::ALL.into_iter().any(|kind| one.says(kind).is_some()))?;
    let mut by_rank: Vec<_> = answers.iter().enumerate().collect();
    by_rank.sort_by_key(|(_, one)| !one.has_address());
    let first_found =
        |kind| by_rank.iter().find_map(|(index, one)| Some((*index, one.found(kind)?)));
    let found: BTreeMap<_, _> = DnsRecordType::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, first_found(kind)?)))
        .collect();
    Some(Conclusion {
        records: DnsRecords::new(found.iter().flat_map(|(kind, (_, answer))| {
            let belongs = |it: &&DnsRecord| [*kind, DnsRecordType::Cname].contains(&it.data.kind());
            answer.records.iter().filter(belongs).cloned()
        })),
        lookup_failure: lookup_failure(answers),
        unanswered_types: DnsRecordType::ALL
            .into_iter()
            .filter(|kind| !found.contains_key(kind))
            .collect(),
        observations: observe(answers),
        spokesman: found.values().next().map_or(spokesman, |(index, _)| *index),
        reputation: reputation(answers),
    })
}

/// Why the name cannot be looked up: no resolver found an address, which visitors ask for, and a resolver said that it
/// failed to, or resolvers said of both families that there is none. If one of the families is unknown, it may have
/// addresses.
fn lookup_failure(answers: &[ResolverAnswers]) -> Option<String> {
    if answers.iter().any(ResolverAnswers::has_address) {
        return None;
    }
    let clearest = |kind| answers.iter().filter_map(|one| Some(one.says(kind)?.0)).max();
    let families = DnsRecordType::ADDRESSES.map(clearest);
    // NXDOMAIN is the clearest of the failures.
    match families.into_iter().flatten().max()? {
        Rcode::NO_ERROR if families.contains(&None) => None,
        Rcode::NO_ERROR => Some(NO_DATA.to_owned()),
        failure => Some(failure.to_string()),
    }
}

fn observe(answers: &[ResolverAnswers]) -> BTreeMap<String, ResolverObservation> {
    let mut compared = vec![false; answers.len()];
    let mut differing = vec![Vec::new(); answers.len()];
    for kind in DnsRecordType::ALL {
        let said: Vec<_> = answers
            .iter()
            .enumerate()
            .filter_map(|(index, one)| Some((index, one.says(kind)?)))
            .collect();
        if said.len() < 2 {
            continue;
        }
        let votes =
            |it: &(Rcode, BTreeSet<String>)| said.iter().filter(|(_, other)| other == it).count();
        // `max_by_key` returns the last of equal values, so the first resolver's answer comes last.
        let weight = |says: &(Rcode, BTreeSet<String>)| (votes(says), says.0 == Rcode::NO_ERROR);
        let most = said.iter().rev().max_by_key(|(_, says)| weight(says));
        for (index, says) in &said {
            compared[*index] = true;
            if most.is_some_and(|(_, most)| says != most) {
                differing[*index].push(kind);
            }
        }
    }
    answers
        .iter()
        .zip(compared.into_iter().zip(differing))
        .map(|(one, (compared, differing_types))| {
            let lookups = one.lookups.iter().map(|(kind, it)| (*kind, shown(*kind, it)));
            let observation = ResolverObservation {
                agrees: compared.then_some(differing_types.is_empty()),
                differing_types,
                lookups: lookups.collect(),
            };
            (one.resolver.clone(), observation)
        })
        .collect()
}

fn shown(kind: DnsRecordType, lookup: &Lookup) -> LookupObservation {
    let (_, values) = lookup.says(kind).unwrap_or((Rcode::NO_ERROR, BTreeSet::new()));
    LookupObservation {
        rcode: lookup.rcode().map(|rcode| rcode.to_string()),
        answers: values
            .into_iter()
            .take(MAX_ANSWERS)
            .map(|value| value.chars().take(MAX_ANSWER_CHARACTERS).collect())
            .collect(),
        latency_ms: lookup.latency_ms,
        error: lookup.answer.as_ref().err().cloned(),
    }
}

/// A host is blocked if the filtering resolver says that it does not exist, without a zone's confirmation, and another
/// resolver has found it. If the filtering resolver found the name, it does not block it. In all other cases, the
/// reputation is unknown.
fn reputation(answers: &[ResolverAnswers]) -> Reputation {
    let (filtering, others): (Vec<_>, Vec<_>) =
        answers.iter().partition(|one| one.resolver.eq_ignore_ascii_case(FILTERING_RESOLVER));
    let mut reputation = Reputation::default();
    let Some(filtering) = filtering.first() else {
        return reputation;
    };
    for kind in DnsRecordType::ADDRESSES {
        let answer = filtering.lookups.get(&kind).and_then(|lookup| lookup.answer.as_ref().ok());
        let Some(answer) = answer else {
            continue;
        };
        let is_block = answer.rcode == Rcode::NX_DOMAIN && !answer.has_soa;
        if is_block && others.iter().any(|other| other.found(kind).is_some()) {
            reputation.status = ReputationStatus::Flagged;
            reputation.flags = vec![QUAD9_BLOCKED.to_owned()];
            return reputation;
        }
        if answer.rcode == Rcode::NO_ERROR {
            reputation.status = ReputationStatus::Clear;
        }
    }
    reputation
}

#[cfg(test)]
mod tests;
