//! Badges: the state, the uptime or the response time of a page or a component, as an image or as JSON for shields.io.

use maud::{Markup, PreEscaped, html};
use serde_json::json;
use vedette_domain::checks::percentage::Percentage;
use vedette_domain::id::ComponentId;
use vedette_domain::status_pages::{
    ComponentState, PageSummary, PublishedComponent, PublishedPage,
};
use vedette_http::error::ApiError;
use vedette_http::response::{Response, text};

use super::PublicContext;
use super::feed::readable;
use crate::words::grouped;

/// What a badge shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    State,
    Uptime,
    ResponseTime,
}

/// How it shows that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// An image.
    Svg,
    /// JSON for the endpoint badge of shields.io.
    Shields,
}

/// Reads the last part of a badge's path, such as `uptime.svg`.
fn parse(name: &str) -> Option<(Figure, Form)> {
    let (figure, form) = name.split_once('.')?;
    let figure = match figure {
        "state" => Figure::State,
        "uptime" => Figure::Uptime,
        "response-time" => Figure::ResponseTime,
        _ => return None,
    };
    let form = match form {
        "svg" => Form::Svg,
        "json" => Form::Shields,
        _ => return None,
    };
    Some((figure, form))
}

/// A badge of a page.
pub(super) async fn badge(context: PublicContext<'_>) -> Result<Response, ApiError> {
    let (figure, form) = parse(context.parameters.value("badge")).ok_or(ApiError::NotFound)?;
    context.show(|shown| Ok(Badge::of_page(&shown.page, figure).written(form))).await
}

/// A badge of a component.
pub(super) async fn component_badge(context: PublicContext<'_>) -> Result<Response, ApiError> {
    let (figure, form) = parse(context.parameters.value("badge")).ok_or(ApiError::NotFound)?;
    let id = context.parameters.id("component", ComponentId::parse)?;
    context
        .show(|shown| {
            let component = shown.page.component(id).ok_or(ApiError::NotFound)?;
            Ok(Badge::of_component(component, figure).written(form))
        })
        .await
}

/// The color of a message and its shape. White text on the color has a contrast of at least 4.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tone {
    Up,
    Issues,
    Down,
    Info,
    Unknown,
}

impl Tone {
    const fn color(self) -> &'static str {
        match self {
            Self::Up => "0f7a4f",
            Self::Issues => "8a5300",
            Self::Down => "bf1f2f",
            Self::Info => "1d5bd6",
            Self::Unknown => "586170",
        }
    }

    /// The shape, 14 wide and high, so that the color is not the only sign.
    const fn shape(self) -> &'static str {
        match self {
            Self::Up => {
                r##"<circle cx="7" cy="7" r="5.5" fill="#fff"/><path d="m4.7 7.2 1.7 1.7 3-3.4" fill="none" stroke="#0f7a4f" stroke-width="1.5"/>"##
            }
            Self::Issues => {
                r##"<path d="M7 1.5 13 12.5H1z" fill="#fff"/><path d="M7 5.5v3M7 10.5v.3" stroke="#8a5300" stroke-width="1.5"/>"##
            }
            Self::Down => {
                r##"<rect x="1.5" y="1.5" width="11" height="11" rx="2" fill="#fff"/><path d="m4.8 4.8 4.4 4.4m0-4.4-4.4 4.4" stroke="#bf1f2f" stroke-width="1.5"/>"##
            }
            Self::Info => {
                r##"<path d="M7 1 13 7 7 13 1 7z" fill="#fff"/><path d="M7 6.5v3M7 4.4v.3" stroke="#1d5bd6" stroke-width="1.5"/>"##
            }
            Self::Unknown => {
                r##"<circle cx="7" cy="7" r="5" fill="none" stroke="#fff" stroke-width="1.5" stroke-dasharray="2.5 2"/>"##
            }
        }
    }
}

/// What a badge says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Badge {
    label: String,
    message: String,
    tone: Tone,
    has_shape: bool,
}

