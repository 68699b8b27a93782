//! What is wrong with a certificate: dates, names and chain are judged independently.

use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use vedette_domain::checks::check::{FirstToExpire, SslFailure, certificate_time};
use webpki::{Cert, EndEntityCert, Error, KeyUsage, VerifiedPath};
use x509_parser::certificate::X509Certificate;

use super::certificate::{MAX_CHAIN, alternative_names, key, read};
use super::recorder::PresentedChain;
use super::text::{clipped, name};

/// Hosts of a certificate listed in a message.
const HOSTS_NAMED: usize = 3;

/// The longest message, in characters: it appears in lists of checks.
const MAX_MESSAGE: usize = 600;

/// What a certificate is compared with.
pub(super) struct Expected<'a> {
    /// The requested host, in readable form.
    pub(super) domain: &'a str,
    /// The trusted authorities.
    pub(super) roots: &'a RootCertStore,
    /// The operator's certificates, which are trusted even as a server's own.
    pub(super) extra_roots: &'a [CertificateDer<'static>],
    /// The accepted signature algorithms.
    pub(super) algorithms: WebPkiSupportedAlgorithms,
    /// The current time.
    pub(super) now: Timestamp,
}

/// All faults, the most serious first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict(Vec<(SslFailure, String)>);

impl Verdict {
    /// The most serious fault; `None` if the certificate is valid.
    pub(super) fn failure(&self) -> Option<SslFailure> {
        self.0.first().map(|(failure, _)| *failure)
    }

    /// Whether the chain leads to a trusted root, whatever else is wrong.
    pub(super) fn is_trusted(&self) -> bool {
        self.0.iter().all(|(failure, _)| *failure != SslFailure::UntrustedChain)
    }

    /// All faults in words for people; `None` if the certificate is valid.
    pub(super) fn message(&self) -> Option<String> {
        let words: Vec<_> = self.0.iter().map(|(_, words)| words.as_str()).collect();
        (!words.is_empty()).then(|| clipped(&words.join("; "), MAX_MESSAGE))
    }
}

/// Judges what a server presented. `certificate` is its first certificate.
pub(super) fn judge(
    certificate: &X509Certificate<'_>,
    presented: &PresentedChain,
    expected: &Expected<'_>,
) -> Verdict {
    let chain = Chain { certificate, presented };
    let mut found = Vec::new();
    found.extend(out_of_date(certificate, expected.now).map(|why| (SslFailure::Expired, why)));
    found.extend(other_host(&chain, expected).map(|why| (SslFailure::HostnameMismatch, why)));
    // The reason why the key cannot be verified may also be why the chain is not trusted.
    let key = (!presented.holds_key).then(|| unproven_key(certificate));
    found.extend(untrusted(&chain, expected).or(key).map(|why| (SslFailure::UntrustedChain, why)));
    Verdict(found)
}

fn out_of_date(certificate: &X509Certificate<'_>, now: Timestamp) -> Option<String> {
    let (from, to) = validity(certificate);
    let now = now.as_second();
    if now > to {
        Some(format!("the certificate expired on {} UTC", certificate_time(to)))
    } else if now < from {
        Some(format!("the certificate is not valid before {} UTC", certificate_time(from)))
    } else {
        None
    }
}

/// First and last second of a certificate's validity, since the Unix epoch.
fn validity(certificate: &X509Certificate<'_>) -> (i64, i64) {
    let validity = certificate.validity();
    (validity.not_before.timestamp(), validity.not_after.timestamp())
}

/// What a server presented, and its own certificate, parsed.
struct Chain<'a> {
    certificate: &'a X509Certificate<'a>,
    presented: &'a PresentedChain,
}

fn other_host(chain: &Chain<'_>, expected: &Expected<'_>) -> Option<String> {
    // A certificate that cannot be judged is reported as an untrusted chain.
    let own = EndEntityCert::try_from(chain.presented.chain.first()?).ok()?;
    own.verify_is_valid_for_subject_name(&chain.presented.name).err()?;
    let names = alternative_names(chain.certificate);
    let hosts: Vec<&str> = names.dns.iter().chain(&names.ip).map(String::as_str).collect();
    let domain = expected.domain;
    if hosts.is_empty() {
        return Some(format!(
            "the certificate names no hosts (a common name does not count), so it is not for {domain}"
        ));
    }
    let more = match (hosts.len() + names.omitted).saturating_sub(HOSTS_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = hosts[..hosts.len().min(HOSTS_NAMED)].join(", ");
    Some(format!("the certificate is for {named}{more}, not for {domain}"))
}

fn untrusted(chain: &Chain<'_>, expected: &Expected<'_>) -> Option<String> {
    let (der, issuers) = chain.presented.chain.split_first()?;
    let own = match EndEntityCert::try_from(der) {
        Ok(own) => own,
        Err(error) => return Some(chain_words(&error, chain)),
    };
    if expected.extra_roots.contains(der) {
        return None;
    }
    let verify = |second: i64| path(&own, issuers, expected, second).map(drop);
    let (from, to) = validity(chain.certificate);
    let now = expected.now.as_second();
    if (from..=to).contains(&now) {
        return verify(now).err().map(|error| chain_words(&error, chain));
    }
    // An expired certificate is judged at times at which it was current: the chain is valid if it was so at any of
    // them. The middle comes first, when the issuers were probably current.
    let middle = from + to.saturating_sub(from) / 2;
    let outcome =
        verify(middle).or_else(|error| verify(to).or_else(|_| verify(from)).map_err(|_| error));
    outcome.err().map(|error| chain_words(&error, chain))
}

/// A path to a trusted root that is valid at a `second` since the Unix epoch.
fn path<'p>(
    own: &'p EndEntityCert<'p>,
    issuers: &'p [CertificateDer<'p>],
    expected: &Expected<'p>,
    second: i64,
) -> Result<VerifiedPath<'p>, Error> {
    // Certificates from before the epoch are not current then, so this trusts none of them.
    let time = Duration::from_secs(u64::try_from(second).unwrap_or_default());
    let time = UnixTime::since_unix_epoch(time);
    let roots = &expected.roots.roots;
    let (algorithms, usage) = (expected.algorithms.all, KeyUsage::server_auth());
    own.verify_for_usage(algorithms, roots, issuers, time, usage, None, None)
}

