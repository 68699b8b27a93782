//! Names that people give to sites, users, teams and tokens.

use icu_properties::CodePointSetData;
use icu_properties::props::DefaultIgnorableCodePoint;

use crate::text::disrupts_line;

/// The longest name, in characters.
pub const NAME_MAX: usize = 255;

/// Why a text is not a name. The messages continue "The … field".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("must not be empty")]
    Empty,
    /// It is longer than [`NAME_MAX`] characters.
    #[error("must not be longer than {NAME_MAX} characters")]
    TooLong,
    /// It contains a line break, an escape, or another character that [`disrupts_line`].
    #[error("must not contain control characters or characters that change the direction of text")]
    ControlCharacter,
    /// It contains no visible character.
    #[error("must contain a visible character")]
    Invisible,
}

/// Reads a name, ignoring surrounding whitespace.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_name(text: &str) -> Result<&str, NameError> {
    let name = text.trim();
    // Joiners and direction marks are part of many names, but are not a name alone.
    let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
    if name.is_empty() {
        Err(NameError::Empty)
    } else if name.chars().nth(NAME_MAX).is_some() {
        Err(NameError::TooLong)
    } else if name.chars().any(disrupts_line) {
        Err(NameError::ControlCharacter)
    } else if name.chars().all(|c| c.is_whitespace() || ignorable.contains(c)) {
        Err(NameError::Invisible)
    } else {
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_something_to_see_on_one_line() {
        let family = "\u{1f468}\u{200d}\u{1f469}";
        let long = "\u{fc}".repeat(NAME_MAX);
        for (text, name) in [
            ("Shop", "Shop"),
            (" \u{a0}Ada's shop\r\n", "Ada's shop"),
            ("店", "店"),
            (family, family),
            ("\u{200f}\u{5d0}", "\u{200f}\u{5d0}"),
            (&long, &long),
        ] {
            assert_eq!(parse_name(text), Ok(name));
        }
        for (text, error) in [
            ("", NameError::Empty),
            (" \n\u{2003}", NameError::Empty),
            (&format!("{long}a"), NameError::TooLong),
            ("\u{1b}[31mShop", NameError::ControlCharacter),
            ("Shop\nand more", NameError::ControlCharacter),
            ("Sh\0p", NameError::ControlCharacter),
            ("Shop\u{7f}", NameError::ControlCharacter),
            ("Sh\u{9b}op", NameError::ControlCharacter),
            ("Shop\u{2028}and more", NameError::ControlCharacter),
            ("pohS\u{202e}", NameError::ControlCharacter),
            ("\u{2066}Shop\u{2069}", NameError::ControlCharacter),
            ("\u{200b}", NameError::Invisible),
            ("\u{ad}\u{feff} \u{2060}", NameError::Invisible),
            ("\u{3164}\u{115f}\u{e0041}\u{fe0f}", NameError::Invisible),
        ] {
            assert_eq!(parse_name(text), Err(error), "{text:?}");
        }
    }
}
