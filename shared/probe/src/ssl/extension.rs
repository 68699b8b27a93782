//! The contents of common extensions, in the wording of OpenSSL's `-text`.

use std::net::IpAddr;

use x509_parser::extensions::{
    DistributionPointName, ExtendedKeyUsage, GeneralName, GeneralSubtree, NameConstraints,
    ParsedExtension,
};
use x509_parser::oid_registry::{
    OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS, OID_PKIX_ACCESS_DESCRIPTOR_OCSP,
};

use super::text::{bounded, hex, name, oid, text};

/// Values kept of an extension.
const MAX_VALUES: usize = 20;

/// The values of an extension, and how many more it has.
pub(super) fn values(extension: &ParsedExtension<'_>) -> (Vec<String>, usize) {
    use ParsedExtension as Parsed;
    match extension {
        Parsed::BasicConstraints(constraints) => {
            let path = constraints.path_len_constraint.map(|length| format!("pathlen:{length}"));
            let is_ca = if constraints.ca { "CA:TRUE" } else { "CA:FALSE" };
            keep(std::iter::once(is_ca.to_owned()).chain(path))
        }
        // Formatted as a list of at most nine words.
        Parsed::KeyUsage(usage) => keep(usage.to_string().split(", ").map(str::to_owned)),
        Parsed::ExtendedKeyUsage(usage) => keep(purposes(usage)),
        Parsed::SubjectKeyIdentifier(id) => keep([hex(id.0)]),
        Parsed::AuthorityKeyIdentifier(id) => {
            let key = id.key_identifier.as_ref().map(|key| format!("keyid:{}", hex(key.0)));
            let issuers = id.authority_cert_issuer.iter().flatten().map(general_name);
            let serial = id.authority_cert_serial.map(|serial| format!("serial:{}", hex(serial)));
            keep(key.into_iter().chain(issuers).chain(serial))
        }
        Parsed::AuthorityInfoAccess(access) => keep(access.iter().map(|description| {
            let method = match &description.access_method {
                method if *method == OID_PKIX_ACCESS_DESCRIPTOR_OCSP => "OCSP".to_owned(),
                method if *method == OID_PKIX_ACCESS_DESCRIPTOR_CA_ISSUERS => {
                    "CA Issuers".to_owned()
                }
                method => oid(method),
            };
            format!("{method} - {}", general_name(&description.access_location))
        })),
        Parsed::CRLDistributionPoints(points) => {
            keep(points.iter().filter_map(|point| point.distribution_point.as_ref()).flat_map(
                |point| match point {
                    DistributionPointName::FullName(names) => {
                        names.iter().map(general_name).collect()
                    }
                    DistributionPointName::NameRelativeToCRLIssuer(_) => {
                        vec!["relative to the issuer".to_owned()]
                    }
                },
            ))
        }
        Parsed::CertificatePolicies(policies) => {
            keep(policies.iter().map(|policy| oid(&policy.policy_id)))
        }
        Parsed::NameConstraints(constraints) => keep(subtrees(constraints)),
        Parsed::SCT(timestamps) => {
            keep([format!("signed certificate timestamps: {}", timestamps.len())])
        }
        Parsed::ParseError { .. } => keep(["not readable".to_owned()]),
        _ => keep([]),
    }
}

fn keep(values: impl IntoIterator<Item = String>) -> (Vec<String>, usize) {
    bounded(values, MAX_VALUES)
}

fn purposes(usage: &ExtendedKeyUsage<'_>) -> impl Iterator<Item = String> {
    let named = [
        (usage.any, "Any Extended Key Usage"),
        (usage.server_auth, "TLS Web Server Authentication"),
        (usage.client_auth, "TLS Web Client Authentication"),
        (usage.code_signing, "Code Signing"),
        (usage.email_protection, "E-mail Protection"),
        (usage.time_stamping, "Time Stamping"),
        (usage.ocsp_signing, "OCSP Signing"),
    ];
    let named = named.into_iter().filter(|(holds, _)| *holds).map(|(_, name)| name.to_owned());
    named.chain(usage.other.iter().map(oid))
}

fn subtrees(constraints: &NameConstraints<'_>) -> impl Iterator<Item = String> {
    let list = |word: &'static str, subtrees: &Option<Vec<GeneralSubtree<'_>>>| {
        let subtrees = subtrees.iter().flatten();
        subtrees.map(|tree| format!("{word} {}", general_name(&tree.base))).collect::<Vec<_>>()
    };
    let permitted = list("permitted", &constraints.permitted_subtrees);
    permitted.into_iter().chain(list("excluded", &constraints.excluded_subtrees))
}

/// A name with its type: `DNS:example.com`.
pub(super) fn general_name(general: &GeneralName<'_>) -> String {
    match general {
        GeneralName::DNSName(host) => format!("DNS:{}", text(host)),
        GeneralName::RFC822Name(address) => format!("email:{}", text(address)),
        GeneralName::URI(uri) => format!("URI:{}", text(uri)),
        GeneralName::IPAddress(bytes) => match address(bytes) {
            Some(address) => format!("IP Address:{address}"),
            None => format!("IP Address:{}", hex(bytes)),
        },
        GeneralName::DirectoryName(directory) => format!("DirName:{}", name(directory)),
        GeneralName::RegisteredID(id) => format!("Registered ID:{}", oid(id)),
        GeneralName::OtherName(id, _) => format!("othername:{}", oid(id)),
        GeneralName::X400Address(_) => "X400Name".to_owned(),
        GeneralName::EDIPartyName(_) => "EdiPartyName".to_owned(),
        GeneralName::Invalid(_, bytes) => format!("invalid:{}", hex(bytes)),
    }
}

/// An IP address of four or sixteen bytes.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}
