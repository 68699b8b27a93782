//! Keeps text that strangers wrote from becoming links in emails. Email programs turn anything that looks like a link
//! into one. A name must not become a link that somebody follows because the email comes from us.

use super::text::one_line;

/// Characters that may separate the labels of a host name.
const DOTS: [char; 6] = ['.', '\u{2024}', '\u{3002}', '\u{fe52}', '\u{ff0e}', '\u{ff61}'];
/// Characters that may follow a scheme or come before a port.
const COLONS: [char; 4] = [':', '\u{a789}', '\u{fe55}', '\u{ff1a}'];
/// Characters that may be the `@` of an email address.
const ATS: [char; 3] = ['@', '\u{fe6b}', '\u{ff20}'];
/// Characters that may form the slashes before a host name.
const SLASHES: [char; 4] = ['/', '\\', '\u{ff0f}', '\u{ff3c}'];

/// A name on one line, in which no email program finds a host, a scheme or an address: a space breaks each of them.
pub(super) fn unlinked(text: &str) -> String {
    let mut broken = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if ATS.contains(&character) {
            broken.push_str(" at ");
            continue;
        }
        broken.push(character);
        let Some(next) = characters.peek() else { break };
        // Several dots in a row are an ellipsis, of which only the last one matters.
        let ends_label = DOTS.contains(&character) && !DOTS.contains(next);
        let begins_host = SLASHES.contains(&character) && SLASHES.contains(next);
        if ends_label || begins_host || COLONS.contains(&character) {
            broken.push(' ');
        }
    }
    one_line(&broken)
}

/// An address, unless it could lead elsewhere; then it is broken up like a name.
pub(super) fn address(email: &str) -> String {
    let is_plain = |part: &str, marks: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
        !part.is_empty() && part.chars().all(is_allowed)
    };
    match email.rsplit_once('@') {
        Some((local, domain))
            if is_plain(local, "._%+-")
                && is_plain(domain, ".-")
                && !local.to_ascii_lowercase().starts_with("www.") =>
        {
            email.to_owned()
        }
        _ => unlinked(email),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_holds_nothing_that_a_mail_program_links() {
        for (name, shown) in [
            ("https://evil.example/x?y=z", "https: / /evil. example/x?y=z"),
            ("Won! www.evil.example", "Won! www. evil. example"),
            ("evil.example:8080/a", "evil. example: 8080/a"),
            ("evil\u{3002}example \u{ff0e}com", "evil\u{3002} example \u{ff0e} com"),
            ("evil.\u{200b}example", "evil. \u{200b}example"),
            ("mailto:ada@evil.example", "mailto: ada at evil. example"),
            ("ada\u{ff20}evil.example", "ada at evil. example"),
            ("javascript:alert(1)", "javascript: alert(1)"),
            ("\\\\host\\share //host", "\\ \\host\\share / /host"),
            ("http:\u{202e}//evil.example\r\nBcc: x", "http: / /evil. example Bcc: x"),
        ] {
            assert_eq!(unlinked(name), shown);
        }
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in
            ["St. Mary's", "Ada & Co.", "Wait...", "Shop / Blog", "\u{5e97}", "C++ and/or #1"]
        {
            assert_eq!(unlinked(name), name);
        }
    }

    #[test]
    fn an_address_is_shown_unless_it_could_be_more() {
        for plain in ["ada@example.com", "Ada.B+vedette@mail.example-shop.com"] {
            assert_eq!(address(plain), plain);
        }
        for (odd, shown) in [
            ("http://evil.example/@example.com", "http: / /evil. example/ at example. com"),
            ("WWW.evil.example@example.com", "WWW. evil. example at example. com"),
            ("\"evil.example\"@example.com", "\"evil. example\" at example. com"),
            ("ada@example.com/evil", "ada at example. com/evil"),
        ] {
            assert_eq!(address(odd), shown);
        }
    }
}
