//! The source of a request.

use std::net::IpAddr;

use lambda_http::RequestExt as _;
use lambda_http::http::HeaderName;
use lambda_http::http::request::Parts;
use lambda_http::request::RequestContext;
use vedette_domain::source::{Source, TrustedProxies};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The peer that has connected to the gateway, which adds this extension to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// The peer that has connected to our own gateway or to API Gateway.
    fn of(head: &Parts) -> Option<Self> {
        if let Some(peer) = head.extensions.get::<Self>() {
            return Some(*peer);
        }
        match head.extensions.request_context_ref()? {
            RequestContext::ApiGatewayV2(context) => {
                context.http.source_ip.as_deref()?.parse().ok().map(Self)
            }
            _ => None,
        }
    }
}

/// The source of a request: its peer, or the client that the operator's proxies name.
pub fn source(head: &Parts, proxies: &TrustedProxies) -> Source {
    let Some(Peer(peer)) = Peer::of(head) else { return Source::Unknown };
    let lines = head.headers.get_all(FORWARDED_FOR).into_iter();
    // Several lines count as one.
    let listed: Vec<&str> =
        lines.flat_map(|line| line.to_str().unwrap_or_default().split(',')).collect();
    Source::of(proxies.client(peer, listed.into_iter()))
}

#[cfg(test)]
mod tests {
    use lambda_http::http::Request;

    use super::*;

    fn said(peer: Option<&str>, forwarded: &[&str], proxies: &[&str]) -> String {
        let proxies = proxies.iter().map(|network| network.parse().expect("a network"));
        let mut request = Request::builder();
        for line in forwarded {
            request = request.header(FORWARDED_FOR, *line);
        }
        let (mut head, ()) = request.body(()).expect("a request").into_parts();
        let peer = peer.map(|peer| Peer(peer.parse().expect("an address")));
        peer.map(|peer| head.extensions.insert(peer));
        source(&head, &TrustedProxies(proxies.collect())).to_string()
    }

    #[test]
    fn a_request_comes_from_its_peer_unless_a_trusted_proxy_says_otherwise() {
        let peer = Some("10.0.0.1");
        assert_eq!(said(peer, &["203.0.113.7"], &[]), "10.0.0.1");
        assert_eq!(said(peer, &["203.0.113.7"], &["10.0.0.0/8"]), "203.0.113.7");
        let lines = ["192.0.2.1", "203.0.113.7, 10.0.0.2"];
        assert_eq!(said(peer, &lines, &["10.0.0.0/8"]), "203.0.113.7");
        assert_eq!(said(None, &["203.0.113.7"], &["0.0.0.0/0"]), "unknown");
    }

    #[test]
    fn behind_api_gateway_the_context_says_who_has_connected() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../events/dashboard/sites.json");
        let event = std::fs::read_to_string(path).expect("an event");
        let event = event.replace(
            "\"x-forwarded-for\": \"203.0.113.7\"",
            "\"x-forwarded-for\": \"192.0.2.1, 203.0.113.7\"",
        );
        let (head, _) = lambda_http::request::from_str(&event).expect("a request").into_parts();
        assert_eq!(source(&head, &TrustedProxies::default()).to_string(), "203.0.113.7");
        // The situation behind CloudFront.
        let edge = TrustedProxies(vec!["203.0.113.0/24".parse().expect("a network")]);
        assert_eq!(source(&head, &edge).to_string(), "192.0.2.1");
    }
}
