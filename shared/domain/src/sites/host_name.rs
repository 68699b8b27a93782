//! Valid host names.

/// The longest name, in characters, without a trailing dot (RFC 1035).
const NAME_MAX: usize = 253;
/// The longest label between two dots, in characters.
const LABEL_MAX: usize = 63;

/// Whether this is a valid host name. It must be in punycode and without a trailing dot. Underscores are not valid by
/// the standard, but they occur.
pub(crate) fn is_host_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    // A name that ends with a number is an IPv4 address or invalid.
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    name.len() <= NAME_MAX && !is_number && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_letters_digits_hyphens_inside_and_underscores() {
        for name in ["localhost", "a.b", "xn--bcher-kva.example", "_dmarc.a.test", "1.a", "a.b1"] {
            assert!(is_host_name(name), "{name}");
        }
        for name in ["", ".", "a.", ".a", "a..b", "-a", "a-", "a.-.b", "a b", "a*", "ü", "a.1", "7"]
        {
            assert!(!is_host_name(name), "{name}");
        }
    }
}
