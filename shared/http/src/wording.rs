//! The wording of refusals in answers.

/// A text with a capital letter at the beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// A refusal as a sentence. If it begins with an address, the address stays as it is.
pub fn sentence(refusal: &str) -> String {
    let is_address = refusal.split(' ').next().is_some_and(|word| word.contains('@'));
    let text = if is_address { refusal.to_owned() } else { capitalized(refusal) };
    if text.ends_with(['.', '?', '!']) { text } else { text + "." }
}
