//! Which links are found in HTML.

use proptest::prelude::*;

use super::attributes::{charset, refresh, srcset};
use super::*;

const PAGE: &str = "http://example.com/a/b";

fn extract(charset: Option<&str>, pieces: &[&[u8]]) -> PageLinks {
    let mut extractor = Extractor::new(charset);
    for piece in pieces {
        extractor.write(piece);
    }
    extractor.finish(&PAGE.parse().expect("a URL"))
}

/// The URLs in a page. `>` marks those to visit first, `!` those that are invalid.
fn urls(html: &str) -> Vec<String> {
    told(&extract(None, &[html.as_bytes()]))
}

fn told(links: &PageLinks) -> Vec<String> {
    let mark = |link: PageLink<'_>| match (link.valid, link.kind) {
        (false, _) => "!",
        (true, Kind::Page) => ">",
        (true, Kind::Part) => "",
    };
    links
        .iter()
        .map(|link| format!("{}{}", mark(link), link.url.replace("http://example.com", "")))
        .collect()
}

#[test]
fn every_kind_of_link_is_read() {
    for (html, expected) in [
        ("<a href=/x>x</a>", &[">/x"][..]),
        ("<A HREF='/x'>", &[">/x"]),
        ("<a name=x>", &[]),
        ("<a href=/x.zip download>", &["/x.zip"]),
        ("<map><area href=x></map>", &[">/a/x"]),
        ("<link rel=stylesheet href=/x.css>", &["/x.css"]),
        ("<link rel='shortcut ICON' href=/x.ico>", &["/x.ico"]),
        ("<link rel=canonical href=/x>", &["/x"]),
        ("<link rel=preconnect href=https://cdn.example>", &[]),
        ("<link rel=pingback href=/xmlrpc.php>", &[]),
        ("<link href=/x>", &[]),
        ("<img src=/x.png>", &["/x.png"]),
        ("<img src=/x.png srcset='/x.png 1x, /y.png 2x'>", &["/x.png", "/x.png", "/y.png"]),
        ("<picture><source srcset=/x.webp></picture>", &["/x.webp"]),
        ("<video src=/x.mp4 poster=/x.jpg>", &["/x.mp4", "/x.jpg"]),
        ("<video><source src=/x.mp4><track src=/x.vtt></video>", &["/x.mp4", "/x.vtt"]),
        ("<audio src=/x.mp3>", &["/x.mp3"]),
        ("<script src=/x.js></script>", &["/x.js"]),
        ("<script>document.write('<a href=/x>')</script>", &[]),
        ("<style>a { b: '<a href=/x>' }</style>", &[]),
        ("<!-- <a href=/x> -->", &[]),
        ("<textarea><a href=/x></textarea>", &[]),
        // As in a browser that runs scripts.
        ("<noscript><img src=/x.png></noscript>", &[]),
        ("<iframe src=/x></iframe>", &[">/x"]),
        ("<frameset><frame src=/x></frameset>", &[">/x"]),
        ("<embed src=/x.swf>", &["/x.swf"]),
        ("<object data=/x.pdf></object>", &["/x.pdf"]),
        ("<input type=image src=/x.png>", &["/x.png"]),
        ("<form action=/x>", &[]),
        ("<meta http-equiv=Refresh content='0; URL=/x'>", &[">/x"]),
        ("<meta name=x content='0; url=/x'>", &[]),
        ("<a href=#part><a href=''>", &[">/a/b"]),
        ("<a href=mailto:x><a href=javascript:x()><a href=tel:1><img src=data:,x>", &[]),
        ("<a href='http://'>", &["!http://"]),
        ("<a href='/x?a=1&amp;b=2&copy=3&#38;d'>", &[">/x?a=1&b=2&copy=3&d"]),
        ("<svg><a href=/x></a></svg>", &[">/x"]),
    ] {
        assert_eq!(urls(html), expected, "{html}");
    }
}

#[test]
fn the_first_base_counts_for_the_whole_page() {
    let html = "<a href=x><base target=_top><base href='/c/'><base href='/d/'><a href=y>";
    assert_eq!(urls(html), [">/c/x", ">/c/y"]);
}

#[test]
fn broken_html_is_read_as_far_as_it_goes() {
    for (html, expected) in [
        ("<a href=/x", &[][..]),
        ("<a href=/x><a href='/y", &[">/x"]),
        ("<p><a href=/x></b></i></table><td><a href=/y><div></p>", &[">/x", ">/y"]),
        ("<a href=/x href=/y>", &[">/x"]),
        ("<a/href=/x>", &[">/x"]),
        ("<a b c = d href = \"/x\" e>", &[">/x"]),
        ("<select><a href=/x></select><table><script src=/y></script>", &[">/x", "/y"]),
        ("text < <a href=/x>", &[">/x"]),
        ("</a href=/x><a href=/y>", &[">/y"]),
        ("\0<a\0 href=/x><a href=/y>", &[">/y"]),
    ] {
        assert_eq!(urls(html), expected, "{html}");
    }
}

