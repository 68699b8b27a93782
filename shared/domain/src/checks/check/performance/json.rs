//! Numbers and texts of a report from outside, rounded and cut.

use serde_json::Value;

/// With three decimals, as the finest metric, the layout shift, is read.
pub(super) fn number(value: &Value) -> Option<f64> {
    let value = value.as_f64()?;
    let rounded = (value * 1000.0).round() / 1000.0;
    // Past 1e305 the detour overflows.
    Some(if rounded.is_finite() { rounded } else { value })
}

/// The length to which a text from outside is cut, in characters.
#[derive(Clone, Copy)]
pub(super) struct Text(pub(super) usize);

impl Text {
    /// A name for programs.
    pub(super) const NAME: Self = Self(100);
    /// A figure or a hint.
    pub(super) const SHORT: Self = Self(200);
    /// A sentence or a URL.
    pub(super) const LONG: Self = Self(500);

    /// The text in `value`, if it is one and not empty.
    pub(super) fn of(self, value: &Value) -> Option<String> {
        // Lighthouse puts no-break spaces between figures and units.
        let text = value.as_str()?.replace('\u{a0}', " ");
        let text = text.trim();
        (!text.is_empty()).then(|| self.cut(text))
    }

    pub(super) fn cut(self, text: &str) -> String {
        text.chars().take(self.0).collect()
    }
}
