//! Parts of what people read.

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

/// `1 site`, `2 sites`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(number as u64)) }
}

/// A number in groups of three digits, separated by narrow spaces.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}
