//! Redacts what a site is sent, the value of its request header and the body of a POST, wherever a response repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use serde_json::Value;
use url::form_urlencoded;

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// A part of a value is redacted on its own if it has at least this many bytes; shorter parts occur in any text.
const PART_MIN: usize = 6;
/// How many layers of escapes may lie around a character: in URLs, `"` is `%22`, `%2522` or `%252522`.
const LAYERS_MAX: usize = 3;
/// The longest escape of a character: of four bytes, each percent-encoded that often.
const ESCAPE_MAX: usize = 4 * (1 + 2 * LAYERS_MAX);
/// How many places of the texts of a check are compared with a character of a secret.
/// Texts such as `aaaa` have many places where a secret such as `aaab` may begin, and a site could choose both.
const STEPS_MAX: usize = 200_000;

/// Finds a secret in texts, in any case and escaping, and in base64 and hexadecimal. Not `Debug`, since it contains the
/// secret.
#[derive(Clone, Default)]
pub struct Redaction {
    /// By their first characters in lower case. They begin at few places of a text.
    needles: BTreeMap<char, BTreeSet<Vec<char>>>,
    steps: Steps,
}

/// The comparisons so far. Clones share one count.
#[derive(Clone, Default)]
struct Steps(Arc<AtomicUsize>);

impl Steps {
    fn add(&self, steps: usize) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }

    fn are_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) > STEPS_MAX
    }
}

impl Redaction {
    /// Finds the value of a header, its parts (credentials without their scheme, each of several cookies), and the
    /// credentials of `Basic` in plain text.
    pub fn of(value: &str) -> Self {
        let value = value.trim();
        let (scheme, rest) = value.split_once(' ').unwrap_or(("", value));
        // A cookie's value begins where a scheme would be.
        let (scheme, rest) = if scheme.contains('=') { ("", value) } else { (scheme, rest) };
        let mut parts: Vec<String> = Vec::new();
        for part in iter::once(rest).chain(rest.split([' ', ';', ','])) {
            let values = part.split_once('=').map(|(_, value)| value.trim_matches('"'));
            parts.extend(iter::once(part).chain(values).map(str::to_owned));
        }
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(decoded) = BASE64.decode(rest.trim().as_bytes())
            && let Ok(decoded) = String::from_utf8(decoded)
        {
            parts.extend(decoded.split_once(':').map(|(_, password)| password.to_owned()));
            parts.push(decoded);
        }
        Self::default().with(value, parts)
    }

    /// Also finds the body of a POST, and the values in it, if it is JSON or a form.
    #[must_use]
    pub fn and_body(self, body: &str) -> Self {
        let body = body.trim();
        let values = match serde_json::from_str(body) {
            Ok(document) => scalars(&document),
            Err(_) => form_urlencoded::parse(body.as_bytes())
                .map(|(_, value)| value.into_owned())
                .collect(),
        };
        self.with(body, values)
    }

    /// Also finds a text, and those of its parts that are long enough.
    fn with(self, whole: &str, mut parts: Vec<String>) -> Self {
        parts.retain(|part| part.len() >= PART_MIN);
        parts.push(whole.to_owned());
        let encoded = parts.iter().filter(|part| part.len() >= PART_MIN).flat_map(|it| encoded(it));
        let encoded: Vec<String> = encoded.collect();
        let mut needles = self.needles;
        for secret in parts.into_iter().chain(encoded) {
            let Some(first) = secret.chars().next() else { continue };
            let needle = secret.chars().collect();
            needles.entry(first.to_ascii_lowercase()).or_default().insert(needle);
        }
        Self { needles, steps: self.steps }
    }

