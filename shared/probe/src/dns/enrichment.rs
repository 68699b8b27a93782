//! What the routing registries know about addresses, from Team Cymru's DNS service
//! (<https://www.team-cymru.com/ip-asn-mapping>), which is queried through a resolver.

use std::collections::BTreeMap;
use std::net::IpAddr;

use hickory_resolver::proto::rr::{Name, RecordType};
use tokio::time::Instant;
use vedette_domain::checks::check::{HostingProvider, IpEnrichment};

use super::client::{DohClient, Question};
use super::message;
use crate::ssrf_guard::SsrfGuard;

/// The most addresses that are looked up: the first ones of the host.
const MAX_ADDRESSES: usize = 6;

/// Characters kept of a field.
const FIELD_LIMIT: usize = 128;

/// The registry data of the first public `addresses`; an empty entry if no answer came in time.
pub(super) async fn enrich(
    guard: &SsrfGuard,
    client: Option<&DohClient>,
    addresses: &[IpAddr],
    until: Instant,
) -> BTreeMap<IpAddr, IpEnrichment> {
    let is_public = |address: &&IpAddr| guard.check_ip(**address).is_ok();
    let asked: Vec<_> = addresses.iter().filter(is_public).take(MAX_ADDRESSES).copied().collect();
    let Some(client) = client.filter(|_| !asked.is_empty()) else {
        return BTreeMap::new();
    };
    let origins: Vec<_> = asked.iter().map(|address| origin_name(*address)).collect();
    let origins = texts(guard, client, &origins, until).await;
    let mut enriched: BTreeMap<_, _> = asked
        .into_iter()
        .zip(origins)
        .map(|(address, texts)| (address, most_specific(&texts).unwrap_or_default()))
        .collect();
    let mut systems: Vec<_> = enriched.values().filter_map(|it| it.asn).collect();
    systems.sort_unstable();
    systems.dedup();
    let names: Vec<_> = systems.iter().map(|asn| format!("AS{asn}.asn.cymru.com.")).collect();
    let names = texts(guard, client, &names, until).await;
    let names: BTreeMap<_, _> = systems
        .into_iter()
        .zip(names)
        .filter_map(|(asn, texts)| Some((asn, texts.first().and_then(|text| as_name(text))?)))
        .collect();
    for entry in enriched.values_mut() {
        entry.as_name = entry.asn.and_then(|asn| names.get(&asn).cloned());
    }
    enriched
}

/// The autonomous system that announces most of the addresses; the first address decides a tie.
pub(super) fn hosting_provider(
    addresses: &[IpAddr],
    enriched: &BTreeMap<IpAddr, IpEnrichment>,
) -> Option<HostingProvider> {
    let known: Vec<_> = addresses
        .iter()
        .filter_map(|address| enriched.get(address))
        .filter_map(|entry| Some((entry.asn?, entry)))
        .collect();
    let share = |asn: u32| known.iter().filter(|(other, _)| *other == asn).count();
    // `max_by_key` returns the last maximum, so the first address comes last.
    let (asn, entry) = known.iter().rev().max_by_key(|(asn, _)| share(*asn))?;
    Some(HostingProvider { asn: *asn, name: entry.as_name.clone() })
}

/// The texts at each of `names`; empty if there was no answer.
async fn texts(
    guard: &SsrfGuard,
    client: &DohClient,
    names: &[String],
    until: Instant,
) -> Vec<Vec<String>> {
    // The names consist of addresses and numbers.
    let name = |text: &String| Name::from_ascii(text).unwrap_or_default();
    let questions: Vec<Question> = names.iter().map(|text| (name(text), RecordType::TXT)).collect();
    if questions.is_empty() {
        return Vec::new();
    }
    let replies = client.query(guard, &questions, until).await;
    let texts = questions.iter().zip(replies).map(|((name, _), reply)| match reply.message {
        Ok(message) => message::texts(&message, name),
        Err(_) => Vec::new(),
    });
    texts.collect()
}

/// The name under which Team Cymru publishes the origin of an address: like reverse DNS, in its own
/// zone.
fn origin_name(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.origin.asn.cymru.com.")
        }
        IpAddr::V6(address) => {
            let digits = format!("{:032x}", address.to_bits());
            let reversed: String = digits.chars().rev().flat_map(|digit| [digit, '.']).collect();
            format!("{reversed}origin6.asn.cymru.com.")
        }
    }
}

