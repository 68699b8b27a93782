//! Numbers and texts from an external report, rounded and cut.

use serde_json::Value;

/// With three decimals, the precision of the finest metric, the layout shift.
pub(super) fn number(value: &Value) -> Option<f64> {
    let value = value.as_f64()?;
    let rounded = (value * 1000.0).round() / 1000.0;
    // Above 1e305, the multiplication overflows.
    Some(if rounded.is_finite() { rounded } else { value })
}

/// The length to which an external text is cut, in characters.
#[derive(Clone, Copy)]
pub(super) struct Text(pub(super) usize);

impl Text {
    /// For a name for programs.
    pub(super) const NAME: Self = Self(100);
    /// For a figure or a hint.
    pub(super) const SHORT: Self = Self(200);
    /// For a sentence or a URL.
    pub(super) const LONG: Self = Self(500);

    /// The text in `value`, if it is a text and not empty.
    pub(super) fn of(self, value: &Value) -> Option<String> {
        // Lighthouse puts no-break spaces between numbers and units.
        let text = value.as_str()?.replace('\u{a0}', " ");
        let text = text.trim();
        (!text.is_empty()).then(|| self.cut(text))
    }

    pub(super) fn cut(self, text: &str) -> String {
        text.chars().take(self.0).collect()
    }
}
