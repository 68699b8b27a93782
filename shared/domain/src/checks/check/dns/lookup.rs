//! What the resolvers said, and what it says together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::records::{DnsRecord, DnsRecords};
use super::{Reputation, ReputationStatus};
use crate::sites::settings::DnsRecordType;

/// Name of the resolver that is taken to block threats, in any case: Quad9 answers NXDOMAIN without
/// the SOA record of an honest one for what it blocks (docs.quad9.net, FAQ). Its service that does
/// not filter must go by another name.
pub const FILTERING_RESOLVER: &str = "quad9";

/// Flag of a host that Quad9 blocks.
const QUAD9_BLOCKED: &str = "quad9_blocked";

/// Answers of one type shown of a resolver at most.
const SHOWN_ANSWERS: usize = 20;

/// Characters shown of one such answer at most.
const SHOWN_CHARACTERS: usize = 255;

/// Response code of a DNS answer (RFC 6895), written by its name in IANA's registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rcode(pub u16);

impl Rcode {
    /// The name exists, with or without records of the type.
    pub const NO_ERROR: Self = Self(0);
    /// The resolver could not find out.
    pub(crate) const SERV_FAIL: Self = Self(2);
    /// The name does not exist.
    pub(crate) const NX_DOMAIN: Self = Self(3);

    /// Whether it says something of the name; others speak of the query or the resolver.
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
    /// The records that answer the query, those of the CNAME chain included.
    pub records: Vec<DnsRecord>,
    /// Whether it carries the SOA record by which a zone vouches that there is nothing (RFC 2308).
    pub has_soa: bool,
}

/// One query to one resolver.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    /// The answer, or why there is none, in words for people.
    pub answer: Result<DnsAnswer, String>,
    /// From the query to the answer or the failure, in milliseconds.
    pub latency_ms: f64,
}

impl Lookup {
    fn rcode(&self) -> Option<Rcode> {
        self.answer.as_ref().ok().map(|answer| answer.rcode)
    }

    /// The answer of a name that was found.
    fn found(&self) -> Option<&DnsAnswer> {
        self.answer.as_ref().ok().filter(|answer| answer.rcode == Rcode::NO_ERROR)
    }

    /// What the answer says, for comparing: that there is no such name, or the values of a type.
    fn says(&self, kind: DnsRecordType) -> Option<(Rcode, BTreeSet<String>)> {
        let answer = self.answer.as_ref().ok().filter(|answer| answer.rcode.is_telling())?;
        let of_kind = answer.records.iter().filter(|record| record.data.kind() == kind);
        Some((answer.rcode, of_kind.map(|record| record.data.normal()).collect()))
    }
}

/// All that one resolver was asked of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolverAnswers {
    /// The resolver's name.
    pub resolver: String,
    /// By the type asked for.
    pub lookups: BTreeMap<DnsRecordType, Lookup>,
}

impl ResolverAnswers {
    fn says(&self, kind: DnsRecordType) -> Option<(Rcode, BTreeSet<String>)> {
        self.lookups.get(&kind)?.says(kind)
    }

    fn found(&self, kind: DnsRecordType) -> Option<&DnsAnswer> {
        self.lookups.get(&kind)?.found()
    }
}

/// What one resolver said, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolverObservation {
    /// Whether it says of every type what most resolvers say (of answers equally common, one that
    /// found the name, and of those the first); null where there is no other resolver's answer to compare with.
    pub agrees: Option<bool>,
    /// The types of which it says something else.
    pub differing_types: Vec<DnsRecordType>,
    /// Each lookup, by type.
    pub lookups: BTreeMap<DnsRecordType, LookupObservation>,
}

/// One lookup, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookupObservation {
    /// The response code, such as `NOERROR` or `NXDOMAIN`; null when no answer came.
    pub rcode: Option<String>,
    /// The values of the type in ascending order; at most 20, of at most 255 characters each.
    pub answers: Vec<String>,
    /// From the query to the answer or the failure, in milliseconds.
    pub latency_ms: f64,
    /// Why no answer came.
    pub error: Option<String>,
}

/// What all resolvers say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The records.
    pub records: DnsRecords,
    /// Why the name cannot be looked up, if it cannot.
    pub lookup_failure: Option<Rcode>,
    /// The types whose records are not known.
    pub unanswered_types: Vec<DnsRecordType>,
    /// What each said.
    pub observations: BTreeMap<String, ResolverObservation>,
    /// Where in the list the first resolver stands that found the name or, where none did, that
    /// said anything of it.
    pub spokesman: usize,
    /// What the filtering resolver's answers say.
    pub reputation: Reputation,
}

/// Draws the conclusion from what the resolvers said, in the order of their configuration. `None`
/// when no resolver said anything of the name.
///
/// Records of a type are those of the first resolver that found the name, so that one that blocks
/// or misses it hides nothing. The name cannot be looked up when some resolver said so of its
/// addresses, which are what visitors ask for, and none found either family of them.
pub fn conclude(answers: &[ResolverAnswers]) -> Option<Conclusion> {
    let spokesman = answers
        .iter()
        .position(|one| DnsRecordType::ALL.into_iter().any(|kind| one.says(kind).is_some()))?;
    let first_found =
        |kind| answers.iter().enumerate().find_map(|(index, one)| Some((index, one.found(kind)?)));
    let found: BTreeMap<_, _> = DnsRecordType::ALL
        .into_iter()
        .filter_map(|kind| Some((kind, first_found(kind)?)))
        .collect();
    let failure = DnsRecordType::ADDRESSES
        .into_iter()
        .flat_map(|kind| answers.iter().filter_map(move |one| Some(one.says(kind)?.0)))
        // NXDOMAIN is the clearest of the failures.
        .max();
    let lookup_failure =
        failure.filter(|_| !DnsRecordType::ADDRESSES.iter().any(|kind| found.contains_key(kind)));
    Some(Conclusion {
        records: DnsRecords::new(found.iter().flat_map(|(kind, (_, answer))| {
            let belongs = |it: &&DnsRecord| [*kind, DnsRecordType::Cname].contains(&it.data.kind());
            answer.records.iter().filter(belongs).cloned()
        })),
        lookup_failure,
        unanswered_types: DnsRecordType::ALL
            .into_iter()
            .filter(|kind| !found.contains_key(kind))
            .collect(),
        observations: observe(answers),
        spokesman: found.values().next().map_or(spokesman, |(index, _)| *index),
        reputation: reputation(answers),
    })
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
        // The last of equals wins, so the first resolver's comes last.
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
            .take(SHOWN_ANSWERS)
            .map(|value| value.chars().take(SHOWN_CHARACTERS).collect())
            .collect(),
        latency_ms: lookup.latency_ms,
        error: lookup.answer.as_ref().err().cloned(),
    }
}

/// Blocked is what the filtering resolver calls inexistent without a zone's word for it, and
/// another resolver found. Where it found the name, it does not block it. All else says nothing.
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
