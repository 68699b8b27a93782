//! What a DNS check means.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::{Evaluation, clipped};
use crate::checks::check::{DOMAIN_EXPIRY_DAYS, DnsBaseline, DnsResult, KnownRecords, is_met};
use crate::issues::{Fingerprint, Outcome};
use crate::sites::settings::{DnsRecordType, DnsSettings, ExpectedRecords};
use crate::time::wire;

/// Bytes of JSON for the values that an evaluation names, so that the context stays small enough to be kept. Further
/// values are only counted.
const NAMED_BYTES: usize = 900;

/// Evaluates a DNS check.
///
/// - `dns:lookup_failed`: down when the name cannot be looked up, or has no address.
/// - `dns:records_missing`: down when an expected record is missing; additional records are fine.
/// - `dns:records_changed`: down when the records of a monitored type are not those of the `baseline`
///   ([`KnownRecords::changed_types`]).
/// - `dns:domain_expiring`: down when the domain's registration ends in [`DOMAIN_EXPIRY_DAYS`] days or fewer, or has
///   ended, or when the domain is about to be deleted, whatever its date. This also applies to a name that cannot be
///   looked up, since the expiry may be the cause.
///
/// A condition that the settings turn off is up, so that an issue from before ends: with `hard_failures_only`; without
/// expected records (or, for changes, with some); or without a baseline yet. A name that cannot be looked up says
/// nothing about its records, and neither does a type for which no resolver answered: unless the other types show the
/// condition, there is no evaluation. There is none for a registration whose end is unknown either.
pub(super) fn dns(
    result: &DnsResult,
    settings: &DnsSettings,
    expected: &ExpectedRecords,
    baseline: Option<&DnsBaseline>,
    now: Timestamp,
) -> Vec<Evaluation> {
    let mut evaluations = Vec::from_iter(lookup(result));
    if result.lookup_failure.is_none() {
        evaluations.extend(missing(result, settings, expected));
        evaluations.extend(changed(result, settings, expected, baseline));
    }
    evaluations.extend(expiring(result, settings, now));
    evaluations
}

fn lookup(result: &DnsResult) -> Option<Evaluation> {
    let is_found = DnsRecordType::ADDRESSES.iter().any(|kind| !result.records.of(*kind).is_empty());
    if !is_found && result.lookup_failure.is_none() {
        return None;
    }
    let host = clipped(&result.host);
    let agree = result.resolver_observations.values().map(|observation| observation.agrees);
    Some(Evaluation {
        fingerprint: Fingerprint::DnsLookupFailed,
        summary: match result.failure() {
            Some(failure) => format!("{host} cannot be looked up: {}", clipped(failure)),
            None => format!("{host} can be looked up"),
        },
        measured: json!({
            "host": host,
            "failure": result.lookup_failure.as_deref().map(clipped),
            "unanswered_types": result.unanswered_types,
            "resolvers": agree.clone().count(),
            "disagreeing_resolvers": agree.filter(|agrees| *agrees == Some(false)).count(),
        }),
        outcome: Outcome::of(result.lookup_failure.is_some()),
    })
}

fn missing(
    result: &DnsResult,
    settings: &DnsSettings,
    expected: &ExpectedRecords,
) -> Option<Evaluation> {
    let host = clipped(&result.host);
    let up = |why: &str| Evaluation {
        fingerprint: Fingerprint::DnsRecordsMissing,
        summary: format!("{host}: {why}"),
        measured: json!({ "host": host, "missing": {}, "expected_types": expected.keys().collect::<Vec<_>>() }),
        outcome: Outcome::Up,
    };
    if settings.hard_failures_only {
        return Some(up("records are not watched"));
    }
    if expected.is_empty() {
        return Some(up("no records are expected"));
    }
    let mut named = Named::default();
    let mut types = Vec::new();
    for (kind, values) in expected.iter().filter(|(kind, _)| result.is_known(**kind)) {
        let absent: Vec<_> =
            values.iter().filter(|value| !is_met(*kind, value, result.records.of(*kind))).collect();
        if !absent.is_empty() {
            types.push(*kind);
            let listed: Vec<_> = absent.into_iter().filter_map(|value| named.name(value)).collect();
            named.by_type.insert(kind.to_string(), json!(listed));
        }
    }
    if types.is_empty() {
        let all_known = expected.keys().all(|kind| result.is_known(*kind));
        return all_known.then(|| up("all expected records are there"));
    }
    let cause = format!("expected {} records are missing", listing(&types));
    Some(Evaluation {
        summary: format!("{host}: {cause}"),
        measured: json!({
            "host": host,
            "missing": named.by_type,
            "missing_not_named": named.left_out,
            "expected_types": expected.keys().collect::<Vec<_>>(),
        }),
        outcome: Outcome::Down,
        fingerprint: Fingerprint::DnsRecordsMissing,
    })
}