/// The announcement with the smallest network, which is the one that routes.
fn most_specific(texts: &[String]) -> Option<IpEnrichment> {
    let length =
        |it: &IpEnrichment| -> Option<u8> { it.prefix.as_ref()?.split_once('/')?.1.parse().ok() };
    texts.iter().filter_map(|text| origin(text)).max_by_key(length)
}

/// Parses `13335 | 104.16.128.0/20 | US | arin | 2014-03-28`. If there are several origins, separated by spaces, takes
/// the first.
fn origin(text: &str) -> Option<IpEnrichment> {
    let mut fields = text.split('|').map(field);
    let asn = fields.next()??.split(' ').next()?.parse().ok()?;
    let mut next = || fields.next().flatten();
    Some(IpEnrichment {
        asn: Some(asn),
        as_name: None,
        prefix: next(),
        registry_country: next(),
        registry: next(),
        allocated: next(),
    })
}

/// The fifth field of `13335 | US | arin | 2010-07-14 | CLOUDFLARENET - Cloudflare, Inc., US`.
fn as_name(text: &str) -> Option<String> {
    text.splitn(5, '|').nth(4).and_then(field)
}

fn field(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(FIELD_LIMIT).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_asked_for_in_reverse() {
        for (address, name) in [
            ("104.16.132.229", "229.132.16.104.origin.asn.cymru.com."),
            (
                "2606:4700::6810:84e5",
                "5.e.4.8.0.1.8.6.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.4.6.0.6.2.\
                 origin6.asn.cymru.com.",
            ),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(origin_name(address), name);
            assert!(Name::from_ascii(name).is_ok());
        }
    }

    #[test]
    fn fields_are_read_and_nothing_is_made_up() {
        let some = |text: &str| Some(text.to_owned());
        let whole = origin("13335 | 104.16.128.0/20 | US | arin | 2014-03-28").expect("an origin");
        let expected = IpEnrichment {
            asn: Some(13335),
            as_name: None,
            prefix: some("104.16.128.0/20"),
            registry_country: some("US"),
            registry: some("arin"),
            allocated: some("2014-03-28"),
        };
        assert_eq!(whole, expected);
        let sparse = origin("64500 64501 | 192.0.2.0/24 |  | ").expect("an origin");
        let expected = IpEnrichment {
            asn: Some(64500),
            prefix: some("192.0.2.0/24"),
            ..IpEnrichment::default()
        };
        assert_eq!(sparse, expected);
        for garbage in ["", "|", "AS13335 | x", "NA | 1.0.0.0/8", "99999999999"] {
            assert_eq!(origin(garbage), None, "{garbage}");
        }
        assert_eq!(
            as_name("13335 | US | arin | 2010-07-14 | CLOUDFLARENET - Cloudflare, Inc., US"),
            some("CLOUDFLARENET - Cloudflare, Inc., US"),
        );
        assert_eq!(as_name("13335 | US | arin | 2010-07-14 | "), None);
        assert_eq!(as_name("13335 | US"), None);
        assert_eq!(as_name(&format!("||||{}", "n".repeat(500))), Some("n".repeat(FIELD_LIMIT)));
    }

    #[test]
    fn the_smallest_network_is_the_origin() {
        let texts = ["1 | 192.0.0.0/16", "2 | 192.0.2.0/24", "garbage", "3 | 192.0.0.0/20"];
        let origin = most_specific(&texts.map(str::to_owned)).expect("an origin");
        assert_eq!(origin.asn, Some(2));
        assert_eq!(most_specific(&[]), None);
    }

    #[test]
    fn the_provider_announces_most_addresses() {
        let addresses: Vec<IpAddr> = (1..=4).map(|last| IpAddr::from([192, 0, 2, last])).collect();
        let provider = |systems: &[Option<u32>]| {
            let of = |asn: &Option<u32>| IpEnrichment {
                asn: *asn,
                as_name: asn.map(|asn| format!("AS {asn}")),
                ..IpEnrichment::default()
            };
            let enriched = addresses.iter().copied().zip(systems.iter().map(of)).collect();
            hosting_provider(&addresses, &enriched).map(|provider| provider.asn)
        };
        assert_eq!(provider(&[]), None);
        assert_eq!(provider(&[None, None]), None);
        assert_eq!(provider(&[Some(1), Some(2)]), Some(1));
        assert_eq!(provider(&[None, Some(2), Some(1), Some(1)]), Some(1));
    }
}
