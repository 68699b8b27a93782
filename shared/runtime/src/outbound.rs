//! What a process may reach that connects to addresses of somebody else's choice.

use std::fs;

use ipnet::IpNet;
use vedette_probe::guard::{ConnectTo, Outbound};

use crate::config::{ConfigError, Read, list};

/// Reads what this process may reach.
///
/// # Errors
///
/// The first variable that is invalid.
pub fn outbound(read: Read<'_>) -> Result<Outbound, ConfigError> {
    let extra_roots = match read("VEDETTE_EXTRA_ROOTS") {
        Some(roots) => read_roots(&roots)
            .map_err(|problem| ConfigError { name: "VEDETTE_EXTRA_ROOTS", problem })?,
        None => Vec::new(),
    };
    Ok(Outbound {
        allow: list::<IpNet>(read, "VEDETTE_ALLOW_TARGETS")?,
        connect_to: list::<ConnectTo>(read, "VEDETTE_CONNECT_TO")?,
        extra_roots,
        own_listeners: Vec::new(),
    })
}

/// Certificates out of a file, or out of the variable itself: a Lambda function has no files of its own.
fn read_roots(roots: &str) -> Result<Vec<rustls::pki_types::CertificateDer<'static>>, String> {
    use rustls::pki_types::pem::PemObject as _;
    let (name, pem) = if roots.trim_start().starts_with("-----BEGIN") {
        ("the text", roots.as_bytes().to_vec())
    } else {
        let pem = fs::read(roots).map_err(|error| format!("{roots} cannot be read: {error}"))?;
        (roots, pem)
    };
    let certificates = rustls::pki_types::CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{name} is not PEM: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("{name} holds no certificate"));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_may_stand_in_the_variable_itself() {
        let pem = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
        let read = |name: &str| (name == "VEDETTE_EXTRA_ROOTS").then(|| pem.to_owned());
        let outbound = outbound(&read).expect("a configuration");
        assert_eq!(outbound.extra_roots.len(), 1);
    }
}