fn changed(
    result: &DnsResult,
    settings: &DnsSettings,
    expected: &ExpectedRecords,
    baseline: Option<&DnsBaseline>,
) -> Option<Evaluation> {
    let host = clipped(&result.host);
    let monitored = &settings.monitored_record_types;
    let up = |why: &str| Evaluation {
        fingerprint: Fingerprint::DnsRecordsChanged,
        summary: format!("{host}: {why}"),
        measured: json!({ "host": host, "changed": {}, "monitored_record_types": monitored }),
        outcome: Outcome::Up,
    };
    if settings.hard_failures_only {
        return Some(up("records are not watched"));
    }
    if !expected.is_empty() {
        return Some(up("changes are not watched where records are expected"));
    }
    let Some(baseline) = baseline else {
        return Some(up("no earlier records to compare with"));
    };
    let found = KnownRecords::found_by(result);
    let mut types = baseline.known.changed_types(&found);
    types.retain(|kind| monitored.contains(kind));
    if types.is_empty() {
        let is_compared = |kind: &&DnsRecordType| baseline.known.hashes.get(**kind).is_some();
        let mut compared = monitored.iter().filter(is_compared);
        let all_known = compared.all(|kind| found.hashes.get(*kind).is_some());
        return all_known.then(|| up("records are unchanged"));
    }
    let mut named = Named::default();
    if let Some(before) = &baseline.records {
        for kind in &types {
            let (before, after) =
                (before.watched(*kind, &result.host), result.records.watched(*kind, &result.host));
            let removed: Vec<_> = before
                .iter()
                .filter(|it| !after.contains(it))
                .filter_map(|it| named.name(it))
                .collect();
            let added: Vec<_> = after
                .iter()
                .filter(|it| !before.contains(it))
                .filter_map(|it| named.name(it))
                .collect();
            let change = json!({ "removed": removed, "added": added });
            named.by_type.insert(kind.to_string(), change);
        }
    } else {
        named.by_type = types.iter().map(|kind| (kind.to_string(), Value::Null)).collect();
    }
    let cause = format!("{} records changed", listing(&types));
    Some(Evaluation {
        summary: format!("{host}: {cause}"),
        measured: json!({
            "host": host,
            "changed": named.by_type,
            "values_not_named": named.left_out,
            "monitored_record_types": monitored,
        }),
        outcome: Outcome::Down,
        fingerprint: Fingerprint::DnsRecordsChanged,
    })
}

fn expiring(result: &DnsResult, settings: &DnsSettings, now: Timestamp) -> Option<Evaluation> {
    let fingerprint = Fingerprint::DnsDomainExpiring;
    if settings.hard_failures_only {
        let host = clipped(&result.host);
        return Some(Evaluation {
            fingerprint,
            summary: format!("{host}: the domain's registration is not watched"),
            measured: json!({ "host": host }),
            outcome: Outcome::Up,
        });
    }
    let registration = result.registration.as_ref()?;
    let (domain, deletion) = (clipped(&registration.domain), registration.deletion());
    let (end, days) = (registration.expires_at, registration.days_left(now));
    let down = registration.expires_soon(now);
    // No number of days left, since people also read the issue on later days.
    let state = match (deletion, end.zip(days)) {
        (Some(status), _) => format!("is about to be deleted: {}", clipped(status)),
        (None, Some((end, days))) => {
            let date = TimeZone::UTC.to_datetime(end).date();
            match days {
                _ if !down => format!("does not expire soon (it expires on {date})"),
                ..0 => format!("expired on {date}"),
                _ => format!("expires on {date}"),
            }
        }
        (None, None) => return None,
    };
    let mut measured = json!({
        "domain": domain,
        "registrar": registration.registrar.as_deref().map(clipped),
        "expires_at": end.map(wire),
        "days_left": days,
        "expiry_days": DOMAIN_EXPIRY_DAYS,
    });
    if let Some(status) = deletion {
        measured["status"] = clipped(status).into();
    }
    Some(Evaluation {
        fingerprint,
        summary: format!("the domain {domain} {state}"),
        measured,
        outcome: Outcome::of(down),
    })
}

/// `A`, `A and MX`, `A, MX and TXT`.
fn listing(types: &[DnsRecordType]) -> String {
    let names: Vec<_> = types.iter().map(|kind| kind.as_str()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// The values to name, as long as there is room for them.
#[derive(Default)]
struct Named {
    by_type: Map<String, Value>,
    bytes: usize,
    left_out: usize,
}

impl Named {
    /// The value, clipped; `None` if there is no room.
    fn name(&mut self, value: &str) -> Option<String> {
        let value = clipped(value);
        let bytes = json!(value).to_string().len() + 1;
        if self.bytes + bytes > NAMED_BYTES {
            self.left_out += 1;
            return None;
        }
        self.bytes += bytes;
        Some(value)
    }
}

#[cfg(test)]
pub(super) mod tests;
