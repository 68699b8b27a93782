//! The time zone of the signed-in user, which applies to the times on their pages and in email to them.

use lambda_http::http::StatusCode;
use maud::html;
use vedette_actions::change_user_time_zone;
use vedette_http::error::ApiError;
use vedette_http::response::Response;

use crate::RequestContext;
use crate::form::{Choice, FormInput};
use crate::layout::{self, Heading};
use crate::time_zone::{control, read};

/// Shows the zone in a form.
pub(crate) async fn show(context: RequestContext<'_>) -> Result<Response, ApiError> {
    page(context, None)
}

/// Saves the zone.
pub(crate) async fn update(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let input = FormInput::sent(context.body);
    let zone = match read(&input) {
        Ok(zone) => zone,
        Err(refusal) => return page(context, Some(input.refused(refusal))),
    };
    change_user_time_zone(context.app, &context.member()?.caller.user, zone.as_ref()).await?;
    layout::redirect("/time-zone?notice=saved")
}

fn page(context: RequestContext<'_>, refused: Option<FormInput>) -> Result<Response, ApiError> {
    let user = &context.member()?.caller.user;
    let status = match refused {
        Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        None => StatusCode::OK,
    };
    let done = match refused {
        Some(_) => html! {},
        None => layout::notice(context, &[("saved", "Saved.")]),
    };
    let content = html! {
        (done)
        form.card method="post" action="/time-zone" novalidate {
            (control(refused, user.zone.as_ref(), [Choice::new("", "Same as the team")]))
            footer { button.main { "Save" } }
        }
    };
    let heading = Heading::new("Time zone").lead(html! {
        p.quiet { "Your pages and the alerts that you get by email show times in this time zone." }
    });
    Ok(layout::own_page(context, status, heading, &content))
}
