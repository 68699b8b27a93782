//! The character encoding of a body, found as browsers find it.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use super::MediaType;

/// The first bytes of a body in which its encoding is looked for (HTML standard, "encoding sniffing algorithm").
const SNIFFED: usize = 1024;

/// Holds the beginning of a body back until its encoding is known.
pub(crate) struct Sniffer {
    media_type: MediaType,
    held: Vec<u8>,
}

impl Sniffer {
    pub(crate) const fn new(media_type: MediaType) -> Self {
        Self { media_type, held: Vec::new() }
    }

    /// Takes the next part. Once there is enough, returns the encoding and what was held back.
    pub(crate) fn push(&mut self, part: &[u8]) -> Option<(&'static Encoding, Vec<u8>)> {
        self.held.extend_from_slice(part);
        (self.held.len() >= SNIFFED).then(|| self.end())
    }

    /// The encoding of a body that has ended, and what was held back.
    pub(crate) fn end(&mut self) -> (&'static Encoding, Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        let beginning = &held[..held.len().min(SNIFFED)];
        (encoding(&self.media_type, beginning), held)
    }
}

/// The encoding of a body: a byte order mark takes precedence, then the header, then what the beginning declares. UTF-8
/// if nothing says otherwise.
fn encoding(media_type: &MediaType, beginning: &[u8]) -> &'static Encoding {
    let marked = Encoding::for_bom(beginning).map(|(encoding, _)| encoding);
    let declared = || {
        if media_type.is_html() {
            in_meta(beginning).or_else(|| in_xml_declaration(beginning))
        } else if media_type.is_xml() {
            in_xml_declaration(beginning)
        } else {
            None
        }
    };
    marked.or(media_type.charset).or_else(declared).unwrap_or(UTF_8)
}

/// The encoding that a `meta` element declares (HTML standard, "prescan a byte stream to determine its encoding").
fn in_meta(mut rest: &[u8]) -> Option<&'static Encoding> {
    while let Some(at) = rest.iter().position(|byte| *byte == b'<') {
        rest = &rest[at..];
        rest = match rest {
            // `<!-->` is a whole comment.
            [_, b'!', b'-', b'-', ..] => after(&rest[2..], b"-->"),
            [_, b'!' | b'/' | b'?', ..] => after(rest, b">"),
            [_, letter, ..] if letter.is_ascii_alphabetic() => {
                let (name, tail) =
                    split(&rest[1..], |byte| is_space(byte) || b"/>".contains(&byte));
                let mut attributes = Attributes(tail);
                let encoding = of_meta(&mut attributes);
                // A tag that does not end in the beginning may be cut off.
                if name.eq_ignore_ascii_case(b"meta")
                    && encoding.is_some()
                    && !attributes.0.is_empty()
                {
                    return encoding;
                }
                attributes.0
            }
            _ => &rest[1..],
        };
    }
    None
}

fn of_meta(attributes: &mut Attributes<'_>) -> Option<&'static Encoding> {
    let (mut charset, mut content, mut is_content_type) = (None, None, false);
    for (name, value) in attributes {
        if name.eq_ignore_ascii_case(b"charset") {
            charset.get_or_insert(value);
        } else if name.eq_ignore_ascii_case(b"content") {
            content.get_or_insert(value);
        } else if name.eq_ignore_ascii_case(b"http-equiv") {
            is_content_type |= value.eq_ignore_ascii_case(b"content-type");
        }
    }
    charset.or_else(|| charset_in(content.filter(|_| is_content_type)?)).and_then(declared)
}

/// The charset in the content of a `meta` element, such as `text/html; charset=utf-8`.
fn charset_in(content: &[u8]) -> Option<&[u8]> {
    const NAME: &[u8] = b"charset";
    let starts = content.windows(NAME.len()).enumerate();
    let mut names = starts.filter(|(_, window)| window.eq_ignore_ascii_case(NAME));
    let value = names.find_map(|(at, _)| {
        content[at + NAME.len()..]
            .trim_ascii_start()
            .strip_prefix(b"=")
            .map(<[u8]>::trim_ascii_start)
    })?;
    match value.first()? {
        quote @ (b'"' | b'\'') => {
            let end = value[1..].iter().position(|byte| byte == quote)?;
            Some(&value[1..=end])
        }
        _ => Some(split(value, |byte| is_space(byte) || byte == b';').0),
    }
}

/// The encoding that an XML declaration names, or that its bytes show to be UTF-16.
fn in_xml_declaration(beginning: &[u8]) -> Option<&'static Encoding> {
    if beginning.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if beginning.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    let mut attributes = Attributes(beginning.strip_prefix(b"<?xml")?);
    attributes.find(|(name, _)| *name == b"encoding").and_then(|(_, label)| declared(label))
}

