//! Cases over HTTP/1.1. `/` is a page that links to forty other pages, which contain the case; a case can also define
//! `/robots.txt` and `/sitemap.xml`.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::server::{Piece, bytes, flood};

const GIB: u64 = 1024 * 1024 * 1024;
const ENDLESS: u64 = 1024 * GIB;

pub(crate) type Responder = Arc<dyn Fn(&str) -> Vec<Piece> + Send + Sync>;

/// A name, and what is sent for each path.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) answer: Responder,
}

fn case(name: &'static str, answer: impl Fn(&str) -> Vec<Piece> + Send + Sync + 'static) -> Case {
    Case { name, answer: Arc::new(answer) }
}

/// Every page except the first consists of `pieces`.
fn page(name: &'static str, pieces: impl Fn() -> Vec<Piece> + Send + Sync + 'static) -> Case {
    case(name, move |path| match path {
        "/" => front(),
        "/robots.txt" | "/sitemap.xml" => absent(),
        _ => pieces(),
    })
}

/// One file consists of `pieces`; the rest is an ordinary page.
fn file(
    name: &'static str,
    file: &'static str,
    pieces: impl Fn() -> Vec<Piece> + Send + Sync + 'static,
) -> Case {
    case(name, move |path| match path {
        "/" => front(),
        path if path == file => pieces(),
        path if path.starts_with("/page") => html("", [bytes("the end")]),
        _ => absent(),
    })
}

fn absent() -> Vec<Piece> {
    vec![bytes("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")]
}

fn front() -> Vec<Piece> {
    let links: String = (0..40).map(|n| format!("<a href=/page{n}>x</a>")).collect();
    html("", [bytes(links)])
}

fn with_head(head: &str, body: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n{head}\r\n");
    std::iter::once(bytes(head)).chain(body).collect()
}

fn html(head: &str, body: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    with_head(&format!("Content-Type: text/html\r\n{head}"), body)
}

fn interim(size: usize) -> String {
    format!("HTTP/1.1 103 H\r\nLink: {}\r\n\r\n", "x".repeat(size))
}

fn redirect(location: &str) -> Vec<Piece> {
    vec![bytes(format!(
        "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\
         \r\n"
    ))]
}

/// A chunk of the chunked coding, repeated.
fn chunks(data: &[u8], total: u64) -> Piece {
    let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
    chunk.extend_from_slice(data);
    chunk.extend_from_slice(b"\r\n");
    flood(chunk, total)
}

fn gzip(unit: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..times {
        encoder.write_all(unit).expect("memory");
    }
    encoder.finish().expect("memory")
}

/// 16 MiB of zeros in gzip; more members follow each other.
fn zeros_in_gzip() -> &'static [u8] {
    static ZEROS: OnceLock<Vec<u8>> = OnceLock::new();
    ZEROS.get_or_init(|| gzip(&[0; 64 * 1024], 256))
}

fn zeros_in_brotli() -> &'static [u8] {
    static ZEROS: OnceLock<Vec<u8>> = OnceLock::new();
    ZEROS.get_or_init(|| {
        let mut packed = Vec::new();
        let parameters = brotli::enc::BrotliEncoderParams { quality: 1, ..Default::default() };
        let zeros = vec![0; 8 * 1024 * 1024];
        brotli::BrotliCompress(&mut &zeros[..], &mut packed, &parameters).expect("memory");
        packed
    })
}

pub(crate) fn cases() -> Vec<Case> {
    // Prepared before the timer starts.
    for packed in [zeros_in_gzip(), zeros_in_brotli()] {
        assert!(packed.len() < 100_000);
    }
    [transport(), redirects(), time_limit(), heads(), packed(), markup(), links(), files()]
        .into_iter()
        .flatten()
        .collect()
}