    /// Whether it finds nothing, because there is no secret.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The text without the secret. If the search takes too long, the rest of the text is removed, and all further
    /// texts.
    pub fn apply(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let needles = self.beginning(rest);
            let found = needles.filter_map(|needle| spelling_of(needle, rest, &self.steps)).max();
            if self.steps.are_used_up() {
                kept.push_str(REDACTED);
                break;
            }
            let length = found.unwrap_or(first.len_utf8());
            kept.push_str(if found.is_some() { REDACTED } else { &rest[..length] });
            rest = &rest[length..];
        }
        kept
    }

    /// The needles that may begin where a text begins.
    fn beginning(&self, text: &str) -> impl Iterator<Item = &Vec<char>> {
        let read = readings(text, LAYERS_MAX);
        let begins = move |first: char| read.iter().any(|(read, _)| is_read_as(*read, first));
        let needles = self.needles.iter().filter(move |(first, _)| begins(**first));
        needles.flat_map(|(_, needles)| needles)
    }

    /// Like [`Redaction::apply`], but for the beginning of a longer text: also removes an end that may be the beginning
    /// of the secret.
    pub fn apply_to_beginning(&self, text: &str) -> String {
        let may_begin = |text: &str| {
            let all = self.needles.values().flatten();
            // The text may end within the escape of the first character.
            let near_end = all.filter(|_| text.len() < ESCAPE_MAX);
            near_end.chain(self.beginning(text)).any(|needle| may_go_on(needle, text, &self.steps))
        };
        let begins = |from: usize| may_begin(&text[from..]) || self.steps.are_used_up();
        let end = text.char_indices().map(|(from, _)| from).find(|from| begins(*from));
        self.apply(&text[..end.unwrap_or(text.len())])
    }
}

/// The strings and numbers in a document, as texts.
fn scalars(document: &Value) -> Vec<String> {
    let (mut texts, mut open) = (Vec::new(), vec![document]);
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => open.extend(fields.values()),
            Value::Array(items) => open.extend(items),
            Value::String(text) => texts.push(text.clone()),
            Value::Number(number) => texts.push(number.to_string()),
            Value::Null | Value::Bool(_) => {}
        }
    }
    texts
}

/// A secret in hexadecimal and in both alphabets of base64. The characters of base64 depend on the number of bytes that
/// precede the secret; those that it shares with its neighbors are left out, so up to two at each end are not found.
fn encoded(secret: &str) -> Vec<String> {
    let mut found = vec![HEXLOWER.encode(secret.as_bytes())];
    for (before, begin) in [(0, 0), (1, 2), (2, 3)] {
        let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
        for base64 in [BASE64_NOPAD, BASE64URL_NOPAD] {
            found.push(base64.encode(&bytes)[begin..bytes.len() * 8 / 6].to_owned());
        }
    }
    found
}

/// The length of the longest spelling of the needle at the beginning of a text, in bytes.
fn spelling_of(needle: &[char], text: &str, steps: &Steps) -> Option<usize> {
    needle.iter().try_fold(vec![0], |ends, c| after(*c, &ends, text, steps))?.into_iter().max()
}

/// Whether a text consists only of the beginning of the needle.
fn may_go_on(needle: &[char], text: &str, steps: &Steps) -> bool {
    let is_end = |end: usize| {
        // The text may end within an escape.
        let rest = &text[end..];
        rest.is_empty() || rest.len() < ESCAPE_MAX && rest.starts_with(['%', '&', '\\'])
    };
    let mut ends = vec![0];
    for c in needle {
        if ends.iter().any(|end| is_end(*end)) {
            return true;
        }
        let Some(next) = after(*c, &ends, text, steps) else { return false };
        ends = next;
    }
    false
}

/// Where the character ends that begins at one of these places; `None` if it begins at none of them, or if no steps are
/// left.
fn after(c: char, begins: &[usize], text: &str, steps: &Steps) -> Option<Vec<usize>> {
    steps.add(begins.len());
    if steps.are_used_up() {
        return None;
    }
    let ends = begins.iter().flat_map(|begin| {
        let read = readings(&text[*begin..], LAYERS_MAX).into_iter();
        read.filter(|(read, _)| is_read_as(*read, c)).map(move |(_, length)| begin + length)
    });
    let mut ends: Vec<usize> = ends.collect();
    ends.sort_unstable();
    ends.dedup();
    (!ends.is_empty()).then_some(ends)
}

/// Whether what a text says may stand for a character of a secret: in any case, and a plus for a space, as in forms.
fn is_read_as(read: char, c: char) -> bool {
    read.eq_ignore_ascii_case(&c) || c == ' ' && read == '+'
}

