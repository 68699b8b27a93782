//! Encodings, compression and sizes of pages.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use super::*;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn brotli(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 5, ..Default::default() };
    brotli::BrotliCompress(&mut &text[..], &mut packed, &parameters).expect("memory");
    packed
}

#[tokio::test]
async fn packed_pages_are_searched() {
    let site = Site::start(|asked| {
        let page = anchors([format!("/gone{}", asked.target)]).into_bytes();
        match asked.target.as_str() {
            "/" => Reply::html(anchors(["/gzip", "/br", "/deflate", "/bomb", "/lies", "/zstd"])),
            "/gzip" => Reply::html(gzip(&page)).with("Content-Encoding", "gzip"),
            "/br" => Reply::html(brotli(&page)).with("Content-Encoding", "br"),
            "/deflate" => Reply::html(zlib(&page)).with("Content-Encoding", "deflate"),
            "/bomb" => {
                let bomb = [page, vec![b' '; 50 << 20], anchors(["/late"]).into_bytes()].concat();
                Reply::html(gzip(&bomb)).with("Content-Encoding", "gzip")
            }
            "/lies" => Reply::html(page).with("Content-Encoding", "gzip"),
            "/zstd" => Reply::html(page).with("Content-Encoding", "zstd"),
            _ => Reply::new(404),
        }
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(
        broken(&result, &site),
        ["/gzip", "/br", "/deflate", "/bomb"].map(|page| format!("404 /gone{page} {page}"))
    );
    // The bomb, the page that is not in gzip, and the one in zstd.
    assert_eq!(result.crawl.skipped.partly_read, 3);
    let asked = site.asked();
    assert!(asked.iter().all(|asked| asked.header("accept-encoding") == Some("gzip, deflate")));
}

#[tokio::test]
async fn a_page_is_read_to_its_limit() {
    let huge = anchors(["/early"]) + &" ".repeat(3 << 20) + &anchors(["/late"]);
    let site = Site::of(&[("/", &huge)]).await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["404 /early /"]);
    assert_eq!(result.crawl.skipped, SkippedLinks { partly_read: 1, ..SkippedLinks::default() });
}

#[tokio::test]
async fn only_html_is_searched() {
    let site = Site::start(|asked| {
        let page = anchors([format!("/gone{}", asked.target)]);
        match asked.target.as_str() {
            "/" => Reply::html(anchors(["/text", "/pdf", "/xhtml", "/none", "/upper", "/error"])),
            "/text" => Reply::file("text/plain", page),
            "/pdf" => Reply::file("application/pdf", page),
            "/xhtml" => Reply::file("application/xhtml+xml;charset=utf-8", page),
            "/upper" => Reply::file("Text/HTML; Charset=UTF-8", page),
            "/none" => Reply::file("", page),
            "/error" => Reply::new(404),
            _ => Reply::new(410),
        }
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(
        broken(&result, &site),
        [
            "404 /error /",
            "410 /gone/xhtml /xhtml",
            "410 /gone/none /none",
            "410 /gone/upper /upper"
        ]
    );
    assert_eq!(result.crawled, 4);
}

#[tokio::test]
async fn charsets_and_bases_are_heeded() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/" => Reply::html("<base href=/sub/><a href=latin><a href=utf8>"),
        "/sub/latin" => {
            Reply::file("text/html; charset=iso-8859-1", b"<a href='/x?\xe9'>".to_vec())
        }
        "/sub/utf8" => Reply::html("<a href='/x?é'>"),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(broken(&result, &site), ["404 /x?%E9 /sub/latin", "404 /x?%C3%A9 /sub/utf8"]);
}

#[tokio::test]
async fn sitemaps_add_what_no_page_links_to() {
    let site = Site::start(|asked| match asked.target.as_str() {
        "/robots.txt" => Reply::file("text/plain", "Sitemap: /maps/index.xml.gz\n"),
        "/maps/index.xml.gz" => Reply::file(
            "application/gzip",
            gzip(
                b"<sitemapindex><sitemap><loc>one.xml</loc></sitemap><sitemap><loc>/two.txt</loc>\
                 </sitemap><sitemap><loc>index.xml.gz</loc></sitemap></sitemapindex>",
            ),
        ),
        "/maps/one.xml" => Reply::file(
            "text/xml",
            "<urlset><url><loc>/</loc></url><url><loc>/orphan</loc></url><url><loc>/linked</loc>\
             </url><url><loc>/dead</loc></url><url><loc>http://127.0.0.2:1/</loc></url></urlset>",
        ),
        "/two.txt" => Reply::redirect(302, "/two"),
        "/two" => {
            let line = format!("http://{}/dead2", asked.header("host").unwrap_or_default());
            Reply::file("text/plain", line)
        }
        "/" => Reply::html(anchors(["/linked"])),
        "/linked" => Reply::html(""),
        "/orphan" => Reply::html(anchors(["/gone"])),
        _ => Reply::new(404),
    })
    .await;
    let result = crawl(&site.url("/")).await;
    assert_eq!(
        broken(&result, &site),
        ["404 /dead /maps/one.xml", "404 /dead2 /two.txt", "404 /gone /orphan"]
    );
    assert_eq!((result.crawled, result.crawl.sitemap_urls), (3, 5));
    assert!(result.crawl.robots_txt);
}