/// The encoding with this label. A document whose label can be read in ASCII is not UTF-16.
fn declared(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label)?;
    Some(if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

/// The attributes of a tag, as written. Afterwards, what is left begins with the end of the tag.
struct Attributes<'a>(&'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.0 = split(self.0, |byte| !is_space(byte) && byte != b'/').1;
        if self.0.first().is_none_or(|byte| *byte == b'>') {
            return None;
        }
        // A name may begin with `=`.
        let end = self.0[1..].iter().position(|byte| is_space(*byte) || b"/>=".contains(byte));
        let (name, rest) = self.0.split_at(end.map_or(self.0.len(), |end| end + 1));
        self.0 = rest.trim_ascii_start();
        let Some(value) = self.0.strip_prefix(b"=") else { return Some((name, b"")) };
        let value = value.trim_ascii_start();
        let (value, rest) = match value.first() {
            Some(quote @ (b'"' | b'\'')) => {
                let (value, rest) = split(&value[1..], |byte| byte == *quote);
                (value, rest.get(1..).unwrap_or_default())
            }
            _ => split(value, |byte| is_space(byte) || byte == b'>'),
        };
        self.0 = rest;
        Some((name, value))
    }
}

/// Splits before the first byte that ends something.
fn split(bytes: &[u8], ends: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().position(|byte| ends(*byte)).unwrap_or(bytes.len()))
}

/// What comes after the first `end`; nothing if there is none.
fn after<'a>(bytes: &'a [u8], end: &[u8]) -> &'a [u8] {
    let at = bytes.windows(end.len()).position(|window| window == end);
    at.map_or(&[], |at| &bytes[at + end.len()..])
}

const fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, REPLACEMENT, SHIFT_JIS, WINDOWS_1251};
    use proptest::prelude::*;

    use super::*;

    fn encoding_of(content_type: &str, beginning: &[u8]) -> &'static Encoding {
        encoding(&MediaType::parse(content_type).unwrap_or_default(), beginning)
    }

    #[test]
    fn the_mark_comes_before_the_header_and_the_header_before_the_body() {
        let meta = b"<meta charset=shift_jis>".as_slice();
        let marked = [b"\xef\xbb\xbf", meta].concat();
        for (content_type, beginning, expected) in [
            ("text/html; charset=gbk", &marked[..], UTF_8),
            ("text/html; charset=gbk", b"\xff\xfe<\0", UTF_16LE),
            ("text/html; charset=utf-16be", b"\0<", UTF_16BE),
            ("text/html; charset=gbk", meta, GBK),
            ("text/html; charset=no-such", meta, SHIFT_JIS),
            ("text/html", meta, SHIFT_JIS),
            ("", meta, SHIFT_JIS),
            ("text/html", b"", UTF_8),
            ("text/html", b"<p>charset=gbk", UTF_8),
            // Only markup declares an encoding.
            ("text/plain", meta, UTF_8),
            ("application/json", meta, UTF_8),
            ("application/xhtml+xml", meta, UTF_8),
            ("text/html; charset=iso-2022-kr", b"", REPLACEMENT),
        ] {
            assert_eq!(encoding_of(content_type, beginning), expected, "{content_type}");
        }
    }

    #[test]
    fn declarations_are_read_as_browsers_read_them() {
        for (html, expected) in [
            ("<meta charset=windows-1251>", WINDOWS_1251),
            ("<META CharSet = ' CP1251 ' />", WINDOWS_1251),
            ("<meta/charset=cp1251>", WINDOWS_1251),
            ("<meta name=x charset=\"cp1251\" charset=gbk>", WINDOWS_1251),
            ("<meta http-equiv=Content-Type content='text/html; charset=cp1251'>", WINDOWS_1251),
            (
                "<meta content='text/html;charset = \"cp1251\"' http-equiv=content-type>",
                WINDOWS_1251,
            ),
            ("<meta http-equiv=content-type content='charset charset=cp1251;x'>", WINDOWS_1251),
            ("<meta content='text/html; charset=cp1251'>", UTF_8),
            ("<meta http-equiv=refresh content='0; url=/?charset=cp1251'>", UTF_8),
            ("<meta http-equiv=content-type content=\"charset='cp1251\">", UTF_8),
            ("<meta charset=no-such><meta charset=cp1251>", WINDOWS_1251),
            ("<meta charset=utf-16le>", UTF_8),
            ("<meta charset=x-user-defined>", WINDOWS_1252),
            ("<metadata charset=gbk>", UTF_8),
            ("<!-- <meta charset=gbk> --><meta charset=cp1251>", WINDOWS_1251),
            ("<!--><meta charset=cp1251>", WINDOWS_1251),
            ("<!-- <meta charset=gbk>", UTF_8),
            ("<p title='<meta charset=gbk>'><meta charset=cp1251>", WINDOWS_1251),
            ("<!doctype html></x <meta charset=gbk><meta charset=cp1251>", WINDOWS_1251),
            ("1 < 2 <<meta charset=cp1251>", WINDOWS_1251),
            ("<?xml version='1.0' encoding='cp1251'?><p>", WINDOWS_1251),
            ("<?xml encoding=\"gbk\"?><meta charset=cp1251>", WINDOWS_1251),
        ] {
            assert_eq!(encoding_of("text/html", html.as_bytes()), expected, "{html}");
        }
        for (xml, expected) in [
            (&b"<?xml version=\"1.0\" encoding=\"cp1251\"?>"[..], WINDOWS_1251),
            (b"<?xml version='1.0' encoding = 'UTF-16'?>", UTF_8),
            (b"<?xml version='1.0'?><a encoding='cp1251'/>", UTF_8),
            (b" <?xml encoding='cp1251'?>", UTF_8),
            (b"<\0?\0x\0m\0l\0", UTF_16LE),
            (b"\0<\0?\0x\0m\0l", UTF_16BE),
        ] {
            for content_type in ["text/xml", "application/xml", "image/svg+xml"] {
                assert_eq!(encoding_of(content_type, xml), expected, "{content_type}");
            }
        }
    }

    #[test]
    fn only_the_beginning_is_searched() {
        let declaration = "<meta charset=cp1251>";
        for (before, expected) in
            [(SNIFFED - declaration.len(), WINDOWS_1251), (SNIFFED - declaration.len() + 1, UTF_8)]
        {
            let page = format!("{}{declaration}", " ".repeat(before));
            let mut sniffer = Sniffer::new(MediaType::default());
            let mut known = page.as_bytes().chunks(100).filter_map(|part| sniffer.push(part));
            let known = known.next().unwrap_or_else(|| sniffer.end());
            assert_eq!((known.0, known.1.len()), (expected, page.len()));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_encoding(
            html in proptest::collection::vec(
                proptest::sample::select(vec![
                    "<meta ", "charset", "=", "content", "'", "http-equiv", "<!--", ">", "/", "gbk", " ", "<?xml",
                    "encoding", "é",
                ]),
                0..20,
            ),
        ) {
            for content_type in ["text/html", "text/xml"] {
                encoding_of(content_type, html.concat().as_bytes());
            }
        }
    }
}