/// The characters that may stand at the beginning of a text, with the lengths of their spellings: as they are, and
/// escaped for a URL, for HTML or for JSON. Up to this many layers of escapes may lie around each other in any order:
/// JSON in a URL is `%5C%22`, HTML in a URL `%26quot%3B`. `&amp;` is read in two ways: as an escaped `&`, and as a `&`
/// that other characters follow.
fn readings(text: &str, layers: usize) -> Vec<(char, usize)> {
    let Some(first) = text.chars().next() else { return Vec::new() };
    let mut found = vec![(first, first.len_utf8())];
    // Most characters begin no escape, and this looks at each character of a text.
    if layers == 0 || !matches!(first, '%' | '&' | '\\') {
        return found;
    }
    for (begin, length) in readings(text, layers - 1) {
        let rest = &text[length..];
        let read = match begin {
            '%' => read_percent(rest, layers - 1),
            '&' => read_entity(rest, layers - 1),
            '\\' => read_json(rest, layers - 1),
            _ => Vec::new(),
        };
        found.extend(read.into_iter().map(|(c, rest)| (c, length + rest)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Where this character may end at the beginning of a text.
fn ends_of(c: char, text: &str, layers: usize) -> impl Iterator<Item = usize> {
    let read = readings(text, layers).into_iter().filter(move |(read, _)| *read == c);
    read.map(|(_, length)| length)
}

/// What follows the first `%` of a character, which has one for each of its bytes.
fn read_percent(text: &str, layers: usize) -> Vec<(char, usize)> {
    let byte = |from: usize| u8::from_str_radix(text.get(from..from + 2)?, 16).ok();
    let Some(first) = byte(0) else { return Vec::new() };
    let mut begun = vec![(vec![first], 2)];
    // The first byte of a character in UTF-8 tells how many it has.
    for _ in 1..first.leading_ones().min(4) {
        let longer = begun.iter().flat_map(|(bytes, end)| {
            let begins = ends_of('%', &text[*end..], layers).map(move |length| end + length);
            begins.filter_map(move |begin| Some(([&**bytes, &[byte(begin)?]].concat(), begin + 2)))
        });
        begun = longer.collect();
    }
    let whole = begun.into_iter().filter_map(|(bytes, end)| {
        let c = str::from_utf8(&bytes).ok()?.chars().next()?;
        Some((c, end))
    });
    whole.collect()
}

/// What follows the `&` of an entity.
fn read_entity(text: &str, layers: usize) -> Vec<(char, usize)> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    let name = text.bytes().take(ESCAPE_MAX).take_while(is_of_name).count();
    let Some(c) = entity(&text[..name]) else { return Vec::new() };
    ends_of(';', &text[name..], layers).map(|end| (c, name + end)).collect()
}

/// What follows the first backslash of an escape. A character beyond U+FFFF has two.
fn read_json(text: &str, layers: usize) -> Vec<(char, usize)> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok();
    let mut found = readings(text, layers);
    let letter = match text.as_bytes().first() {
        Some(b'n') => Some('\n'),
        Some(b'r') => Some('\r'),
        Some(b't') => Some('\t'),
        Some(b'b') => Some('\u{8}'),
        Some(b'f') => Some('\u{c}'),
        _ => None,
    };
    found.extend(letter.map(|c| (c, 1)));
    let Some(first) = unit(text) else { return found };
    match char::from_u32(first.into()) {
        Some(c) => found.push((c, 5)),
        None => found.extend(ends_of('\\', &text[5..], layers).filter_map(|length| {
            let second = unit(&text[5 + length..])?;
            let c = char::decode_utf16([first, second]).next()?.ok()?;
            Some((c, 5 + length + 5))
        })),
    }
    found
}

/// The character of an HTML entity, without `&` and `;`.
fn entity(name: &str) -> Option<char> {
    let code = |digits, radix| char::from_u32(u32::from_str_radix(digits, radix).ok()?);
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => code(&hex[1..], 16),
            decimal => code(decimal, 10),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_found_in_escapes_of_other_escapes() {
        let redaction = Redaction::default().and_body(r#"{"password": "hunter2-\"&\nzebra"}"#);
        for text in [
            "/?e=hunter2-%5C%22%26%5Cnzebra",
            "/?e=hunter2-%255C%2522%2526%255Cnzebra",
            "/?e=hunter2-%5C%5C%5C%22%26%5C%5Cnzebra",
            "/?e=hunter2-%26quot%3B%26amp%3B%0Azebra",
            "hunter2-&amp;quot;&amp;amp;&#10;zebra",
            "hunter2-\\u0026quot;\\u0026amp;\\nzebra",
            "hunter2-%5Cu0022%5Cu0026%5Cnzebra",
            "hunter2-\\\\\\\"&\\\\nzebra",
        ] {
            assert_eq!(redaction.apply(text).matches(REDACTED).count(), 1, "{text}");
            assert!(!redaction.apply(text).contains("zebra"), "{text}");
        }
    }

    #[test]
    fn a_secret_is_found_whatever_its_escaping() {
        let redaction = Redaction::of("Bearer s3cr\"et&<more>/+");
        for text in [
            "Authorization: Bearer s3cr\"et&<more>/+",
            "authorization: BEARER S3CR\"ET&<MORE>/+",
            r#"{"authorization": "Bearer s3cr\"et&<more>\/+"}"#,
            r#"{"authorization": "Bearer s3cr\u0022et\u0026\u003cmore\u003E/\u002b"}"#,
            "token=s3cr%22et%26%3Cmore%3E%2f%2B",
            "<p>s3cr&quot;et&amp;&lt;more&gt;/+</p>",
            "<p>s3cr&#34;et&#38;&#x3c;more&#X3E;&#x2F;&#43;</p>",
            "<p>{\"s3cr\\&quot;et&amp;&lt;more&gt;/+\"}</p>",
            "Bearer%20s3cr%22et%26%3Cmore%3E/%2B and Bearer+s3cr%22et%26%3Cmore%3E/%2B",
        ] {
            let shown = redaction.apply(text).to_ascii_lowercase();
            assert!(shown.contains(REDACTED) && !shown.contains("s3cr"), "{shown}");
            assert!(!shown.contains("more"), "{shown}");
        }
        assert_eq!(redaction.apply("Bearer of bad news"), "Bearer of bad news");
    }

    #[test]
    fn a_secret_is_found_in_other_encodings() {
        let body = "user=ada>>>???&password=correct+horse%21";
        let redaction = Redaction::default().and_body(body);
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "a", "ab"] {
                let whole = format!("{before}{body}{after}");
                let bytes = whole.as_bytes();
                for text in [
                    BASE64.encode(bytes),
                    BASE64URL_NOPAD.encode(bytes),
                    BASE64.encode(bytes).replace('/', "\\/"),
                    BASE64.encode(bytes).replace('+', "%2B").replace('/', "%252F"),
                    HEXLOWER.encode(bytes),
                    HEXLOWER.encode(bytes).to_uppercase(),
                ] {
                    let shown = redaction.apply(&text);
                    let left = shown.replacen(REDACTED, "", 1);
                    let most = 2 * (before.len() + after.len()) + 6;
                    assert!(shown != text && left.len() <= most, "{shown} of {text}");
                }
            }
        }
        let once: String = form_urlencoded::byte_serialize(b"correct horse!").collect();
        let twice: String = form_urlencoded::byte_serialize(once.as_bytes()).collect();
        for text in [once, twice, "correct%252520horse%252521".to_owned()] {
            assert_eq!(redaction.apply(&text), REDACTED, "{text}");
        }
        let half = &BASE64.encode(body.as_bytes())[..20];
        assert_eq!(redaction.apply_to_beginning(&format!("sent {half}")), "sent ");
    }

    #[test]
    fn a_secret_of_several_lines_or_with_symbols_is_found_in_json() {
        let body = "<login>\r\n\t<pw>hunter2 \u{1f600}</pw>\n</login>";
        let redaction = Redaction::default().and_body(body);
        let json = serde_json::to_string(body).expect("JSON");
        let ascii = json.replace('\u{1f600}', "\\uD83d\\uDE00");
        for text in [&json, &ascii, &serde_json::to_string(&ascii).expect("JSON")] {
            assert!(!redaction.apply(text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_secret_beyond_ascii_is_found_in_urls_however_often_it_is_encoded() {
        let secret = "pässwörd \u{1f600} €";
        let redaction = Redaction::default().and_body(secret);
        let mut text = secret.to_owned();
        for _ in 0..LAYERS_MAX {
            text = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            assert_eq!(redaction.apply(&text), REDACTED, "{text}");
        }
        assert_eq!(redaction.apply("p%26#228%3Bssw&#246;rd+\\uD83d%5CuDE00 €"), REDACTED);
        assert_eq!(redaction.apply("%C3x%F0%9F%98"), "%C3x%F0%9F%98");
    }

    #[test]
    fn a_text_that_takes_too_long_is_removed() {
        for (secret, text) in [("\\", "\\"), ("a", "a")] {
            let redaction = Redaction::default().and_body(&(secret.repeat(4_000) + "b"));
            let text = "x".repeat(100) + &text.repeat(8_000);
            let shown = redaction.apply(&text);
            assert!(shown.len() < 1_000 && shown.ends_with(REDACTED), "{shown}");
            // The same check has no further texts.
            assert_eq!(
                (redaction.apply("x"), redaction.apply_to_beginning("x")),
                (REDACTED.to_owned(), String::new())
            );
        }
        let long = "a".repeat(4_000) + "b";
        let redaction = Redaction::default().and_body(&long);
        assert_eq!(redaction.apply(&format!("x {long} y")), "x [redacted] y");
    }

    #[test]
    fn parts_of_a_value_are_found_alone() {
        let redaction = Redaction::of("session=0123456789; theme=dark; csrf=\"abcdef-ghi\"");
        for (text, shown) in [
            ("you are 0123456789", "you are [redacted]"),
            ("csrf abcdef-ghi", "csrf [redacted]"),
            ("a dark theme", "a dark theme"),
        ] {
            assert_eq!(redaction.apply(text), shown);
        }
        let redaction = Redaction::of("Token token=abcdefgh, nonce=12345678");
        assert_eq!(redaction.apply("abcdefgh 12345678 Token"), "[redacted] [redacted] Token");
    }

    #[test]
    fn the_values_of_a_body_are_found_alone() {
        let json = r#"{"user": "ada", "login": {"password": "correct \"horse"}, "pins": [123456]}"#;
        let redaction = Redaction::of("Bearer of-the-site").and_body(json);
        for (text, shown) in [
            (json, "[redacted]"),
            ("password correct \"horse", "password [redacted]"),
            (r#"{"sent": "correct \"horse"}"#, r#"{"sent": "[redacted]"}"#),
            ("pin 123456 of ada", "pin [redacted] of ada"),
            ("of-the-site", "[redacted]"),
        ] {
            assert_eq!(redaction.apply(text), shown);
        }
        let redaction = Redaction::default().and_body("user=ada&password=correct+horse%21");
        assert_eq!(redaction.apply("ada, correct horse!"), "ada, [redacted]");
        assert_eq!(redaction.apply("nothing"), "nothing");
        let redaction = Redaction::default().and_body("<login>ada</login>\n");
        assert_eq!(redaction.apply("sent: &lt;login&gt;ada&lt;/login&gt;"), "sent: [redacted]");
        assert_eq!(Redaction::default().and_body(" ").apply("all of it"), "all of it");
    }

    #[test]
    fn basic_credentials_are_found_before_and_after_they_are_encoded() {
        let redaction = Redaction::of("Basic YWRhOmNvcnJlY3QgaG9yc2U=");
        for text in ["YWRhOmNvcnJlY3QgaG9yc2U=", "ada:correct horse", "password: correct horse"] {
            assert!(redaction.apply(text).ends_with(REDACTED), "{}", redaction.apply(text));
        }
    }

    #[test]
    fn the_beginning_of_a_secret_is_removed_from_the_end_of_a_text() {
        let redaction = Redaction::of("correct-horse/x");
        assert_eq!(redaction.apply_to_beginning("token: correct-ho"), "token: ");
        assert_eq!(redaction.apply_to_beginning("token: correct-horse%2"), "token: ");
        assert_eq!(redaction.apply_to_beginning("token: correct-horse/x!"), "token: [redacted]!");
        assert_eq!(redaction.apply_to_beginning("nothing"), "nothing");
        assert_eq!(redaction.apply("token: correct-ho"), "token: correct-ho");
        assert_eq!(Redaction::default().apply_to_beginning("all of it"), "all of it");
    }

    proptest! {
        /// Whatever surrounds a secret, and wherever the text ends: no six characters of the secret remain.
        #[test]
        fn no_text_keeps_the_secret(
            secret in "[a-z0-9/+=\"&<%\\\\é]{12,24}",
            before in "\\PC{0,40}",
            after in "\\PC{0,40}",
            cut in 0_usize..24,
        ) {
            let redaction = Redaction::of(&secret);
            let shown = redaction.apply(&format!("{before}{secret}{after}"));
            prop_assert!(!shown.contains(&secret), "{shown}");
            let posted = Redaction::default().and_body(&secret);
            let shown = posted.apply(&format!("{before}{secret}{after}"));
            prop_assert!(!shown.contains(&secret), "{shown}");
            let begun: String = secret.chars().take(cut).collect();
            let shown = redaction.apply_to_beginning(&format!("{before}|{begun}"));
            prop_assert!(begun.len() < PART_MIN || !shown.ends_with(&begun), "{shown}");
        }

        #[test]
        fn any_text_is_taken(secret in "\\PC{0,12}", text in "[%&\\\\+#xu0-9a-f;é]{0,60}") {
            let redaction = Redaction::of(&secret).and_body(&text);
            let _ = (redaction.apply(&text), redaction.apply_to_beginning(&text));
        }
    }
}