fn transport() -> Vec<Case> {
    vec![
        page("nothing is sent", || vec![Piece::Hang]),
        page("a head comes a byte a second", || {
            vec![Piece::Slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".to_vec())]
        }),
        page("a body comes a byte a second", || {
            html("", [Piece::Slowly(b"<a href=/x>x</a>".repeat(100))])
        }),
        case("everything comes a byte a second", |_| html("", [Piece::Slowly(vec![b' '; 100])])),
        page("a body ends before its length", || html("Content-Length: 99\r\n", [bytes("x")])),
        page("a body hangs", || html("Content-Length: 99\r\n", [bytes("x"), Piece::Hang])),
        page("a body never ends", || html("", [flood("<a href=/page1>x</a>", ENDLESS)])),
        page("10 GiB of zeros", || html("Content-Length: 10737418240\r\n", [flood([0], 10 * GIB)])),
        page("10 GiB of zeros in chunks", || {
            html("Transfer-Encoding: chunked\r\n", [chunks(&[0; 16 * 1024], 10 * GIB)])
        }),
        page("chunks of a byte", || {
            html("Transfer-Encoding: chunked\r\n", [chunks(b"<", ENDLESS)])
        }),
        page("chunks with endless extensions", || {
            html("Transfer-Encoding: chunked\r\n", [bytes("1;"), flood("x", ENDLESS)])
        }),
        page("chunks with endless trailers", || {
            html("Transfer-Encoding: chunked\r\n", [bytes("0\r\n"), flood("A: b\r\n", ENDLESS)])
        }),
    ]
}

fn redirects() -> Vec<Case> {
    vec![
        case("everything redirects to itself", redirect),
        page("pages redirect to one another", || redirect("/page1")),
        case("redirects go on", |path| {
            let number: u64 = path.trim_start_matches("/r").parse().unwrap_or_default();
            redirect(&format!("/r{}", number + 1))
        }),
        case("redirects grow", |path| redirect(&format!("{path}/grow"))),
        case("redirects double", |path| redirect(&format!("{path}{path}x"))),
        page("a redirect is 60 KB long", || redirect(&"/x".repeat(30_000))),
        page("a redirect is no URL", || redirect("http://[::1/\u{ff}\u{fe}")),
        page("a redirect leads nowhere", || redirect("http://127.0.0.1:1/")),
    ]
}

fn time_limit() -> Vec<Case> {
    let later = |after: &'static str| {
        move || {
            let head = "HTTP/1.1 429 Later\r\nContent-Length: 0\r\nConnection: close\r\n";
            vec![bytes(format!("{head}{after}\r\n"))]
        }
    };
    vec![
        page("time_limit is asked for again and again", later("Retry-After: 0\r\n")),
        page("time_limit is asked for without end", later("Retry-After: 18446744073709551615\r\n")),
        page("time_limit is asked for by dates", || {
            let dates = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
                         Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n";
            vec![bytes(format!("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n{dates}\r\n"))]
        }),
    ]
}