#[test]
fn the_charset_decides_what_is_read() {
    let latin = b"<a href=/\xe9?\xe9>".as_slice();
    let latin_meta = b"<meta charset=iso-8859-1><a href=/\xe9?\xe9>".as_slice();
    let latin_old =
        b"<meta http-equiv=content-type content='text/html; charset=latin1'><a href=/\xe9?\xe9>"
            .as_slice();
    for (charset, html, expected) in [
        (None, "<a href=/é?é>".as_bytes(), ">/%C3%A9?%C3%A9"),
        (Some("iso-8859-1"), latin, ">/%C3%A9?%E9"),
        (None, latin_meta, ">/%C3%A9?%E9"),
        (None, latin_old, ">/%C3%A9?%E9"),
        // The server's charset takes precedence over the page's, and a byte order mark over both.
        (Some("utf-8"), "<meta charset=latin1><a href=/é?é>".as_bytes(), ">/%C3%A9?%C3%A9"),
        (Some("latin1"), "\u{feff}<a href=/é?é>".as_bytes(), ">/%C3%A9?%C3%A9"),
        (Some("no-such"), "<a href=/é>".as_bytes(), ">/%C3%A9"),
        // Even in a wrong charset, ASCII links are read.
        (Some("utf-8"), b"\xe9\xff<a href=/x>", ">/x"),
        (None, b"<meta charset=utf-16><a href=/x>", ">/x"),
        (Some("shift_jis"), b"\x83\x5c<a href=/x>", ">/x"),
    ] {
        assert_eq!(told(&extract(charset, &[html])), [expected], "{charset:?}");
    }
    let text = "<a href=/é?é>";
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(told(&extract(Some("utf-16le"), &[&utf16])), [">/%C3%A9?%C3%A9"]);
    let marked = [b"\xff\xfe", utf16.as_slice()].concat();
    assert_eq!(told(&extract(None, &[&marked[..7], &marked[7..]])), [">/%C3%A9?%C3%A9"]);
}

#[test]
fn one_page_cannot_fill_the_memory() {
    let many = "<a href=/xxxxxxxx></a>".repeat(LINKS_LIMIT + 10);
    let links = extract(None, &[many.as_bytes()]);
    assert_eq!(links.iter().count(), LINKS_LIMIT);

    let base = format!("<base href='/{}/'>", "b".repeat(2_000));
    let long = base + &"<a href=x></a>".repeat(LINKS_LIMIT);
    let links = extract(None, &[long.as_bytes()]);
    assert!(links.size() < TEXT_LIMIT + 100_000, "{}", links.size());

    let tag = format!("<a href=/x><a {}", "x".repeat(3 * PARSER_MEMORY));
    let pieces: Vec<_> = tag.as_bytes().chunks(10_000).collect();
    assert_eq!(told(&extract(None, &pieces)), [">/x"]);
}

#[test]
fn source_sets_are_taken_apart() {
    for (set, expected) in [
        ("", &[][..]),
        (" , ,", &[]),
        ("a", &["a"]),
        ("a, b", &["a", "b"]),
        ("a,b", &["a,b"]),
        ("a 1x,b 2x", &["a", "b"]),
        ("a 1x , b 200w 100h,\n c", &["a", "b", "c"]),
        ("a,, b", &["a", "b"]),
        ("a (1x, 2x), b", &["a", "b"]),
        ("a 1x", &["a"]),
        ("data:,x 1x, b", &["data:,x", "b"]),
    ] {
        assert_eq!(srcset(set).collect::<Vec<_>>(), expected, "{set:?}");
    }
}

#[test]
fn refreshes_and_charsets_are_found() {
    for (content, expected) in [
        ("5; url=/x", Some("/x")),
        ("0;URL='/x y'", Some("/x y")),
        ("0, url = \"/x\" ", Some("/x")),
        ("0; /x", Some("/x")),
        ("0; urlx", Some("urlx")),
        ("5", None),
        ("5;", None),
        ("5; url=''", None),
        ("5; ü", Some("ü")),
    ] {
        assert_eq!(refresh(content), expected, "{content:?}");
    }
    for (content_type, expected) in [
        ("text/html", None),
        ("text/html; charset=utf-8", Some("utf-8")),
        ("text/html;x=y; CharSet=\"latin1\"", Some("latin1")),
        ("charset=x", None),
    ] {
        assert_eq!(charset(content_type), expected, "{content_type:?}");
    }
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        html in proptest::collection::vec(
            prop_oneof![
                Just("<a href=\"/x?a=1&amp;b\">".to_owned()),
                Just("<img srcset='/é 1x, /y 2x'>".to_owned()),
                Just("<!-- <a href=/no> -->".to_owned()),
                Just("<script>'<a href=/no>'</script>".to_owned()),
                "\\PC{0,6}",
            ],
            0..8,
        ),
        size in 1_usize..20,
    ) {
        let html = html.concat();
        let pieces: Vec<_> = html.as_bytes().chunks(size).collect();
        prop_assert_eq!(extract(None, &pieces), extract(None, &[html.as_bytes()]));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        charset in prop_oneof![Just(None), Just(Some("utf-16")), Just(Some("iso-2022-jp"))],
    ) {
        extract(charset, &[&bytes]);
    }
}
