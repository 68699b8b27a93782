//! The files that pages load. Their names contain a hash of their content, so browsers cache them forever.

use std::sync::LazyLock;

use lambda_http::Body;
use lambda_http::http::HeaderValue;
use lambda_http::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use sha2::{Digest as _, Sha256};
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::RequestContext;
use crate::look::TabState;

/// A file that pages load.
struct Asset {
    /// The end of its path.
    name: String,
    media_type: &'static str,
    text: &'static str,
}

impl Asset {
    fn new(stem: &str, ending: &str, media_type: &'static str, text: &'static str) -> Self {
        let hash = format!("{:x}", Sha256::digest(text));
        Self { name: format!("{stem}-{}.{ending}", &hash[..16]), media_type, text }
    }

    fn script(stem: &str, text: &'static str) -> Self {
        Self::new(stem, "js", "text/javascript; charset=utf-8", text)
    }
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let style =
        concat!(include_str!("../assets/uplot/uPlot.min.css"), include_str!("../assets/app.css"));
    Asset::new("app", "css", "text/css; charset=utf-8", style)
});
/// The icon of a browser's tab in each state, in the order of [`TabState`].
static ICONS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    let icon = |stem, text| Asset::new(stem, "svg", "image/svg+xml", text);
    [
        icon("icon-up", include_str!("../assets/icon-up.svg")),
        icon("icon-failing", include_str!("../assets/icon-failing.svg")),
        icon("icon-down", include_str!("../assets/icon-down.svg")),
        icon("icon-unknown", include_str!("../assets/icon-unknown.svg")),
    ]
});
static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("app", include_str!("../assets/app.js")));
/// npm's `uplot`, version 1.6.32, as published.
static UPLOT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("uplot", include_str!("../assets/uplot/uPlot.iife.min.js")));
static PLOT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("plot", include_str!("../assets/plot.js")));

/// The path of the style sheet.
pub(crate) fn style() -> String {
    format!("/assets/{}", STYLE.name)
}

/// The path of the icon in a state.
pub(crate) fn icon(state: TabState) -> String {
    format!("/assets/{}", ICONS[state as usize].name)
}

/// The path of the script.
pub(crate) fn script() -> String {
    format!("/assets/{}", SCRIPT.name)
}

/// The paths of the scripts for plots, in the order in which they run.
pub(crate) fn plot() -> [String; 2] {
    [&UPLOT, &PLOT].map(|asset| format!("/assets/{}", asset.name))
}

/// Serves a file under the name that this version's pages use.
pub(crate) async fn show(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let others = [&STYLE, &SCRIPT, &UPLOT, &PLOT].map(|asset| &**asset);
    let mut assets = others.into_iter().chain(&*ICONS);
    let asset = assets.find(|asset| asset.name == context.parameters.value("asset"));
    let asset = asset.ok_or(ApiError::NotFound)?;
    let mut response = Response::new(Body::Text(asset.text.to_owned()));
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(CONTENT_TYPE, fixed(asset.media_type));
    headers.insert(CACHE_CONTROL, fixed("public, max-age=31536000, immutable"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    Ok(response)
}
