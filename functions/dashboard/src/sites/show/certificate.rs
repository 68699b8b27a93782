//! The certificate that a site presents, with its chain.

use maud::{Markup, html};
use vedette_domain::checks::check::{CertificateInfo, CertificateKey, Check, SslResult};
use vedette_domain::checks::tool::Tool;
use vedette_domain::sites::settings::HTTPS_PORT;
use vedette_store::SiteWithTools;

use super::read;
use crate::checks::{NO_CERTIFICATE, without_need};
use crate::clock::Clock;
use crate::layout;
use crate::look::Look;
use crate::sites::certificate_days;

pub(super) fn part(check: Option<&Check>, stored: &SiteWithTools, clock: Clock<'_>) -> Markup {
    let Some((check, result)) = read::<SslResult>(check) else { return Markup::default() };
    let shown = |text: &Option<String>| Some(clock.certificate_time(text.as_deref()?));
    let days = stored.tools.get(&Tool::Ssl).and_then(|state| certificate_days(state, clock.now));
    let port = result.port.unwrap_or(HTTPS_PORT);
    html! {
      section.card #certificate {
        header {
            h2 { "Certificate" }
            span.quiet.small { "Checked " (clock.instant(check.id.created_at())) }
        }
        div.in.stack.gm {
        p {
            @match &result.failure_message {
                Some(message) if without_need(check, stored).is_some() => {
                    (Look::Paused.bare(NO_CERTIFICATE)) br; "Port " (port) ": " bdi { (message) }
                }
                Some(message) => { (Look::Down.bare("Not valid")) " " bdi { (message) } },
                None => (Look::Up.bare("Valid")),
            }
        }
        @if let Some(first) = &result.first_to_expire {
            p { bdi { (first.subject) } ", an intermediate certificate in the chain, expires on " (clock.certificate_time(&first.valid_to)) ", before the site’s own certificate. After that, browsers no longer trust the chain." }
        }
        @if !stored.site.url.is_https() && result.valid_to.is_some() {
            p.quiet.small { "The site is monitored over http://. This is the certificate on port " (port) " of its host." }
        }
        dl.facts {
            (fact("Issued to", result.issued_to.as_deref()))
            (fact("Issued by", result.issuer.as_deref()))
            (fact("Valid from", shown(&result.valid_from).as_deref()))
            (fact("Valid until", shown(&result.valid_to).as_deref()))
            @if let Some(days) = days { dt { "Days left" } dd { (days) } }
            (fact("Address", result.ip.as_deref()))
            @if let Some(port) = result.port { dt { "Port" } dd { (port) } }
        }
        @if let Some(info) = &result.info { (details(info, clock)) }
        }
      }
    }
}

fn fact(name: &str, value: Option<&str>) -> Markup {
    html! { @if let Some(value) = value { dt { (name) } dd { bdi { (value) } } } }
}

fn details(info: &CertificateInfo, clock: Clock<'_>) -> Markup {
    let names = &info.subject_alternative_names;
    html! {
        details.list {
            summary { "Names, key and chain" }
            dl.facts {
                dt { "Names" }
                dd {
                    ul {
                        @for name in names.dns.iter().chain(&names.ip).chain(&names.other) {
                            li { bdi { (name) } }
                        }
                        @if names.omitted > 0 { li { (names.omitted) " more" } }
                    }
                }
                dt { "Key" } dd { bdi { (key(&info.key)) } }
                (fact("Signature", Some(&info.signature_algorithm)))
                (fact("Protocol", info.protocol.as_deref()))
                (fact("SHA-256", Some(&info.fingerprints.sha256)))
            }
            table {
                (layout::columns("The certificates that the server presents, its own first", &["Issued to", "Issued by", "Valid"]))
                tbody {
                    @for link in &info.chain {
                        tr {
                            th scope="row" { bdi { (link.subject) } }
                            td { bdi { (link.issuer) } }
                            td { (clock.certificate_time(&link.valid_from)) " to " (clock.certificate_time(&link.valid_to)) }
                        }
                    }
                }
            }
            @if info.chain_omitted > 0 { p { (info.chain_omitted) " more certificates are not shown." } }
        }
    }
}

fn key(key: &CertificateKey) -> String {
    let size = key.bits.map(|bits| format!(" of {bits} bits"));
    let curve = key.curve.as_ref().map(|curve| format!(", {curve}"));
    format!("{}{}{}", key.algorithm, size.unwrap_or_default(), curve.unwrap_or_default())
}