fn heads() -> Vec<Case> {
    vec![
        page("100,000 headers", || with_head("", [flood("A: b\r\n", 600_000), bytes("\r\n")])),
        page("100,000 cookies", || {
            with_head("Set-Cookie: a=b\r\n", [flood("Set-Cookie: a=b; Path=/\r\n", 2_500_000)])
        }),
        page("a header of 10 MB", || {
            vec![bytes("HTTP/1.1 200 OK\r\nA: "), flood("x", 10_000_000), bytes("\r\n\r\n")]
        }),
        page("a header line that never ends", || {
            vec![bytes("HTTP/1.1 200 OK\r\nA: "), flood("x", ENDLESS)]
        }),
        page("headers of invalid bytes", || {
            vec![bytes(b"HTTP/1.1 200 OK\r\nA\0\xff: \x01\x02\xff\r\n: x\r\n\xfe\r\n\r\nx")]
        }),
        page("a header that folds without end", || {
            vec![bytes("HTTP/1.1 200 OK\r\nA: x\r\n"), flood(" x\r\n", ENDLESS)]
        }),
        page("interim answers without end", || vec![flood("HTTP/1.1 103 H\r\n\r\n", ENDLESS)]),
        page("long interim answers without end", || vec![flood(interim(30_000), ENDLESS)]),
        page("interim answers of all kinds without end", || {
            let kinds =
                [100, 102, 103, 199].map(|code| format!("HTTP/1.1 {code} H\r\nA: b\r\n\r\n"));
            vec![flood(kinds.concat(), ENDLESS)]
        }),
        page("interim answers come a byte a second", || {
            vec![Piece::Slowly(interim(1).repeat(9).into_bytes())]
        }),
        page("lengths that contradict", || {
            html("Content-Length: 5\r\nContent-Length: 7\r\n", [bytes("hello")])
        }),
        page("a length beyond all numbers", || {
            html("Content-Length: 99999999999999999999999\r\n", [bytes("hello")])
        }),
        page("random bytes", || {
            let noise = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8);
            vec![bytes(noise.collect::<Vec<_>>())]
        }),
        page("an upgrade", || {
            vec![bytes("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), flood([0], ENDLESS)]
        }),
    ]
}

fn packed() -> Vec<Case> {
    const GZIP: &str = "Content-Encoding: gzip\r\n";
    vec![
        page("gigabytes in gzip", || html(GZIP, [flood(zeros_in_gzip(), 2_000_000)])),
        page("gzip in gzip", || html(GZIP, [bytes(gzip(zeros_in_gzip(), 64))])),
        page("codings upon each other", || {
            html("Content-Encoding: gzip, gzip, br\r\n", [bytes(gzip(zeros_in_gzip(), 8))])
        }),
        page("brotli of zeros", || {
            html("Content-Encoding: br\r\n", [flood(zeros_in_brotli(), 2_000_000)])
        }),
        page("100,000 empty members of gzip", || html(GZIP, [flood(gzip(&[], 1), 2_000_000)])),
        page("a million links in gzip", || {
            html(GZIP, [bytes(gzip(&b"<a href=/l>x</a>".repeat(1_000), 1_000))])
        }),
        page("tags without end in gzip", || {
            html(GZIP, [bytes(gzip(&b"<p><b><i>".repeat(1_000), 300))])
        }),
    ]
}

fn markup() -> Vec<Case> {
    let deep =
        |tail: &'static str| move || html("", [flood("<i>", 90_000), flood(tail, 3_000_000)]);
    vec![
        page("a million nested tags", || html("", [flood("<div>", 5_000_000)])),
        page("tags that are never closed", || html("", [flood("<p><a href='/x><b ", 3_000_000)])),
        page("end tags of nothing", deep("</b>")),
        page("tags opened and closed far within", deep("<b></b>")),
        page("an attribute of 50 MB", || {
            html("", [bytes("<a href='/"), flood("x", 50_000_000), bytes("'>x</a>")])
        }),
        page("a tag of a million attributes", || {
            html("", [bytes("<a "), flood("a ", 1_900_000), bytes("href=/x>x</a>")])
        }),
        page("tags of a thousand attributes", || {
            html("", [flood(format!("<a {}href=/x>", "b=c ".repeat(1_000)), 3_000_000)])
        }),
        page("a million pictures in one set", || {
            html("", [bytes("<img srcset='"), flood("a 1x,", 1_900_000), bytes("'>")])
        }),
        page("a million character references", || {
            html("", [bytes("<a href='"), flood("&amp", 1_900_000), bytes("'>x</a>")])
        }),
        page("a comment that never ends", || html("", [bytes("<!--"), flood("-", 3_000_000)])),
        page("a script that never ends", || html("", [bytes("<script>"), flood("</", 3_000_000)])),
        page("NUL bytes in tags", || html("", [flood("<a\0 href\0=/\0x>\0</a\0>", 2_000_000)])),
        page("UTF-16 by its mark, and then not", || {
            html("", [bytes(b"\xff\xfe"), flood("<a href=/x>x</a>", 2_000_000)])
        }),
        page("UTF-16 by the server's word, and odd", || {
            with_head(
                "Content-Type: text/html; charset=utf-16be\r\n",
                [bytes(b"\0<\0a\xd8"), flood([0xd8, 0, 0xdc], 2_000_000)],
            )
        }),
        page("a base of nothing", || {
            html("", [bytes("<base href='data:,x'>"), flood("<a href=x>", 2_000_000)])
        }),
    ]
}

fn links() -> Vec<Case> {
    vec![
        case("a million links on a page", |path| match path {
            "/" => {
                let links: String = (0..300_000).map(|n| format!("<a href={n}>")).collect();
                html("", [bytes(links)])
            }
            _ => absent(),
        }),
        case("each page has ever new links", |path| {
            let path = path.trim_matches('/').to_owned();
            let links: String = (0..3_000).map(|n| format!("<a href=/{path}{n}/>x</a>")).collect();
            html("", [bytes(links)])
        }),
        page("links of 10 MB", || {
            html("", [bytes("<a href=/x><a href=/"), flood("y", 10_000_000), bytes(">x")])
        }),
        case("long links", |path| match path {
            "/robots.txt" | "/sitemap.xml" => absent(),
            path => {
                let stem = path.len() * 31 % 9973;
                let long = "y".repeat(1_900);
                let links: String =
                    (0..1_000).map(|n| format!("<a href=/{stem}{n}{long}>x</a>")).collect();
                html("", [bytes(links)])
            }
        }),
        case("each link on another host", |path| match path {
            "/" => {
                let link = |n| format!("<a href=http://127.1.{}.{}:1/>", n / 250, n % 250);
                html("", [bytes((0..30_000).map(link).collect::<String>())])
            }
            _ => absent(),
        }),
    ]
}

fn files() -> Vec<Case> {
    let robots = |name, pieces: fn() -> Vec<Piece>| file(name, "/robots.txt", pieces);
    let sitemap = |name, pieces: fn() -> Vec<Piece>| file(name, "/sitemap.xml", pieces);
    vec![
        robots("a robots.txt of 1 GB", || {
            with_head("", [flood("User-agent: *\nDisallow: /x\n", GIB)])
        }),
        robots("a robots.txt in a gzip bomb", || {
            with_head("Content-Encoding: gzip\r\n", [flood(zeros_in_gzip(), 2_000_000)])
        }),
        robots("rules that are hard to compile", || {
            let rule = format!("Disallow: /{}$\n", "a*b".repeat(40));
            with_head("", [bytes("User-agent: *\n"), flood(rule, 500_000)])
        }),
        case("rules that are hard to follow, for many links", |path| match path {
            "/robots.txt" => {
                let hard = format!("Disallow: /*{}!\n", "a*".repeat(100));
                let rules = [bytes("User-agent: *\nDisallow: /a\n"), flood(hard, 500_000)];
                with_head("", rules)
            }
            "/" => {
                let link = |n| format!("<a href=/{}{n}>", "a".repeat(90));
                html("", [bytes((0..15_000).map(link).collect::<String>())])
            }
            _ => absent(),
        }),
        robots("a robots.txt that redirects to itself", || redirect("/robots.txt")),
        sitemap("a billion laughs", || {
            let mut text = "<?xml version='1.0'?><!DOCTYPE l [<!ENTITY l0 'lol'>".to_owned();
            for n in 1..10 {
                let inner = format!("&l{};", n - 1).repeat(10);
                text.push_str(&format!("<!ENTITY l{n} '{inner}'>"));
            }
            text.push_str("]><urlset><url><loc>/&l9;</loc></url></urlset>");
            with_head("", [bytes(text)])
        }),
        sitemap("a sitemap that is its own index", || {
            let own = "<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>";
            with_head("", [bytes(own)])
        }),
        case("an index of indexes", |path| match path {
            "/" => front(),
            "/robots.txt" => absent(),
            path if path.contains("sitemap") => {
                let further = (0..50).map(|n| format!("<sitemap><loc>{path}{n}</loc></sitemap>"));
                with_head("", [bytes(further.collect::<String>())])
            }
            _ => html("", []),
        }),
        case("twenty sitemaps of nothing", |path| match path {
            "/" => front(),
            "/robots.txt" => {
                let named = (0..20).map(|n| format!("Sitemap: /sitemap{n}\n"));
                with_head("", [bytes(named.collect::<String>())])
            }
            path if path.contains("sitemap") => {
                with_head("", [bytes("<urlset>"), flood("<loc></loc>", 9_000_000)])
            }
            _ => html("", []),
        }),
        sitemap("a sitemap of one long location", || {
            with_head("", [bytes("<urlset><url><loc>"), flood("&amp;", 20_000_000)])
        }),
        sitemap("a sitemap of short lines", || with_head("", [flood("http://a\n", 20_000_000)])),
        sitemap("a sitemap of invalid bytes", || {
            with_head("", [bytes("<urlset>"), flood([0xff, 0xfe], 20_000_000)])
        }),
        sitemap("a sitemap of open tags", || with_head("", [flood("<url>", 20_000_000)])),
    ]
}