/// The longest label, in characters; a longer one is cut.
const LABEL_MAX: usize = 40;

impl Badge {
    fn of_page(page: &PublishedPage, figure: Figure) -> Self {
        match figure {
            Figure::State => Self::of_state(&page.name, of_summary(page.summary())),
            Figure::Uptime => Self::of_uptime(&page.name, page.uptime()),
            Figure::ResponseTime => Self::of_response_time(&page.name, page.response_ms()),
        }
    }

    fn of_component(component: &PublishedComponent, figure: Figure) -> Self {
        match figure {
            Figure::State => Self::of_state(&component.name, of_component_state(component.state)),
            Figure::Uptime => Self::of_uptime(&component.name, component.uptime),
            Figure::ResponseTime => Self::of_response_time(&component.name, component.response_ms),
        }
    }

    fn of_state(label: &str, (tone, word): (Tone, &str)) -> Self {
        Self { label: shortened(label), message: word.to_owned(), tone, has_shape: true }
    }

    fn of_uptime(label: &str, uptime: Option<Percentage>) -> Self {
        let (message, tone) = match uptime {
            None => (NO_DATA.to_owned(), Tone::Unknown),
            Some(uptime) => {
                let tone = match uptime.value() {
                    99.0.. => Tone::Up,
                    95.0.. => Tone::Issues,
                    _ => Tone::Down,
                };
                (format!("{}\u{202f}% uptime", uptime), tone)
            }
        };
        Self { label: shortened(label), message, tone, has_shape: false }
    }

    /// How fast is fast depends on the component, so the color does not judge it.
    fn of_response_time(label: &str, response_ms: Option<u32>) -> Self {
        let (message, tone) = match response_ms {
            None => (NO_DATA.to_owned(), Tone::Unknown),
            Some(ms) => (format!("{}\u{202f}ms", grouped(u64::from(ms))), Tone::Info),
        };
        Self { label: shortened(label), message, tone, has_shape: false }
    }

    fn written(&self, form: Form) -> Response {
        match form {
            Form::Svg => text(self.svg().into_string(), "image/svg+xml"),
            Form::Shields => text(self.shields().to_string(), "application/json"),
        }
    }

    fn shields(&self) -> serde_json::Value {
        json!({
            "schemaVersion": 1,
            "label": self.label,
            "message": self.message,
            "color": self.tone.color(),
        })
    }

    fn svg(&self) -> Markup {
        let (label, message) = (readable(&self.label), readable(&self.message));
        let [label_width, message_width] = [&label, &message].map(|text| width(text));
        let left = label_width + 2 * PADDING;
        let shape = if self.has_shape { SHAPE } else { 0 };
        let whole = left + shape + message_width + 2 * PADDING;
        let says = format!("{label}: {message}");
        let color = self.tone.color();
        html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(whole) height="24" role="img" aria-label=(says) {
                title { (says) }
                clipPath id="c" { rect width=(whole) height="24" rx="5" {} }
                g clip-path="url(#c)" font-family="Inter,system-ui,Segoe UI,Roboto,Helvetica,Arial,sans-serif" font-size="12" font-weight="600" {
                    rect width=(whole) height="24" fill="#20252d" {}
                    rect x=(left) width=(whole) height="24" fill={ "#" (color) } {}
                    text x=(PADDING) y="16.2" fill="#fff" textLength=(label_width) lengthAdjust="spacingAndGlyphs" { (label) }
                    @if self.has_shape {
                        g transform={ "translate(" (left + PADDING - 3) " 5)" } { (PreEscaped(self.tone.shape())) }
                    }
                    text x=(left + shape + PADDING) y="16.2" fill="#fff" textLength=(message_width) lengthAdjust="spacingAndGlyphs" { (message) }
                }
            }
        }
    }
}

const NO_DATA: &str = "no data";
/// The space beside a text, and the room of a shape before it.
const PADDING: usize = 10;
const SHAPE: usize = 16;

