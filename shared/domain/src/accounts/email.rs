//! Email addresses as people write them.

use crate::input::{TextKind, TextRule};
use crate::text::disrupts_line;

/// The longest address that email can reach, in bytes (RFC 5321).
const EMAIL_MAX: usize = 254;

/// A text that cannot be an email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address such as ada@example.com")]
pub struct EmailError;

/// Reads an address, ignoring surrounding whitespace. This checks only the form: whether email arrives turns out when
/// some is sent.
///
/// # Errors
///
/// When the text cannot be an address.
pub fn parse_email(text: &str) -> Result<&str, EmailError> {
    let email = text.trim();
    let is_plain = !email.chars().any(|c| c.is_whitespace() || disrupts_line(c));
    match email.rsplit_once('@') {
        Some((local, domain))
            if is_plain && email.len() <= EMAIL_MAX && !local.is_empty() && !domain.is_empty() =>
        {
            Ok(email)
        }
        _ => Err(EmailError),
    }
}

/// An address in the input of a form or a request.
pub(crate) const fn address() -> TextRule<String> {
    let parse = |text: &str| {
        let email = parse_email(text).map(str::to_owned);
        email.map_err(|_| "must be an address such as ada@example.com".to_owned())
    };
    TextRule { min: 0, max: usize::MAX, kind: TextKind::Format("email"), parse }
}

/// The form in which addresses are compared. Only ASCII letters are lowercased: mail servers distinguish the others,
/// and lowercasing the Kelvin sign would make it a `k`.
pub fn normalized(email: &str) -> String {
    email.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ascii_letters_lose_their_case() {
        assert_eq!(normalized("Kate@EXAMPLE.com"), "kate@example.com");
        assert_ne!(normalized("\u{212a}ate@example.com"), normalized("Kate@example.com"));
        assert_eq!(normalized("\u{c9}va@example.com"), "\u{c9}va@example.com");
    }

    #[test]
    fn an_address_has_two_parts_and_nothing_to_hide() {
        assert_eq!(parse_email(" ada@example.com "), Ok("ada@example.com"));
        let long = format!("{}@example.com", "a".repeat(243));
        for other in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada lace@example.com",
            "a\n@example.com",
            "\u{202e}ada@example.com",
            &long,
        ] {
            assert_eq!(parse_email(other), Err(EmailError), "{other}");
        }
    }
}
