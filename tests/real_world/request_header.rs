//! Where the site's request header is sent.

use vedette_testkit::loopback;

use crate::cookies::crawled;
use crate::redirects::{RawSite, checked, page, path, redirect};

const HEADER: Option<(&str, &str)> = Some(("X-Token", "s3cret"));

fn has_header(head: &str) -> bool {
    head.contains("\r\nx-token: s3cret\r\n")
}

#[tokio::test]
async fn a_status_check_sends_it_to_the_sites_own_scheme_host_and_port() {
    for (host, port, is_sent) in [
        ("shop.test", 80, true),
        ("shop.test", 8080, false),
        ("www.shop.test", 80, false),
        ("other.test", 80, false),
    ] {
        let target = RawSite::start(|_| page("", "hello")).await;
        let location = match port {
            80 => format!("http://{host}/next"),
            port => format!("http://{host}:{port}/next"),
        };
        let answer = redirect(location.as_bytes(), "");
        let first = RawSite::start(move |head| match path(head) {
            "/" => answer.clone(),
            _ => page("", "hello"),
        })
        .await;
        let mut outbound = loopback();
        let detours = [
            format!("shop.test:80:{}", first.address),
            format!("{host}:{port}:{}", target.address),
        ];
        for detour in detours {
            outbound.connect_to.push(detour.parse().expect("a detour"));
        }
        let url = "http://shop.test/".parse().expect("a URL");
        let result = checked(outbound, &url, HEADER).await;
        assert_eq!((result.code, result.redirect_count), (200, 1), "{location}");
        let heads = [first.heads(), target.heads()].concat();
        let sent: Vec<bool> = heads.iter().map(|head| has_header(head)).collect();
        assert_eq!(sent, [true, is_sent], "{location}");
    }
}

#[tokio::test]
async fn a_crawl_sends_it_to_every_port_of_the_sites_own_host() {
    let other_port = RawSite::start(|_| page("", "")).await;
    let link = format!("<a href='{}'>x</a>", other_port.url("/"));
    let site = RawSite::start(move |_| page("", &link)).await;
    crawled(&site.url("/"), HEADER).await;
    let heads = [site.heads(), other_port.heads()].concat();
    assert!(
        !other_port.heads().is_empty() && heads.iter().all(|head| has_header(head)),
        "{heads:?}"
    );
}
