//! The selector of the list that a browser keeps for each team, so that it is set again when somebody comes back.

use lambda_http::http::header::SET_COOKIE;
use url::form_urlencoded::{Serializer, byte_serialize, parse};
use vedette_domain::id::TeamId;
use vedette_http::error::ApiError;
use vedette_http::query::Query;
use vedette_http::response::Response;

use crate::{RequestContext, session};

/// The parameters with which a request says itself what it shows.
const SHOWN: [&str; 6] = ["state", "search", "selector", "sort", "size", "page"];

/// The address of the list with the selector that the browser keeps, if the request does not say what it shows.
pub(super) fn address(context: RequestContext<'_>, team: TeamId) -> Option<String> {
    let kept = session::kept_selector(context.app, context.head, team)?;
    let sent = context.head.uri.query().unwrap_or_default();
    let says_what = parse(sent.as_bytes()).any(|(name, _)| SHOWN.contains(&&*name));
    // The value of a cookie is what a browser sends, which may be anything.
    let selector = parse(format!("s={kept}").as_bytes()).next()?.1.into_owned();
    let query = Serializer::new(sent.to_owned()).append_pair("selector", &selector).finish();
    (!says_what).then(|| format!("/teams/{team}?{query}"))
}

/// Has the browser keep the selector, or give up the one that it has, if the request says which one.
pub(super) fn keep(
    context: RequestContext<'_>,
    team: TeamId,
    query: &Query,
    selector: &str,
    response: &mut Response,
) -> Result<(), ApiError> {
    // Browsers send the cookies of all teams with every request, and a gateway takes ten kilobytes of headers.
    const LONGEST: usize = 200;
    let value: String = byte_serialize(selector.as_bytes()).collect();
    let value = if value.len() > LONGEST { String::new() } else { value };
    let kept = session::kept_selector(context.app, context.head, team).unwrap_or_default();
    if query.has("selector") && kept != value {
        let cookie = session::keep_selector(context.app, context.head, team, &value)?;
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(())
}
