//! The type of a body.

use encoding_rs::Encoding;
use hyper::header::{CONTENT_TYPE, HeaderMap};

/// The type of a body, as its headers declare it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MediaType {
    /// Type and subtype in lower case, such as `text/html`; empty if no valid type is declared.
    essence: String,
    /// The encoding that the headers declare.
    pub(super) charset: Option<&'static Encoding>,
}

impl MediaType {
    /// A type that is searched for links, in an encoding.
    pub(crate) fn html_in(charset: &'static Encoding) -> Self {
        Self { essence: "text/html".to_owned(), charset: Some(charset) }
    }

    /// The last valid type that the headers declare (Fetch standard, "extract a MIME type"). Its charset may be that of
    /// an earlier mention of the same type.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut last = Self::default();
        for value in headers.get_all(CONTENT_TYPE) {
            let value = String::from_utf8_lossy(value.as_bytes());
            for next in unquoted(&value, ',').filter_map(Self::parse) {
                let charset = last.charset.filter(|_| last.essence == next.essence);
                last = Self { charset: next.charset.or(charset), ..next };
            }
        }
        last
    }

    /// Parses one type; `None` if it is not valid or any type at all.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let mut parts = unquoted(value, ';');
        let essence = parts.next()?.trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) || essence == "*/*" {
            return None;
        }
        let charset = parts.find_map(|parameter| {
            let (name, label) = parameter.split_once('=')?;
            let label = label.trim().trim_matches(['"', '\'']);
            name.trim()
                .eq_ignore_ascii_case("charset")
                .then(|| Encoding::for_label(label.as_bytes()))
        });
        Some(Self { essence, charset: charset.flatten() })
    }

    /// Whether it is this one.
    pub(crate) fn is(&self, essence: &str) -> bool {
        self.essence == essence
    }

    /// Whether it is HTML. Like browsers, we treat a body without a valid type as HTML.
    pub(crate) fn is_html(&self) -> bool {
        self.essence.is_empty() || self.is("text/html")
    }

    /// Whether it is XML.
    pub(crate) fn is_xml(&self) -> bool {
        self.essence.ends_with("/xml") || self.essence.ends_with("+xml")
    }
}

/// Splits a text at separators that are not in quotation marks.
fn unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    text.split(move |c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    })
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{GBK, UTF_8, WINDOWS_1252};
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn the_last_valid_type_counts() {
        for (values, essence, charset) in [
            (&[][..], "", None),
            (&["text/html"], "text/html", None),
            (&[" Text/HTML ; x=y; CharSet=\"latin1\""], "text/html", Some(WINDOWS_1252)),
            (&["text/html;charset=no-such"], "text/html", None),
            (&["text/html, text/html; charset=utf-8"], "text/html", Some(UTF_8)),
            (&["text/plain", "text/html"], "text/html", None),
            (&["text/html", "text/plain"], "text/plain", None),
            // The examples of the Fetch standard, section 3.6.
            (&["text/plain;charset=gbk, text/html"], "text/html", None),
            (&["text/html;charset=gbk;a=b, text/html;x=y;charset=utf-8"], "text/html", Some(UTF_8)),
            (&["text/html;charset=gbk;a=b", "text/html;x=y"], "text/html", Some(GBK)),
            (&["text/html;charset=gbk", "x/x", "text/html;x=y"], "text/html", None),
            (&["text/html", "cannot-parse"], "text/html", None),
            (&["text/html", "*/*"], "text/html", None),
            (&["text/html", ""], "text/html", None),
            // One value, as the comma is in quotation marks.
            (&["text/html;x=\",text/plain"], "text/html", None),
            (&["text/html;charset=\"gbk\",text/html;x=\"1,2\""], "text/html", Some(GBK)),
            (&["html"], "", None),
            (&["text /html"], "", None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CONTENT_TYPE, HeaderValue::from_static(value));
            }
            let expected = MediaType { essence: essence.to_owned(), charset };
            assert_eq!(MediaType::of(&headers), expected, "{values:?}");
        }
    }
}