/// The certificate of the chain after whose end no path is valid, although `certificate`, which is valid now, still is.
pub(super) fn first_to_expire(
    certificate: &X509Certificate<'_>,
    presented: &PresentedChain,
    expected: &Expected<'_>,
) -> Option<FirstToExpire> {
    let (own, issuers) = presented.chain.split_first()?;
    let (_, end) = validity(certificate);
    let mut second = expected.now.as_second();
    // Issuers rarely end before what they have signed, and building paths is more expensive than reading dates.
    let mut ends = issuers.iter().filter_map(read).map(|issuer| validity(&issuer).1);
    if !ends.any(|one| (second..end).contains(&one)) {
        return None;
    }
    let own = EndEntityCert::try_from(own).ok()?;
    let mut first = None;
    // Where a path ends, another may go on, for example through a cross-signed root.
    for _ in 0..MAX_CHAIN {
        let Ok(path) = path(&own, issuers, expected, second) else { return first };
        let intermediates: Vec<_> = path.intermediate_certificates().map(Cert::der).collect();
        let intermediates = intermediates.iter().filter_map(read);
        let next = intermediates.min_by_key(|issuer| validity(issuer).1)?;
        let (_, last) = validity(&next);
        if last >= end {
            return None;
        }
        first =
            Some(FirstToExpire { subject: name(next.subject()), valid_to: certificate_time(last) });
        second = last.saturating_add(1);
    }
    None
}

/// Why a chain is not trusted, in words for people.
fn chain_words(error: &Error, chain: &Chain<'_>) -> String {
    let words = match error {
        Error::UnknownIssuer => return unknown_issuer(chain),
        // Self-signed certificates are often made as an authority's.
        Error::CaUsedAsEndEntity if is_self_issued(chain.certificate) => {
            return unknown_issuer(chain);
        }
        Error::CaUsedAsEndEntity => "the certificate is an authority's, not a server's",
        Error::CertExpired { not_after, .. } => {
            return format!("a certificate in the chain expired on {} UTC", unix_time(*not_after));
        }
        Error::CertNotValidYet { not_before, .. } => {
            return format!(
                "a certificate in the chain is not valid before {} UTC",
                unix_time(*not_before)
            );
        }
        Error::InvalidCertValidity => "the certificate ends before it begins",
        Error::InvalidSignatureForPublicKey => "a signature in the chain does not match",
        Error::EndEntityUsedAsCa | Error::PathLenConstraintViolated => {
            "a certificate in the chain is signed by one that may not issue it"
        }
        Error::NameConstraintViolation => "an issuer in the chain may not issue for such names",
        Error::RequiredEkuNotFoundContext(_) => "the certificate is not for servers",
        Error::UnsupportedSignatureAlgorithmContext(_)
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            "a signature in the chain is of a kind that is not accepted"
        }
        Error::UnsupportedCertVersion => "the certificate is not of X.509 version 3",
        Error::UnsupportedCriticalExtension => {
            "a certificate in the chain has a critical extension that is not known"
        }
        Error::MaximumPathDepthExceeded
        | Error::MaximumPathBuildCallsExceeded
        | Error::MaximumSignatureChecksExceeded
        | Error::MaximumNameConstraintComparisonsExceeded => "the chain is too long or too complex",
        Error::CertDistrusted => "a certificate in the chain is distrusted",
        _ => "a certificate in the chain is malformed",
    };
    words.to_owned()
}

fn unix_time(time: UnixTime) -> String {
    certificate_time(i64::try_from(time.as_secs()).unwrap_or(i64::MAX))
}

/// Where a chain breaks: follows it from issuer to issuer among the presented certificates.
fn unknown_issuer(chain: &Chain<'_>) -> String {
    if is_self_issued(chain.certificate) {
        return "the certificate is self-signed".to_owned();
    }
    let issuers: Vec<_> =
        chain.presented.chain.iter().take(MAX_CHAIN).skip(1).filter_map(read).collect();
    let mut last = chain.certificate;
    // No more steps than issuers: a self-signed one is its own issuer, and two may issue each
    // other.
    for _ in 0..issuers.len() {
        let issuer =
            issuers.iter().find(|issuer| issuer.subject().as_raw() == last.issuer().as_raw());
        match issuer {
            Some(issuer) => last = issuer,
            None => break,
        }
    }
    if is_self_issued(last) {
        return format!("the chain ends in \"{}\", which is not trusted", name(last.subject()));
    }
    format!(
        "a certificate in the chain is missing, or not trusted: that of the issuer \"{}\"",
        name(last.issuer())
    )
}

fn is_self_issued(certificate: &X509Certificate<'_>) -> bool {
    certificate.subject().as_raw() == certificate.issuer().as_raw()
}

fn unproven_key(certificate: &X509Certificate<'_>) -> String {
    let key = key(certificate.public_key());
    let size = key.curve.or(key.bits.map(|bits| format!("{bits} bits")));
    let size = size.map(|size| format!(" {size}")).unwrap_or_default();
    format!("the server's key ({}{size}) is of a kind that is not accepted", key.algorithm)
}
