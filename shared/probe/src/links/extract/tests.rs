//! Which links are found in HTML.

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use proptest::prelude::*;

use super::attributes::{refresh, srcset};
use super::*;

const PAGE: &str = "http://example.com/a/b";

fn extract(charset: Option<&str>, pieces: &[&[u8]]) -> PageLinks {
    let content_type =
        charset.map_or("text/html".to_owned(), |it| format!("text/html; charset={it}"));
    let content_type = HeaderValue::from_str(&content_type).expect("a value");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type)]);
    let mut extractor = Extractor::new(MediaType::of(&headers));
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
        ("<img src=/x.png srcset='/x.png 1x, /y.png 2x'>", &["/x.png", "/y.png"]),
        ("<picture><source srcset=/x.webp></picture>", &["/x.webp"]),
        ("<video src=/x.mp4 poster=/x.jpg>", &["/x.mp4", "/x.jpg"]),
        ("<video><source src=/x.mp4><track src=/x.vtt></video>", &["/x.mp4", "/x.vtt"]),
        ("<audio src=/x.mp3>", &["/x.mp3"]),
        ("<script src=/x.js></script>", &["/x.js"]),
        ("<script>document.write('<a href=/x>')</script>", &[]),
        ("<style>a { b: '<a href=/x>' }</style>", &[]),
        ("<!-- <a href=/x> -->", &[]),
        ("<textarea><a href=/x></textarea>", &[]),
        ("<noscript><img src=/x.png><a href=x></noscript>", &["/x.png", ">/a/x"]),
        ("<noscript><base href=/c/></noscript><a href=x>", &[">/a/x"]),
        ("<noscript><a href='/x</noscript><noscript><a href=/y></noscript>", &[">/y"]),
        ("<noscript><template><a href=/x></noscript><a href=/y>", &[">/y"]),
        ("<link rel=preload as=image imagesrcset='/x.png 1x, /y.png 2x'>", &["/x.png", "/y.png"]),
        ("<link rel=preload href=/x.png imagesrcset='/x.png 1x'>", &["/x.png"]),
        ("<link rel=other imagesrcset='/x.png 1x'>", &[]),
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
        ("<svg><a xlink:href=/x></a><a href=/y xlink:href=/z></a></svg>", &[">/x", ">/y"]),
        ("<svg><image href=/x.png /><image XLINK:href=/y.png /></svg>", &["/x.png", "/y.png"]),
        ("<svg><use href='/x.svg#i'/><use xlink:href='#i'/></svg>", &["/x.svg"]),
        ("<image src=/x.png srcset='/y.png 2x'>", &["/x.png", "/y.png"]),
        ("<template><a href=/x><img src=/y></template><a href=/z>", &[">/z"]),
        ("<template><template></template><a href=/x></template><a href=/z>", &[">/z"]),
        (
            "<template><base href=/c/><noscript><a href=/x></noscript></template><a href=y>",
            &[">/a/y"],
        ),
        ("<template><div><a href=/x></template><a href=/z>", &[">/z"]),
        ("<template/><a href=/x>", &[]),
        ("<svg><template/><a href=/x /></svg>", &[">/x"]),
        ("<p><template><a href=/x>", &[]),
        ("<x-y><template shadowrootmode=open><a href=/x></template></x-y>", &[">/x"]),
        (
            "<a href=/x><a href=/x#1><a href=' /x '><img src=/x><a href=http://example.com/x>",
            &[">/x", "/x"],
        ),
        ("<a href='http://#x'>", &["!http://#x"]),
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
    let anchors =
        |count: usize| (0..count).map(|n| format!("<a href={n}></a>")).collect::<String>();
    for (count, is_cut) in [(LINKS_LIMIT, false), (LINKS_LIMIT + 1, true)] {
        // Neither fragments, other schemes nor repetitions count.
        let others = (0..9).map(|n| format!("<a href='#{n}'></a><a href='mailto:{n}'></a>"));
        let page = [others.collect(), anchors(count), anchors(9)].concat();
        let links = extract(None, &[page.as_bytes()]);
        assert_eq!((links.iter().count(), links.is_cut), (LINKS_LIMIT, is_cut));
    }

    let long = format!("<base href='/{}/'>{}", "b".repeat(2_000), anchors(LINKS_LIMIT));
    let links = extract(None, &[long.as_bytes()]);
    assert!(links.size() < TEXT_LIMIT + 100_000, "{}", links.size());
    assert!(links.is_cut);

    let noscripts = "<noscript><a href=/x></noscript>".repeat(NOSCRIPTS_LIMIT + 1);
    assert!(extract(None, &[noscripts.as_bytes()]).is_cut);

    let tag = format!("<a href=/x><a {}", "x".repeat(3 * PARSER_MEMORY));
    let pieces: Vec<_> = tag.as_bytes().chunks(10_000).collect();
    let links = extract(None, &pieces);
    assert_eq!((told(&links), links.is_cut), (vec![">/x".to_owned()], true));
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
fn refreshes_are_found() {
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
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        html in proptest::collection::vec(
            prop_oneof![
                Just("<a href=\"/x?a=1&amp;b\">".to_owned()),
                Just("<img srcset='/é 1x, /y 2x'>".to_owned()),
                Just("<!-- <a href=/no> -->".to_owned()),
                Just("<noscript><img src=/z></noscript>".to_owned()),
                Just("<template><a href=/no></template>".to_owned()),
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
