//! Mailboxes: which addresses reach the same reader.

use url::Host;

/// The mailbox that an address leads to, judged by its form: text after a plus is a tag, and neither case nor, at
/// Gmail, dots matter. Emails are counted by mailbox. It does not identify a person: on a mail server without tags,
/// `kate+x` is another person than `kate`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mailbox(String);

impl Mailbox {
    /// The mailbox of an address.
    pub fn of(email: &str) -> Self {
        let email = email.trim().to_ascii_lowercase();
        let Some((local, domain)) = email.rsplit_once('@') else { return Self(email) };
        // Quotes and escapes only announce that special characters may follow.
        let bare = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let local = bare.map_or_else(|| local.to_owned(), |bare| bare.replace('\\', ""));
        let name = match local.split_once('+') {
            Some((name, _)) if !name.is_empty() => name,
            _ => local.as_str(),
        };
        // Domains with non-ASCII letters can be written in two ways.
        let domain = domain.strip_suffix('.').unwrap_or(domain);
        let host = Host::parse(domain).map_or_else(|_| domain.to_owned(), |host| host.to_string());
        Self(match host.as_str() {
            // https://support.google.com/mail/answer/7436150
            "gmail.com" | "googlemail.com" => format!("{}@gmail.com", name.replace('.', "")),
            _ => format!("{name}@{host}"),
        })
    }

    /// The mailbox as the shortest address that leads to it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_makes_no_other_mailbox() {
        for address in [
            "kate@example.com",
            "Kate@EXAMPLE.com",
            "kate+x@example.com",
            "kate+x+y@example.com.",
            "kate+@example.com",
            "\"kate+x\"@example.com",
            "\"k\\ate\"@example.com",
        ] {
            assert_eq!(Mailbox::of(address).as_str(), "kate@example.com", "{address}");
        }
        let other = ["kate.x@example.com", "kate@example.org", "+kate@example.com", "kate", ""];
        for address in other {
            assert_eq!(Mailbox::of(address).as_str(), address);
        }
    }

    #[test]
    fn dots_make_no_other_mailbox_at_gmail() {
        for address in ["k.a.t.e@gmail.com", "Kate.@GoogleMail.com", "ka.te+x.y@gmail.com."] {
            assert_eq!(Mailbox::of(address).as_str(), "kate@gmail.com", "{address}");
        }
        assert_eq!(Mailbox::of("k.ate@mygmail.com").as_str(), "k.ate@mygmail.com");
    }

    #[test]
    fn letters_beyond_ascii_are_others_before_the_at_and_the_same_after_it() {
        assert_ne!(Mailbox::of("\u{212a}ate@example.com"), Mailbox::of("kate@example.com"));
        assert_eq!(Mailbox::of("a@b\u{fc}cher.example"), Mailbox::of("a@xn--bcher-kva.example"));
    }
}
