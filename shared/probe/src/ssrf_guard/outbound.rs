//! What a process that connects to addresses of somebody else's choice may reach.

use std::fs;
use std::net::SocketAddr;

use ipnet::IpNet;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use vedette_ops::config::{ConfigError, Read, list};

use super::ConnectTo;

/// What may be reached and how, from configuration. The default is the public Internet, with
/// Mozilla's root certificates.
#[derive(Debug, Clone, Default)]
pub struct Outbound {
    /// Networks that are allowed although they are not public. An IPv4 network does not include IPv6 addresses that
    /// embed its addresses.
    pub allow: Vec<IpNet>,
    /// The variable that lists these networks, for messages.
    pub setting: Option<&'static str>,
    /// Detours. The first one that applies is used.
    pub connect_to: Vec<ConnectTo>,
    /// Trust anchors in addition to Mozilla's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Where Vedette itself listens; never reached, even if `allow` covers it. `0.0.0.0` and `::`
    /// stand for every address of this machine.
    pub own_listeners: Vec<SocketAddr>,
}

impl Outbound {
    /// Reads how addresses are reached: detours and trust anchors. Only public networks are allowed.
    ///
    /// # Errors
    ///
    /// The first variable that is invalid.
    pub fn read(read: Read<'_>) -> Result<Self, ConfigError> {
        let extra_roots = match read("VEDETTE_EXTRA_ROOTS") {
            Some(roots) => read_roots(&roots)
                .map_err(|problem| ConfigError { name: "VEDETTE_EXTRA_ROOTS", problem })?,
            None => Vec::new(),
        };
        Ok(Self {
            allow: Vec::new(),
            setting: None,
            connect_to: list(read, "VEDETTE_CONNECT_TO")?,
            extra_roots,
            own_listeners: Vec::new(),
        })
    }

    /// Allows the networks that a variable lists. Targets of checks and receivers of alerts have one each: allowing
    /// checks into a network does not allow people to send requests of their own into it.
    ///
    /// # Errors
    ///
    /// When the variable is invalid.
    pub fn allowing(self, read: Read<'_>, variable: &'static str) -> Result<Self, ConfigError> {
        Ok(Self { allow: list(read, variable)?, setting: Some(variable), ..self })
    }
}

/// Certificates from a file, or from the variable itself: a Lambda function has no files of its own.
fn read_roots(roots: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let (name, pem) = if roots.trim_start().starts_with("-----BEGIN") {
        ("the text", roots.as_bytes().to_vec())
    } else {
        let pem = fs::read(roots).map_err(|error| format!("{roots} cannot be read: {error}"))?;
        (roots, pem)
    };
    let certificates = CertificateDer::pem_slice_iter(&pem)
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
        let outbound = Outbound::read(&read).expect("a configuration");
        assert_eq!(outbound.extra_roots.len(), 1);
    }
}