const fn of_summary(summary: PageSummary) -> (Tone, &'static str) {
    match summary {
        PageSummary::Operational => (Tone::Up, "up"),
        PageSummary::Unknown => (Tone::Unknown, NO_DATA),
        PageSummary::Maintenance => (Tone::Info, "maintenance"),
        PageSummary::Degraded => (Tone::Issues, "degraded"),
        PageSummary::PartialOutage => (Tone::Down, "partial outage"),
        PageSummary::MajorOutage => (Tone::Down, "major outage"),
    }
}

const fn of_component_state(state: ComponentState) -> (Tone, &'static str) {
    match state {
        ComponentState::Operational => (Tone::Up, "up"),
        ComponentState::Unknown => (Tone::Unknown, NO_DATA),
        ComponentState::Maintenance => (Tone::Info, "maintenance"),
        ComponentState::Degraded => (Tone::Issues, "degraded"),
        ComponentState::Down => (Tone::Down, "down"),
    }
}

fn shortened(label: &str) -> String {
    match label.char_indices().nth(LABEL_MAX) {
        None => label.to_owned(),
        Some(_) => label.chars().take(LABEL_MAX - 1).chain(['…']).collect(),
    }
}

/// About how wide a text is in 12 px, in pixels. The text is stretched to that width, whatever the font.
fn width(text: &str) -> usize {
    let tenths = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | '\'' | '|' | ':' | ';' | '!' | '’' | '\u{202f}' => 36,
        'f' | 'r' | 't' | ' ' | '(' | ')' | '[' | ']' | '-' | 'I' => 46,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 108,
        'A'..='Z' => 84,
        ..'\u{2e80}' => 72,
        // Scripts whose letters fill a square.
        _ => 120,
    };
    text.chars().map(tenths).sum::<usize>().div_ceil(10)
}

/// The images of a page and its components.
#[cfg(test)]
pub(super) fn all(page: &PublishedPage) -> Vec<String> {
    let figures = [Figure::State, Figure::Uptime, Figure::ResponseTime];
    let of_page = figures.map(|figure| Badge::of_page(page, figure));
    let components = page.components();
    let of_components = components
        .flat_map(|component| figures.map(|figure| Badge::of_component(component, figure)));
    of_page.into_iter().chain(of_components).map(|badge| badge.svg().into_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_what_a_badge_shows_and_how() {
        for (name, expected) in [
            ("state.svg", Some((Figure::State, Form::Svg))),
            ("uptime.json", Some((Figure::Uptime, Form::Shields))),
            ("response-time.svg", Some((Figure::ResponseTime, Form::Svg))),
            ("state", None),
            ("state.png", None),
            ("state.svg.svg", None),
            (".svg", None),
            ("", None),
        ] {
            assert_eq!(parse(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_shape_has_the_color_of_its_message() {
        for tone in [Tone::Up, Tone::Issues, Tone::Down, Tone::Info] {
            let svg = Badge::of_state("Meridian Goods", (tone, "a word")).svg().into_string();
            for part in ["fill", "stroke"] {
                assert!(svg.contains(&format!("{part}=\"#{}\"", tone.color())), "{svg}");
            }
        }
    }

    #[test]
    fn the_color_follows_the_uptime() {
        let tone = |failed: u64| Badge::of_uptime("a", Percentage::of(1_000 - failed, 1_000)).tone;
        assert_eq!(
            [0, 10, 11, 50, 51].map(tone),
            [Tone::Up, Tone::Up, Tone::Issues, Tone::Issues, Tone::Down]
        );
    }

    #[test]
    fn a_long_label_is_cut_between_letters() {
        let long = "ä".repeat(LABEL_MAX + 1);
        assert_eq!(shortened(&long), format!("{}…", "ä".repeat(LABEL_MAX - 1)));
        assert_eq!(shortened(&long[2..]), &long[2..]);
    }
}
